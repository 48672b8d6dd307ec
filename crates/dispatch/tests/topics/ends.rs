//! Ends: cancellation, shutdown, upstreams that go; every job ends exactly once.

use weir_dispatch::{Admission, DropReason, End, Finish, Job, JobId};

use crate::front::*;

#[test]
fn a_queued_or_scheduled_job_can_be_cancelled_once_and_a_call_under_way_cannot() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let call = front.begin(job(up, INITIAL));
    let queued = front.queue(job(up, INITIAL));
    let scheduled = front.schedule(Job {
        not_before: at(9),
        ..job(up, INITIAL)
    });
    assert!(!front.cancel(call));
    for id in [queued, scheduled] {
        assert!(front.cancel(id));
        assert!(!front.cancel(id));
        assert_eq!(front.ended(), [(id, End::Cancelled)]);
    }
    front.pass(2);
    assert!(!front.cancel(call), "nor when it waits");
    front.finish(call, Finish::Done);
    assert!(!front.cancel(call), "nor when it has ended");
}

#[test]
fn cancelling_the_head_the_middle_and_the_last_keeps_the_order_of_the_others() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.hold(true);
    let ids: Vec<JobId> = (0..7).map(|_| front.queue(job(up, RSS))).collect();
    for cancelled in [0, 3, 6] {
        assert!(front.cancel(ids[cancelled]));
    }
    front.hold(false);
    for index in [1, 2, 4, 5] {
        assert_eq!(front.starts(), [ids[index]]);
        front.finish(ids[index], Finish::Done);
    }
}

#[test]
fn the_place_of_a_cancelled_job_is_free_at_once() {
    let policy = weir_dispatch::Policy {
        capacity: 1,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    let id = front.queue(job(up, RSS));
    assert!(front.cancel(id));
    front.queue(job(up, RSS));
}

#[test]
fn shutdown_ends_what_has_not_started_and_refuses_what_comes_later() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let calls = front.begin_all::<2>(job(up, INITIAL));
    let queued = front.queue(job(up, INITIAL));
    let scheduled = front.schedule(Job {
        not_before: at(9),
        ..job(up, INITIAL)
    });
    front.shutdown();
    assert_eq!(
        front.ended(),
        [(queued, End::Shutdown), (scheduled, End::Shutdown)]
    );
    assert_eq!(
        front.entry(job(up, INITIAL)),
        Admission::Ended(End::Shutdown)
    );
    front.finish(calls[0], Finish::Done);
    front.finish(calls[1], Finish::Unavailable);
    let expected = [
        (calls[0], End::Finished(Finish::Done)),
        (calls[1], End::Shutdown),
    ];
    assert_eq!(front.ended(), expected, "no further attempt");
    assert_eq!(front.wake(), None);
}

#[test]
fn an_upstream_that_goes_takes_its_jobs_along_and_its_calls_end_by_themselves() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let calls = front.begin_all::<2>(job(up, INITIAL));
    let queued = front.queue(job(up, INITIAL));
    let scheduled = front.schedule(Job {
        not_before: at(9),
        ..job(up, INITIAL)
    });
    front.remove(up);
    let gone = End::Dropped(DropReason::Gone);
    assert_eq!(front.ended(), [(queued, gone), (scheduled, gone)]);
    assert_eq!(front.entry(job(up, INITIAL)), Admission::Ended(gone));
    assert_eq!(front.counts(), (2, 0));
    front.finish(calls[0], Finish::Done);
    front.finish(calls[1], Finish::Unavailable);
    let done = End::Finished(Finish::Done);
    let expected = [(calls[0], done), (calls[1], gone)];
    assert_eq!(front.ended(), expected, "no further attempt");
    assert_eq!(front.both.real.state(front.now, up), None);
}

#[test]
#[should_panic(expected = "only a call under way is finished")]
fn a_call_is_finished_once() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.begin(job(up, INITIAL));
    front.finish(id, Finish::Done);
    front.finish(id, Finish::Done);
}
