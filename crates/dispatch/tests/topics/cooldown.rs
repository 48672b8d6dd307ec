//! Cooldowns: suspension, the ladder, probing, what counts and what does not.

use std::time::Duration;

use weir_dispatch::{
    Admission, After, Availability, Budget, Cause, DropReason, End, Finish, Job, Moment, Quota,
    Wait, Window,
};

use crate::front::*;

const PAUSE: Finish = Finish::OurNetwork {
    pause: Duration::from_secs(30),
};

#[test]
fn a_suspension_expires_by_itself_and_skips_new_jobs_until_then() {
    let (mut front, up) = Front::with(tracker(), in_flight(4));
    front.call(job(up, INITIAL), Finish::Throttled { retry_after: None });
    assert_eq!(front.state(up), Availability::Cooldown { until: at(300) });
    front.now = at(299);
    let skip = skipped(Wait::Cooldown, 1, None);
    assert_eq!(front.entry(job(up, INITIAL)), Admission::Ended(skip));
    front.now = at(300);
    assert_eq!(front.state(up), Availability::Probing);
    front.call(job(up, INITIAL), Finish::Done);
    assert_eq!(front.state(up), Availability::Open);
}

#[test]
fn no_call_starts_before_the_time_that_an_upstream_gave() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.queue(job(up, INTERACTIVE));
    let second = front.queue(job(up, INTERACTIVE));
    assert_eq!(front.starts(), [first]);
    front.finish(first, throttled(1_234));
    assert_eq!(front.wake(), Some(at(1_234)));
    front.now = Moment(at(1_234).0 - 1);
    assert!(front.starts().is_empty());
    front.now = at(1_234);
    assert_eq!(front.starts(), [second]);
}

#[test]
fn a_named_time_is_clamped_to_24_hours_and_one_of_zero_is_none() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    front.call(job(up, INITIAL), throttled(10 * DAY));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(DAY) });
    front.now = at(DAY);
    front.call(job(up, INITIAL), throttled(0));
    assert_eq!(
        front.state(up),
        Availability::Cooldown {
            until: at(DAY + 300)
        }
    );
    assert_eq!(front.rung(up), 0, "a wish is no failure");
}

#[test]
fn without_a_default_a_throttled_call_that_names_no_time_climbs() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    for (rung, span) in (1..).zip(LADDER) {
        front.call(
            job(up, INTERACTIVE),
            Finish::Throttled { retry_after: None },
        );
        let until = front.now + secs(span);
        assert_eq!(front.state(up), Availability::Cooldown { until });
        assert_eq!(front.rung(up), rung);
        front.now = until;
    }
}

#[test]
fn failures_climb_one_rung_per_try_and_stay_on_the_last() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    for (rung, span) in (1..).zip(LADDER.into_iter().chain([DAY, DAY])) {
        front.call(job(up, INTERACTIVE), Finish::Unavailable);
        let until = front.now + secs(span);
        assert_eq!(front.state(up), Availability::Cooldown { until });
        assert_eq!(front.rung(up), rung.min(9));
        front.now = until;
        assert_eq!(front.state(up), Availability::Probing);
    }
    front.call(job(up, INTERACTIVE), Finish::No);
    assert_eq!((front.state(up), front.rung(up)), (Availability::Open, 0));
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    assert_eq!(front.rung(up), 1, "a healthy no forgets the ladder");
}

#[test]
fn a_tracker_is_disabled_after_so_many_failed_jobs_in_a_row() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let fail = |front: &mut Front| {
        let job = Job {
            attempts_made: 2,
            ..job(up, INITIAL)
        };
        front.call(job, Finish::Unavailable)
    };
    fail(&mut front);
    fail(&mut front);
    front.call(job(up, INITIAL), Finish::No);
    fail(&mut front);
    fail(&mut front);
    assert_eq!(
        front.state(up),
        Availability::Open,
        "a healthy no begins the row anew"
    );
    front.call(job(up, INITIAL), Finish::Panicked);
    assert_eq!(front.view(up).failures, 2, "a panic changes nothing");
    fail(&mut front);
    assert_eq!(front.state(up), Availability::Disabled { until: at(60) });
    front.now = at(60);
    fail(&mut front);
    assert_eq!(front.state(up), Availability::Disabled { until: at(360) });
}

#[test]
fn attempts_that_are_followed_by_another_are_no_failure() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.queue(job(up, INITIAL));
    for attempt in 1..=3 {
        assert_eq!(front.starts(), [id], "attempt {attempt}");
        front.finish(id, Finish::Unavailable);
        assert_eq!(front.view(up).failures, u32::from(attempt == 3));
        front.pass(10);
    }
}

#[test]
fn what_trying_again_does_not_mend_disables_at_once() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    front.call(job(up, INITIAL), Finish::Rejected { at_least: None });
    assert_eq!(front.state(up), Availability::Disabled { until: at(60) });
    front.now = at(60);
    let at_least = Some(secs(HOUR));
    front.call(job(up, INITIAL), Finish::Rejected { at_least });
    assert_eq!(
        front.state(up),
        Availability::Disabled {
            until: at(60 + HOUR)
        }
    );
    let cause = front.view(up).cooldown.map(|cooldown| cooldown.cause);
    assert_eq!(cause, Some(Cause::Rejected));
    assert_eq!(front.rung(up), 2);
}

#[test]
fn while_probing_one_call_is_under_way_until_one_succeeds() {
    let (mut front, up) = Front::with(search(), in_flight(4));
    front.call(job(up, INTERACTIVE), throttled(100));
    let ids = [0; 5].map(|_| front.queue(job(up, INTERACTIVE)));
    front.pass(100);
    assert_eq!(front.starts(), [ids[0]]);
    front.finish(ids[0], Finish::Panicked);
    assert_eq!(
        front.starts(),
        [ids[1]],
        "a panic says nothing about the upstream"
    );
    front.finish(ids[1], Finish::Done);
    assert_eq!(front.starts(), [ids[2], ids[3], ids[4]]);
}

#[test]
fn the_failed_try_of_a_probing_upstream_ends_its_job_and_climbs() {
    let (mut front, up) = Front::with(tracker(), in_flight(4));
    front.call(job(up, INITIAL), throttled(100));
    front.pass(100);
    let id = front.begin(job(up, INITIAL));
    assert_eq!(front.finish(id, Finish::Unavailable), After::Ended);
    assert_eq!(front.rung(up), 1);
}

#[test]
fn a_shorter_cooldown_never_replaces_a_longer_one() {
    let (mut front, up) = Front::with(search(), in_flight(2));
    let ids = front.begin_all::<2>(job(up, INTERACTIVE));
    front.finish(ids[0], throttled(500));
    front.finish(ids[1], throttled(499));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(500) });
}

#[test]
fn calls_that_started_before_a_cooldown_neither_climb_nor_heal() {
    let (mut front, up) = Front::with(search(), in_flight(5));
    let ids = front.begin_all::<5>(job(up, INTERACTIVE));
    front.finish(ids[0], Finish::Unavailable);
    for (id, finish) in [
        (ids[1], Finish::Unavailable),
        (ids[2], Finish::Rejected { at_least: None }),
        (ids[3], Finish::Throttled { retry_after: None }),
        (ids[4], Finish::Done),
    ] {
        front.finish(id, finish);
        assert_eq!(front.state(up), Availability::Cooldown { until: at(60) });
        assert_eq!(front.rung(up), 1);
    }
}

#[test]
fn a_time_named_by_a_call_that_started_before_a_cooldown_is_kept_to_without_climbing() {
    let until = at(HOUR);
    let at_least = Some(secs(HOUR));
    for (finish, state) in [
        (
            Finish::Rejected { at_least },
            Availability::Disabled { until },
        ),
        (throttled(HOUR), Availability::Cooldown { until }),
    ] {
        let (mut front, up) = Front::with(search(), in_flight(2));
        let ids = front.begin_all::<2>(job(up, INTERACTIVE));
        front.finish(ids[0], Finish::Unavailable);
        front.finish(ids[1], finish);
        assert_eq!((front.state(up), front.rung(up)), (state, 1));
    }
}

#[test]
fn a_cooldown_holds_a_job_that_only_a_worker_was_missing_for() {
    let (mut front, up) = Front::with(search(), in_flight(4));
    let call = front.begin(job(up, INTERACTIVE));
    front.hold(true);
    let offered = front.queue(job(up, INTERACTIVE));
    front.finish(call, throttled(100));
    front.hold(false);
    assert_eq!(front.wake(), Some(at(100)));
    front.now = at(100);
    assert_eq!(front.starts(), [offered]);
}

#[test]
fn after_a_pause_nobody_is_woken_for_its_end() {
    let (mut front, up) = Front::with(of_crew(1, search()), in_flight(2));
    front.call(job(up, INTERACTIVE), PAUSE);
    let ids = [0; 2].map(|_| front.queue(job(up, INTERACTIVE)));
    front.now = at(30);
    assert_eq!(front.starts(), [ids[0]]);
    assert_eq!(
        front.wake(),
        Some(at(31)),
        "when the only worker is given back"
    );
}

#[test]
fn a_front_that_ends_jobs_on_a_cooldown_ends_its_queued_jobs_and_a_front_that_holds_keeps_them() {
    for (policy, ends) in [(tracker(), true), (search(), false)] {
        let (mut front, up) = Front::with(policy, in_flight(1));
        let first = front.begin(job(up, INTERACTIVE));
        let other = front.queue(job(up, COMPLETION));
        front.finish(first, throttled(50));
        let skipped = (other, skipped(Wait::Cooldown, 50, None));
        assert_eq!(front.ended().contains(&skipped), ends);
        assert_eq!(front.queued(), u32::from(!ends));
    }
}

#[test]
fn our_own_network_is_nobodys_fault_and_pauses_all_starts() {
    let mut front = Front::new(search());
    let ups = [0; 2].map(|_| front.add(in_flight(1)));
    front.call(job(ups[0], INTERACTIVE), PAUSE);
    assert_eq!(
        (front.state(ups[0]), front.rung(ups[0])),
        (Availability::Untried, 0)
    );
    let other = front.queue(job(ups[1], INTERACTIVE));
    assert_eq!(front.wake(), Some(at(30)));
    front.now = at(30);
    assert_eq!(front.starts(), [other]);
}

#[test]
fn a_job_that_our_network_failed_is_tried_again_after_the_pause() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let id = front.begin(job(up, INITIAL));
    for end in [30, 60] {
        assert_eq!(front.finish(id, PAUSE), After::Scheduled(at(end)));
        front.pass(1);
        let other = front.queue(job(up, RETRY));
        front.now = at(end);
        assert_eq!(front.starts(), [other, id], "in line since it is due");
        front.finish(other, Finish::No);
    }
    assert_eq!(front.finish(id, PAUSE), After::Ended, "the last attempt");
    assert_eq!(front.state(up), Availability::Open);
}

#[test]
fn a_panic_ends_its_job_frees_its_worker_and_says_nothing_about_the_upstream() {
    let (mut front, up) = Front::with(of_crew(1, tracker()), in_flight(4));
    let ids = [0; 2].map(|_| front.queue(job(up, INITIAL)));
    assert_eq!(front.starts(), [ids[0]]);
    assert_eq!(front.finish(ids[0], Finish::Panicked), After::Ended);
    assert_eq!(front.ended(), [(ids[0], End::Finished(Finish::Panicked))]);
    assert_eq!(front.state(up), Availability::Untried);
    assert_eq!(front.starts(), [ids[1]]);
}

#[test]
fn the_outcome_of_a_call_reaches_whoever_asked_as_it_is() {
    let outcomes = [
        Finish::Done,
        Finish::No,
        throttled(60),
        Finish::Throttled { retry_after: None },
        Finish::Unavailable,
        Finish::Rejected { at_least: None },
        PAUSE,
        Finish::Panicked,
    ];
    for outcome in outcomes {
        let (mut front, up) = Front::with(search(), in_flight(1));
        let id = front.begin(job(up, INTERACTIVE));
        assert_eq!(front.finish(id, outcome), After::Ended);
        assert_eq!(front.ended(), [(id, End::Finished(outcome))]);
    }
}

#[test]
fn waits_between_attempts_double_and_are_stretched_by_the_jitter() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.begin(job(up, INITIAL));
    for (attempt, jitter, millis) in [(2, 0, 500), (3, 500, 1_500)] {
        let due = front.now + Duration::from_millis(millis);
        let after = front.finish_after(id, Finish::Unavailable, jitter);
        assert_eq!(after, After::Scheduled(due));
        front.pass(2);
        let start = front.start();
        let expected = (id, RETRY, attempt);
        assert_eq!((start.job, start.class, start.attempt), expected);
    }
    assert_eq!(front.finish(id, Finish::Unavailable), After::Ended);
    let last = End::Finished(Finish::Unavailable);
    assert_eq!(front.ended(), [(id, last)]);
}

#[test]
fn a_wish_to_be_asked_again_uses_up_no_attempt_and_is_kept_to_exactly() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.begin(job(up, INITIAL));
    let after = secs(600);
    for round in 0..10 {
        let due = front.now + after;
        let answer = front.finish_after(id, Finish::Again { after }, 500);
        assert_eq!(answer, After::Scheduled(due));
        front.now = due;
        let start = front.start();
        assert_eq!((start.job, start.attempt), (id, 1), "round {round}");
    }
    assert_eq!(front.state(up), Availability::Open);
    for attempt in 1..=3 {
        let after = front.finish(id, Finish::Unavailable);
        assert_eq!(after == After::Ended, attempt == 3, "attempt {attempt}");
        front.pass(10);
        front.starts();
    }
}

#[test]
fn a_job_without_room_on_the_agenda_ends_instead_of_being_tried_again() {
    let policy = weir_dispatch::Policy {
        agenda_capacity: 0,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let id = front.begin(job(up, INITIAL));
    assert_eq!(front.finish(id, Finish::Unavailable), After::Ended);
    assert_eq!(front.ended(), [(id, End::Dropped(DropReason::AgendaFull))]);
}

#[test]
fn a_cooldown_hides_a_shorter_gap_and_shows_it_again_when_cleared() {
    let quota = Quota {
        in_flight: 2,
        ..indexer()
    };
    let (mut front, up) = Front::with(search(), quota);
    front.call(job(up, INTERACTIVE), throttled(40));
    let wait = |front: &mut Front| front.wait(up, BACKGROUND, Budget::Query);
    assert_eq!(
        wait(&mut front),
        (secs(60), Some(Wait::Gap)),
        "the longest counts"
    );
    front.pass(1);
    let interactive = front.wait(up, INTERACTIVE, Budget::Query);
    assert_eq!(interactive, (secs(39), Some(Wait::Cooldown)));
    front.clear(up);
    let interactive = front.wait(up, INTERACTIVE, Budget::Query);
    assert_eq!(interactive, (secs(5), Some(Wait::Gap)));
}

#[test]
fn nobody_is_woken_at_the_end_of_a_cooldown_that_no_job_waits_for() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(100));
    assert_eq!(front.wake(), None);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(100)));
}

#[test]
fn an_answer_that_nobody_can_use_is_one_failure_and_not_tried_again() {
    let (mut front, up) = Front::with(tracker(), in_flight(4));
    for _ in 1..3 {
        assert_eq!(front.call(job(up, INITIAL), Finish::Broken), After::Ended);
        assert_eq!(front.state(up), Availability::Untried);
    }
    assert_eq!(front.call(job(up, INITIAL), Finish::Broken), After::Ended);
    assert_eq!(front.state(up), Availability::Disabled { until: at(60) });
    front.now = at(60);
    front.call(job(up, INITIAL), Finish::Broken);
    assert_eq!(front.state(up), Availability::Disabled { until: at(360) });
}

#[test]
fn of_waits_that_end_together_the_cooldown_is_named_before_the_window_and_that_before_the_gap() {
    let minute = |limit: Option<u32>| Quota {
        query: limit
            .map(|limit| (Window::MINUTE, limit))
            .into_iter()
            .collect(),
        ..indexer()
    };
    for (limit, finish, reason) in [
        (Some(1), throttled(60), Wait::Cooldown),
        (None, throttled(60), Wait::Cooldown),
        (Some(1), Finish::Done, Wait::Window),
        (None, Finish::Done, Wait::Gap),
    ] {
        let (mut front, up) = Front::with(search(), minute(limit));
        front.call(job(up, INTERACTIVE), finish);
        let wait = |front: &Front| front.wait(up, BACKGROUND, Budget::Query);
        assert_eq!(wait(&front), (secs(60), Some(reason)));
        front.now = at(60);
        assert_eq!(wait(&front), (secs(0), None), "nothing holds it any more");
    }
}

fn trial(up: weir_dispatch::UpstreamId) -> Job {
    Job {
        trial: true,
        ..job(up, BACKGROUND)
    }
}

#[test]
fn an_upstream_is_untried_until_it_first_answers() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    assert_eq!(front.state(up), Availability::Untried);
    front.call(job(up, INTERACTIVE), throttled(60));
    front.clear(up);
    assert_eq!(front.state(up), Availability::Untried);
    front.restart(at(1));
    assert_eq!(front.state(up), Availability::Untried);
    front.call(job(up, INTERACTIVE), Finish::No);
    assert_eq!(front.state(up), Availability::Open);
    front.restart(at(2));
    assert_eq!(front.state(up), Availability::Open, "a restart remembers");
}

#[test]
fn a_first_try_that_fails_climbs_no_rung_and_has_no_second_attempt() {
    let rejected = Finish::Rejected { at_least: None };
    for finish in [Finish::Unavailable, Finish::Broken, rejected] {
        let (mut front, up) = Front::with(search(), in_flight(1));
        for first in [
            trial(up),
            Job {
                probe: true,
                ..job(up, INTERACTIVE)
            },
        ] {
            front.call(first, finish);
            assert_eq!(front.state(up), Availability::Untried, "{finish:?}");
            assert_eq!((front.rung(up), front.view(up).failures), (0, 0));
        }
        assert_eq!(front.both.real.status(front.now).scheduled, 0);
    }
}

#[test]
fn a_first_try_keeps_to_a_time_that_the_upstream_names() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(trial(up), throttled(60));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(60) });
}

#[test]
fn a_trial_after_a_cooldown_climbs_like_any_call() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), Finish::Broken);
    front.pass(60);
    assert_eq!(front.state(up), Availability::Probing);
    front.call(trial(up), Finish::Broken);
    assert_eq!(front.rung(up), 2);
}
