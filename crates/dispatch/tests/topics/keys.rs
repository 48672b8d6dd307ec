//! Keys: what is pending is not queued again, what is scheduled not scheduled again, what has an order keeps it.

use weir_dispatch::{Admission, DropReason, End, Finish, Job, Policy};

use crate::front::*;

#[test]
fn a_feed_that_is_pending_is_not_queued_again_until_it_ended() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let feed = Job {
        pending: key(7),
        ..job(up, RSS)
    };
    let id = front.queue(feed);
    assert_eq!(front.entry(feed), Admission::Duplicate(id), "queued");
    assert_eq!(front.starts(), [id]);
    assert_eq!(front.entry(feed), Admission::Duplicate(id), "under way");
    front.finish(id, Finish::Done);
    assert_ne!(front.queue(feed), id, "unmarked after execution");
}

#[test]
fn a_scheduled_job_is_pending_too() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let retry = Job {
        pending: key(7),
        not_before: at(5),
        ..job(up, RETRY)
    };
    let id = front.schedule(retry);
    let now = Job {
        not_before: at(0),
        ..retry
    };
    assert_eq!(front.entry(now), Admission::Duplicate(id));
    assert!(front.cancel(id));
    front.queue(now);
}

#[test]
fn a_job_that_was_skipped_dropped_or_cancelled_is_no_longer_pending() {
    let policy = Policy {
        capacity: 1,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let keyed = Job {
        pending: key(7),
        ..job(up, INITIAL)
    };
    let first = front.queue(job(up, INITIAL));
    let full = Admission::Ended(End::Dropped(DropReason::QueueFull));
    assert_eq!(front.entry(keyed), full);
    assert_eq!(front.starts(), [first]);
    let queued = front.queue(keyed);
    assert!(front.cancel(queued));
    front.queue(keyed);
    front.finish(first, throttled(60));
    assert_eq!(front.ended().len(), 3);
    front.pass(60);
    front.queue(keyed);
}

#[test]
fn different_peers_are_pending_side_by_side_but_only_one_of_a_hash_is_scheduled() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let peer = |pending| Job {
        pending: key(pending),
        scheduled: key(100),
        ..job(up, INITIAL)
    };
    front.queue(peer(1));
    front.queue(peer(2));
    let later = |pending| Job {
        not_before: at(9),
        ..peer(pending)
    };
    let id = front.schedule(later(3));
    let refused = Admission::Ended(End::Dropped(DropReason::Scheduled));
    assert_eq!(front.entry(later(4)), refused);
    assert!(front.cancel(id));
    front.schedule(later(4));
}

#[test]
fn the_next_attempt_of_a_hash_that_is_scheduled_already_ends_the_job() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let keyed = Job {
        scheduled: key(100),
        ..job(up, INITIAL)
    };
    let ids = front.begin_all::<2>(keyed);
    front.finish(ids[0], Finish::Unavailable);
    front.finish(ids[1], Finish::Unavailable);
    assert_eq!(
        front.ended(),
        [(ids[1], End::Dropped(DropReason::Scheduled))]
    );
}

#[test]
fn an_event_starts_after_the_call_under_way_for_the_same_peer_and_others_pass() {
    let (mut front, up) = Front::with(tracker(), in_flight(4));
    let peer = |class| Job {
        order: key(9),
        ..job(up, class)
    };
    let started = front.begin(peer(INITIAL));
    let stopped = front.queue(peer(EVENT));
    let other = front.queue(job(up, EVENT));
    assert_eq!(front.starts(), [other], "lets others pass");
    assert_eq!(front.queued(), 1, "but stays queued");
    front.finish(started, Finish::Done);
    assert_eq!(front.starts(), [stopped]);
}

#[test]
fn a_job_that_stood_aside_takes_its_place_again_by_its_submit_number() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let peer = Job {
        order: key(9),
        ..job(up, INITIAL)
    };
    let calls = [front.queue(peer), front.queue(job(up, INITIAL))];
    assert_eq!(front.starts(), calls);
    let aside = front.queue(peer);
    let later = [0; 2].map(|_| front.queue(job(up, INITIAL)));
    front.finish(calls[1], Finish::Done);
    assert_eq!(front.starts(), [later[0]]);
    front.finish(calls[0], Finish::Done);
    assert_eq!(front.starts(), [aside], "before the one that came later");
    front.finish(later[0], Finish::Done);
    assert_eq!(front.starts(), [later[1]]);
}

#[test]
fn a_job_that_stands_aside_can_be_cancelled_raised_and_ended() {
    let (mut front, up) = Front::with(tracker(), in_flight(4));
    let peer = Job {
        order: key(9),
        ..job(up, REANNOUNCE)
    };
    let call = front.begin(peer);
    let [cancelled, raised, other] = [0; 3].map(|_| front.queue(peer));
    assert!(front.starts().is_empty());
    assert!(front.cancel(cancelled));
    assert!(front.raise(raised, EVENT));
    front.finish(call, Finish::Done);
    assert_eq!(front.starts(), [raised]);
    front.switch_off(up);
    let ended: Vec<_> = front.ended().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ended, [cancelled, call, other]);
    assert_eq!(front.queued(), 0);
}

#[test]
fn a_raised_job_keeps_its_submit_number() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.hold(true);
    let raised = front.queue(job(up, BACKGROUND));
    let first = front.queue(job(up, INTERACTIVE));
    assert!(front.raise(raised, INTERACTIVE));
    assert!(!front.raise(raised, RSS), "never less urgent");
    front.hold(false);
    assert_eq!(front.starts(), [raised]);
    assert!(!front.raise(raised, INTERACTIVE), "it has started");
    front.finish(raised, Finish::Done);
    assert_eq!(front.starts(), [first]);
}

#[test]
fn an_interactive_follower_of_a_queued_background_job_starts_it_within_its_own_gap() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Done);
    let shared = front.queue(job(up, BACKGROUND));
    front.pass(1);
    assert!(front.raise(shared, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(6)));
    front.now = at(6);
    assert_eq!(front.starts(), [shared]);
}

#[test]
fn a_scheduled_job_can_be_raised() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.schedule(Job {
        not_before: at(5),
        ..job(up, RETRY)
    });
    assert!(front.raise(id, EVENT));
    let row = front.both.real.agenda_row(id).expect("it stays there");
    assert_eq!(row.class, EVENT);
}

#[test]
fn jobs_are_taken_back_by_their_keys() {
    let mut front = Front::alone(tracker());
    let up = front.add(in_flight(1));
    let keyed = |pending, scheduled| Job {
        pending: key(pending),
        scheduled: key(scheduled),
        ..job(up, INITIAL)
    };
    let running = front.queue(keyed(1, 11));
    let queued = front.queue(keyed(2, 12));
    let retry = front.schedule(Job {
        not_before: at(60),
        ..keyed(3, 13)
    });
    assert_eq!(front.starts(), [running]);
    let key = |number| key(number).expect("not 0");
    for (number, was_queued) in [(1, false), (2, true), (2, false), (3, false), (4, false)] {
        let cancelled = front.both.real.cancel_queued(front.now, key(number));
        assert_eq!(cancelled, was_queued, "{number}");
    }
    for (number, was_scheduled) in [(11, false), (12, false), (13, true), (13, false)] {
        let cancelled = front.both.real.cancel_scheduled(front.now, key(number));
        assert_eq!(cancelled, was_scheduled, "{number}");
    }
    let cancelled = [queued, retry].map(|job| (job, End::Cancelled));
    assert_eq!(front.ended(), cancelled);
}

#[test]
fn a_job_that_stood_aside_counts_once_at_its_upstream() {
    let mut front = Front::new(tracker());
    let ups = [0; 2].map(|_| front.add(in_flight(1)));
    let peer = |up| Job {
        order: key(9),
        ..job(up, INITIAL)
    };
    let call = front.begin(peer(ups[0]));
    for up in ups {
        front.queue(peer(up));
    }
    let queued = |front: &mut Front| ups.map(|up| front.view(up).queued);
    assert!(front.starts().is_empty());
    assert_eq!(queued(&mut front), [1, 1]);
    front.finish(call, Finish::Done);
    assert_eq!(queued(&mut front), [1, 1]);
    assert_eq!(front.queued(), 2);
}
