//! Decisions: each leaves a record with all that it takes to tell it again.

use weir_dispatch::{
    Asker, Budget, DropReason, Finish, FullWindow, Job, Quota, Skip, Wait, What, Window, Windows,
};

use crate::front::*;

fn whats(front: &Front, up: weir_dispatch::UpstreamId) -> Vec<What> {
    let decisions = front.decisions(up).into_iter();
    decisions.map(|decision| decision.what).collect()
}

#[test]
fn a_start_says_how_long_it_waited_and_for_what() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.pass(2);
    let id = front.queue(Job {
        asker: Asker(7),
        ..job(up, INTERACTIVE)
    });
    front.now = at(6);
    assert_eq!(front.starts(), [id]);
    let newest = front.decisions(up)[0];
    assert_eq!((newest.asker, newest.at), (Asker(7), at(6)));
    assert_eq!(newest.job, Some(id));
    let started = |waited, reason| What::Started {
        waited: secs(waited),
        reason,
        attempt: 1,
    };
    let waits = What::Waits {
        reason: Wait::Gap,
        until: at(6),
        full: None,
    };
    let expected = [started(4, Some(Wait::Gap)), waits, started(0, None)];
    assert_eq!(whats(&front, up), expected);
}

#[test]
fn nobody_an_operator_and_weir_itself_are_three_askers() {
    let askers = [Asker::NOBODY, Asker::OPERATOR, Asker::WEIR];
    for (index, asker) in askers.iter().enumerate() {
        assert!(!askers[index + 1..].contains(asker), "{asker:?} twice");
    }
}

#[test]
fn a_wait_for_a_window_says_what_the_window_held_then() {
    let five_minutes = Window::of_seconds(5 * MINUTE as u32);
    let quota = Quota {
        query: Windows::from([(Window::MINUTE, 9), (five_minutes, 2), (Window::DAY, 3)]),
        ..in_flight(10)
    };
    let (mut front, up) = Front::with(search(), quota);
    for _ in 0..2 {
        front.call(job(up, INTERACTIVE), Finish::Done);
    }
    let id = front.queue(job(up, INTERACTIVE));
    let waits = |window, until, n| What::Waits {
        reason: Wait::Window,
        until,
        full: Some(FullWindow {
            window,
            used: n,
            limit: n,
            kept: 0,
        }),
    };
    let first = waits(five_minutes, at(5 * MINUTE), 2);
    assert_eq!(whats(&front, up)[0], first);
    front.now = at(5 * MINUTE);
    assert_eq!(front.starts(), [id]);
    front.finish(id, Finish::Done);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(whats(&front, up)[0], waits(Window::DAY, at(DAY), 3));
    assert!(whats(&front, up).contains(&first), "it stays as it was");
}

#[test]
fn decisions_are_handed_out_once_and_none_are_made_where_none_are_kept() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(60));
    front.clear(up);
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    front.both.real.take_first_decisions(1, &mut first);
    front.both.real.take_decisions(&mut rest);
    assert_eq!(rest.len(), 1);
    front.both.real.take_decisions(&mut rest);
    front.both.real.take_first_decisions(1, &mut rest);
    let began = matches!(first[0].what, What::CooldownBegan { .. });
    assert!(began && first.len() == 1, "{first:?}");
    assert_eq!((rest.len(), rest[0].what), (1, What::Cleared));
    let none = weir_dispatch::Policy {
        records: 0,
        ..search()
    };
    let (mut front, up) = Front::with(none, in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(60));
    assert!(front.both.real.decisions().is_empty());
}

#[test]
fn cooldowns_skips_drops_duplicates_raises_retries_and_operators_leave_records() {
    let policy = weir_dispatch::Policy {
        capacity: 1,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let keyed = Job {
        pending: key(1),
        ..job(up, REANNOUNCE)
    };
    let id = front.queue(keyed);
    front.entry(keyed);
    front.entry(job(up, INITIAL));
    assert!(front.raise(id, INITIAL));
    assert_eq!(front.starts(), [id]);
    front.finish(id, Finish::Unavailable);
    front.call(job(up, INITIAL), throttled(60));
    front.entry(job(up, INITIAL));
    front.clear(up);
    front.switch_off(up);
    front.switch_on(up);
    let shared = What::Shared {
        with: Asker(3),
        after: secs(2),
    };
    front.both.real.note_other(front.now, &keyed, shared);
    let mut seen = whats(&front, up);
    seen.reverse();
    let names: Vec<String> = seen
        .iter()
        .map(|what| {
            format!("{what:?}")
                .split([' ', '('])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "Duplicate",
            "Dropped",
            "Raised",
            "Started",
            "Retried",
            "Started",
            "CooldownBegan",
            "Skipped",
            "Cleared",
            "SwitchedOff",
            "SwitchedOn",
            "Shared",
        ]
    );
    let full = What::Dropped {
        reason: DropReason::QueueFull,
        limit: 1,
    };
    assert_eq!(seen[1], full);
    assert_eq!(seen[2], What::Raised { from: REANNOUNCE });
    assert_eq!(seen[11], shared);
}

#[test]
fn a_drop_says_how_many_jobs_fit_into_what_is_full() {
    let policy = weir_dispatch::Policy {
        capacity: 10,
        agenda_capacity: 3,
        backlog_floor: 4,
        ..search()
    };
    let mut front = Front::new(policy);
    front.hold(true);
    let [first, second, third] = [0; 3].map(|_| front.add(in_flight(1)));
    let later = Job {
        not_before: at(60),
        scheduled: key(1),
        ..job(first, INTERACTIVE)
    };
    let mut drop = |job: Job, times: usize, reason, limit| {
        for _ in 0..times {
            front.entry(job);
        }
        let dropped = What::Dropped { reason, limit };
        assert_eq!(whats(&front, job.upstream)[0], dropped);
    };
    drop(later, 2, DropReason::Scheduled, 0);
    let other = Job {
        scheduled: None,
        ..later
    };
    drop(other, 3, DropReason::AgendaFull, 3);
    drop(job(first, INTERACTIVE), 6, DropReason::Backlog, 5);
    drop(job(second, INTERACTIVE), 6, DropReason::QueueFull, 10);
    drop(job(third, INTERACTIVE), 1, DropReason::QueueFull, 10);
}

#[test]
fn a_job_whose_shared_call_was_dropped_says_so_itself() {
    let policy = weir_dispatch::Policy {
        capacity: 10,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let follower = Job {
        asker: Asker(7),
        ..job(up, RSS)
    };
    let reason = DropReason::QueueFull;
    front.both.real.note_drop(front.now, &follower, reason);
    let told = front.decisions(up)[0];
    let dropped = What::Dropped { reason, limit: 10 };
    assert_eq!((told.what, told.asker), (dropped, Asker(7)));
    assert_eq!((told.class, told.job), (Some(RSS), None));
}

#[test]
fn a_success_after_a_cooldown_is_recorded() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(60));
    front.pass(60);
    front.call(job(up, INTERACTIVE), Finish::Done);
    assert_eq!(whats(&front, up)[0], What::Healed);
}

#[test]
fn a_wait_is_recorded_once() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.queue(job(up, INTERACTIVE));
    front.pass(1);
    front.queue(job(up, COMPLETION));
    front.pass(1);
    front.queue(job(up, BACKGROUND));
    let waits = |what: &What| matches!(what, What::Waits { .. });
    assert_eq!(whats(&front, up).into_iter().filter(waits).count(), 1);
}

#[test]
fn a_start_names_no_wait_that_held_another_job() {
    let quota = weir_dispatch::Quota {
        in_flight: 2,
        ..indexer()
    };
    let (mut front, up) = Front::with(search(), quota);
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.hold(true);
    let grab = front.queue(Job {
        budget: Budget::Grab,
        ..job(up, COMPLETION)
    });
    front.queue(job(up, INTERACTIVE));
    front.pass(1);
    front.hold(false);
    assert_eq!(front.starts(), [grab]);
    let newest = [
        What::Waits {
            reason: Wait::Gap,
            until: at(6),
            full: None,
        },
        What::Started {
            waited: secs(1),
            reason: None,
            attempt: 1,
        },
    ];
    assert_eq!(whats(&front, up)[..2], newest);
}

#[test]
fn jobs_that_end_as_their_upstream_is_switched_off_leave_their_records() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.queue(job(up, INTERACTIVE));
    front.switch_off(up);
    let off = Skip {
        reason: Wait::Off,
        wait: None,
        limit: None,
    };
    assert_eq!(whats(&front, up), [What::Skipped(off), What::SwitchedOff]);
}

#[test]
fn a_cooldown_says_what_the_next_failure_would_bring() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), Finish::Broken);
    let What::CooldownBegan { rung, next, .. } = whats(&front, up)[0] else {
        panic!("{:?}", whats(&front, up));
    };
    let ladder = search().failure.ladder;
    assert_eq!((rung, next), (1, ladder[1]));
    let last = *ladder.last().expect("it has rungs");
    assert_eq!(search().failure.cooldown_after(200), last);
}

#[test]
fn the_record_of_a_disabling_named_a_probe_that_a_full_window_put_off() {
    let hour = |limit| Quota {
        query: Windows::from([(Window::HOUR, limit)]),
        ..in_flight(1)
    };
    for (limit, probe) in [(1, at(HOUR)), (2, at(MINUTE))] {
        let (mut front, up) = Front::with(search(), hour(limit));
        let rejected = Finish::Rejected { at_least: None };
        front.call(job(up, INTERACTIVE), rejected);
        let named = match whats(&front, up)[0] {
            What::CooldownBegan { probe, .. } => probe,
            what => panic!("{what:?}"),
        };
        assert_eq!(named, probe);
    }
}

#[test]
fn a_job_that_waits_for_a_cooldown_says_so() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(60));
    front.queue(job(up, INTERACTIVE));
    let waits = What::Waits {
        reason: Wait::Cooldown,
        until: at(60),
        full: None,
    };
    assert_eq!(whats(&front, up)[0], waits);
}
