//! Every job ends exactly once: panics, time-outs, removal, shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;
use weir_engine::dispatch::{Availability, DropReason};
use weir_engine::{Call, Ended, Kind, Outcome, Permit};

use crate::kit::*;

#[tokio::test(start_paused = true)]
async fn a_panic_ends_its_job_and_frees_the_slot() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let bad = desk
        .engine
        .submit(job(one, RSS), desk.ready("bad", Step::Panic));
    let good = desk.engine.submit(job(one, RSS), desk.done("good"));
    assert_eq!(bad.await, Ended::Panicked);
    assert_eq!(good.await, Ended::Finished(Outcome::Done));
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.status.state, Availability::Open);
    assert_eq!(view.figures.requests[Kind::Panicked as usize], 1);
    let (_, words) = view.last_error.expect("it is told");
    assert!(words.contains("as the test wished"), "{words}");
}

/// Panics before there is a future.
struct Rash;

impl Call for Rash {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        panic!("not even a future")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_future_is_one_too() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let bad = desk.engine.submit(job(one, RSS), Arc::new(Rash));
    assert_eq!(bad.await, Ended::Panicked);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cut_and_counts_as_a_failure() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let ticket = desk
        .engine
        .submit(job(one, RSS), desk.ready("a", Step::Never));
    let begun = Instant::now();
    assert_eq!(ticket.await, Ended::TimedOut);
    assert_eq!(begun.elapsed(), secs(30));
    let view = desk.engine.upstream(one).expect("it is there");
    let state = view.status.state;
    assert!(matches!(state, Availability::Cooldown { .. }), "{state:?}");
    let (_, words) = view.last_error.expect("it is told");
    assert_eq!(&*words, "it did not answer within 30 s");
}

/// Always has something to do, like a call whose upstream never stops sending: it uses up the budget that the
/// runtime gives its task and asks for more. It gives up in the end, so that a test of it ends.
struct Busy;

impl Call for Busy {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        async {
            for _ in 0..1_000_000 {
                tokio::task::consume_budget().await;
            }
            Outcome::Done
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_pauses_is_cut_at_its_time_out() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let ticket = desk.engine.submit(job(one, RSS), Arc::new(Busy));
    settle().await;
    tokio::time::advance(secs(31)).await;
    assert_eq!(ticket.await, Ended::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_pauses_is_cut_at_shutdown() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let ticket = desk.engine.submit(job(one, RSS), Arc::new(Busy));
    settle().await;
    let shutdown = desk.engine.shutdown(secs(0));
    let (ended, _) = tokio::join!(ticket, shutdown);
    assert_eq!(ended, Ended::Shutdown);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_has_another_attempt_where_any_is_left() {
    let mut policy = policy();
    policy.attempts = 2;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.ready("a", Step::Never);
    call.answer();
    let ticket = desk.engine.submit(job(one, RSS), call);
    assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.started(), ["a", "a"]);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_goes_takes_its_jobs_along() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.call("running");
    let running = desk.engine.submit(job(one, RSS), call.clone());
    let queued = desk.engine.submit(job(one, RSS), desk.done("queued"));
    settle().await;
    desk.engine.remove_upstream(one);
    assert_eq!(queued.await, Ended::Dropped(DropReason::Gone));
    call.answer();
    assert_eq!(running.await, Ended::Finished(Outcome::Done));
    assert!(desk.engine.upstream(one).is_none());
    assert_eq!(desk.engine.status().upstreams, 0);
}

#[tokio::test(start_paused = true)]
async fn switching_off_ends_queued_jobs_and_a_probe_passes_all_the_same() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.hold();
    let queued = desk.engine.submit(job(one, RSS), desk.done("queued"));
    desk.engine.release();
    drop(queued);
    desk.engine.switch_off(one, "account renewal", "operator");
    let refused = desk
        .engine
        .submit(job(one, INTERACTIVE), desk.done("refused"));
    assert!(matches!(refused.await, Ended::Skipped(_)));
    let off = desk.engine.upstream(one).and_then(|view| view.off);
    let off = off.expect("it is off");
    assert_eq!((&*off.reason, &*off.who), ("account renewal", "operator"));
    let probe = desk
        .engine
        .probe(one, desk.done("probe"), Default::default());
    assert_eq!(probe.await, Ended::Finished(Outcome::Done));
    desk.engine.switch_on(one, "me");
    let asked = desk
        .engine
        .submit(job(one, INTERACTIVE), desk.done("asked"));
    assert_eq!(asked.await, Ended::Finished(Outcome::Done));
}

/// Counts the calls and their futures that are not dropped.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicU32>);

impl Alive {
    fn one(&self) -> Life {
        self.0.fetch_add(1, Ordering::SeqCst);
        Life(self.0.clone())
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Life(Arc<AtomicU32>);

impl std::ops::Drop for Life {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Mortal {
    hand: Arc<Hand>,
    alive: Alive,
    _life: Life,
}

impl Call for Mortal {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        let life = self.alive.one();
        async move {
            let _life = life;
            self.hand.run(&permit).await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_every_job_within_the_drain_time_and_leaves_nothing() {
    let desk = Desk::new(policy());
    let alive = Alive::default();
    let mortal = |step| {
        Arc::new(Mortal {
            hand: desk.ready("a", step),
            alive: alive.clone(),
            _life: alive.one(),
        })
    };
    let one = desk.upstream("one", secs(0), 3);
    let quick = desk
        .engine
        .submit(job(one, RSS), mortal(Step::Take(secs(4))));
    let endless = desk.engine.submit(job(one, RSS), mortal(Step::Never));
    let busy = desk.engine.submit(job(one, RSS), mortal(Step::Never));
    let queued = desk.engine.submit(job(one, RSS), mortal(Step::Never));
    let mut later = job(one, RSS);
    later.not_before = desk.engine.timeline().now() + secs(99);
    let scheduled = desk.engine.submit(later, mortal(Step::Never));
    settle().await;
    assert_eq!(alive.count(), 5 + 3);
    let begun = Instant::now();
    desk.engine.shutdown(secs(10)).await;
    assert_eq!(begun.elapsed(), secs(10));
    assert_eq!(alive.count(), 0);
    let ends = [&quick, &endless, &busy, &queued, &scheduled].map(|ticket| ticket.ended());
    let cut = Some(Ended::Shutdown);
    let done = Some(Ended::Finished(Outcome::Done));
    assert_eq!(ends, [done, cut.clone(), cut.clone(), cut.clone(), cut]);
    let late = desk.engine.submit(job(one, RSS), mortal(Step::Never));
    assert_eq!(late.ended(), Some(Ended::Shutdown));
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_longer_than_the_calls() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 3);
    let call = desk.ready("a", Step::Take(secs(2)));
    let ticket = desk.engine.submit(job(one, RSS), call);
    settle().await;
    let begun = Instant::now();
    desk.engine.shutdown(secs(10)).await;
    assert_eq!(begun.elapsed(), secs(2));
    assert_eq!(ticket.ended(), Some(Ended::Finished(Outcome::Done)));
}

/// A call whose leftovers panic when they are dropped.
struct Brittle;

impl Call for Brittle {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        struct Remains;
        impl std::ops::Drop for Remains {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        Box::pin(async {
            let _remains = Remains;
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_cut_call_is_dropped_frees_its_slot() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let ended = desk
        .engine
        .submit(job(one, INTERACTIVE), Arc::new(Brittle))
        .await;
    assert_eq!(ended, Ended::Panicked);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("next"))
        .await;
    assert_eq!(desk.started(), ["next"]);
}

/// A call that notes what it is told at its end.
struct Noting {
    hand: Arc<Hand>,
    name: &'static str,
    ends: Arc<Mutex<Vec<(&'static str, Ended)>>>,
}

impl Call for Noting {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move { self.hand.run(&permit).await }.boxed()
    }

    fn ended(&self, ended: Ended) {
        self.ends.lock().push((self.name, ended));
        assert_ne!(self.name, "rash", "as the test wished");
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_hears_of_its_end_once_made_or_not() {
    let mut policy = policy();
    policy.attempts = 2;
    let desk = Desk::new(policy);
    let ends = Arc::<Mutex<Vec<_>>>::default();
    let noting = |name, steps: &[Step]| {
        let hand = desk.call(name);
        steps.iter().for_each(|step| hand.give(*step));
        let ends = ends.clone();
        Arc::new(Noting { hand, name, ends })
    };
    let take_ends = || std::mem::take(&mut *ends.lock());
    let done = Ended::Finished(Outcome::Done);
    let done_step = Step::Outcome(Outcome::Done);
    let one = desk.upstream("one", secs(0), 1);

    let unavailable = Step::Outcome(Outcome::Unavailable);
    let twice = noting("twice", &[unavailable, done_step]);
    assert_eq!(desk.engine.submit(job(one, INTERACTIVE), twice).await, done);
    assert_eq!(take_ends(), [("twice", done)], "not after each attempt");

    let panics = noting("panics", &[Step::Panic]);
    desk.engine.submit(job(one, INTERACTIVE), panics).await;
    assert_eq!(take_ends(), [("panics", Ended::Panicked)]);

    let slow = noting("slow", &[Step::Never, Step::Never]);
    desk.engine.submit(job(one, INTERACTIVE), slow).await;
    assert_eq!(take_ends(), [("slow", Ended::TimedOut)]);
    desk.engine.clear(one, "me");

    desk.engine.hold();
    let mut same = job(one, INTERACTIVE);
    same.pending = key(7);
    let first = desk.engine.submit(same, noting("first", &[done_step]));
    let second = desk.engine.submit(same, noting("second", &[]));
    assert_eq!(take_ends(), [("second", Ended::Cancelled)], "not needed");
    drop((first, second));
    assert_eq!(take_ends(), [("first", Ended::Cancelled)]);

    let two = desk.upstream("two", secs(0), 1);
    desk.engine
        .submit_detached(job(two, RSS), noting("queued", &[]));
    desk.engine.remove_upstream(two);
    let gone = Ended::Dropped(DropReason::Gone);
    assert_eq!(take_ends(), [("queued", gone.clone())]);
    desk.engine
        .submit_detached(job(two, RSS), noting("late", &[]));
    assert_eq!(take_ends(), [("late", gone)], "within the submission");

    let rash = noting("rash", &[]);
    let ticket = desk.engine.submit(job(one, RSS), rash);
    desk.engine.shutdown(secs(0)).await;
    assert_eq!(take_ends(), [("rash", Ended::Shutdown)]);
    assert_eq!(ticket.ended(), Some(Ended::Shutdown), "told all the same");
}
