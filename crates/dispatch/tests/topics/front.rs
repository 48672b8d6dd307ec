//! A front with made-up time: the dispatcher, the policies of the three fronts, and short words for both.

use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnRest, Overflow};
use weir_dispatch::{
    After, Class, Dispatcher, End, Entry, Finish, Job, JobId, Key, Moment, Next, Policy, Quota,
    Skip, State, UpstreamId, Wait, Windows,
};

/// The search front's classes.
pub(crate) const INTERACTIVE: Class = Class(0);
pub(crate) const RSS: Class = Class(1);
pub(crate) const COMPLETION: Class = Class(2);
pub(crate) const BACKGROUND: Class = Class(3);

/// The tracker front's classes.
pub(crate) const EVENT: Class = Class(0);
pub(crate) const INITIAL: Class = Class(1);
pub(crate) const REANNOUNCE: Class = Class(2);
pub(crate) const RETRY: Class = Class(3);

pub(crate) const MINUTE: u64 = 60;
pub(crate) const HOUR: u64 = 3600;
pub(crate) const DAY: u64 = 86_400;

/// All rungs of the ladder, in seconds.
pub(crate) const LADDER: [u64; 9] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
];

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many seconds after the start.
pub(crate) fn at(seconds: u64) -> Moment {
    Moment(1_000 * DAY * 1_000_000_000) + secs(seconds)
}

pub(crate) fn key(number: u64) -> Option<Key> {
    NonZeroU64::new(number).map(Key)
}

/// A dispatcher and what time it is.
pub(crate) struct Front {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) now: Moment,
}

impl Front {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            dispatcher: Dispatcher::new(policy, at(0)),
            now: at(0),
        }
    }

    /// A front with one upstream of this quota.
    pub(crate) fn with(policy: Policy, quota: Quota) -> (Self, UpstreamId) {
        let mut front = Self::new(policy);
        let upstream = front.add(quota);
        (front, upstream)
    }

    pub(crate) fn add(&mut self, quota: Quota) -> UpstreamId {
        self.dispatcher.add_upstream(self.now, quota)
    }

    pub(crate) fn entry(&mut self, job: Job) -> Entry {
        self.dispatcher.submit(self.now, job)
    }

    /// Submits a job that is to be queued.
    pub(crate) fn queue(&mut self, job: Job) -> JobId {
        match self.entry(job) {
            Entry::Queued(id) => id,
            other => panic!("{job:?} is not queued but {other:?}"),
        }
    }

    /// Submits a job that is to be put on the agenda.
    pub(crate) fn schedule(&mut self, job: Job) -> JobId {
        match self.entry(job) {
            Entry::Scheduled(id) => id,
            other => panic!("{job:?} is not scheduled but {other:?}"),
        }
    }

    /// All jobs that start now, in order.
    pub(crate) fn starts(&mut self) -> Vec<JobId> {
        let mut started = Vec::new();
        while let Next::Start(start) = self.dispatcher.next(self.now) {
            started.push(start.job);
        }
        started
    }

    /// When the dispatcher wants to be asked again.
    pub(crate) fn wake(&mut self) -> Option<Moment> {
        match self.dispatcher.next(self.now) {
            Next::Start(start) => panic!("{start:?} is ready"),
            Next::Wait(at) => Some(at),
            Next::Idle => None,
        }
    }

    pub(crate) fn finish(&mut self, job: JobId, finish: Finish) -> After {
        self.dispatcher.finish(self.now, job, finish, 0)
    }

    /// Submits a job, starts it and ends its call like this.
    pub(crate) fn call(&mut self, job: Job, finish: Finish) -> After {
        let id = self.queue(job);
        assert_eq!(self.starts(), [id]);
        self.finish(id, finish)
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now = self.now + secs(seconds);
    }

    pub(crate) fn ended(&mut self) -> Vec<(JobId, End)> {
        self.dispatcher.take_ended()
    }

    pub(crate) fn state(&mut self, upstream: UpstreamId) -> State {
        self.dispatcher
            .state(self.now, upstream)
            .expect("it is there")
    }

    pub(crate) fn rung(&mut self, upstream: UpstreamId) -> u8 {
        self.dispatcher
            .upstream(self.now, upstream)
            .expect("it is there")
            .rung
    }

    pub(crate) fn queued(&mut self) -> u32 {
        self.dispatcher.status(self.now).queued
    }
}

/// A job of budget Query without keys.
pub(crate) fn job(upstream: UpstreamId, class: Class) -> Job {
    Job::new(upstream, class)
}

pub(crate) fn probe(upstream: UpstreamId) -> Job {
    Job {
        probe: true,
        ..job(upstream, INTERACTIVE)
    }
}

/// No limit but so many calls in flight.
pub(crate) fn in_flight(limit: u32) -> Quota {
    Quota {
        spacing: Duration::ZERO,
        in_flight: limit,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

/// An indexer: 60 s between starts, one call at a time.
pub(crate) fn indexer() -> Quota {
    Quota {
        spacing: secs(60),
        ..in_flight(1)
    }
}

pub(crate) fn throttled(seconds: u64) -> Finish {
    Finish::Throttled {
        retry_after: Some(secs(seconds)),
    }
}

pub(crate) fn skipped(reason: Wait, wait: u64, limit: Option<u64>) -> End {
    End::Skipped(Skip {
        reason,
        wait: Some(secs(wait)),
        limit: limit.map(secs),
    })
}

fn class(
    gap_permille: u32,
    max_wait: Option<u64>,
    on_rest: OnRest,
    overflow: Overflow,
) -> ClassPolicy {
    ClassPolicy {
        gap_permille,
        max_wait: max_wait.map(secs),
        on_rest,
        overflow,
    }
}

/// The search front's defaults, with a crew of 200.
pub(crate) fn search() -> Policy {
    Policy {
        classes: vec![
            class(100, None, OnRest::Hold, Overflow::Drop),
            class(500, Some(15), OnRest::Hold, Overflow::Drop),
            class(700, None, OnRest::Hold, Overflow::Drop),
            class(1000, Some(60), OnRest::Hold, Overflow::Drop),
        ],
        capacity: 10_000,
        agenda_capacity: 100_000,
        backlog_floor: 32,
        aging: secs(10),
        put_off: secs(10),
        crew: CrewPolicy {
            base: 200,
            max: 200,
            grow_at: 60,
            shrink_below: 40,
            step: secs(1),
            slot_time: secs(1),
            waiting_max: 1_000,
        },
        failure: FailurePolicy {
            ladder: LADDER.map(secs).to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: secs(DAY),
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_millis(500),
        records: 16,
    }
}

/// The tracker front's defaults.
pub(crate) fn tracker() -> Policy {
    let search = search();
    Policy {
        classes: vec![
            class(1000, None, OnRest::End, Overflow::Agenda),
            class(1000, None, OnRest::End, Overflow::Drop),
            class(1000, None, OnRest::End, Overflow::Drop),
            class(1000, None, OnRest::End, Overflow::Drop),
        ],
        crew: CrewPolicy {
            base: 10,
            max: 20,
            ..search.crew.clone()
        },
        failure: FailurePolicy {
            threshold: 3,
            threshold_disables: true,
            throttled: Some(secs(300)),
            ..search.failure.clone()
        },
        again_class: Some(RETRY),
        attempts: 3,
        ..search
    }
}

/// The news front's classes (high, normal, low): no spacing, nothing skipped.
pub(crate) fn news() -> Policy {
    let search = search();
    Policy {
        classes: vec![class(1000, None, OnRest::End, Overflow::Drop); 3],
        ..search
    }
}
