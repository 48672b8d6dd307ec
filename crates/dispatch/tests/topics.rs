//! What the dispatcher promises, topic by topic: each test's name is the promise, and time is made up. Every story runs on
//! the dispatcher and on its reference model, which must agree after each step.
//!
//! The topics are those of the schedulers that Weir replaces (priority, rate limits, suspension,
//! deduplication, worker scaling, …) and those that it adds (aging bounds, probing, backlog share).

#[path = "model/both.rs"]
mod both;
#[path = "model/reference.rs"]
mod reference;

#[path = "topics/agenda.rs"]
mod agenda;
#[path = "topics/aging.rs"]
mod aging;
#[path = "topics/bugs.rs"]
mod bugs;
#[path = "topics/cooldown.rs"]
mod cooldown;
#[path = "topics/crew.rs"]
mod crew;
#[path = "topics/ends.rs"]
mod ends;
#[path = "topics/figures.rs"]
mod figures;
#[path = "topics/front.rs"]
mod front;
#[path = "topics/keys.rs"]
mod keys;
#[path = "topics/lives.rs"]
mod lives;
#[path = "topics/max_wait.rs"]
mod max_wait;
#[path = "topics/nodes.rs"]
mod nodes;
#[path = "topics/operator.rs"]
mod operator;
#[path = "topics/queue.rs"]
mod queue;
#[path = "topics/quota.rs"]
mod quota;
#[path = "topics/records.rs"]
mod records;
#[path = "topics/restart.rs"]
mod restart;
