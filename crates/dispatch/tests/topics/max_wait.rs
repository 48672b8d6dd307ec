//! Max-wait: skipped with upstream, wait, limit and reason; never a reason for a cooldown.

use weir_dispatch::{
    Admission, Availability, Budget, Class, End, Finish, Job, Quota, Wait, Window, Windows,
};

use crate::front::*;

#[test]
fn each_class_has_its_own_default() {
    for (class, limit) in [
        (RSS, Some(15)),
        (BACKGROUND, Some(60)),
        (INTERACTIVE, None),
        (COMPLETION, None),
    ] {
        let (mut front, up) = Front::with(search(), in_flight(1));
        front.call(job(up, INTERACTIVE), throttled(61));
        let entry = front.entry(job(up, class));
        match limit {
            Some(limit) => assert_eq!(
                entry,
                Admission::Ended(skipped(Wait::Cooldown, 61, Some(limit)))
            ),
            None => assert!(matches!(entry, Admission::Queued(_))),
        }
    }
}

#[test]
fn a_wait_as_long_as_the_limit_is_accepted() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(15));
    front.queue(job(up, RSS));
}

#[test]
fn a_cooldown_as_long_as_the_limit_is_accepted_by_those_that_are_queued() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let call = front.begin(job(up, INTERACTIVE));
    let held = front.queue(job(up, RSS));
    front.finish(call, throttled(15));
    front.pass(15);
    assert_eq!(front.starts(), [held]);
}

#[test]
fn a_max_wait_given_with_the_job_takes_precedence() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(30));
    let with = |class: Class, limit| Job {
        max_wait: Some(secs(limit)),
        ..job(up, class)
    };
    front.queue(with(RSS, 30));
    let skip = skipped(Wait::Cooldown, 30, Some(29));
    assert_eq!(front.entry(with(INTERACTIVE, 29)), Admission::Ended(skip));
}

#[test]
fn a_skip_begins_no_cooldown() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    assert_eq!(
        front.entry(job(up, RSS)),
        Admission::Ended(skipped(Wait::Gap, 30, Some(15)))
    );
    assert_eq!((front.state(up), front.rung(up)), (Availability::Open, 0));
    front.now = at(14);
    assert_eq!(
        front.entry(job(up, RSS)),
        Admission::Ended(skipped(Wait::Gap, 16, Some(15)))
    );
    front.now = at(15);
    front.queue(job(up, RSS));
}

#[test]
fn a_window_counts_as_a_wait() {
    let quota = Quota {
        query: Windows::from([(Window::HOUR, 1)]),
        ..in_flight(1)
    };
    let (mut front, up) = Front::with(search(), quota);
    front.call(job(up, INTERACTIVE), Finish::Done);
    let skip = skipped(Wait::Window, HOUR, Some(60));
    assert_eq!(front.entry(job(up, BACKGROUND)), Admission::Ended(skip));
    front.queue(Job {
        budget: Budget::Grab,
        ..job(up, BACKGROUND)
    });
}

#[test]
fn the_place_in_the_queue_does_not_count() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let ids: Vec<_> = (0..100).map(|_| front.queue(job(up, RSS))).collect();
    for id in ids {
        assert_eq!(front.starts(), [id]);
        front.pass(30);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn a_head_is_skipped_when_a_start_makes_it_wait_too_long_and_so_is_the_one_behind_it() {
    let (mut front, up) = Front::with(search(), indexer());
    let first = front.queue(job(up, INTERACTIVE));
    let feeds = [front.queue(job(up, RSS)), front.queue(job(up, RSS))];
    assert_eq!(front.starts(), [first]);
    let skip = skipped(Wait::Gap, 30, Some(15));
    assert_eq!(front.ended(), feeds.map(|id| (id, skip)));
}

#[test]
fn when_a_cooldown_begins_only_those_that_accept_it_stay() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.begin(job(up, INTERACTIVE));
    let own = |limit| Job {
        max_wait: Some(secs(limit)),
        ..job(up, RSS)
    };
    let held = [
        front.queue(job(up, INTERACTIVE)),
        front.queue(own(100)),
        front.queue(job(up, COMPLETION)),
        front.queue(own(40)),
    ];
    let ended = [
        (front.queue(job(up, RSS)), 15),
        (front.queue(own(39)), 39),
        (front.queue(own(1)), 1),
        (front.queue(job(up, RSS)), 15),
    ];
    front.finish(first, throttled(40));
    let mut skips = front.ended();
    skips.sort_by_key(|&(id, _)| id);
    let mut expected: Vec<_> = ended
        .into_iter()
        .map(|(id, limit)| (id, skipped(Wait::Cooldown, 40, Some(limit))))
        .chain([(first, End::Finished(throttled(40)))])
        .collect();
    expected.sort_by_key(|&(id, _)| id);
    assert_eq!(skips, expected);
    front.pass(40);
    for id in held {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn a_raised_job_has_the_max_wait_of_its_new_class() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.begin(job(up, INTERACTIVE));
    let raised = front.queue(job(up, BACKGROUND));
    let lowered = front.queue(job(up, COMPLETION));
    assert!(front.raise(raised, INTERACTIVE));
    assert!(front.raise(lowered, RSS));
    front.finish(first, throttled(1_000));
    assert_eq!(
        front.ended(),
        [
            (lowered, skipped(Wait::Cooldown, 1_000, Some(15))),
            (first, End::Finished(throttled(1_000))),
        ]
    );
    assert_eq!(front.queued(), 1);
}

#[test]
fn a_head_is_skipped_when_a_start_fills_its_window() {
    let hour = Windows::from([(Window::HOUR, 1)]);
    for (budget, quota) in [
        (
            Budget::Query,
            Quota {
                query: hour.clone(),
                ..in_flight(1)
            },
        ),
        (
            Budget::Grab,
            Quota {
                grab: hour,
                ..in_flight(1)
            },
        ),
    ] {
        let (mut front, up) = Front::with(search(), quota);
        let with = |class| Job {
            budget,
            ..job(up, class)
        };
        let first = front.queue(with(INTERACTIVE));
        let feed = front.queue(with(RSS));
        assert_eq!(front.starts(), [first]);
        let skip = skipped(Wait::Window, HOUR, Some(15));
        assert_eq!(front.ended(), [(feed, skip)], "{budget:?}");
    }
}

#[test]
fn a_job_is_skipped_also_behind_a_more_patient_one_and_after_others_with_its_limit_have_gone() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let call = front.begin(job(up, INTERACTIVE));
    let own = |limit| Job {
        max_wait: Some(secs(limit)),
        ..job(up, RSS)
    };
    let gone = front.queue(own(5));
    let patient = front.queue(own(100));
    let impatient = front.queue(own(5));
    assert!(front.cancel(gone));
    front.ended();
    front.finish(call, throttled(40));
    let skip = skipped(Wait::Cooldown, 40, Some(5));
    assert_eq!(front.ended()[0], (impatient, skip));
    front.pass(40);
    assert_eq!(front.starts(), [patient]);
}
