//! Batches: many upstreams, one question; an end per job as each comes, then done.

use weir_dispatch::{Entry, Finish, Job, JobId, UpstreamId};

use crate::front::*;

fn ids(entries: &[Entry]) -> Vec<JobId> {
    entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Queued(id) | Entry::Scheduled(id) => Some(*id),
            _ => None,
        })
        .collect()
}

#[test]
fn a_batch_is_done_once_when_its_last_job_ended() {
    let mut front = Front::new(search());
    let ups: Vec<UpstreamId> = (0..3).map(|_| front.add(in_flight(1))).collect();
    let jobs: Vec<Job> = ups.iter().map(|&up| job(up, INTERACTIVE)).collect();
    let (batch, entries) = front.dispatcher.submit_batch(front.now, &jobs);
    let ids = ids(&entries);
    assert_eq!(front.starts(), ids);
    for (left, &id) in (0..3).rev().zip(&ids) {
        front.finish(id, Finish::Done);
        assert_eq!(front.ended().len(), 1);
        let done = front.dispatcher.take_done();
        assert_eq!(done.contains(&batch), left == 0);
    }
    assert!(front.dispatcher.take_done().is_empty());
}

#[test]
fn the_jobs_of_a_batch_are_numbered_by_class_whatever_their_order() {
    let mut policy = search();
    policy.crew.base = 1;
    policy.crew.max = 1;
    let mut front = Front::new(policy);
    let ups: Vec<UpstreamId> = (0..4).map(|_| front.add(in_flight(1))).collect();
    let classes = [BACKGROUND, INTERACTIVE, RSS, INTERACTIVE];
    let jobs: Vec<Job> = ups
        .iter()
        .zip(classes)
        .map(|(&up, class)| job(up, class))
        .collect();
    let (_, entries) = front.dispatcher.submit_batch(front.now, &jobs);
    let ids = ids(&entries);
    for index in [1, 3, 2, 0] {
        assert_eq!(front.starts(), [ids[index]]);
        front.finish(ids[index], Finish::Done);
    }
}

#[test]
fn a_batch_of_which_nothing_was_taken_in_is_done_at_once() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.dispatcher.switch_off(front.now, up);
    let (batch, entries) = front.dispatcher.submit_batch(front.now, &[job(up, RSS); 2]);
    assert!(ids(&entries).is_empty());
    assert_eq!(front.dispatcher.drain_done().collect::<Vec<_>>(), [batch]);
    let (empty, _) = front.dispatcher.submit_batch(front.now, &[]);
    assert_eq!(front.dispatcher.take_done(), [empty]);
}

#[test]
fn a_cancelled_and_a_retried_job_belong_to_their_batch_until_they_end() {
    let (mut front, up) = Front::with(tracker(), in_flight(2));
    let (batch, entries) = front
        .dispatcher
        .submit_batch(front.now, &[job(up, INITIAL); 3]);
    let ids = ids(&entries);
    assert_eq!(front.starts(), ids[..2]);
    assert!(front.dispatcher.cancel(front.now, ids[2]));
    front.finish(ids[0], Finish::Done);
    front.finish(ids[1], Finish::Unavailable);
    assert!(front.dispatcher.take_done().is_empty());
    front.pass(1);
    assert_eq!(front.starts(), [ids[1]]);
    front.finish(ids[1], Finish::Done);
    assert_eq!(front.dispatcher.take_done(), [batch]);
}

#[test]
fn a_duplicate_does_not_belong_to_the_batch() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let feed = Job {
        pending: key(1),
        ..job(up, RSS)
    };
    let first = front.queue(feed);
    let (batch, entries) = front.dispatcher.submit_batch(front.now, &[feed]);
    assert_eq!(entries, [Entry::Duplicate(first)]);
    assert_eq!(front.dispatcher.take_done(), [batch]);
}
