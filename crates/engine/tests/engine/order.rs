//! Submission, delivery and order.

use crate::kit::*;
use weir_engine::dispatch::What;
use weir_engine::{Ended, Outcome};

#[tokio::test(start_paused = true)]
async fn a_submitted_job_is_called_and_its_ticket_told() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 4);
    let ticket = desk.engine.submit(job(one, INTERACTIVE), desk.done("a"));
    assert!(ticket.job().is_some());
    assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.started(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_call_said_comes_back_unchanged() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 4);
    let throttled = Outcome::Throttled {
        retry_after: Some(secs(60)),
    };
    for outcome in [Outcome::No, Outcome::Unavailable, throttled] {
        let call = desk.ready("a", Step::Outcome(outcome));
        let ticket = desk.engine.submit(job(one, INTERACTIVE), call);
        assert_eq!(ticket.await, Ended::Finished(outcome));
        desk.engine.clear(one, "me");
    }
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_class_goes_first_and_each_class_in_order() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    for (name, class) in [
        ("background", BACKGROUND),
        ("rss-1", RSS),
        ("interactive", INTERACTIVE),
        ("rss-2", RSS),
    ] {
        desk.engine
            .submit_detached(job(one, class), desk.done(name));
    }
    desk.engine.release();
    settle().await;
    assert_eq!(
        desk.started(),
        ["interactive", "rss-1", "rss-2", "background"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_raised_job_overtakes() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    desk.engine.submit_detached(job(one, RSS), desk.done("rss"));
    let low = desk
        .engine
        .submit_detached(job(one, BACKGROUND), desk.done("low"))
        .expect("it is queued");
    assert!(desk.engine.raise(low, INTERACTIVE));
    assert!(!desk.engine.raise(low, RSS));
    desk.engine.release();
    settle().await;
    assert_eq!(desk.started(), ["low", "rss"]);
    let raised = desk.engine.decisions(one, None, 10);
    assert!(
        raised
            .iter()
            .any(|decision| decision.what == What::Raised { from: BACKGROUND })
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_for_later_starts_then_and_not_before() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let mut later = job(one, INTERACTIVE);
    later.not_before = desk.engine.timeline().now() + millis(12_345);
    desk.engine.submit_detached(later, desk.done("later"));
    pass(secs(12)).await;
    assert_eq!(desk.started(), [""; 0]);
    pass(secs(1)).await;
    assert_eq!(desk.starts("later"), [millis(12_345)]);
}

#[tokio::test(start_paused = true)]
async fn jobs_come_from_threads_outside_the_runtime() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 4);
    let (engine, call) = (desk.engine.clone(), desk.done("a"));
    let thread = std::thread::spawn(move || engine.submit(job(one, INTERACTIVE), call));
    let ticket = thread.join().expect("it does not panic");
    assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
}

#[tokio::test(start_paused = true)]
async fn calls_with_one_order_key_never_overlap() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 4);
    let mut ordered = job(one, INTERACTIVE);
    ordered.order = key(5);
    let first = desk.call("first");
    desk.engine.submit_detached(ordered, first.clone());
    desk.engine.submit_detached(ordered, desk.done("second"));
    desk.engine
        .submit_detached(job(one, RSS), desk.done("other"));
    settle().await;
    assert_eq!(desk.started(), ["first", "other"]);
    first.answer();
    settle().await;
    assert_eq!(desk.started(), ["first", "other", "second"]);
}
