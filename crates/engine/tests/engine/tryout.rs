//! Tryouts: one call for somebody who is about to add an upstream.

use crate::kit::*;
use weir_engine::{Ended, Kind, Outcome};

#[tokio::test(start_paused = true)]
async fn an_upstream_that_is_not_known_is_called_and_leaves_no_trace() {
    let desk = Desk::new(policy());
    let rejected = Step::Outcome(Outcome::Broken);
    for call in [desk.done("good"), desk.ready("bad", rejected)] {
        let ended = desk.engine.try_out(None, quota(secs(9), 1), secs(30), call);
        assert!(matches!(ended.await, Ended::Finished(_)));
    }
    assert_eq!(desk.started(), ["good", "bad"]);
    let status = desk.engine.status();
    assert_eq!((status.counters.sent, status.counters.asked), (0, 0));
    assert!(desk.engine.upstreams(0, usize::MAX).is_empty());
    assert!(desk.engine.vitals().missing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_known_is_called_as_itself_though_it_cools_down() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(9), 1);
    desk.engine.switch_off(one, "for the test", "the test");
    let quota = quota(secs(9), 1);
    let tried = desk
        .engine
        .try_out(Some(one), quota, secs(30), desk.done("it"));
    assert_eq!(tried.await, Ended::Finished(Outcome::Done));
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.figures.requests[Kind::Done as usize], 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_ends_and_so_does_one_that_nobody_waits_for() {
    let desk = Desk::new(policy());
    let silent = desk.call("silent");
    let weak = std::sync::Arc::downgrade(&silent);
    let tried = desk
        .engine
        .try_out(None, quota(secs(0), 1), secs(30), silent);
    assert_eq!(tried.await, Ended::TimedOut);
    settle().await;
    assert!(weak.upgrade().is_none(), "nothing holds it any more");
    let left = desk.call("left");
    let weak = std::sync::Arc::downgrade(&left);
    let tried = desk
        .engine
        .try_out(None, quota(secs(0), 1), secs(3000), left);
    assert!(tokio::time::timeout(secs(1), tried).await.is_err());
    settle().await;
    assert!(weak.upgrade().is_none(), "nothing holds it any more");
}
