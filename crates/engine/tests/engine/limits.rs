//! Spacing, windows, max-wait, calls in flight, workers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::kit::*;
use weir_engine::dispatch::{
    Asker, Availability, Budget, DropReason, Job, Skip, Wait, What, Window, Windows,
};
use weir_engine::{About, Call, Ended, Engine, Got, Outcome, Permit};

#[tokio::test(start_paused = true)]
async fn spacing_holds_the_next_start_back_by_the_share_of_its_class() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(60), 1);
    for name in ["first", "second", "third"] {
        desk.engine
            .submit_detached(job(one, INTERACTIVE), desk.done(name));
    }
    pass(secs(20)).await;
    assert_eq!(desk.starts("first"), [secs(0)]);
    assert_eq!(desk.starts("second"), [secs(6)]);
    assert_eq!(desk.starts("third"), [secs(12)]);
}

#[tokio::test(start_paused = true)]
async fn a_used_up_window_blocks_until_it_has_room() {
    let desk = Desk::new(policy());
    let mut two_a_minute = quota(secs(0), 4);
    two_a_minute.query = Windows::from([(Window::MINUTE, 2)]);
    let one = desk.engine.add_upstream("one", two_a_minute, secs(30));
    for name in ["a", "b", "c"] {
        desk.engine
            .submit_detached(job(one, INTERACTIVE), desk.done(name));
    }
    pass(secs(59)).await;
    assert_eq!(desk.started(), ["a", "b"]);
    pass(secs(2)).await;
    assert_eq!(desk.starts("c"), [secs(60)]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_upstream_is_left_alone_as_long_as_it_asked() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let throttled = Outcome::Throttled {
        retry_after: Some(secs(90)),
    };
    let call = desk.ready("told", Step::Outcome(throttled));
    desk.engine.submit_detached(job(one, INTERACTIVE), call);
    let held = desk.engine.submit(job(one, INTERACTIVE), desk.done("held"));
    assert_eq!(held.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.starts("held"), [secs(90)]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_fails_is_made_again_after_a_wait_with_jitter() {
    let mut policy = policy();
    policy.attempts = 3;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.call("a");
    for outcome in [Outcome::Unavailable, Outcome::Unavailable, Outcome::Done] {
        call.give(Step::Outcome(outcome));
    }
    let ticket = desk.engine.submit(job(one, INTERACTIVE), call);
    assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
    let starts = desk.starts("a");
    let waits = [starts[1] - starts[0], starts[2] - starts[1]];
    assert!((500..=751).contains(&waits[0].as_millis()), "{waits:?}");
    assert!((1000..=1501).contains(&waits[1].as_millis()), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_wants_to_be_asked_again_is() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.ready("a", Step::Outcome(Outcome::Again { after: secs(120) }));
    call.answer();
    let ticket = desk.engine.submit(job(one, INTERACTIVE), call);
    assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.starts("a"), [secs(0), secs(120)]);
}

#[tokio::test(start_paused = true)]
async fn max_wait_of_a_class_skips() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(60), 1);
    desk.engine
        .submit_detached(job(one, INTERACTIVE), desk.done("first"));
    let rss = desk.engine.submit(job(one, RSS), desk.done("rss"));
    let skip = Skip {
        reason: Wait::Gap,
        wait: Some(secs(30)),
        limit: Some(secs(15)),
    };
    let Ended::Skipped(told) = rss.await else {
        panic!("it is skipped");
    };
    assert_eq!(told.skip, skip);
    let recorded = desk.engine.decisions(one, None, 1).remove(0);
    assert_eq!((told.at, recorded.what), (recorded.at, What::Skipped(skip)));
    assert_eq!(told.until(), Some(recorded.at + secs(30)));
    // Background may wait a minute, which is just what it has to.
    let background = desk
        .engine
        .submit(job(one, BACKGROUND), desk.done("background"));
    assert_eq!(background.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.started(), ["first", "background"]);
}

#[tokio::test(start_paused = true)]
async fn a_skip_is_told_with_the_reason_and_the_time_of_its_record() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let throttled = |seconds, words| {
        let retry_after = Some(secs(seconds));
        desk.ready(
            "call",
            Step::Said(Outcome::Throttled { retry_after }, words),
        )
    };
    let first = desk.engine.submit(
        job(one, INTERACTIVE),
        throttled(600, "it asked for ten minutes"),
    );
    first.await;
    let skipped = desk.engine.submit(job(one, RSS), desk.done("rss"));
    let recorded = desk.engine.decisions(one, None, 1).remove(0);
    pass(secs(5)).await;
    let probe = throttled(1200, "it asked for twenty minutes");
    desk.engine.probe(one, probe, Default::default()).await;
    let trouble = desk.engine.upstream(one).and_then(|view| view.trouble);
    assert_eq!(
        &*trouble.expect("it cools down").reason,
        "it asked for twenty minutes"
    );
    let Ended::Skipped(told) = skipped.await else {
        panic!("it is skipped");
    };
    assert_eq!(told.cause.as_deref(), Some("it asked for ten minutes"));
    assert_eq!((told.at, &told.cause), (recorded.at, &recorded.cause));
    assert_eq!(told.until(), Some(recorded.at + secs(600)));
}

#[tokio::test(start_paused = true)]
async fn max_wait_given_with_the_job_counts_instead() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(60), 1);
    desk.engine
        .submit_detached(job(one, INTERACTIVE), desk.done("first"));
    let with = |class, max_wait| {
        let mut job = job(one, class);
        job.max_wait = Some(max_wait);
        job
    };
    let impatient = desk
        .engine
        .submit(with(INTERACTIVE, secs(5)), desk.done("impatient"));
    assert!(matches!(
        impatient.await,
        Ended::Skipped(told) if told.skip.limit.is_some()
    ));
    let patient = desk
        .engine
        .submit(with(RSS, secs(31)), desk.done("patient"));
    assert_eq!(patient.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.starts("patient"), [secs(30)]);
}

#[tokio::test(start_paused = true)]
async fn never_more_calls_in_flight_than_the_upstream_allows() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 2);
    let calls: Vec<_> = (0..4).map(|_| desk.call("a")).collect();
    for call in &calls {
        desk.engine
            .submit_detached(job(one, INTERACTIVE), call.clone());
    }
    pass(secs(5)).await;
    assert_eq!(desk.started().len(), 2);
    calls[0].answer();
    settle().await;
    assert_eq!(desk.started().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn never_more_calls_than_workers_until_they_give_their_slots_back() {
    let mut policy = policy();
    policy.crew.base = 2;
    policy.crew.max = 2;
    let desk = Desk::new(policy);
    for name in ["a", "b", "c", "d", "e"] {
        let upstream = desk.upstream(name, secs(0), 1);
        desk.engine
            .submit_detached(job(upstream, INTERACTIVE), desk.call(name));
    }
    settle().await;
    assert_eq!(desk.started(), ["a", "b"]);
    pass(millis(999)).await;
    assert_eq!(desk.started(), ["a", "b"]);
    pass(millis(1)).await;
    assert_eq!(desk.started(), ["a", "b", "c", "d"]);
    let counts = desk.engine.status().counts;
    assert_eq!((counts.busy, counts.waiting), (2, 2));
    pass(secs(1)).await;
    assert_eq!(desk.starts("e"), [secs(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_answers_at_once() {
    let mut policy = policy();
    policy.capacity = 3;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    for _ in 0..3 {
        desk.engine.submit_detached(job(one, RSS), desk.done("a"));
    }
    let late = desk.engine.submit(job(one, RSS), desk.done("late"));
    assert_eq!(late.ended(), Some(Ended::Dropped(DropReason::QueueFull)));
}

#[tokio::test(start_paused = true)]
async fn learned_limits_hold_and_a_lower_quota_too() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 4);
    desk.engine.set_quota(one, quota(secs(600), 1));
    desk.engine
        .submit_detached(job(one, INTERACTIVE), desk.done("a"));
    desk.engine
        .submit_detached(job(one, INTERACTIVE), desk.done("b"));
    pass(secs(61)).await;
    assert_eq!(desk.starts("b"), [secs(60)]);
}

#[tokio::test(start_paused = true)]
async fn a_skip_that_the_front_decides_is_recorded_and_counted_without_a_job() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(60), 1);
    let asked = Job {
        asker: Asker(7),
        ..job(one, RSS)
    };
    let skip = Skip {
        reason: Wait::Gap,
        wait: Some(secs(30)),
        limit: Some(secs(15)),
    };
    let about = About::Text("linux".into());
    desk.engine.note_skip(&asked, &about, skip, Got::Nothing);
    let counters = desk.engine.status().counters;
    assert_eq!((counters.asked, counters.skipped, counters.sent), (1, 1, 0));
    let decision = desk.engine.decisions(one, None, 9).remove(0);
    assert_eq!(decision.what, What::Skipped(skip));
    assert_eq!((decision.class, decision.asker), (Some(RSS), Asker(7)));
    assert_eq!((decision.about, decision.got), (about, Some(Got::Nothing)));
    desk.engine.remove_upstream(one);
    let about = About::Text("linux".into());
    desk.engine.note_skip(&asked, &about, skip, Got::Nothing);
    let counters = desk.engine.status().counters;
    assert_eq!(
        (counters.asked, counters.dropped),
        (2, 1),
        "nobody skips what is gone"
    );
}

/// What it was for is over when its turn comes; and what the counters said at that moment.
struct Over(Engine, Arc<Mutex<Vec<(u64, u64)>>>);

impl Call for Over {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        let counters = self.0.status().counters;
        self.1.lock().push((counters.sent, counters.cancelled));
        Box::pin(std::future::ready(Outcome::Moot))
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_counted_as_sent_stays_counted() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let other = desk.call("under way");
    let two = desk.upstream("two", secs(0), 1);
    desk.engine.submit_detached(job(two, RSS), other.clone());
    settle().await;
    let over = Arc::new(Over(desk.engine.clone(), seen.clone()));
    desk.engine.submit(job(one, RSS), over).await;
    assert_eq!(*seen.lock(), [(1, 0)], "the other one, which is under way");
    let counters = desk.engine.status().counters;
    assert_eq!((counters.asked, counters.waiting()), (2, 0));
    assert_eq!((counters.sent, counters.cancelled), (1, 1));
    other.answer();
    settle().await;
    assert_eq!(desk.engine.status().counters, counters);
}

/// A slot that whoever asked uses.
struct MadeElsewhere;

impl Call for MadeElsewhere {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(std::future::ready(Outcome::Elsewhere))
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_somebody_else_uses_waits_and_counts_like_a_call() {
    let desk = Desk::new(policy());
    let mut one_a_minute = quota(secs(0), 1);
    one_a_minute.grab = Windows::from([(Window::MINUTE, 1)]);
    let one = desk.engine.add_upstream("one", one_a_minute, secs(30));
    let grab = Job {
        budget: Budget::Grab,
        ..job(one, INTERACTIVE)
    };
    let take_turn = || desk.engine.submit(grab, Arc::new(MadeElsewhere));
    let turn = take_turn().await;
    assert_eq!(turn, Ended::Finished(Outcome::Elsewhere));
    let (wait, why) = desk.engine.next_wait(one, INTERACTIVE, Budget::Grab);
    assert_eq!((wait, why), (secs(60), Some(Wait::Window)));
    let next = tokio::time::Instant::now();
    assert_eq!(take_turn().await, Ended::Finished(Outcome::Elsewhere));
    assert_eq!(next.elapsed(), secs(60));
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.status.state, Availability::Untried);
    assert_eq!(desk.engine.status().counters.sent, 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_as_long_as_it_says_or_else_its_class() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let own = Job {
        max_wait: Some(secs(3)),
        ..job(one, RSS)
    };
    assert_eq!(desk.engine.max_wait(&own), Some(secs(3)));
    assert_eq!(desk.engine.max_wait(&job(one, RSS)), Some(secs(15)));
    assert_eq!(desk.engine.max_wait(&job(one, INTERACTIVE)), None);
}
