//! Restart: what was counted and planned is kept, also when the clock jumped.

use weir_dispatch::{
    Budget, Cause, Dispatcher, Entry, Finish, HealthRow, Job, Moment, Quota, Rest, State,
    UpstreamId, UpstreamRow, Usage, Wait, Window, Windows,
};

use crate::front::*;

fn limited() -> Quota {
    Quota {
        spacing: secs(60),
        query: Windows {
            hour: Some(2),
            ..Windows::default()
        },
        ..in_flight(5)
    }
}

/// A front as the old one's rows make it, `now` being what the new clock says.
fn restarted(old: &Front, up: UpstreamId, now: Moment) -> (Front, UpstreamId) {
    let row = old.dispatcher.row(up).expect("it is there");
    let quota = old.dispatcher.quota(up).expect("it is there").clone();
    let mut front = Front {
        dispatcher: Dispatcher::new(search(), now),
        now,
    };
    let up = front.add(quota);
    front.dispatcher.restore(now, up, &row);
    (front, up)
}

#[test]
fn windows_spacing_and_rest_are_as_they_were() {
    let (mut old, up) = Front::with(search(), limited());
    old.call(job(up, INTERACTIVE), Finish::Done);
    old.pass(10);
    old.call(job(up, INTERACTIVE), throttled(500));
    let (mut new, up) = restarted(&old, up, at(20));
    assert_eq!(new.state(up), State::Cooldown { until: at(510) });
    let status = new.dispatcher.upstream(new.now, up).expect("it is there");
    assert_eq!(status.last_start, Some(at(10)));
    assert_eq!((status.query[0].used, status.query[0].next), (2, at(HOUR)));
}

#[test]
fn with_the_clock_jumped_back_a_start_in_the_future_counts_as_now() {
    let (mut old, up) = Front::with(search(), limited());
    old.now = at(DAY);
    old.call(job(up, INTERACTIVE), Finish::Done);
    let (mut new, up) = restarted(&old, up, at(5));
    let status = new.dispatcher.upstream(new.now, up).expect("it is there");
    assert_eq!(status.last_start, Some(at(5)));
    assert_eq!(status.query[0].used, 1);
    let wait = new
        .dispatcher
        .next_wait(new.now, up, INTERACTIVE, Budget::Query);
    assert_eq!(wait, (secs(6), Some(Wait::Gap)));
}

#[test]
fn with_the_clock_jumped_back_an_end_is_cut_to_the_longest_of_its_kind() {
    let ends = |cause| UpstreamRow {
        health: HealthRow {
            rest: Some(Rest {
                until: at(400 * DAY),
                cause,
            }),
            rung: 3,
            failures: 4,
            off: false,
        },
        ..UpstreamRow::default()
    };
    for cause in [
        Cause::Throttled,
        Cause::Failed,
        Cause::FailedOften,
        Cause::Rejected,
    ] {
        let (mut front, up) = Front::with(search(), indexer());
        front.dispatcher.restore(front.now, up, &ends(cause));
        let until = at(DAY);
        let expected = if cause.disables() {
            State::Disabled { until }
        } else {
            State::Cooldown { until }
        };
        assert_eq!(front.state(up), expected);
        assert_eq!(front.rung(up), 3);
    }
}

#[test]
fn with_the_clock_jumped_ahead_windows_are_empty_and_rests_are_over() {
    let (mut old, up) = Front::with(search(), limited());
    old.call(job(up, INTERACTIVE), Finish::Unavailable);
    let (mut new, up) = restarted(&old, up, at(10 * DAY));
    assert_eq!(new.state(up), State::Probing, "a success has still to come");
    let status = new.dispatcher.upstream(new.now, up).expect("it is there");
    assert_eq!(status.query[0].used, 0);
    new.call(job(up, INTERACTIVE), Finish::Unavailable);
    assert_eq!(new.rung(up), 2, "the ladder goes on");
}

#[test]
fn a_limit_that_was_told_is_kept() {
    let (mut old, up) = Front::with(search(), in_flight(5));
    let usage = Usage {
        budget: Budget::Grab,
        window: Window::Day,
        limit: 4,
        used: Some(3),
    };
    old.dispatcher.observe(old.now, up, usage);
    assert!(old.dispatcher.is_limited(up, Budget::Grab));
    let (mut new, up) = restarted(&old, up, at(60));
    assert!(new.dispatcher.is_limited(up, Budget::Grab));
    assert!(!new.dispatcher.is_limited(up, Budget::Query));
    let status = new.dispatcher.upstream(new.now, up).expect("it is there");
    assert_eq!((status.grab[0].used, status.grab[0].limit), (3, 4));
}

#[test]
fn what_is_off_stays_off() {
    let (mut old, up) = Front::with(search(), indexer());
    old.dispatcher.switch_off(old.now, up);
    let (mut new, up) = restarted(&old, up, at(1));
    assert_eq!(new.state(up), State::Off);
}

#[test]
fn a_planned_job_goes_back_to_the_agenda_with_its_attempts_also_when_it_is_due() {
    for (now, due) in [(at(2), at(10)), (at(50), at(50))] {
        let (mut old, up) = Front::with(tracker(), in_flight(1));
        let id = old.queue(job(up, INITIAL));
        assert_eq!(old.starts(), [id]);
        old.finish(id, Finish::Unavailable);
        let row = old.dispatcher.agenda_rows().next().expect("one is planned");
        assert_eq!((row.class, row.attempts_made), (RETRY, 1));
        let mut new = Front {
            dispatcher: Dispatcher::new(tracker(), now),
            now,
        };
        let up = new.add(in_flight(1));
        let kept = Job {
            class: row.class,
            not_before: at(10),
            attempts_made: row.attempts_made,
            ..job(up, INITIAL)
        };
        let entry = new.dispatcher.reschedule(now, kept);
        let Entry::Scheduled(id) = entry else {
            panic!("it has its place, but {entry:?}");
        };
        assert_eq!(new.dispatcher.agenda_row(id).map(|row| row.due), Some(due));
        new.now = due;
        assert_eq!(new.starts(), [id]);
        new.finish(id, Finish::Unavailable);
        new.pass(1);
        assert_eq!(new.starts(), [id], "the third attempt");
        new.finish(id, Finish::Unavailable);
        assert_eq!(new.ended().len(), 1);
    }
}
