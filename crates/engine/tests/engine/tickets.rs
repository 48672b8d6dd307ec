//! Interest: who wants a job, and what happens when nobody does.

use crate::kit::*;
use weir_engine::{Ended, Outcome};

#[tokio::test(start_paused = true)]
async fn dropping_a_ticket_cancels_a_queued_job() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let first = desk.call("first");
    desk.engine
        .submit_detached(job(one, INTERACTIVE), first.clone());
    drop(
        desk.engine
            .submit(job(one, INTERACTIVE), desk.done("unwanted")),
    );
    assert_eq!(desk.engine.status().counters.cancelled, 1);
    first.answer();
    settle().await;
    assert_eq!(desk.started(), ["first"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_ticket_does_not_cut_a_running_call() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.call("running");
    let ticket = desk.engine.submit(job(one, INTERACTIVE), call.clone());
    settle().await;
    drop(ticket);
    call.answer();
    settle().await;
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.figures.requests[weir_engine::Kind::Done as usize], 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_wants_any_more_has_no_further_attempt() {
    let mut policy = policy();
    policy.attempts = 3;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.call("a");
    let ticket = desk.engine.submit(job(one, INTERACTIVE), call.clone());
    settle().await;
    drop(ticket);
    call.give(Step::Outcome(Outcome::Unavailable));
    pass(secs(60)).await;
    assert_eq!(desk.started(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_kept_ticket_lets_the_job_go_on() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("kept"))
        .keep();
    desk.engine.release();
    settle().await;
    assert_eq!(desk.started(), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_queued_job_and_leaves_a_running_one() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.call("running");
    let running = desk.engine.submit(job(one, INTERACTIVE), call.clone());
    let queued = desk
        .engine
        .submit(job(one, INTERACTIVE), desk.done("queued"));
    settle().await;
    assert!(desk.engine.cancel(queued.job().expect("it is queued")));
    assert!(!desk.engine.cancel(running.job().expect("it is under way")));
    assert_eq!(queued.await, Ended::Cancelled);
    call.answer();
    assert_eq!(running.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.started(), ["running"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_job_twice_is_called_once_and_both_are_told() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let mut same = job(one, RSS);
    same.pending = key(9);
    let call = desk.call("a");
    let first = desk.engine.submit(same, call.clone());
    let second = desk.engine.submit(same, desk.done("b"));
    assert_eq!(first.job(), second.job());
    call.answer();
    assert_eq!(second.await, Ended::Finished(Outcome::Done));
    assert_eq!(first.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.started(), ["a"]);
    assert_eq!(desk.engine.status().counters.duplicates, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_two_wanted_goes_on_for_the_second() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    let mut same = job(one, RSS);
    same.pending = key(9);
    let first = desk.engine.submit(same, desk.done("a"));
    let second = desk.engine.submit(same, desk.done("b"));
    drop(first);
    desk.engine.release();
    assert_eq!(second.await, Ended::Finished(Outcome::Done));
}

#[tokio::test(start_paused = true)]
async fn a_fire_and_forget_job_is_not_cancelled_by_a_ticket_that_joined_it() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    let mut same = job(one, RSS);
    same.pending = key(9);
    desk.engine.submit_detached(same, desk.done("a"));
    drop(desk.engine.submit(same, desk.done("b")));
    desk.engine.release();
    settle().await;
    assert_eq!(desk.started(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_somebody_wants_without_waiting_for_it_goes_on() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    let mut same = job(one, RSS);
    same.pending = key(9);
    let ticket = desk.engine.submit(same, desk.done("a"));
    desk.engine.submit_detached(same, desk.done("b"));
    drop(ticket);
    desk.engine.release();
    settle().await;
    assert_eq!(desk.started(), ["a"]);
}
