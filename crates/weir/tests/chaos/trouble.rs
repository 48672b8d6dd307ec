//! Something happens to a node, to its clock, or on its way to the store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_testkit::proxy::Proxy;

use crate::clients::{Clients, search};
use crate::nodes::{Nodes, Plan};
use crate::{pass, secs, wait_until, wait_until_soon};

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_while_a_node_is_cut_off() {
    let nodes = Nodes::start(Plan::default());
    let clients = nodes.clients(3);
    nodes.wait_for_calls(10);
    type Turn = fn(&Proxy, bool);
    let ways: [(&str, Turn); 3] = [
        ("is held back", |way, bad| way.hold(bad)),
        ("is half-open", |way, bad| way.half_open(bad)),
        ("is cut", |way, bad| {
            way.refuse(bad);
            way.cut();
        }),
    ];
    for (node, (what, turn)) in ways.into_iter().enumerate() {
        nodes.say(&format!("the way of node {node} {what}"));
        turn(&nodes.ways[node], true);
        nodes.wait_alone(node);
        pass(secs(20));
        turn(&nodes.ways[node], false);
        nodes.say("and open again");
        nodes.wait_together();
        nodes.wait_for_calls(10);
    }
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_nodes_are_killed_and_started_again() {
    let mut nodes = Nodes::start(Plan::default());
    let clients = nodes.clients(3);
    nodes.wait_for_calls(10);
    for round in 0..6 {
        let node = round % 3;
        nodes.say(&format!("node {node} is killed"));
        nodes.kill(node);
        pass(secs(if round < 3 { 0 } else { 5 }));
        nodes.revive(node);
        nodes.say("and started again");
        nodes.wait_together();
        nodes.wait_for_calls(10);
    }
    nodes.let_windows_pass();
    let replies = clients.end();
    assert!(
        replies.cut_off > 0,
        "nobody asked a node when it was killed"
    );
    nodes.check();
}

/// A grant lies in the node's hands, unread, while it is stopped. When it wakes that is a minute old, and others have used the
/// window since.
#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_a_node_is_stopped_for_a_minute_with_a_call_that_it_was_granted() {
    // So tiny that nobody has a share of it: a single call too many shows.
    let plan = Plan {
        indexers: 1,
        limits: &[(1, 15)],
        ..Plan::default()
    };
    let nodes = Nodes::start(plan);
    let granted = || {
        let store = &nodes.stores[0];
        let key = store.ask(&["KEYS", "*:starts:*:q"]).unwrap();
        store.ask(&["ZRANGE", &key, "-1", "-1"]).unwrap()
    };
    // Its first call asks what the indexer can do.
    let web = |node: usize| nodes.all[node].door.web().unwrap();
    wait_until("an answer to a search", || {
        search(web(0), "before").unwrap().status() == 200
    });
    for round in 0..2 {
        // What the store says takes long to reach this node.
        nodes.ways[0].delay(Duration::from_millis(400));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let before = granted();
            // Only this node asks, so that what is granted next is granted to it.
            scope.spawn(|| {
                for number in 0.. {
                    let words = format!("granted {round} {number}");
                    let status = search(web(0), &words).unwrap().status();
                    assert!(matches!(status, 200 | 429), "{status}");
                    if done.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
            wait_until_soon("the store grants a call", || granted() != before);
            nodes.all[0].process().signal("STOP");
            nodes.say("node 0 is stopped");
            nodes.ways[0].delay(Duration::ZERO);
            let calls = nodes.total();
            let others = Clients::start(
                &[1, 2].map(|node| nodes.all[node].door.clone()),
                2,
                nodes.began,
            );
            pass(secs(60));
            assert!(nodes.total() > calls, "the others called nobody meanwhile");
            nodes.all[0].process().signal("CONT");
            nodes.say("node 0 is woken");
            done.store(true, Ordering::SeqCst);
            pass(secs(20));
            others.end();
        });
    }
    nodes.check();
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_with_clocks_five_minutes_apart() {
    let plan = Plan {
        clocks: [None, Some("+300"), Some("-300")],
        ..Plan::default()
    };
    let mut nodes = Nodes::start(plan);
    let apart = |node: usize| {
        let times = [node, 0].map(|node| time_of_day(&nodes, node));
        // From half a day ago to half a day ahead.
        (times[0] - times[1] + 43_200).rem_euclid(86_400) - 43_200
    };
    assert!((295..=305).contains(&apart(1)), "{} s", apart(1));
    assert!((-305..=-295).contains(&apart(2)), "{} s", apart(2));
    let clients = nodes.clients(3);
    nodes.wait_for_calls(20);
    nodes.say("the store is stopped");
    nodes.stores[0].freeze();
    (0..3).for_each(|node| nodes.wait_alone(node));
    pass(secs(10));
    nodes.stores[0].thaw();
    nodes.say("the store is woken");
    nodes.wait_together();
    nodes.say("the store is back empty");
    nodes.stores[0].kill();
    nodes.stores[0].forget().unwrap();
    nodes.runtime.block_on(nodes.stores[0].run()).unwrap();
    nodes.wait_together();
    nodes.wait_for_calls(20);
    for node in 1..3 {
        nodes.say(&format!("node {node} is killed and started again"));
        nodes.kill(node);
        nodes.revive(node);
        nodes.wait_together();
        nodes.wait_for_calls(10);
    }
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}

/// The second of the day at which a node says that it answers.
fn time_of_day(nodes: &Nodes, node: usize) -> i64 {
    let answer = nodes.all[node].ask("/readyz");
    let date = answer.field("date").expect("a date").to_owned();
    let time = date.split(' ').nth(4).expect("a time");
    let parts = time.split(':').map(|part| part.parse::<i64>().unwrap());
    parts.fold(0, |sum, part| sum * 60 + part)
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_when_the_way_delays_repeats_and_refuses() {
    let nodes = Nodes::start(Plan::default());
    let clients = nodes.clients(3);
    nodes.wait_for_calls(10);
    let mut repeated = 0;
    for (round, delay) in [100, 450, 700].into_iter().enumerate() {
        nodes.say(&format!("everything takes {delay} ms each way"));
        let delay = Duration::from_millis(delay);
        nodes.ways.iter().for_each(|way| way.delay(delay));
        pass(secs(10));
        nodes.ways.iter().for_each(|way| way.delay(Duration::ZERO));
        nodes.wait_together();
        nodes.say("everything is said once more");
        for way in &nodes.ways {
            repeated += nodes.runtime.block_on(way.repeat()).unwrap();
        }
        nodes.say(&format!("node {round} is refused"));
        nodes.ways[round].refuse(true);
        nodes.ways[round].cut();
        nodes.wait_alone(round);
        pass(secs(5));
        nodes.ways[round].refuse(false);
        nodes.wait_together();
        nodes.wait_for_calls(10);
    }
    assert!(repeated > 3, "{repeated} conversations were repeated");
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}
