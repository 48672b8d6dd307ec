//! The queue: order, priority, capacity, the share of one upstream.

use weir_dispatch::{Budget, Drop, End, Entry, Finish, Job, JobId, UpstreamId};

use crate::front::*;

#[test]
fn a_submission_starts_and_its_end_is_told_once() {
    let (mut front, up) = Front::with(search(), indexer());
    let id = front.queue(job(up, INTERACTIVE));
    assert_eq!(front.starts(), [id]);
    assert!(front.ended().is_empty());
    front.finish(id, Finish::Done);
    assert_eq!(front.ended(), [(id, End::Finished(Finish::Done))]);
    assert!(front.ended().is_empty());
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
    let mut policy = search();
    policy.crew.base = 1;
    policy.crew.max = 1;
    let mut front = Front::new(policy);
    let ups: Vec<UpstreamId> = (0..4).map(|_| front.add(in_flight(1))).collect();
    front.dispatcher.hold(front.now, true);
    let last = front.queue(job(ups[0], BACKGROUND));
    let fourth = front.queue(job(ups[1], COMPLETION));
    let third = front.queue(job(ups[2], RSS));
    let second = front.queue(job(ups[3], INTERACTIVE));
    let first_two = [second, front.queue(job(ups[2], INTERACTIVE))];
    front.dispatcher.hold(front.now, false);
    for id in first_two.into_iter().chain([third, fourth, last]) {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn high_goes_before_normal_and_normal_before_low() {
    let (mut front, up) = Front::with(news(), in_flight(1));
    front.dispatcher.hold(front.now, true);
    let [low, normal, high] =
        [COMPLETION, RSS, INTERACTIVE].map(|class| front.queue(job(up, class)));
    front.dispatcher.hold(front.now, false);
    for id in [high, normal, low] {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn a_full_queue_answers_at_once_and_has_room_again_after_a_start() {
    let policy = weir_dispatch::Policy {
        capacity: 2,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.dispatcher.hold(front.now, true);
    front.queue(job(up, INTERACTIVE));
    front.queue(job(up, INTERACTIVE));
    let full = Entry::Ended(End::Dropped(Drop::QueueFull));
    assert_eq!(front.entry(job(up, INTERACTIVE)), full);
    assert!(front.ended().is_empty(), "a refused job is not told twice");
    front.dispatcher.hold(front.now, false);
    assert_eq!(front.starts().len(), 1);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.entry(job(up, INTERACTIVE)), full);
}

#[test]
fn one_saturated_upstream_of_200_leaves_the_fill_under_ten_percent() {
    let mut front = Front::new(tracker());
    let ups: Vec<UpstreamId> = (0..200).map(|_| front.add(in_flight(4))).collect();
    front.dispatcher.hold(front.now, true);
    let mut dropped = 0;
    for _ in 0..5_000 {
        match front.entry(job(ups[0], REANNOUNCE)) {
            Entry::Queued(_) => {}
            Entry::Ended(End::Dropped(Drop::Backlog)) => dropped += 1,
            other => panic!("{other:?}"),
        }
    }
    let status = front.dispatcher.status(front.now);
    assert_eq!(status.queued, 100, "2 × 10,000 ÷ 200");
    assert_eq!(dropped, 4_900);
    assert!(status.fill_percent() < 10);
    front.queue(job(ups[1], REANNOUNCE));
}

#[test]
fn the_share_is_half_of_the_queue_for_few_upstreams_a_floor_for_many_and_all_for_one() {
    for (upstreams, share) in [(1, 10_000), (2, 5_000), (4, 5_000), (5, 4_000), (1_000, 32)] {
        let mut front = Front::new(tracker());
        let ups: Vec<UpstreamId> = (0..upstreams).map(|_| front.add(in_flight(1))).collect();
        front.dispatcher.hold(front.now, true);
        let queued = (0..10_001)
            .take_while(|_| matches!(front.entry(job(ups[0], INITIAL)), Entry::Queued(_)))
            .count();
        assert_eq!(queued, share, "of {upstreams} upstreams");
    }
}

#[test]
fn an_event_beyond_its_upstreams_share_goes_to_the_agenda() {
    let mut front = Front::new(tracker());
    let ups: Vec<UpstreamId> = (0..1_000).map(|_| front.add(in_flight(1))).collect();
    front.dispatcher.hold(front.now, true);
    for _ in 0..32 {
        front.queue(job(ups[0], EVENT));
    }
    let event = front.schedule(job(ups[0], EVENT));
    let row = front.dispatcher.agenda_row(event).expect("it is scheduled");
    assert_eq!(row.due, front.now + secs(10));
}

#[test]
fn a_grab_does_not_wait_behind_a_query_that_waits_for_spacing() {
    let (mut front, up) = Front::with(
        search(),
        weir_dispatch::Quota {
            in_flight: 2,
            ..indexer()
        },
    );
    let query = front.queue(job(up, INTERACTIVE));
    assert_eq!(front.starts(), [query]);
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
    front.dispatcher.hold(front.now, true);
    let ids: Vec<JobId> = (0..4).map(|_| front.queue(job(up, RSS))).collect();
    assert!(front.starts().is_empty());
    front.dispatcher.hold(front.now, false);
    assert_eq!(front.starts(), ids);
}

#[test]
fn the_most_urgent_class_goes_first_whatever_its_budget() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let with = |class, budget| Job {
        budget,
        ..job(up, class)
    };
    front.dispatcher.hold(front.now, true);
    let query = front.queue(with(COMPLETION, Budget::Query));
    let grab = front.queue(with(INTERACTIVE, Budget::Grab));
    let side = front.queue(with(INTERACTIVE, Budget::Side));
    front.dispatcher.hold(front.now, false);
    for id in [grab, side, query] {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}
