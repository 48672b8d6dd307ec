//! Aging: no class starves, at its upstream or for want of a worker, and nothing is added by it.

use std::collections::HashMap;
use std::time::Duration;

use weir_dispatch::{Class, Finish, Job, JobId, Moment, Next, Policy, UpstreamId};

use crate::front::*;

/// Sees to it that three jobs of each class wait.
fn keep_waiting(front: &mut Front, up: UpstreamId, classes: &mut HashMap<JobId, Class>) {
    for class in (0..4).map(Class) {
        while classes.values().filter(|&&queued| queued == class).count() < 3 {
            let id = front.queue(Job {
                max_wait: Some(secs(DAY)),
                ..job(up, class)
            });
            classes.insert(id, class);
        }
    }
}

/// The longest time between two starts of `class` in a busy hour in which all classes always wait.
fn longest_wait(front: &mut Front, up: UpstreamId, class: Class, end: Moment) -> Duration {
    let mut classes = HashMap::<JobId, Class>::new();
    let mut last = front.now;
    let mut longest = Duration::ZERO;
    while front.now < end {
        keep_waiting(front, up, &mut classes);
        for id in front.starts() {
            if classes.remove(&id) == Some(class) {
                longest = longest.max(last.until(front.now));
                last = front.now;
            }
            front.finish(id, Finish::Done);
        }
        front.now = front
            .wake()
            .map_or(front.now + secs(1), |at| at.min(front.now + secs(1)));
    }
    longest.max(last.until(front.now))
}

#[test]
fn every_class_of_a_spaced_upstream_progresses_within_its_aging_bound() {
    // Aged at 10 s + its own gap, then in line for the next slot (6 s apart) behind at most the two
    // other classes that are aged as well.
    for (class, gap) in [(RSS, 30), (COMPLETION, 42), (BACKGROUND, 60)] {
        let (mut front, up) = Front::with(search(), indexer());
        let longest = longest_wait(&mut front, up, class, at(HOUR));
        assert!(
            longest <= secs(10 + gap + 3 * 6),
            "{class:?} waited {longest:?}"
        );
    }
}

#[test]
fn an_aged_class_takes_at_most_one_slot_per_aging_time_and_gap() {
    let (mut front, up) = Front::with(search(), indexer());
    let mut background: Vec<Moment> = Vec::new();
    let mut all = 0;
    let mut classes = HashMap::<JobId, Class>::new();
    while front.now < at(HOUR) {
        keep_waiting(&mut front, up, &mut classes);
        for id in front.starts() {
            all += 1;
            if classes.remove(&id) == Some(BACKGROUND) {
                background.push(front.now);
            }
            front.finish(id, Finish::Done);
        }
        front.pass(1);
    }
    assert_eq!(all, 600, "one per 6 s: aging adds none");
    assert!(background.len() >= 40);
    for pair in background.windows(2) {
        assert!(pair[0].until(pair[1]) >= secs(70));
    }
}

#[test]
fn of_two_aged_classes_the_one_that_waited_longest_goes_first() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.queue(job(up, INTERACTIVE));
    assert_eq!(front.starts(), [first]);
    let patient = |class| Job {
        max_wait: Some(secs(DAY)),
        ..job(up, class)
    };
    let background = front.queue(patient(BACKGROUND));
    front.pass(1);
    let rss = front.queue(patient(RSS));
    front.pass(20);
    let urgent = front.queue(job(up, INTERACTIVE));
    front.finish(first, Finish::Done);
    for id in [background, rss, urgent] {
        assert_eq!(front.starts(), [id]);
        front.finish(id, Finish::Done);
    }
}

#[test]
fn low_requests_get_a_worker_every_aging_time_under_sustained_load() {
    let mut policy: Policy = news();
    policy.crew.base = 1;
    policy.crew.max = 1;
    let mut front = Front::new(policy);
    let ups: Vec<UpstreamId> = (0..3).map(|_| front.add(in_flight(4))).collect();
    for _ in 0..20 {
        front.queue(job(ups[2], COMPLETION));
    }
    let mut last = front.now;
    let mut low = 0;
    for _ in 0..400 {
        while front.queued() < 30 {
            front.queue(job(ups[0], INTERACTIVE));
            front.queue(job(ups[1], INTERACTIVE));
        }
        let Next::Start(start) = front.dispatcher.next(front.now) else {
            panic!("there is always something to start");
        };
        if start.class == COMPLETION {
            assert!(last.until(front.now) >= secs(10), "only one per aging time");
            assert!(last.until(front.now) <= Duration::from_millis(10_250));
            last = front.now;
            low += 1;
        }
        front.now = front.now + Duration::from_millis(250);
        front.finish(start.job, Finish::Done);
    }
    assert!(low >= 9, "{low} of 100 s");
}

/// A front with one worker and two upstreams, held until all is queued.
fn short_of_workers() -> (Front, [UpstreamId; 2]) {
    let mut policy = news();
    policy.crew.base = 1;
    policy.crew.max = 1;
    let mut front = Front::new(policy);
    let ups = [0; 2].map(|_| front.add(in_flight(1)));
    front.dispatcher.hold(front.now, true);
    (front, ups)
}

#[test]
fn of_two_aged_classes_the_one_that_waited_longest_gets_the_worker() {
    for longest in [INTERACTIVE, COMPLETION] {
        let (mut front, ups) = short_of_workers();
        let shorter = Class(COMPLETION.0 - longest.0);
        let first = front.queue(job(ups[0], longest));
        front.pass(1);
        let second = front.queue(job(ups[1], shorter));
        front.pass(10);
        front.dispatcher.hold(front.now, false);
        assert_eq!(front.starts(), [first], "{longest:?}");
        front.finish(first, Finish::Done);
        assert_eq!(front.starts(), [second]);
    }
}

#[test]
fn of_two_aged_classes_that_waited_equally_long_the_more_urgent_gets_the_worker() {
    let (mut front, ups) = short_of_workers();
    front.queue(job(ups[0], COMPLETION));
    let urgent = front.queue(job(ups[1], INTERACTIVE));
    front.pass(10);
    front.dispatcher.hold(front.now, false);
    assert_eq!(front.starts(), [urgent]);
}

#[test]
fn a_class_ages_at_its_upstream_while_no_worker_is_free() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.dispatcher.hold(front.now, true);
    let completion = front.queue(job(up, COMPLETION));
    front.pass(1);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(10)), "then the offer changes");
    front.now = at(10);
    front.dispatcher.hold(front.now, false);
    assert_eq!(front.starts(), [completion]);
}
