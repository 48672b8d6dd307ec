//! The store goes and comes back, with all, some or none of what it held.

use crate::nodes::{Nodes, Plan};
use crate::{pass, secs};

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_while_the_store_is_stopped_and_when_it_does_late_what_it_was_sent() {
    let nodes = Nodes::start(Plan::default());
    let clients = nodes.clients(3);
    nodes.wait_for_calls(10);
    for _ in 0..2 {
        nodes.say("the store is stopped");
        nodes.stores[0].freeze();
        (0..3).for_each(|node| nodes.wait_alone(node));
        // What they may spend alone is spent at once, and again when the shorter window has passed.
        let before = nodes.total();
        pass(secs(30));
        let alone = nodes.total() - before;
        nodes.say("the store is woken");
        nodes.stores[0].thaw();
        assert!(alone > 0, "nobody spent a share");
        nodes.wait_together();
        nodes.wait_for_calls(20);
        pass(secs(15));
    }
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_the_store_is_killed_and_back_with_its_data() {
    let plan = Plan {
        store: &["--appendonly", "yes", "--appendfsync", "always"],
        ..Plan::default()
    };
    killed_and_back(plan, |_| {}, |_| {});
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_the_store_is_killed_and_back_with_older_data() {
    let save = |nodes: &Nodes| {
        nodes.stores[0].save().unwrap();
        nodes.say("the store has saved what it holds");
        nodes.wait_for_calls(10);
    };
    killed_and_back(Plan::default(), save, |_| {});
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_the_store_is_killed_and_back_empty() {
    let forget = |nodes: &Nodes| nodes.stores[0].forget().unwrap();
    killed_and_back(Plan::default(), |_| {}, forget);
}

/// Twice: for a few seconds, and at once.
fn killed_and_back(plan: Plan, before: impl Fn(&Nodes), between: impl Fn(&Nodes)) {
    let mut nodes = Nodes::start(plan);
    let clients = nodes.clients(3);
    nodes.wait_for_calls(10);
    for away in [6, 0] {
        before(&nodes);
        let seen: Vec<_> = nodes.all.iter().map(|one| one.process().lines()).collect();
        nodes.say("the store is killed");
        nodes.stores[0].kill();
        between(&nodes);
        pass(secs(away));
        nodes.runtime.block_on(nodes.stores[0].run()).unwrap();
        nodes.say("the store is back");
        for (one, seen) in nodes.all.iter().zip(seen) {
            one.process().line(seen, "told it what it knows");
        }
        nodes.wait_together();
        nodes.wait_for_calls(20);
    }
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}
