//! The crew: how it grows and shrinks, and how slow calls never hold it.

use std::time::Duration;

use weir_dispatch::{Finish, JobId, Next, Policy, UpstreamId};

use crate::front::*;

/// The tracker front with room for 100 jobs.
fn small() -> Policy {
    Policy {
        capacity: 100,
        ..tracker()
    }
}

fn size(front: &mut Front) -> u32 {
    front.dispatcher.status(front.now).crew
}

#[test]
fn at_most_as_many_calls_as_workers_are_under_way() {
    let (mut front, up) = Front::with(small(), in_flight(100));
    for _ in 0..40 {
        front.queue(job(up, INITIAL));
    }
    let started = front.starts();
    assert_eq!(started.len(), 10);
    front.finish(started[3], Finish::Done);
    assert_eq!(front.starts().len(), 1);
}

#[test]
fn one_worker_comes_per_second_at_60_percent_and_no_more_than_the_maximum() {
    let (mut front, up) = Front::with(small(), in_flight(1));
    front.dispatcher.hold(front.now, true);
    for _ in 0..59 {
        front.queue(job(up, INITIAL));
    }
    front.pass(5);
    assert_eq!(size(&mut front), 10, "at 59 % none comes");
    front.queue(job(up, INITIAL));
    for seconds in 1..=15 {
        front.now = at(5 + seconds);
        assert_eq!(size(&mut front), 10 + (seconds as u32).min(10));
    }
}

#[test]
fn one_worker_leaves_per_second_below_40_percent_and_the_base_stays() {
    let (mut front, up) = Front::with(small(), in_flight(1));
    front.dispatcher.hold(front.now, true);
    let ids: Vec<JobId> = (0..60).map(|_| front.queue(job(up, INITIAL))).collect();
    front.pass(4);
    assert_eq!(size(&mut front), 14);
    for id in &ids[40..] {
        assert!(front.dispatcher.cancel(front.now, *id));
    }
    front.pass(4);
    assert_eq!(size(&mut front), 14, "at 40 % none leaves");
    assert!(front.dispatcher.cancel(front.now, ids[0]));
    for seconds in 1..=8 {
        front.now = at(8 + seconds);
        assert_eq!(size(&mut front), 14 - (seconds as u32).min(4));
    }
}

#[test]
fn a_worker_leaves_only_between_calls() {
    let (mut front, up) = Front::with(small(), in_flight(100));
    for _ in 0..20 {
        front.queue(job(up, INITIAL));
    }
    let calls = front.starts();
    assert_eq!(calls.len(), 10);
    front.dispatcher.set_crew(front.now, 4, 4);
    let status = front.dispatcher.status(front.now);
    assert_eq!((status.crew, status.busy), (4, 10), "no call is cut off");
    for (left, &call) in calls[..7].iter().enumerate() {
        assert!(front.starts().is_empty(), "{left} calls ended");
        front.finish(call, Finish::Done);
    }
    assert_eq!(front.starts().len(), 1);
}

#[test]
fn a_call_older_than_a_second_gives_its_worker_back() {
    let (mut front, up) = Front::with(small(), in_flight(100));
    for _ in 0..20 {
        front.queue(job(up, INITIAL));
    }
    assert_eq!(front.starts().len(), 10);
    assert_eq!(front.wake(), Some(at(1)));
    front.now = at(1);
    assert_eq!(front.starts().len(), 10);
    let status = front.dispatcher.status(front.now);
    assert_eq!((status.busy, status.waiting), (10, 10));
}

#[test]
fn a_call_that_waits_still_counts_for_its_upstreams_limit() {
    let (mut front, up) = Front::with(small(), in_flight(1));
    let first = front.queue(job(up, INITIAL));
    let second = front.queue(job(up, INITIAL));
    assert_eq!(front.starts(), [first]);
    front.pass(30);
    assert!(front.starts().is_empty());
    front.finish(first, Finish::Done);
    assert_eq!(front.starts(), [second]);
}

#[test]
fn when_too_many_calls_wait_the_oldest_gets_room_first() {
    let mut policy = small();
    policy.crew.base = 2;
    policy.crew.max = 2;
    policy.crew.waiting_max = 1;
    let (mut front, up) = Front::with(policy, in_flight(100));
    let ids = [0; 5].map(|_| front.queue(job(up, INITIAL)));
    assert_eq!(front.starts(), ids[..2]);
    front.pass(1);
    assert_eq!(front.starts(), [ids[2]], "one may wait");
    front.pass(10);
    assert!(front.starts().is_empty(), "and no other");
    front.finish(ids[0], Finish::Done);
    assert_eq!(front.starts(), [ids[3]]);
    let status = front.dispatcher.status(front.now);
    assert_eq!((status.busy, status.waiting), (2, 1));
}

#[test]
fn of_200_upstreams_150_never_answer_and_the_50_others_start_as_if_alone() {
    let alone = starts_of_good_ones(0);
    let among = starts_of_good_ones(150);
    assert_eq!(alone.len(), among.len());
    let late: Vec<_> = alone
        .iter()
        .zip(&among)
        .filter(|(alone, among)| among > alone)
        .collect();
    // Dead ones take the crew of 200 for a second each time their calls time out, never longer.
    assert!(late.is_empty(), "{late:?}");
}

/// When the jobs of 50 good upstreams start, with so many dead ones beside them, over five minutes.
fn starts_of_good_ones(dead: usize) -> Vec<Duration> {
    let mut front = Front::new(search());
    let good: Vec<UpstreamId> = (0..50).map(|_| front.add(in_flight(1))).collect();
    let dead: Vec<UpstreamId> = (0..dead).map(|_| front.add(in_flight(1))).collect();
    let mut starts = Vec::new();
    let mut stuck: Vec<(JobId, u64)> = Vec::new();
    for tick in 0..600 {
        for &up in &good {
            front.queue(job(up, COMPLETION));
        }
        for &up in &dead {
            front.entry(job(up, COMPLETION));
        }
        // A call to a dead upstream times out after 20 s.
        let ended: Vec<JobId> = stuck
            .iter()
            .filter(|&&(_, began)| began + 40 <= tick)
            .map(|&(id, _)| id)
            .collect();
        stuck.retain(|(id, _)| !ended.contains(id));
        for id in ended {
            front.finish(id, Finish::Panicked);
        }
        while let Next::Start(start) = front.dispatcher.next(front.now) {
            if good.contains(&start.upstream) {
                starts.push(at(0).until(front.now));
                front.finish(start.job, Finish::Done);
            } else {
                stuck.push((start.job, tick));
            }
        }
        front.now = front.now + Duration::from_millis(500);
    }
    starts
}

#[test]
fn nobody_is_woken_for_a_worker_that_nothing_waits_for() {
    let (mut front, up) = Front::with(small(), in_flight(100));
    for _ in 0..10 {
        front.queue(job(up, INITIAL));
    }
    assert_eq!(front.starts().len(), 10);
    assert_eq!(front.wake(), None, "all are busy, nothing waits");
    front.queue(job(up, INITIAL));
    assert_eq!(front.wake(), Some(at(1)));
    front.dispatcher.set_crew(front.now, 20, 20);
    front.dispatcher.hold(front.now, true);
    assert_eq!(front.wake(), None, "one waits, but not for a worker");
}
