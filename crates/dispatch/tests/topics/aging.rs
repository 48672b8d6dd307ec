//! Aging: no class starves, at its upstream or for want of a worker, and nothing is added by it.

use std::collections::HashMap;
use std::time::Duration;

use weir_dispatch::{Budget, Class, Finish, Job, JobId, Moment, Quota, UpstreamId};

use crate::front::*;

/// A job that accepts any wait.
fn patient(up: UpstreamId, class: Class) -> Job {
    Job {
        max_wait: Some(secs(DAY)),
        ..job(up, class)
    }
}

/// Sees to it that three jobs of each class wait.
fn keep_waiting(front: &mut Front, up: UpstreamId, classes: &mut HashMap<JobId, Class>) {
    for class in (0..4).map(Class) {
        while classes.values().filter(|&&queued| queued == class).count() < 3 {
            let id = front.queue(patient(up, class));
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
    // Aged at 10 s + its own gap, then in line for the next slot (an urgent gap apart) behind at most the two
    // other classes that are aged as well.
    for gaps in [GAPS, [1, 2, 2, 25], [6, 1, 1, 1]] {
        for class in [RSS, COMPLETION, BACKGROUND] {
            let quota = Quota {
                gaps: gaps.map(secs),
                ..in_flight(1)
            };
            let (mut front, up) = Front::with(search(), quota);
            let longest = longest_wait(&mut front, up, class, at(HOUR));
            let gap = gaps[usize::from(class.0)];
            assert!(
                longest <= secs(10 + gap + 3 * gaps[0]),
                "{class:?} of {gaps:?} waited {longest:?}"
            );
        }
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
fn an_aged_class_takes_the_next_slot_that_opens_for_another() {
    let (mut front, up) = Front::with(search(), indexer());
    let aged = front.queue(patient(up, BACKGROUND));
    let mut took = Vec::new();
    for second in 0..90 {
        front.now = at(second);
        // There is always an urgent one, with a gap of 6 s.
        if front.queued() < 2 {
            front.queue(job(up, INTERACTIVE));
        }
        for id in front.starts() {
            took.extend((id == aged).then_some(second));
            assert_eq!(second % 6, 0);
            front.finish(id, Finish::Done);
        }
    }
    assert_eq!(took, [72], "it is aged from 10 + 60 s on");
}

#[test]
fn an_aged_query_does_not_take_the_slot_of_a_grab() {
    let quota = Quota {
        in_flight: 3,
        ..indexer()
    };
    let (mut front, up) = Front::with(search(), quota);
    front.hold(true);
    let query = front.queue(patient(up, BACKGROUND));
    front.now = at(69);
    let urgent = front.queue(job(up, INTERACTIVE));
    front.hold(false);
    assert_eq!(front.starts(), [urgent]);
    front.now = at(70);
    let grab = front.queue(Job {
        budget: Budget::Grab,
        ..job(up, INTERACTIVE)
    });
    assert_eq!(
        front.starts(),
        [grab],
        "the gap of the only query still runs"
    );
    front.now = at(69 + 60);
    assert_eq!(front.starts(), [query]);
}

#[test]
fn of_two_aged_classes_the_one_that_waited_longest_goes_first() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.begin(job(up, INTERACTIVE));
    let background = front.queue(patient(up, BACKGROUND));
    front.pass(1);
    let rss = front.queue(patient(up, RSS));
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
    let mut front = Front::new(of_crew(1, news()));
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
        let start = front.start();
        if start.class == COMPLETION {
            assert!(last.until(front.now) >= secs(10), "only one per aging time");
            assert!(last.until(front.now) <= Duration::from_millis(10_250));
            last = front.now;
            low += 1;
        }
        front.pass_ms(250);
        front.finish(start.job, Finish::Done);
    }
    assert!(low >= 9, "{low} of 100 s");
}

/// A front with one worker and two upstreams, held until all is queued.
fn short_of_workers() -> (Front, [UpstreamId; 2]) {
    let mut front = Front::new(of_crew(1, news()));
    let ups = [0; 2].map(|_| front.add(in_flight(1)));
    front.hold(true);
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
        front.hold(false);
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
    front.hold(false);
    assert_eq!(front.starts(), [urgent]);
}

#[test]
fn a_class_ages_at_its_upstream_while_no_worker_is_free() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.hold(true);
    let completion = front.queue(job(up, COMPLETION));
    front.pass(1);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(10)), "then the offer changes");
    front.now = at(10);
    front.hold(false);
    assert_eq!(front.starts(), [completion]);
}
