//! The queue: order, priority, capacity, the share of one upstream.

use weir_dispatch::{
    Admission, Budget, DropReason, End, Finish, Job, JobId, Policy, Quota, UpstreamId,
};

use crate::front::*;

#[test]
fn a_submission_starts_and_its_end_is_told_once() {
    let (mut front, up) = Front::with(search(), indexer());
    let id = front.begin(job(up, INTERACTIVE));
    assert!(front.ended().is_empty());
    front.finish(id, Finish::Done);
    assert_eq!(front.ended(), [(id, End::Finished(Finish::Done))]);
    assert!(front.ended().is_empty());
}

#[test]
fn a_moment_before_the_last_one_counts_as_the_last_one() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    front.now = at(15);
    front.queue(job(up, INTERACTIVE));
    front.now = at(0);
    // Its gap of 6 s has passed at 15 s.
    front.queue(Job {
        max_wait: Some(secs(5)),
        ..job(up, INTERACTIVE)
    });
}

#[test]
fn jobs_of_one_upstream_and_class_start_in_the_order_of_submission() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let ids: Vec<JobId> = (0..50).map(|_| front.queue(job(up, REANNOUNCE))).collect();
    for id in ids {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn across_upstreams_the_lowest_submit_number_of_the_most_urgent_class_goes_first() {
    let mut front = Front::new(of_crew(1, search()));
    let ups: Vec<UpstreamId> = (0..4).map(|_| front.add(in_flight(1))).collect();
    front.hold(true);
    let last = front.queue(job(ups[0], BACKGROUND));
    let fourth = front.queue(job(ups[1], COMPLETION));
    let third = front.queue(job(ups[2], RSS));
    let second = front.queue(job(ups[3], INTERACTIVE));
    let first_two = [second, front.queue(job(ups[2], INTERACTIVE))];
    front.hold(false);
    for id in first_two.into_iter().chain([third, fourth, last]) {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn high_goes_before_normal_and_normal_before_low() {
    let (mut front, up) = Front::with(news(), in_flight(1));
    front.hold(true);
    let [low, normal, high] =
        [COMPLETION, RSS, INTERACTIVE].map(|class| front.queue(job(up, class)));
    front.hold(false);
    for id in [high, normal, low] {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn a_full_queue_answers_at_once_and_has_room_again_after_a_start() {
    let policy = Policy {
        capacity: 2,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    front.queue(job(up, INTERACTIVE));
    front.queue(job(up, INTERACTIVE));
    let full = Admission::Ended(End::Dropped(DropReason::QueueFull));
    assert_eq!(front.entry(job(up, INTERACTIVE)), full);
    assert!(front.ended().is_empty(), "a refused job is not told twice");
    front.hold(false);
    assert_eq!(front.starts().len(), 1);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.entry(job(up, INTERACTIVE)), full);
}

#[test]
fn one_saturated_upstream_of_200_leaves_the_fill_under_ten_percent() {
    let mut front = Front::alone(tracker());
    let ups: Vec<UpstreamId> = (0..200).map(|_| front.add(in_flight(4))).collect();
    front.hold(true);
    let mut dropped = 0;
    for _ in 0..5_000 {
        match front.entry(job(ups[0], REANNOUNCE)) {
            Admission::Queued(_) => {}
            Admission::Ended(End::Dropped(DropReason::Backlog)) => dropped += 1,
            other => panic!("{other:?}"),
        }
    }
    let status = front.status();
    assert_eq!(status.queued, 100, "2 × 10,000 ÷ 200");
    assert_eq!(dropped, 4_900);
    assert!(status.fill_percent() < 10);
    front.queue(job(ups[1], REANNOUNCE));
}

#[test]
fn the_agenda_keeps_its_size_relative_to_a_queue_of_another_capacity() {
    // Queue and agenda, what the queue is set to, and what the agenda then holds.
    let cases = [
        (10_000, 100_000, 50, 500),
        (8, 8, 3, 3),
        (8, 2, 5, 5),
        (0, 3, 5, 15),
        (1, 10, u32::MAX, u32::MAX),
    ];
    for (capacity, agenda_capacity, set, expected) in cases {
        let mut policy = Policy {
            capacity,
            agenda_capacity,
            ..search()
        };
        policy.set_capacity(set);
        assert_eq!((policy.capacity, policy.agenda_capacity), (set, expected));
    }
}

#[test]
fn the_share_is_half_of_the_queue_for_few_upstreams_a_floor_for_many_and_all_for_one() {
    let shares = [(1, 10_000), (2, 5_000), (4, 5_000), (5, 4_000), (1_000, 32)];
    for (upstreams, share) in shares {
        let mut front = Front::alone(tracker());
        let ups: Vec<UpstreamId> = (0..upstreams).map(|_| front.add(in_flight(1))).collect();
        front.hold(true);
        let queued = (0..10_001)
            .take_while(|_| matches!(front.entry(job(ups[0], INITIAL)), Admission::Queued(_)))
            .count();
        assert_eq!(queued, share, "of {upstreams} upstreams");
    }
}

#[test]
fn upstreams_that_are_taken_away_leave_their_share_to_the_others() {
    // Of three: max(4, min(50, 2 × 100 ÷ 3)); of one alone, all of it.
    let policy = Policy {
        capacity: 100,
        backlog_floor: 4,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let others = [0; 2].map(|_| front.add(in_flight(1)));
    for _ in 0..50 {
        front.queue(job(up, COMPLETION));
    }
    let full = |reason| Admission::Ended(End::Dropped(reason));
    assert_eq!(front.entry(job(up, COMPLETION)), full(DropReason::Backlog));
    front.queue(job(others[0], COMPLETION));
    for other in others {
        front.remove(other);
    }
    for _ in 0..50 {
        front.queue(job(up, COMPLETION));
    }
    assert_eq!(
        front.entry(job(up, COMPLETION)),
        full(DropReason::QueueFull)
    );
    assert_eq!(front.status().fill_percent(), 100);
}

#[test]
fn an_event_beyond_its_upstreams_share_goes_to_the_agenda() {
    let policy = Policy {
        capacity: 100,
        ..tracker()
    };
    let mut front = Front::new(policy);
    let ups = [0; 10].map(|_| front.add(in_flight(1)));
    front.hold(true);
    // Twice an even share would be 20.
    for _ in 0..32 {
        front.queue(job(ups[0], EVENT));
    }
    let event = front.schedule(job(ups[0], EVENT));
    let row = front.both.real.agenda_row(event).expect("it is scheduled");
    assert_eq!(row.due, front.now + secs(10));
}

#[test]
fn an_event_that_finds_the_queue_full_is_put_off_until_there_is_room() {
    let policy = Policy {
        capacity: 1,
        ..tracker()
    };
    let mut front = Front::new(policy);
    let [up, other] = [0; 2].map(|_| front.add(in_flight(4)));
    let first = front.queue(job(up, INITIAL));
    let full = Admission::Ended(End::Dropped(DropReason::QueueFull));
    assert_eq!(front.entry(job(other, INITIAL)), full);
    let event = front.schedule(job(other, EVENT));
    // Told once: it does not fall due at the moment at which it was put off.
    assert_eq!(front.both.real.take_agenda_changes(), [event]);
    front.now = at(10);
    let status = front.status();
    assert_eq!((status.queued, status.scheduled), (1, 1), "still full");
    front.now = at(15);
    assert_eq!(front.starts(), [first]);
    front.now = at(20);
    assert_eq!(front.starts(), [event]);
}

#[test]
fn a_grab_does_not_wait_behind_a_query_that_waits_for_spacing() {
    let (mut front, up) = Front::with(
        search(),
        Quota {
            in_flight: 2,
            ..indexer()
        },
    );
    front.begin(job(up, INTERACTIVE));
    front.queue(job(up, INTERACTIVE));
    let grab = front.queue(Job {
        budget: Budget::Grab,
        ..job(up, INTERACTIVE)
    });
    assert_eq!(front.starts(), [grab]);
}

#[test]
fn while_held_nothing_starts_and_then_everything_does() {
    let (mut front, up) = Front::with(search(), in_flight(4));
    front.hold(true);
    let ids: Vec<JobId> = (0..4).map(|_| front.queue(job(up, RSS))).collect();
    assert!(front.starts().is_empty());
    front.hold(false);
    assert_eq!(front.starts(), ids);
}

#[test]
fn the_most_urgent_class_goes_first_whatever_its_budget() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let with = |class, budget| Job {
        budget,
        ..job(up, class)
    };
    front.hold(true);
    let query = front.queue(with(COMPLETION, Budget::Query));
    let grab = front.queue(with(INTERACTIVE, Budget::Grab));
    let side = front.queue(with(INTERACTIVE, Budget::Side));
    front.hold(false);
    for id in [grab, side, query] {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}
