//! Many askers, one call.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;
use weir_engine::dispatch::{
    Asker, Budget, Class, Job, Skip, UpstreamId, Usage, Wait, What, Window,
};
use weir_engine::{Call, Ended, Flights, Follower, Got, Landing, Outcome, Permit, Record};

use crate::kit::*;

type Kept = Arc<Mutex<Vec<(&'static str, u32)>>>;

struct Tower {
    desk: Desk,
    flights: Flights<&'static str, u32>,
    kept: Kept,
    one: UpstreamId,
}

/// Keeps an answer and puts it into the flight once the hand below says so.
struct Fetch {
    hand: Arc<Hand>,
    kept: Kept,
    landing: Landing<&'static str, u32>,
    answer: u32,
}

impl Call for Fetch {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move {
            let outcome = self.hand.run(&permit).await;
            if outcome == Outcome::Done {
                self.kept.lock().push((self.landing.key(), self.answer));
                self.landing.put(Arc::new(self.answer));
            }
            outcome
        }
        .boxed()
    }
}

/// Says at once what is wrong, and ends when the hand below says so.
struct Complain {
    hand: Arc<Hand>,
    landing: Landing<&'static str, u32>,
}

impl Call for Complain {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move {
            self.landing.put_last(Arc::new(7));
            self.hand.run(&permit).await
        }
        .boxed()
    }
}

impl Tower {
    fn new() -> Self {
        let desk = Desk::new(policy());
        let one = desk.upstream("one", secs(60), 1);
        Self {
            flights: Flights::new(desk.engine.clone()),
            desk,
            kept: Kept::default(),
            one,
        }
    }

    fn job(&self, class: Class, asker: u32) -> Job {
        Job {
            asker: Asker(asker),
            ..job(self.one, class)
        }
    }

    fn join(&self, class: Class, asker: u32, hand: &Arc<Hand>) -> Follower<&'static str, u32> {
        self.join_with(self.job(class, asker), asker, hand)
    }

    fn join_with(&self, job: Job, answer: u32, hand: &Arc<Hand>) -> Follower<&'static str, u32> {
        let (hand, kept) = (hand.clone(), self.kept.clone());
        self.flights.join("key", job, |landing| {
            Some(Arc::new(Fetch {
                hand,
                kept,
                landing,
                answer,
            }))
        })
    }

    /// Uses up the slot, so that what comes next is queued.
    async fn occupy(&self) {
        let done = self.desk.done("before");
        self.desk
            .engine
            .submit(job(self.one, INTERACTIVE), done)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn rss_from_two_programs_is_one_call_whose_answer_both_get() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let first = tower.join(RSS, 1, &hand);
    let second = tower.join(RSS, 2, &hand);
    assert!(first.leads() && !second.leads());
    let leaders = [first.leader(), second.leader()];
    assert_eq!(leaders, [Asker(1); 2]);
    hand.answer();
    assert_eq!(second.await, Ok(Arc::new(1)));
    assert_eq!(first.await, Ok(Arc::new(1)));
    settle().await;
    assert_eq!(tower.desk.started(), ["call"]);
    assert!(tower.flights.is_empty());
    assert_eq!(Arc::strong_count(&hand), 1, "the call is dropped");
    assert_eq!(*tower.kept.lock(), [("key", 1)]);
    assert_eq!(tower.desk.engine.status().counters.shared, 1);
    let decisions = tower.desk.engine.decisions(tower.one, None, 9);
    let shared = What::Shared {
        with: Asker(1),
        after: secs(0),
    };
    let shared = decisions.iter().find(|decision| decision.what == shared);
    assert_eq!(shared.map(|decision| decision.asker), Some(Asker(2)));
}

/// A follower told any sooner would see an open upstream, and tell its client to come back at once.
#[tokio::test(start_paused = true)]
async fn what_went_wrong_is_told_when_the_upstream_cools_down() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let call = hand.clone();
    let job = tower.job(INTERACTIVE, 1);
    let follower = tower.flights.join("key", job, |landing| {
        let hand = call;
        Some(Arc::new(Complain { hand, landing }))
    });
    settle().await;
    assert_eq!(follower.result(), None);
    let retry_after = Some(secs(77));
    hand.give(Step::Outcome(Outcome::Throttled { retry_after }));
    assert_eq!(follower.await, Ok(Arc::new(7)));
    let until = tower.desk.engine.rests([tower.one]);
    assert!(until[0].is_some());
}

#[tokio::test(start_paused = true)]
async fn an_interactive_follower_of_a_background_flight_starts_within_its_own_gap() {
    let tower = Tower::new();
    tower.occupy().await;
    let hand = tower.desk.call("call");
    let background = tower.join(BACKGROUND, 1, &hand);
    pass(secs(3)).await;
    let interactive = tower.join(INTERACTIVE, 2, &hand);
    hand.answer();
    assert_eq!(interactive.await, Ok(Arc::new(1)));
    assert_eq!(background.await, Ok(Arc::new(1)));
    assert_eq!(tower.desk.starts("call"), [secs(6)]);
}

#[tokio::test(start_paused = true)]
async fn the_leader_may_leave_without_taking_followers_along() {
    let tower = Tower::new();
    tower.occupy().await;
    let hand = tower.desk.call("call");
    let leader = tower.join(INTERACTIVE, 1, &hand);
    let follower = tower.join(INTERACTIVE, 2, &hand);
    drop(leader);
    hand.answer();
    assert_eq!(follower.await, Ok(Arc::new(1)));
}

#[tokio::test(start_paused = true)]
async fn when_the_last_follower_leaves_a_queued_job_is_cancelled() {
    let tower = Tower::new();
    tower.occupy().await;
    let hand = tower.desk.call("call");
    let (a, b) = (
        tower.join(INTERACTIVE, 1, &hand),
        tower.join(INTERACTIVE, 2, &hand),
    );
    drop(a);
    assert_eq!(tower.desk.engine.status().counts.queued, 1);
    drop(b);
    assert_eq!(tower.desk.engine.status().counts.queued, 0);
    assert!(tower.flights.is_empty());
    pass(secs(60)).await;
    assert_eq!(tower.desk.started(), ["before"]);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_that_nobody_waits_for_ends_and_its_answer_is_kept() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let follower = tower.join(INTERACTIVE, 7, &hand);
    settle().await;
    drop(follower);
    hand.answer();
    settle().await;
    assert_eq!(*tower.kept.lock(), [("key", 7)]);
    assert!(tower.flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_panics_ends_and_those_who_joined_later_get_another_call() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let leader = tower.join(INTERACTIVE, 1, &hand);
    settle().await;
    let late = tower.join(INTERACTIVE, 2, &hand);
    hand.give(Step::Panic);
    hand.answer();
    assert_eq!(leader.await, Err(Ended::Panicked));
    assert_eq!(late.await, Ok(Arc::new(1)));
    assert_eq!(tower.desk.starts("call"), [secs(0), secs(6)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_ends_for_its_leader_and_is_made_again_for_the_late() {
    let tower = Tower::new();
    let hand = tower.desk.ready("call", Step::Never);
    let leader = tower.join(INTERACTIVE, 1, &hand);
    pass(secs(10)).await;
    let late = tower.join(INTERACTIVE, 2, &hand);
    hand.answer();
    assert_eq!(leader.await, Err(Ended::TimedOut));
    // The upstream cools down first, for a minute after the failure.
    assert_eq!(late.await, Ok(Arc::new(1)));
    assert_eq!(tower.desk.starts("call"), [secs(0), secs(90)]);
}

#[tokio::test(start_paused = true)]
async fn what_kept_the_call_from_happening_is_told_to_all() {
    let tower = Tower::new();
    tower.occupy().await;
    tower.desk.engine.hold();
    let hand = tower.desk.call("call");
    let (a, b) = (
        tower.join(COMPLETION, 1, &hand),
        tower.join(COMPLETION, 2, &hand),
    );
    tower.desk.engine.switch_off(tower.one, "reason", "who");
    // Whoever looks late is told why it was, not why it would be now; the records say the same.
    tower.desk.engine.switch_on(tower.one, "me");
    tower.desk.engine.switch_off(tower.one, "another", "who");
    for follower in [a, b] {
        let Err(Ended::Skipped(told)) = follower.await else {
            panic!("it is skipped");
        };
        assert_eq!(told.cause.as_deref(), Some("reason"));
    }
    let records = tower.desk.engine.decisions(tower.one, None, 99);
    let skips = records.iter();
    let skips = skips.filter(|one| matches!(one.what, What::Skipped(_)));
    let causes: Vec<_> = skips.map(|one| one.cause.as_deref()).collect();
    assert_eq!(causes, [Some("reason"); 2]);
    let failed = tower.join(RSS, 3, &hand);
    assert!(matches!(failed.result(), Some(Err(Ended::Skipped(_)))));
}

#[tokio::test(start_paused = true)]
async fn an_answer_found_in_the_cache_needs_no_call() {
    let tower = Tower::new();
    let follower = tower.flights.join("key", tower.job(RSS, 1), |landing| {
        landing.put(Arc::new(42));
        None
    });
    assert_eq!(follower.await, Ok(Arc::new(42)));
    assert!(tower.flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_start_that_panics_leaves_no_flight_behind() {
    let tower = Tower::new();
    let job = tower.job(RSS, 1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tower.flights.join("key", job, |_| panic!("in start"))
    }));
    assert!(panicked.is_err());
    assert!(tower.flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_flight_beyond_its_age_takes_no_more_followers() {
    let tower = Tower::new();
    let two = tower
        .desk
        .engine
        .add_upstream("two", quota(secs(0), 2), secs(300));
    let hand = tower.desk.call("call");
    let join = || tower.join_with(job(two, INTERACTIVE), 1, &hand);
    let old = join();
    // Calls are allowed less time now; the one under way may still end as it began.
    tower.desk.engine.set_time_out(two, secs(30));
    pass(secs(29)).await;
    assert!(tower.flights.is_under_way(&"key"));
    pass(secs(2)).await;
    assert!(!tower.flights.is_under_way(&"key"), "nobody may join it");
    let new = join();
    assert!(new.leads());
    settle().await;
    hand.answer();
    hand.answer();
    assert_eq!(old.await, Ok(Arc::new(1)));
    assert_eq!(new.await, Ok(Arc::new(1)));
    settle().await;
    assert!(tower.flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_flights_too() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let follower = tower.join(RSS, 1, &hand);
    settle().await;
    drop(tower.join(RSS, 2, &hand));
    tower.desk.engine.shutdown(secs(1)).await;
    assert_eq!(follower.await, Err(Ended::Shutdown));
    assert!(tower.flights.is_empty());
    assert_eq!(Arc::strong_count(&tower.kept), 1, "the call is dropped");
}

#[tokio::test(start_paused = true)]
async fn a_flight_is_under_way_from_the_moment_in_which_its_slot_is_used() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let follower = tower.join(INTERACTIVE, 1, &hand);
    // No task has run since, but whoever looks now finds the slot used up.
    let (_, why) = tower
        .desk
        .engine
        .next_wait(tower.one, INTERACTIVE, Budget::Query);
    assert_eq!(why, Some(Wait::Gap));
    assert!(tower.flights.is_under_way(&"key"));
    hand.answer();
    assert_eq!(follower.await, Ok(Arc::new(1)));
    settle().await;
    let queued = tower.join(INTERACTIVE, 2, &hand);
    assert!(!tower.flights.is_under_way(&"key"), "it waits for its gap");
    assert!(!tower.flights.is_under_way(&"another"));
    drop(queued);
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_when_a_cooldown_puts_its_call_off() {
    let tower = Tower::new();
    let (first, second) = (tower.desk.call("first"), tower.desk.call("second"));
    let engine = &tower.desk.engine;
    engine.submit_detached(job(tower.one, INTERACTIVE), first.clone());
    let follower = tower.join(INTERACTIVE, 1, &second);
    let deadline = Instant::now() + secs(15);
    let put_off = follower.put_off(deadline);
    tokio::pin!(put_off);
    pass(secs(5)).await;
    assert!(
        futures_util::poll!(put_off.as_mut()).is_pending(),
        "1 s is left"
    );
    let retry_after = Some(secs(3600));
    first.give(Step::Outcome(Outcome::Throttled { retry_after }));
    let told = tokio::time::timeout(millis(1), put_off).await;
    assert_eq!(told, Ok((secs(3600), Wait::Cooldown)));
    assert_eq!(follower.result(), None, "the flight goes on");
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_when_the_slot_goes_to_another_and_not_when_it_is_its_own() {
    let tower = Tower::new();
    tower.occupy().await;
    let engine = &tower.desk.engine;
    let other = tower.desk.call("other");
    engine.submit_detached(job(tower.one, INTERACTIVE), other.clone());
    let hand = tower.desk.call("call");
    let follower = tower.join(INTERACTIVE, 1, &hand);
    // Slots are free at 6 and 12 s; after the first of them nobody can get one before 8 s.
    let soon = Instant::now() + secs(8);
    assert_eq!(follower.put_off(soon).await, (secs(6), Wait::Gap));
    assert_eq!(tower.desk.starts("other"), [secs(6)]);
    other.answer();
    let own = tokio::time::timeout(secs(60), follower.put_off(soon + secs(5))).await;
    assert!(own.is_err(), "its own call is being made: {own:?}");
    assert_eq!(tower.desk.starts("call"), [secs(12)]);
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_of_a_quota_that_shrinks() {
    let tower = Tower::new();
    tower.occupy().await;
    let hand = tower.desk.call("call");
    let follower = tower.join(INTERACTIVE, 1, &hand);
    let put_off = follower.put_off(Instant::now() + secs(15));
    tokio::pin!(put_off);
    assert!(futures_util::poll!(put_off.as_mut()).is_pending());
    let usage = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 1,
        used: Some(1),
    };
    tower.desk.engine.observe(tower.one, usage);
    let (wait, reason) = put_off.await;
    assert_eq!(reason, Wait::Window);
    assert!(wait > secs(15), "{wait:?}");
}

fn kinds(tower: &Tower) -> Vec<(u32, What)> {
    let records = tower.desk.engine.decisions(tower.one, None, 99);
    let all = records.iter().rev().map(|one| (one.asker.0, one.what));
    all.collect()
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_before_the_answer_has_shared_nothing() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let first = tower.join(RSS, 1, &hand);
    let second = tower.join(RSS, 2, &hand);
    settle().await;
    assert_eq!(
        tower.desk.engine.status().counters.shared,
        0,
        "not on joining"
    );
    drop(second);
    hand.answer();
    first.await.expect("it is answered");
    let counters = tower.desk.engine.status().counters;
    assert_eq!((counters.asked, counters.sent), (2, 1));
    assert_eq!((counters.shared, counters.cancelled), (0, 1));
    assert!(!kinds(&tower).iter().any(|(asker, _)| *asker == 2));
    assert_eq!(counters.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_shares_a_failure_got_nothing() {
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let first = tower.join(RSS, 1, &hand);
    let second = tower.join(RSS, 2, &hand);
    settle().await;
    hand.give(Step::Panic);
    assert!(first.await.is_err());
    drop(second);
    let tower = Tower::new();
    let hand = tower.desk.call("call");
    let (one, two) = {
        let join = |asker| {
            let hand = hand.clone();
            tower.flights.join("key", tower.job(RSS, asker), |landing| {
                Some(Arc::new(Complain { hand, landing }))
            })
        };
        (join(1), join(2))
    };
    hand.give(Step::Outcome(Outcome::Broken));
    one.await.expect("a word");
    two.await.expect("a word");
    let records = tower.desk.engine.decisions(tower.one, None, 9);
    let shared = records
        .iter()
        .find(|one| matches!(one.what, What::Shared { .. }));
    assert_eq!(shared.expect("it is told").got, Some(Got::Nothing));
}

/// Whoever is told that a call comes too late counts as skipped; the call made later is Weir's own.
#[tokio::test(start_paused = true)]
async fn a_call_that_comes_too_late_is_skipped_for_its_asker_and_made_for_the_next() {
    let tower = Tower::new();
    tower.occupy().await;
    let hand = tower.desk.call("late");
    let mut leader = tower.join(COMPLETION, 1, &hand);
    let mut follower = tower.join(COMPLETION, 2, &hand);
    let skip = Skip {
        reason: Wait::Gap,
        wait: Some(secs(42)),
        limit: None,
    };
    let age = secs(660);
    leader.miss(skip, Got::Nothing);
    follower.miss(skip, Got::Cached { age });
    let counters = tower.desk.engine.status().counters;
    assert_eq!((counters.asked, counters.sent, counters.skipped), (3, 1, 2));
    assert_eq!(counters.waiting(), 0);
    hand.answer();
    leader.await.expect("it is answered");
    follower.await.expect("it is answered");
    let counters = tower.desk.engine.status().counters;
    assert_eq!((counters.asked, counters.sent, counters.skipped), (4, 2, 2));
    assert_eq!((counters.shared, counters.waiting()), (0, 0));
    let records = tower.desk.engine.decisions(tower.one, None, 99);
    let missed = records
        .iter()
        .filter(|one| one.what == What::Missed(skip))
        .map(|one| (one.asker.0, one.got));
    let expected = [(2, Some(Got::Cached { age })), (1, Some(Got::Nothing))];
    assert_eq!(missed.collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_call_under_way_tells_what_its_leader_got_instead() {
    let tower = Tower::new();
    let hand = tower.desk.call("slow");
    let mut leader = tower.join(COMPLETION, 1, &hand);
    settle().await;
    assert!(leader.is_called());
    let skip = Skip {
        reason: Wait::Gap,
        wait: None,
        limit: None,
    };
    leader.miss(skip, Got::Nothing);
    let told = || -> Vec<_> {
        let records = tower.desk.engine.decisions(tower.one, None, 9);
        let ended = |one: &Record| one.end.is_some();
        records.iter().map(|one| (one.got, ended(one))).collect()
    };
    assert_eq!(told(), [(Some(Got::Nothing), false)]);
    hand.answer();
    leader.await.expect("it is answered");
    assert_eq!(told(), [(Some(Got::Nothing), true)]);
}

/// Whoever leaves while the call is under way is not told that its upstream was switched off or has no slot.
#[tokio::test(start_paused = true)]
async fn leaving_a_call_under_way_is_told_as_such_and_what_was_got_may_come_later() {
    let tower = Tower::new();
    let hand = tower.desk.call("slow");
    let leader = tower.join(COMPLETION, 1, &hand);
    let mut follower = tower.join(COMPLETION, 2, &hand);
    settle().await;
    let skip = Skip {
        reason: Wait::Gap,
        wait: Some(secs(0)),
        limit: Some(secs(4)),
    };
    let told = follower.miss(skip, None).expect("it is recorded");
    let newest = || tower.desk.engine.decisions(tower.one, None, 1).remove(0);
    assert_eq!(newest().what, What::Missed(Skip { wait: None, ..skip }));
    assert_eq!((Some(newest().number), newest().got), (told.number, None));
    let receipt = follower.receipt().expect("there is a record");
    tower.desk.engine.note_given(&receipt, Got::Elsewhere);
    assert_eq!(newest().got, Some(Got::Elsewhere));
    hand.answer();
    leader.await.expect("it is answered");
}
