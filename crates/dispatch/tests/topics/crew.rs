//! The crew: how it grows and shrinks, and how slow calls and slow upstreams never hold it.

use std::time::Duration;

use weir_dispatch::{Finish, Job, JobId, Next, Policy, UpstreamId};

use crate::front::*;

/// The tracker front with room for 100 jobs.
fn small() -> Policy {
    Policy {
        capacity: 100,
        ..tracker()
    }
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
    front.hold(true);
    for _ in 0..59 {
        front.queue(job(up, INITIAL));
    }
    front.pass(5);
    assert_eq!(front.status().crew, 10, "at 59 % none comes");
    front.queue(job(up, INITIAL));
    assert_eq!(front.wake(), Some(at(6)));
    for seconds in 1..=15 {
        front.now = at(5 + seconds);
        assert_eq!(front.status().crew, 10 + (seconds as u32).min(10));
    }
}

#[test]
fn one_worker_leaves_per_second_below_40_percent_and_the_base_stays() {
    let (mut front, up) = Front::with(small(), in_flight(1));
    front.hold(true);
    let ids: Vec<JobId> = (0..60).map(|_| front.queue(job(up, INITIAL))).collect();
    front.pass(4);
    assert_eq!(front.status().crew, 14);
    for id in &ids[40..] {
        assert!(front.cancel(*id));
    }
    front.pass(4);
    assert_eq!(front.status().crew, 14, "at 40 % none leaves");
    assert!(front.cancel(ids[0]));
    for seconds in 1..=8 {
        front.now = at(8 + seconds);
        assert_eq!(front.status().crew, 14 - (seconds as u32).min(4));
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
    front.set_crew(4, 4);
    let status = front.status();
    assert_eq!((status.crew, status.busy), (4, 10), "no call is cut off");
    for (left, &call) in calls[..7].iter().enumerate() {
        assert!(front.starts().is_empty(), "{left} calls ended");
        front.finish(call, Finish::Done);
    }
    assert_eq!(front.starts().len(), 1);
    front.set_crew(6, 9);
    assert_eq!(front.status().crew, 6);
}

#[test]
fn a_step_comes_before_the_jobs_that_are_due_with_it() {
    let policy = Policy {
        capacity: 1,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    front.schedule(Job {
        not_before: at(1),
        ..job(up, INITIAL)
    });
    front.now = at(1);
    assert_eq!((front.queued(), front.status().crew), (1, 10));
    front.now = at(2);
    assert_eq!(front.status().crew, 11);
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
    assert_eq!(front.counts(), (0, 20), "the others wait from the start");
}

#[test]
fn a_call_that_waits_still_counts_for_its_upstreams_limit() {
    let (mut front, up) = Front::with(small(), in_flight(1));
    let first = front.begin(job(up, INITIAL));
    let second = front.queue(job(up, INITIAL));
    front.pass(30);
    assert!(front.starts().is_empty());
    assert_eq!(front.earliest_start(), None);
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
    assert_eq!(front.counts(), (2, 1));
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
    let mut front = Front::alone(search());
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
        while let Next::Start(start) = front.next() {
            if good.contains(&start.upstream) {
                starts.push(at(0).until(front.now));
                front.finish(start.job, Finish::Done);
            } else {
                stuck.push((start.job, tick));
            }
        }
        front.pass_ms(500);
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
    front.set_crew(20, 20);
    front.hold(true);
    assert_eq!(front.wake(), None, "one waits, but not for a worker");
}

/// A crew that keeps its size.
fn crew(size: u32) -> Policy {
    of_crew(size, small())
}

/// A front at whose only upstream one call has just given its worker back.
fn with_slow(policy: Policy, limit: u32) -> (Front, UpstreamId, JobId) {
    let (mut front, up) = Front::with(policy, in_flight(limit));
    let old = front.begin(job(up, INITIAL));
    front.pass(1);
    assert!(front.is_slow(up));
    (front, up, old)
}

#[test]
fn an_upstream_is_slow_from_the_moment_its_call_gives_its_worker_back() {
    let (mut front, up) = Front::with(crew(10), in_flight(9));
    let other = front.add(in_flight(9));
    front.begin(job(up, INITIAL));
    front.now = at(1) - Duration::from_nanos(1);
    assert!(!front.is_slow(up));
    front.now = at(1);
    assert!(front.is_slow(up));
    assert!(!front.is_slow(other));
    front.begin(job(other, INITIAL));
    assert_eq!(front.counts(), (1, 1), "other upstreams go on as ever");
}

#[test]
fn an_old_call_that_finds_no_room_to_wait_makes_nobody_slow() {
    let mut policy = crew(2);
    policy.crew.waiting_max = 1;
    let (mut front, up, old) = with_slow(policy, 9);
    let other = front.add(in_flight(9));
    front.begin(job(other, INITIAL));
    front.pass(10);
    assert_eq!(front.counts(), (1, 1));
    assert!(front.is_slow(up));
    assert!(!front.is_slow(other));
    front.finish(old, Finish::Done);
    assert_eq!(
        front.counts(),
        (0, 1),
        "it takes the room as soon as there is some"
    );
    assert!(
        front.is_slow(other),
        "and its upstream is slow from then on"
    );
}

#[test]
fn a_call_that_ends_old_with_its_worker_makes_nobody_slow() {
    let mut policy = crew(2);
    policy.crew.waiting_max = 1;
    let (mut front, _, _) = with_slow(policy, 9);
    let other = front.add(in_flight(9));
    let old = front.begin(job(other, INITIAL));
    front.pass(10);
    front.finish(old, Finish::Done);
    assert!(!front.is_slow(other));
}

#[test]
fn the_room_that_an_early_end_leaves_goes_to_an_old_call_and_its_upstream_is_slow_again() {
    let mut policy = crew(5);
    policy.crew.waiting_max = 1;
    let (mut front, up, first) = with_slow(policy, 9);
    let old = front.begin(job(up, INITIAL));
    front.pass_ms(500);
    front.finish(first, Finish::Done);
    let early = front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 1));
    front.pass_ms(700);
    front.finish(early, Finish::Done);
    assert_eq!(front.counts(), (0, 1));
    assert!(
        front.is_slow(up),
        "the end came first, then the worker given back"
    );
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 1), "there is no room to wait");
    front.pass_ms(100);
    front.finish(old, Finish::Done);
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 1));
}

#[test]
fn calls_at_a_slow_upstream_wait_from_their_start_and_leave_the_worker_to_others() {
    let (mut front, up, _) = with_slow(crew(1), 9);
    let other = front.add(in_flight(1));
    let slow = [0; 3].map(|_| front.queue(job(up, INITIAL)));
    let good = front.queue(job(other, INITIAL));
    assert_eq!(
        front.starts(),
        [slow[0], slow[1], slow[2], good],
        "in the order of their submission"
    );
    assert_eq!(front.counts(), (1, 4));
}

#[test]
fn a_call_at_a_slow_upstream_needs_a_free_worker_to_start() {
    let (mut front, up, _) = with_slow(crew(1), 9);
    let other = front.add(in_flight(1));
    let good = front.begin(job(other, INITIAL));
    let slow = front.queue(job(up, EVENT));
    assert!(front.starts().is_empty(), "however urgent it is");
    assert_eq!(front.wake(), Some(at(2)));
    front.finish(good, Finish::Done);
    assert_eq!(front.starts(), [slow]);
    assert_eq!(front.counts(), (0, 2));
}

#[test]
fn where_too_many_wait_a_call_at_a_slow_upstream_holds_its_worker_until_it_is_old_and_has_room() {
    let mut policy = crew(3);
    policy.crew.waiting_max = 2;
    let (mut front, up, old) = with_slow(policy, 9);
    let young = front.begin(job(up, INITIAL));
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 2), "two may wait, the third may not");
    front.finish(old, Finish::Done);
    assert_eq!(front.counts(), (1, 1), "it is not old enough");
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 2));
    front.pass(1);
    assert_eq!(front.counts(), (1, 2), "it is, but there is no room");
    front.finish(young, Finish::Done);
    assert_eq!(front.counts(), (0, 2));
}

#[test]
fn a_call_that_waits_from_its_start_waits_until_it_ends() {
    let (mut front, up, old) = with_slow(crew(10), 9);
    let [stays, quick] = [0; 2].map(|_| front.begin(job(up, INITIAL)));
    front.finish(quick, Finish::Done);
    assert!(!front.is_slow(up));
    assert_eq!(front.counts(), (0, 2), "also when its upstream recovers");
    front.pass(20);
    assert_eq!(front.counts(), (0, 2));
    assert!(!front.is_slow(up), "it has no worker to give back");
    front.finish(stays, Finish::Done);
    assert_eq!(front.counts(), (0, 1));
    front.finish(old, Finish::Done);
    assert_eq!(front.counts(), (0, 0));
}

#[test]
fn calls_under_way_when_their_upstream_becomes_slow_keep_their_workers_until_they_are_old() {
    let (mut front, up) = Front::with(crew(10), in_flight(9));
    front.begin(job(up, INITIAL));
    front.pass_ms(400);
    front.begin(job(up, INITIAL));
    front.now = at(1);
    assert!(front.is_slow(up));
    assert_eq!(front.counts(), (1, 1));
    front.pass_ms(400);
    assert_eq!(front.counts(), (0, 2));
}

#[test]
fn a_quick_end_of_whatever_kind_ends_slowness_also_while_others_wait() {
    let outcomes = [
        Finish::Done,
        Finish::No,
        Finish::Again { after: secs(60) },
        throttled(60),
        Finish::Unavailable,
        Finish::Rejected { at_least: None },
        Finish::OurNetwork { pause: secs(1) },
        Finish::Panicked,
    ];
    for finish in outcomes {
        let (mut front, up, _) = with_slow(crew(10), 9);
        let [quick, _] = [0; 2].map(|_| front.begin(job(up, INITIAL)));
        assert_eq!(front.counts(), (0, 3));
        front.pass_ms(999);
        front.finish(quick, finish);
        assert!(!front.is_slow(up), "{finish:?}");
        assert_eq!(front.counts(), (0, 2), "{finish:?}");
    }
}

#[test]
fn a_quick_end_of_a_call_with_a_worker_ends_slowness_and_the_next_call_holds_one() {
    let (mut front, up) = Front::with(crew(10), in_flight(9));
    front.begin(job(up, INITIAL));
    front.pass_ms(400);
    let young = front.begin(job(up, INITIAL));
    front.now = at(1);
    front.finish(young, Finish::Done);
    assert!(!front.is_slow(up));
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 1));
    front.pass(1);
    assert!(front.is_slow(up), "slow again, by its own age");
    assert_eq!(front.counts(), (0, 2));
}

#[test]
fn an_end_after_a_whole_second_or_more_does_not_end_slowness() {
    let (mut front, up, old) = with_slow(crew(10), 9);
    let [exact, long, quick] = [0; 3].map(|_| front.begin(job(up, INITIAL)));
    front.finish(old, Finish::Done);
    assert!(front.is_slow(up));
    front.now = at(2) - Duration::from_nanos(1);
    let mut sooner = front.clone();
    sooner.finish(quick, Finish::Done);
    assert!(!sooner.is_slow(up));
    front.now = at(2);
    front.finish(exact, Finish::Done);
    assert!(front.is_slow(up));
    front.pass(30);
    front.finish(long, Finish::Done);
    assert!(front.is_slow(up), "also when none of its calls is left");
    front.finish(quick, Finish::Done);
    assert!(front.is_slow(up));
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (0, 1));
}

#[test]
fn the_first_call_that_ends_at_a_whole_second_has_made_its_upstream_slow() {
    let (mut front, up) = Front::with(crew(10), in_flight(9));
    let call = front.begin(job(up, INITIAL));
    front.pass(1);
    front.finish(call, Finish::Done);
    assert!(front.is_slow(up));
}

#[test]
fn a_slow_upstream_has_no_more_calls_in_flight_than_it_allows() {
    let (mut front, up, old) = with_slow(crew(10), 3);
    let ids = [0; 4].map(|_| front.queue(job(up, INITIAL)));
    assert_eq!(front.starts(), ids[..2]);
    assert_eq!(front.wake(), None);
    front.finish(old, Finish::Done);
    assert_eq!(front.starts(), [ids[2]]);
}

#[test]
fn an_operator_does_not_change_who_is_slow_and_a_restart_forgets_it() {
    let (mut front, up, _) = with_slow(crew(10), 9);
    front.switch_off(up);
    front.switch_on(up);
    front.clear(up);
    front.set_quota(up, in_flight(9));
    front.begin(probe(up));
    assert_eq!(front.counts(), (0, 2));
    front.restart(at(2));
    assert!(!front.is_slow(up));
    front.begin(job(up, INITIAL));
    assert_eq!(front.counts(), (1, 0));
}

#[test]
fn without_slot_time_every_call_waits_while_there_is_room() {
    let mut policy = crew(1);
    policy.crew.slot_time = Duration::ZERO;
    policy.crew.waiting_max = 3;
    let (mut front, up) = Front::with(policy, in_flight(9));
    let ids = [0; 6].map(|_| front.queue(job(up, INITIAL)));
    assert_eq!(front.starts(), ids[..4]);
    assert_eq!(front.counts(), (1, 3));
    front.finish(ids[0], Finish::Done);
    assert!(front.is_slow(up), "no call is quicker than that");
    assert_eq!(front.starts(), [ids[4]]);
    assert_eq!(front.counts(), (1, 3));
}
