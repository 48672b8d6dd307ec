//! What is handed to the keeper, and when.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_engine::dispatch::{UpstreamId, Window, Windows};
use weir_engine::{AgendaChange, Changes, Keeper, Outcome};
use weir_store::state::SERIES;

use crate::kit::*;

#[derive(Default)]
struct Shelf {
    kept: Mutex<Vec<Changes>>,
    log: Mutex<Option<Log>>,
    /// How many calls had started when the first rows came.
    started_before: Mutex<Option<usize>>,
}

impl Keeper for Shelf {
    fn changed(&self, front: &'static str, changes: Changes) {
        assert_eq!(front, "test");
        if let Some(log) = &*self.log.lock() {
            let started = log.0.lock().len();
            self.started_before.lock().get_or_insert(started);
        }
        self.kept.lock().push(changes);
    }
}

impl Shelf {
    /// How often rows came, and how often what happened.
    fn rows(&self) -> usize {
        let kept = self.kept.lock();
        kept.iter()
            .filter(|kept| !kept.upstreams.is_empty())
            .count()
    }

    /// How often the past of an upstream was written.
    fn pasts(&self) -> usize {
        self.texts(|name| name != SERIES).len()
    }

    /// What was written of the front's series.
    fn series(&self) -> Vec<String> {
        self.texts(|name| name == SERIES)
    }

    fn texts(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let kept = self.kept.lock();
        let pasts = kept.iter().flat_map(|kept| &kept.pasts);
        let wanted = pasts.filter(|past| is_wanted(&past.name));
        wanted.map(|past| past.text.clone()).collect()
    }
}

fn desk(policy: weir_engine::dispatch::Policy) -> (Desk, Arc<Shelf>) {
    let shelf = Arc::new(Shelf::default());
    let desk = Desk::with(policy, |options| options.keeper = Some(shelf.clone()));
    *shelf.log.lock() = Some(desk.log.clone());
    (desk, shelf)
}

fn hourly(desk: &Desk) -> UpstreamId {
    let mut quota = quota(secs(0), 1);
    quota.query = Windows::from([(Window::HOUR, 10)]);
    desk.engine.add_upstream("hourly", quota, secs(30))
}

#[tokio::test(start_paused = true)]
async fn a_start_under_an_hour_window_is_kept_before_the_call_is_made() {
    let (desk, shelf) = desk(policy());
    let one = hourly(&desk);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("a"))
        .await;
    assert_eq!(*shelf.started_before.lock(), Some(0));
    let kept = shelf.kept.lock();
    let row = &kept[0].upstreams[0];
    assert_eq!((row.upstream, &*row.name), (one, "hourly"));
    assert_eq!(row.row.query[0].starts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn everything_else_is_kept_within_a_second_and_only_once() {
    let (desk, shelf) = desk(policy());
    let one = desk.upstream("one", secs(0), 1);
    for _ in 0..100 {
        desk.engine
            .submit(job(one, INTERACTIVE), desk.done("a"))
            .await;
    }
    assert!(shelf.kept.lock().is_empty());
    pass(secs(1)).await;
    assert_eq!(shelf.rows(), 1);
    pass(secs(3600)).await;
    assert_eq!(shelf.rows(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_kept_within_a_minute_and_at_a_stop() {
    let (desk, shelf) = desk(policy());
    let one = desk.upstream("one", secs(0), 1);
    let call = || desk.engine.submit(job(one, INTERACTIVE), desk.done("a"));
    call().await;
    pass(secs(59)).await;
    assert_eq!(shelf.pasts(), 0);
    pass(secs(1)).await;
    assert_eq!(shelf.pasts(), 1);
    pass(secs(3600)).await;
    assert_eq!(shelf.pasts(), 1, "nothing has changed");
    // That Weir ran is noted now and then, in few bytes.
    let series = shelf.series();
    assert!((5..=7).contains(&series.len()), "{}", series.len());
    assert!(series.iter().all(|text| text.len() < 600), "{series:?}");
    call().await;
    desk.engine.shutdown(secs(1)).await;
    assert_eq!(shelf.pasts(), 2);
}

#[tokio::test(start_paused = true)]
async fn rows_are_kept_as_often_as_is_configured() {
    let shelf = Arc::new(Shelf::default());
    let desk = Desk::with(policy(), |options| {
        options.keeper = Some(shelf.clone());
        options.write_every = secs(60);
    });
    let one = desk.upstream("one", secs(0), 1);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("a"))
        .await;
    pass(secs(40)).await;
    assert!(shelf.kept.lock().is_empty());
    pass(secs(20)).await;
    assert_eq!(shelf.rows(), 1);
}

#[tokio::test(start_paused = true)]
async fn scheduled_jobs_are_kept_with_the_fronts_bytes_until_they_leave() {
    let mut policy = policy();
    policy.attempts = 2;
    policy.retry_base = secs(60);
    let (desk, shelf) = desk(policy);
    let one = desk.upstream("one", secs(0), 1);
    let call = desk.ready("bytes", Step::Outcome(Outcome::Unavailable));
    call.answer();
    let ticket = desk.engine.submit(job(one, INTERACTIVE), call);
    pass(secs(2)).await;
    let changes: Vec<_> = shelf
        .kept
        .lock()
        .drain(..)
        .flat_map(|changes| changes.agenda)
        .collect();
    let [AgendaChange::Put { row, kept, .. }] = &changes[..] else {
        panic!("{changes:?}");
    };
    assert_eq!(
        (row.upstream, row.attempts_made, &kept[..]),
        (one, 1, &b"bytes"[..])
    );
    let job = row.job;
    ticket.await;
    pass(secs(2)).await;
    let changes: Vec<_> = shelf
        .kept
        .lock()
        .drain(..)
        .flat_map(|changes| changes.agenda)
        .collect();
    assert_eq!(changes, [AgendaChange::Gone(job)]);
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_keeps_the_agenda() {
    let (desk, shelf) = desk(policy());
    let one = desk.upstream("one", secs(0), 1);
    let mut later = job(one, INTERACTIVE);
    later.not_before = desk.engine.timeline().now() + secs(600);
    desk.engine.submit_detached(later, desk.done("later"));
    desk.engine.shutdown(secs(1)).await;
    let changes: Vec<_> = shelf
        .kept
        .lock()
        .drain(..)
        .flat_map(|changes| changes.agenda)
        .collect();
    assert!(
        matches!(&changes[..], [AgendaChange::Put { .. }]),
        "{changes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_kept_comes_back() {
    let (desk, shelf) = desk(policy());
    let one = hourly(&desk);
    let throttled = Outcome::Throttled {
        retry_after: Some(secs(600)),
    };
    let call = desk.ready("a", Step::Outcome(throttled));
    desk.engine.submit(job(one, INTERACTIVE), call).await;
    desk.engine.switch_off(one, "why", "who");
    pass(secs(1)).await;
    let row = shelf
        .kept
        .lock()
        .pop()
        .expect("it was kept")
        .upstreams
        .remove(0);
    let after = Desk::new(policy());
    let again = hourly(&after);
    let kept = weir_engine::RestoredUpstream {
        row: row.row,
        off: row.off,
        memory: row.memory,
        past: None,
    };
    after.engine.restore(again, &kept);
    let (old, new) = (desk.engine.upstream(one), after.engine.upstream(again));
    let (old, new) = (old.expect("it is there"), new.expect("it is there"));
    assert_eq!(old.status.cooldown, new.status.cooldown);
    assert_eq!(old.off, new.off);
    assert_eq!(new.status.query[0].used, 1);
}

/// A call whose front panics when it is asked what to keep.
struct Unkept;

impl weir_engine::Call for Unkept {
    fn attempt(&self, _: weir_engine::Permit) -> futures_util::future::BoxFuture<'_, Outcome> {
        Box::pin(std::future::ready(Outcome::Done))
    }

    fn keep(&self) -> Option<Vec<u8>> {
        panic!("kept")
    }
}

#[tokio::test(start_paused = true)]
async fn a_front_that_panics_while_keeping_loses_only_its_own_entry() {
    let (desk, shelf) = desk(policy());
    let one = desk.upstream("one", secs(0), 1);
    let mut later = job(one, INTERACTIVE);
    later.not_before = desk.engine.timeline().now() + secs(600);
    desk.engine.submit_detached(later, Arc::new(Unkept));
    desk.engine.submit_detached(later, desk.done("kept"));
    pass(secs(2)).await;
    let kept = shelf
        .kept
        .lock()
        .drain(..)
        .flat_map(|changes| changes.agenda)
        .count();
    assert_eq!(kept, 2, "one put, one left out");
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("next"))
        .await;
    assert_eq!(desk.started(), ["next"]);
}
