//! What holds while the store answers: one distance, one cooldown, one call for one question.

use std::time::Duration;

use tokio::time::Instant;
use weir_testkit::zoo::indexer::{Behaviour, RetryAfter};

use crate::checker::closest;
use crate::nodes::{Nodes, Plan};
use crate::{pass, secs, wait_until};

/// A call may take this much longer than another to arrive.
const JITTER: Duration = Duration::from_millis(400);

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn three_nodes_keep_one_distance_and_leave_alone_whoever_told_one_of_them() {
    let plan = Plan {
        indexers: 1,
        limits: &[],
        entry: ", min_request_interval: 2s",
        section: "interval_shares: { interactive: 1, rss: 1, completion: 1, background: 1 }",
        ..Plan::default()
    };
    let nodes = Nodes::start(plan);
    // What it can do is asked without keeping a distance.
    let searches = || {
        let mut calls = nodes.calls().remove(0);
        calls.retain(|call| call.what != "caps");
        calls
    };
    let clients = nodes.clients(3);
    nodes.wait_for_calls(15);
    let calls = searches();
    assert!(
        closest(&calls) >= secs(2) - JITTER,
        "{:?} between two calls: {calls:?}",
        closest(&calls)
    );
    let has_called = |node: usize| {
        let name = format!("n{node}");
        searches().iter().any(|call| call.what.starts_with(&name))
    };
    wait_until("every node has called", || (0..3).all(has_called));
    nodes.say("the indexer wants to be left alone for 20 s");
    let before = searches().len();
    let told = Behaviour::Status(429, RetryAfter::Seconds(20));
    nodes.indexers[0].set(told);
    wait_until("somebody was told", || searches().len() > before);
    nodes.indexers[0].set(Behaviour::Good);
    nodes.wait_for_calls(10);
    let calls = searches();
    let pause = calls[before + 1].at - calls[before].at;
    assert!(
        pause >= secs(20) - JITTER,
        "left alone for {pause:?}: {:?}",
        &calls[before..]
    );
    assert!(closest(&calls) >= secs(2) - JITTER, "{calls:?}");
    clients.end();
    nodes.check();
}

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn a_claimer_that_dies_costs_the_others_no_more_than_its_claim() {
    let claim = secs(8);
    let plan = Plan {
        indexers: 1,
        entry: ", timeout: 8s",
        section: "indexer_calls: 4\n  max_wait: { completion: 60s }",
        ..Plan::default()
    };
    let mut nodes = Nodes::start(plan);
    // Everybody knows what it can do.
    for one in &nodes.all {
        assert_eq!(one.search("before").status(), 200);
    }
    let before = nodes.indexers[0].searches().len();
    nodes.indexers[0].set(Behaviour::Hang);
    let web = nodes.all[0].door.web().unwrap();
    let asking = std::thread::spawn(move || crate::clients::search(web, "Some Show"));
    wait_until("node 0 asks the indexer", || {
        nodes.indexers[0].searches().len() > before
    });
    let asked = Instant::now();
    nodes.kill(0);
    nodes.say("node 0 is killed during its call");
    // It was cut off; whether that shows as an error or an empty answer does not matter.
    let _ = asking.join().unwrap();
    nodes.indexers[0].set(Behaviour::Good);
    let answered = std::thread::scope(|scope| {
        let others = nodes.all[1..].iter().map(|one| {
            scope.spawn(move || {
                loop {
                    // A search that is answered before the indexer has is made again, as programs do.
                    let answer = one.search("Some Show");
                    assert!(matches!(answer.status(), 200 | 429), "{}", answer.text());
                    if answer.text().contains("<item>") {
                        return asked.elapsed();
                    }
                    assert!(asked.elapsed() < secs(60), "no answer: {}", answer.text());
                    pass(Duration::from_millis(100));
                }
            })
        });
        let others: Vec<_> = others.collect();
        others.into_iter().map(|other| other.join().unwrap()).max()
    });
    let answered = answered.unwrap();
    nodes.say(&format!("the others had their answer after {answered:?}"));
    // The claim, the wait until somebody looks again, and the call.
    assert!(answered <= claim + secs(5), "{answered:?}");
    let searches = nodes.indexers[0].searches();
    assert_eq!(searches.len(), before + 2, "{searches:?}");
    nodes.revive(0);
    nodes.check();
}
