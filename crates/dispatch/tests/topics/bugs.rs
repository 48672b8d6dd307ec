//! One test per bug that was found, named after it.

use std::time::Duration;

use weir_dispatch::{Admission, Budget, Class, Finish, Job, Policy, UpstreamId, Wait, What};

use crate::front::*;

#[test]
fn calls_with_the_same_order_key_overlapped_at_two_upstreams() {
    let mut front = Front::new(tracker());
    let ups = [0; 2].map(|_| front.add(in_flight(1)));
    let keyed = |up: UpstreamId| Job {
        order: key(5),
        ..job(up, INITIAL)
    };
    let ids = [
        front.queue(keyed(ups[0])),
        front.queue(keyed(ups[1])),
        front.queue(keyed(ups[0])),
    ];
    let other = front.queue(job(ups[1], INITIAL));
    assert_eq!(front.starts(), [ids[0], other]);
    front.finish(other, Finish::Done);
    assert!(front.starts().is_empty());
    front.finish(ids[0], Finish::Done);
    assert_eq!(front.starts(), [ids[1]]);
    front.finish(ids[1], Finish::Done);
    assert_eq!(front.starts(), [ids[2]]);
}

#[test]
fn putting_off_by_nothing_made_time_stand_still() {
    let policy = Policy {
        capacity: 1,
        put_off: Duration::ZERO,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    front.queue(job(up, INITIAL));
    front.schedule(Job {
        not_before: front.now + Duration::from_nanos(5),
        ..job(up, RETRY)
    });
    front.now = front.now + Duration::from_nanos(9);
    assert_eq!(front.status().scheduled, 1);
}

#[test]
fn an_upstream_that_allows_no_call_in_flight_never_started_one() {
    let (mut front, up) = Front::with(search(), in_flight(0));
    front.call(job(up, INTERACTIVE), Finish::Done);
}

#[test]
fn a_crew_whose_maximum_is_below_its_base_shrank() {
    let mut policy = tracker();
    policy.crew.max = 3;
    let mut front = Front::new(policy);
    front.pass(60);
    assert_eq!(front.status().crew, 10);
}

#[test]
fn crew_steps_of_no_length_were_made_every_nanosecond() {
    let mut policy = tracker();
    policy.capacity = 10;
    policy.crew.step = Duration::ZERO;
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    for _ in 0..10 {
        front.queue(job(up, INITIAL));
    }
    front.pass(60);
    assert_eq!(front.status().crew, 10);
    assert_eq!(front.wake(), None);
}

#[test]
fn the_next_wait_of_an_upstream_that_is_gone_was_nothing() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    front.remove(up);
    for upstream in [up, UpstreamId(99)] {
        let (wait, reason) = front.wait(upstream, INITIAL, Budget::Query);
        assert_eq!(reason, Some(Wait::Off));
        assert!(wait > secs(365 * DAY));
    }
}

#[test]
fn a_start_was_explained_by_the_wait_of_a_job_that_was_cancelled() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    let cancelled = front.queue(job(up, INTERACTIVE));
    assert!(front.starts().is_empty());
    assert!(front.cancel(cancelled));
    front.pass(HOUR);
    front.call(job(up, INTERACTIVE), Finish::Done);
    let newest = front.decisions(up)[0];
    let expected = What::Started {
        waited: Duration::ZERO,
        reason: None,
        attempt: 1,
    };
    assert_eq!(newest.what, expected);
}

#[test]
fn a_kept_job_of_a_class_that_is_gone_stopped_the_clock() {
    let mut front = Front::alone(tracker());
    let up = front.add(in_flight(1));
    let kept = Job {
        not_before: front.now + Duration::from_secs(5),
        pending: key(9),
        ..job(up, Class(200))
    };
    let now = front.now;
    let Admission::Scheduled(id) = front.both.real.reschedule(now, kept) else {
        panic!("it has its place on the agenda");
    };
    assert_eq!(
        front.both.real.reschedule(now, kept),
        Admission::Duplicate(id)
    );
    front.now = now + Duration::from_secs(5);
    assert_eq!(front.starts(), [id]);
}
