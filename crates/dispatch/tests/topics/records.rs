//! Decision records: each decision leaves one, newest first, at most so many.

use weir_dispatch::{Asker, Budget, DropReason, Finish, Job, Skip, Wait, What};

use crate::front::*;

fn whats(front: &Front, up: weir_dispatch::UpstreamId) -> Vec<What> {
    front
        .both
        .real
        .decisions(up)
        .map(|decision| decision.what)
        .collect()
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
    let newest = front.both.real.decisions(up).next().expect("there is one");
    assert_eq!(
        (newest.number, newest.asker, newest.at),
        (3, Asker(7), at(6))
    );
    let started = |waited, reason| What::Started {
        waited: secs(waited),
        reason,
        attempt: 1,
    };
    let waits = What::Waits {
        reason: Wait::Gap,
        until: at(6),
    };
    let expected = [started(4, Some(Wait::Gap)), waits, started(0, None)];
    assert_eq!(whats(&front, up), expected);
}

#[test]
fn only_the_last_records_are_kept_and_numbers_go_on() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    for _ in 0..40 {
        front.call(job(up, INTERACTIVE), Finish::Done);
    }
    let numbers: Vec<u64> = front.both.real.decisions(up).map(|d| d.number).collect();
    assert_eq!(numbers, (25..=40).rev().collect::<Vec<u64>>());
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
    front.both.real.note_shared(front.now, &keyed, Asker(3));
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
    assert_eq!(seen[1], What::Dropped(DropReason::QueueFull));
    assert_eq!(seen[2], What::Raised { from: REANNOUNCE });
    assert_eq!(seen[11], What::Shared { with: Asker(3) });
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
