//! Restart: what was counted and planned is kept, also when the clock jumped.

use weir_dispatch::{
    After, Availability, Budget, Finish, Job, Moment, Policy, Quota, Usage, Wait, Window, Windows,
};

use crate::front::*;

fn limited() -> Quota {
    Quota {
        gaps: GAPS.map(secs),
        query: Windows::from([(Window::HOUR, 2)]),
        ..in_flight(5)
    }
}

#[test]
fn windows_spacing_and_cooldown_are_as_they_were() {
    let (mut front, up) = Front::with(search(), limited());
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.pass(10);
    front.call(job(up, INTERACTIVE), throttled(500));
    front.queue(job(up, INTERACTIVE));
    front.restart(at(20));
    assert_eq!(front.queued(), 0, "what is queued is lost");
    assert_eq!(front.state(up), Availability::Cooldown { until: at(510) });
    let view = front.view(up);
    assert_eq!(view.last_start, Some(at(10)));
    assert_eq!((view.query[0].used, view.query[0].next), (2, at(HOUR)));
    let wait = front.wait(up, INTERACTIVE, Budget::Query);
    assert_eq!(wait, (secs(HOUR - 20), Some(Wait::Window)));
}

#[test]
fn windows_of_any_length_are_as_they_were() {
    let month = Window::of_seconds(30 * DAY as u32);
    let quota = |limits: &[(Window, u32)]| Quota {
        grab: limits.iter().copied().collect(),
        ..in_flight(5)
    };
    let limits = [(Window::of_seconds(300), 3), (month, 4)];
    let (mut front, up) = Front::with(search(), quota(&limits));
    let grab = Job {
        budget: Budget::Grab,
        ..job(up, INTERACTIVE)
    };
    for day in [0, 1, 2] {
        front.now = at(day * DAY);
        front.call(grab, Finish::Done);
    }
    front.restart(at(20 * DAY));
    let used = |front: &mut Front| {
        let windows = front.view(up).grab;
        windows.into_iter().map(|window| window.used).collect()
    };
    let now: Vec<u32> = used(&mut front);
    assert_eq!(now, [0, 3]);
    front.call(grab, Finish::Done);
    let wait = front.wait(up, INTERACTIVE, Budget::Grab);
    assert_eq!(wait, (secs(10 * DAY), Some(Wait::Window)));
    // A window that is no longer configured is forgotten, and begins empty when it is back.
    front.set_quota(up, quota(&limits[..1]));
    front.restart(at(20 * DAY + 1));
    front.set_quota(up, quota(&limits));
    assert_eq!(used(&mut front), [1, 0]);
}

#[test]
fn with_the_clock_jumped_back_a_start_in_the_future_counts_as_now() {
    let (mut front, up) = Front::with(search(), limited());
    front.now = at(DAY);
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.restart(at(5));
    let view = front.view(up);
    assert_eq!(view.last_start, Some(at(5)));
    assert_eq!(view.query[0].used, 1);
    let wait = front.wait(up, INTERACTIVE, Budget::Query);
    assert_eq!(wait, (secs(6), Some(Wait::Gap)));
}

#[test]
fn with_the_clock_jumped_back_an_end_is_cut_to_the_longest_of_its_kind() {
    let rejected = Finish::Rejected { at_least: None };
    for (policy, finish, disables) in [
        (search(), throttled(60), false),
        (search(), Finish::Unavailable, false),
        (disabling(), Finish::Unavailable, true),
        (search(), rejected, true),
    ] {
        let (mut front, up) = Front::with(policy, in_flight(1));
        front.now = at(400 * DAY);
        front.call(job(up, INTERACTIVE), finish);
        let rung = front.rung(up);
        front.restart(at(0));
        let until = at(DAY);
        let expected = if disables {
            Availability::Disabled { until }
        } else {
            Availability::Cooldown { until }
        };
        assert_eq!((front.state(up), front.rung(up)), (expected, rung));
    }
}

/// One failure shows as disabled.
fn disabling() -> Policy {
    let mut policy = search();
    policy.failure.threshold_disables = true;
    policy
}

#[test]
fn a_cooldown_of_the_fronts_own_may_be_longer_than_what_an_upstream_may_ask_for() {
    let mut policy = tracker();
    policy.failure.throttled = Some(secs(3 * DAY));
    for (finish, expected) in [
        (throttled(60), Availability::Cooldown { until: at(3 * DAY) }),
        (
            Finish::Rejected { at_least: None },
            Availability::Disabled { until: at(DAY) },
        ),
    ] {
        let (mut front, up) = Front::with(policy.clone(), in_flight(1));
        front.now = at(400 * DAY);
        front.call(job(up, INITIAL), finish);
        front.restart(at(0));
        assert_eq!(front.state(up), expected);
    }
}

#[test]
fn with_the_clock_jumped_ahead_windows_are_empty_and_cooldowns_are_over() {
    let (mut front, up) = Front::with(search(), limited());
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    front.restart(at(10 * DAY));
    assert_eq!(
        front.state(up),
        Availability::Probing,
        "a success has still to come"
    );
    assert_eq!(front.view(up).query[0].used, 0);
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    assert_eq!(front.rung(up), 2, "the ladder goes on");
}

#[test]
fn a_limit_that_was_told_is_kept_for_half_a_window() {
    let (mut front, up) = Front::with(search(), in_flight(5));
    let usage = Usage {
        budget: Budget::Grab,
        window: Window::DAY,
        limit: 5,
        used: Some(3),
    };
    front.observe(up, usage);
    assert!(front.both.real.is_limited(up, Budget::Grab));
    front.restart(at(60));
    assert!(front.both.real.is_limited(up, Budget::Grab));
    assert!(!front.both.real.is_limited(up, Budget::Query));
    let view = front.view(up);
    assert_eq!((view.grab[0].used, view.grab[0].limit), (3, 5));
    let grab = Job {
        budget: Budget::Grab,
        ..job(up, INTERACTIVE)
    };
    let half = at(60 + DAY / 2);
    front.now = Moment(half.0 - 1);
    front.call(grab, Finish::Done);
    assert!(front.both.real.is_limited(up, Budget::Grab));
    front.now = half;
    front.call(grab, Finish::Done);
    assert!(!front.both.real.is_limited(up, Budget::Grab));
}

#[test]
fn what_is_off_stays_off() {
    let (mut front, up) = Front::with(search(), indexer());
    front.switch_off(up);
    front.restart(at(1));
    assert_eq!(front.state(up), Availability::Off);
}

#[test]
fn a_planned_job_goes_back_to_the_agenda_with_its_attempts_also_when_it_is_due() {
    for (now, due) in [(at(2), at(10)), (at(50), at(50))] {
        let policy = Policy {
            retry_base: secs(10),
            ..tracker()
        };
        let (mut front, up) = Front::with(policy, in_flight(1));
        let id = front.begin(job(up, INITIAL));
        assert_eq!(
            front.finish(id, Finish::Unavailable),
            After::Scheduled(at(10))
        );
        let [id] = front.restart(now)[..] else {
            panic!("one job is planned");
        };
        assert_eq!(front.earliest_start().unwrap_or(now), due);
        front.now = due;
        let start = front.start();
        assert_eq!((start.job, start.class, start.attempt), (id, RETRY, 2));
        front.finish(id, Finish::Unavailable);
        front.pass(20);
        assert_eq!(front.starts(), [id], "the third attempt");
        front.finish(id, Finish::Unavailable);
        assert_eq!(front.ended().len(), 1);
    }
}
