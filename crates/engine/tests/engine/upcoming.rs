//! What the page of one upstream shows besides its state: calls that are scheduled, and the last errors.

use weir_engine::dispatch::{Job, UpstreamId};
use weir_engine::{Ended, Outcome};

use crate::kit::*;
use crate::rows::{Machine, add, stop};

fn words(desk: &Desk, upstream: UpstreamId) -> Vec<(u64, String)> {
    let view = desk.engine.upstream(upstream).expect("it is there");
    let errors = view.errors.into_iter();
    errors
        .map(|error| (error.count, error.words.to_string()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_next_scheduled_calls_of_one_upstream_are_seen() {
    let desk = Desk::new(policy());
    let [one, other] = ["one", "other"].map(|name| desk.upstream(name, secs(0), 1));
    let now = desk.engine.timeline().now();
    for (upstream, after) in [(one, 300), (other, 100), (one, 200), (one, 400)] {
        let later = Job {
            not_before: now + secs(after),
            attempts_made: 1,
            ..job(upstream, RSS)
        };
        desk.engine.submit_detached(later, desk.done("later"));
    }
    let seen = |most| {
        let (count, next) = desk.engine.scheduled(one, most);
        let due = next.iter().map(|call| now.until(call.due));
        (count, due.collect::<Vec<_>>())
    };
    assert_eq!(seen(2), (3, vec![secs(200), secs(300)]));
    let (_, next) = desk.engine.scheduled(one, 1);
    assert_eq!((next[0].class, next[0].attempt), (RSS, 2));
    pass(secs(250)).await;
    assert_eq!(seen(9), (2, vec![secs(300), secs(400)]));
    assert_eq!(desk.engine.scheduled(UpstreamId(99), 9), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn the_last_errors_are_told_as_before_a_restart() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    for said in [
        "it answered 503",
        "it answered 503",
        "no such host",
        "it answered 503",
    ] {
        let call = desk.ready("x", Step::Said(Outcome::Broken, said));
        let ended = desk.engine.submit(job(one, RSS), call).await;
        assert_eq!(ended, Ended::Finished(Outcome::Broken));
        desk.engine.clear(one, "me");
        pass(secs(5)).await;
    }
    let told = [
        (1, "it answered 503".to_owned()),
        (1, "no such host".to_owned()),
        (2, "it answered 503".to_owned()),
    ];
    assert_eq!(words(&desk, one), told);
    let before = desk.engine.upstream(one).unwrap().errors;
    stop(desk).await;
    pass(secs(10)).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(words(&desk, one), told);
    let after = desk.engine.upstream(one).unwrap().errors;
    for (before, after) in before.iter().zip(&after) {
        let apart = before.last.until(after.last) + after.last.until(before.last);
        assert!(apart < secs(1), "{before:?}, then {after:?}");
    }
    // Removed and back in the same run, it still has them.
    assert_eq!(desk.engine.named("one"), Some(one));
    desk.engine.remove_upstream(one);
    assert_eq!(desk.engine.named("one"), None);
    let again = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(words(&desk, again), told);
}
