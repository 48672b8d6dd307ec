//! A restart: windows, cooldowns, switches and the agenda come back, whatever the wall clock did in between.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_engine::dispatch::policy::Quota;
use weir_engine::dispatch::{Availability, Budget, UpstreamId, Usage, Wait, Window, Windows};
use weir_engine::{Outcome, Restored, Rows, Timeline};
use weir_store::state::{MemoryState, State, Wall};

use crate::kit::*;

/// A machine: its store, and its wall clock, which can be set.
pub(crate) struct Machine {
    store: Arc<MemoryState>,
    /// The wall time at which tokio's clock said this.
    wall: Arc<Mutex<(SystemTime, Instant)>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            store: Arc::new(MemoryState::new()),
            wall: Arc::new(Mutex::new((wall(), Instant::now()))),
        }
    }

    pub(crate) fn set_clock(&self, to: impl FnOnce(SystemTime) -> SystemTime) {
        let now = self.now();
        *self.wall.lock() = (to(now), Instant::now());
    }

    /// Upstreams that are gone by now are forgotten, with all that is kept of them.
    pub(crate) fn forget_all(&self) {
        self.store.forget(Wall(i64::MAX)).expect("memory forgets");
    }

    fn now(&self) -> SystemTime {
        let (wall, at) = *self.wall.lock();
        wall + at.elapsed()
    }

    /// Starts a Weir on this machine.
    pub(crate) fn start(
        &self,
        policy: weir_engine::dispatch::Policy,
    ) -> (Desk, Arc<Rows>, Restored) {
        let timeline = Timeline::starting_at(self.now());
        let clock = self.wall.clone();
        let clock = Arc::new(move || {
            let (wall, at) = *clock.lock();
            wall + at.elapsed()
        });
        let (rows, restored) =
            Rows::load("test", self.store.clone(), timeline, clock).expect("memory can be read");
        let keeper = rows.clone();
        let desk = Desk::with(policy, |options| {
            options.timeline = timeline;
            options.keeper = Some(keeper);
        });
        (desk, rows, restored)
    }
}

pub(crate) fn limited() -> Quota {
    let mut quota = quota(secs(0), 1);
    quota.query = Windows::from([(Window::HOUR, 3)]);
    quota
}

/// Adds an upstream as a front does, with what was kept for it.
pub(crate) fn add(desk: &Desk, restored: &Restored, name: &str, quota: Quota) -> UpstreamId {
    let id = desk.engine.add_upstream(name, quota, secs(30));
    if let Some(kept) = restored.upstreams.get(name) {
        desk.engine.restore(id, kept);
    }
    id
}

pub(crate) async fn stop(desk: Desk) {
    desk.engine.shutdown(secs(1)).await;
}

pub(crate) fn state(desk: &Desk, id: UpstreamId) -> Availability {
    let view = desk.engine.upstream(id);
    view.expect("it is there").status.state
}

pub(crate) async fn throttle(desk: &Desk, id: UpstreamId, span: Duration) {
    let throttled = Outcome::Throttled {
        retry_after: Some(span),
    };
    let call = desk.ready("throttled", Step::Outcome(throttled));
    desk.engine.submit(job(id, INTERACTIVE), call).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_of_a_quota_keeps_the_count() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    for _ in 0..2 {
        let call = desk.done("before");
        desk.engine.submit(job(one, INTERACTIVE), call).await;
        pass(secs(60)).await;
    }
    // Cut off, not stopped: a reservation is kept before its call is made.
    drop(desk);
    pass(secs(600)).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    for _ in 0..2 {
        let call = desk.done("after");
        desk.engine.submit_detached(job(one, INTERACTIVE), call);
    }
    pass(secs(1)).await;
    assert_eq!(desk.started(), ["after"], "the third of three");
    // The first start was 720 s before this one began.
    pass(secs(3600 - 720)).await;
    assert_eq!(desk.started(), ["after", "after"]);
}

#[tokio::test(start_paused = true)]
async fn windows_of_any_length_and_limits_told_for_them_come_back() {
    const DAY: u64 = 86_400;
    let month = Window::of_seconds(30 * DAY as u32);
    let minutes = Window::of_seconds(300);
    let mut quota = quota(secs(0), 1);
    quota.query = Windows::from([(Window::DAY, 9), (month, 3)]);
    let machine = Machine::new();
    let uses = |desk: &Desk, id| -> Vec<(Window, u32, u32, bool)> {
        let windows = desk.engine.upstream(id).unwrap().status.query;
        let one = windows
            .iter()
            .map(|window| (window.window, window.used, window.limit, window.learned));
        one.collect()
    };
    for day in 1..4 {
        // Each time a Weir that is cut off, not stopped.
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota.clone());
        let call = desk.done("a call a day");
        desk.engine.submit(job(one, INTERACTIVE), call).await;
        let usage = Usage {
            budget: Budget::Query,
            window: minutes,
            limit: 5,
            used: Some(day),
        };
        desk.engine.observe(one, usage);
        let told = (minutes, day, 5, true);
        let configured = [(Window::DAY, 1, 9, false), (month, day, 3, false)];
        assert_eq!(uses(&desk, one), [vec![told], configured.to_vec()].concat());
        pass(secs(2)).await;
        drop(desk);
        machine.set_clock(|now| now + secs(DAY - 2));
    }
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota);
    let kept = [
        (minutes, 0, 5, true),
        (Window::DAY, 0, 9, false),
        (month, 3, 3, false),
    ];
    assert_eq!(uses(&desk, one), kept);
    let (wait, reason) = desk.engine.next_wait(one, INTERACTIVE, Budget::Query);
    assert_eq!((wait.as_secs(), reason), (27 * DAY, Some(Wait::Window)));
}

#[tokio::test(start_paused = true)]
async fn cooldowns_rungs_switches_and_learned_limits_come_back() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let cooling = add(&desk, &restored, "cooling", quota(secs(0), 1));
    let failing = add(&desk, &restored, "failing", quota(secs(0), 1));
    let off = add(&desk, &restored, "off", quota(secs(0), 1));
    throttle(&desk, cooling, secs(1000)).await;
    let call = desk.ready("failing", Step::Outcome(Outcome::Unavailable));
    desk.engine.submit(job(failing, INTERACTIVE), call).await;
    desk.engine.switch_off(off, "account renewal", "operator");
    let usage = Usage {
        budget: weir_engine::dispatch::Budget::Query,
        window: Window::DAY,
        limit: 100,
        used: Some(40),
    };
    desk.engine.observe(cooling, usage);
    stop(desk).await;
    pass(secs(400)).await;
    let (desk, _, restored) = machine.start(policy());
    let cooling = add(&desk, &restored, "cooling", quota(secs(0), 1));
    let failing = add(&desk, &restored, "failing", quota(secs(0), 1));
    let off = add(&desk, &restored, "off", quota(secs(0), 1));
    assert!(matches!(
        state(&desk, cooling),
        Availability::Cooldown { .. }
    ));
    assert_eq!(state(&desk, failing), Availability::Probing);
    assert_eq!(desk.engine.upstream(failing).unwrap().status.rung, 1);
    assert_eq!(state(&desk, off), Availability::Off);
    let view = desk.engine.upstream(off).unwrap();
    assert_eq!(view.off.unwrap().reason, "account renewal");
    let day = desk.engine.upstream(cooling).unwrap().status.query[0];
    assert_eq!((day.used, day.limit, day.learned), (40, 100, true));
    pass(secs(601)).await;
    assert_eq!(state(&desk, cooling), Availability::Probing);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_was_forgotten_does_not_come_back() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let usage = Usage {
        budget: Budget::Query,
        window: Window::DAY,
        limit: 100,
        used: Some(40),
    };
    desk.engine.observe(one, usage);
    // Written once, then forgotten with the cooldown.
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("a"))
        .await;
    desk.engine.clear(one, "me");
    stop(desk).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let status = desk.engine.upstream(one).unwrap().status;
    assert!(status.query.iter().all(|window| !window.learned));
}

#[tokio::test(start_paused = true)]
async fn the_agenda_comes_back_soonest_first() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    for (name, seconds) in [("third", 900), ("first", 300), ("second", 600)] {
        let mut later = job(one, BACKGROUND);
        later.not_before = desk.engine.timeline().now() + secs(seconds);
        desk.engine.submit_detached(later, desk.done(name));
    }
    stop(desk).await;
    let agenda = machine.start(policy()).2.agenda;
    let kept: Vec<_> = agenda.iter().map(|job| &job.kept[..]).collect();
    assert_eq!(kept, [&b"first"[..], b"second", b"third"]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_makes_no_start_forgotten() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    for _ in 0..2 {
        desk.engine
            .submit(job(one, INTERACTIVE), desk.done("before"))
            .await;
        pass(secs(60)).await;
    }
    machine.set_clock(|now| now + secs(3 * 3600));
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("after"))
        .await;
    stop(desk).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    let hour = desk.engine.upstream(one).unwrap().status.query[0];
    assert!(hour.used >= 3, "all were made within the hour: {hour:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_an_upstream_follows_the_clock_too() {
    for hours in [-3i64, 3] {
        let machine = Machine::new();
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        let two = add(&desk, &restored, "two", quota(secs(0), 1));
        let failing = Step::Said(Outcome::Unavailable, "it answered 503");
        desk.engine
            .submit(job(one, INTERACTIVE), desk.ready("one", failing))
            .await;
        let before = desk.engine.upstream(one).unwrap();
        pass(secs(60)).await;
        let span = secs(3600 * hours.unsigned_abs());
        machine.set_clock(|now| if hours < 0 { now - span } else { now + span });
        desk.engine
            .submit(job(two, INTERACTIVE), desk.done("two"))
            .await;
        pass(secs(60)).await;
        // Cut off: nothing is written for `one` again.
        drop(desk);
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        let after = desk.engine.upstream(one).unwrap();
        let moved = |moment: weir_engine::dispatch::Moment| match hours < 0 {
            true => moment - span,
            false => moment + span,
        };
        assert_eq!(after.last_call, before.last_call.map(moved), "{hours} h");
        let error = before.last_error.map(|(at, words)| (moved(at), words));
        assert_eq!(after.last_error, error, "{hours} h");
        let (before, after) = (before.trouble.unwrap(), after.trouble.unwrap());
        assert_eq!(after.since, moved(before.since), "{hours} h");
        assert_eq!(after.began, moved(before.began), "{hours} h");
    }
}

#[tokio::test(start_paused = true)]
async fn the_agenda_comes_back_once_and_is_not_early() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    let mut later = job(one, BACKGROUND);
    later.not_before = desk.engine.timeline().now() + secs(600);
    desk.engine.submit_detached(later, desk.done("later"));
    stop(desk).await;
    for round in 0..3 {
        // Each start puts it back, and none doubles it.
        let (desk, rows, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        assert_eq!(restored.agenda.len(), 1);
        let kept = &restored.agenda[0];
        assert_eq!(
            (&*kept.upstream, kept.class, &kept.kept[..]),
            ("one", BACKGROUND, &b"later"[..])
        );
        let mut again = job(one, kept.class);
        again.not_before = kept.due;
        desk.engine.reschedule(again, desk.done("later"));
        rows.settle(&desk.engine, &["one"]);
        assert_eq!(desk.started(), Vec::<String>::new());
        // Killed right after, or stopped.
        if round < 2 {
            drop(desk);
        } else {
            pass(secs(2)).await;
            stop(desk).await;
        }
    }
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let mut again = job(one, BACKGROUND);
    again.not_before = restored.agenda[0].due;
    desk.engine.reschedule(again, desk.done("later"));
    rows.settle(&desk.engine, &["one"]);
    pass(secs(597)).await;
    assert_eq!(desk.started(), Vec::<String>::new());
    pass(secs(2)).await;
    assert_eq!(desk.started(), ["later"]);
    stop(desk).await;
    assert!(machine.start(policy()).2.agenda.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_while_running_moves_what_is_kept() {
    for hours in [-3i64, 3] {
        let machine = Machine::new();
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        let two = add(&desk, &restored, "two", quota(secs(0), 1));
        throttle(&desk, one, secs(1000)).await;
        pass(secs(10)).await;
        let span = secs(3600 * hours.unsigned_abs());
        machine.set_clock(|now| if hours < 0 { now - span } else { now + span });
        // Anything that is kept makes the store follow.
        let call = desk.done("two");
        desk.engine.submit(job(two, INTERACTIVE), call).await;
        stop(desk).await;
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        pass(secs(980)).await;
        assert!(
            matches!(state(&desk, one), Availability::Cooldown { .. }),
            "{hours} h: too early"
        );
        pass(secs(20)).await;
        assert_eq!(
            state(&desk, one),
            Availability::Probing,
            "{hours} h: too late"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_while_stopped_makes_no_cooldown_endless() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    throttle(&desk, one, secs(1000)).await;
    stop(desk).await;
    machine.set_clock(|now| now - secs(10 * 365 * 86_400));
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", limited());
    let Availability::Cooldown { until } = state(&desk, one) else {
        panic!("{:?}", state(&desk, one));
    };
    let now = desk.engine.timeline().now();
    assert!(
        now.until(until) <= secs(86_400),
        "cut to the longest there is"
    );
    let hour = desk.engine.upstream(one).unwrap().status.query[0];
    assert_eq!(hour.used, 1, "the start counts as made now");
    assert!(now.until(hour.next) <= secs(3600));
}

#[tokio::test(start_paused = true)]
async fn upstreams_that_are_gone_are_marked_and_unmarked() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("a"))
        .await;
    rows.settle(&desk.engine, &[]);
    stop(desk).await;
    let gone = |machine: &Machine| {
        use weir_store::state::{State, Wall};
        machine
            .store
            .load("test", Wall(i64::MAX))
            .unwrap()
            .upstreams[0]
            .row
            .gone
    };
    assert!(gone(&machine).is_some());
    let (desk, rows, _) = machine.start(policy());
    rows.settle(&desk.engine, &["one"]);
    assert_eq!(gone(&machine), None);
}
