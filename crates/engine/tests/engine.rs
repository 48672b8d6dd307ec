//! The engine as fronts see it: paused time, calls driven by hand, no sockets.

#[path = "engine/kit.rs"]
mod kit;

#[path = "engine/agrees.rs"]
mod agrees;
#[path = "engine/crowd.rs"]
mod crowd;
#[path = "engine/ends.rs"]
mod ends;
#[path = "engine/faults.rs"]
mod faults;
#[path = "engine/figures.rs"]
mod figures;
#[path = "engine/flights.rs"]
mod flights;
#[path = "engine/keeping.rs"]
mod keeping;
#[path = "engine/limits.rs"]
mod limits;
#[path = "engine/memory.rs"]
mod memory;
#[path = "engine/metrics.rs"]
mod metrics;
#[path = "engine/network.rs"]
mod network;
#[path = "engine/nodes.rs"]
mod nodes;
#[path = "engine/onlooker.rs"]
mod onlooker;
#[path = "engine/order.rs"]
mod order;
#[path = "engine/race.rs"]
mod race;
#[path = "engine/roster.rs"]
mod roster;
#[path = "engine/rows.rs"]
mod rows;
#[path = "engine/tickets.rs"]
mod tickets;
#[path = "engine/tryout.rs"]
mod tryout;
#[path = "engine/upcoming.rs"]
mod upcoming;
#[path = "engine/windows.rs"]
mod windows;
