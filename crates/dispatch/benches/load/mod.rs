//! A front with many jobs in four classes over many upstreams, in a made-up order that never changes.

#![allow(
    dead_code,
    reason = "included by several programs, each of which uses a part"
)]

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::{
    Admission, Class, Decision, Dispatcher, Finish, Job, JobId, JobKey, MAX_CLASSES, Moment, Next,
    Policy, Quota, UpstreamId, Windows,
};

/// Calls that are kept under way while draining.
const WORKERS: u32 = 10;

/// A dispatcher and the jobs that it is to be given.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) jobs: Vec<Job>,
    pub(crate) now: Moment,
    decisions: Vec<Decision>,
}

impl Load {
    /// No job is submitted yet, and nothing starts.
    pub(crate) fn new(jobs: u32, upstreams: u32) -> Self {
        let now = Moment(1_000_000_000_000);
        let mut dispatcher = Dispatcher::new(policy(jobs), now);
        for _ in 0..upstreams {
            dispatcher.add_upstream(now, quota());
        }
        dispatcher.hold(now, true);
        let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
        let jobs = (0..jobs)
            .map(|_| {
                let upstream = UpstreamId(numbers.below(upstreams));
                job(upstream, Class(numbers.below(4) as u8))
            })
            .collect();
        Self {
            dispatcher,
            jobs,
            now,
            decisions: Vec::new(),
        }
    }

    /// Gives each job a pending, a scheduled and an order key of its own.
    pub(crate) fn give_keys(&mut self) {
        for (number, job) in (1..).zip(&mut self.jobs) {
            let key = |kind: u64| NonZeroU64::new(number << 2 | kind).map(JobKey);
            (job.pending, job.scheduled, job.order) = (key(1), key(2), key(3));
        }
    }

    /// A front in which so many jobs wait for room at their upstreams or a worker, and their ids. A
    /// hundred more workers are free.
    pub(crate) fn waiting(jobs: u32, upstreams: u32) -> (Self, Vec<JobId>) {
        let mut load = Self::new(jobs, upstreams);
        load.dispatcher.set_crew(load.now, 100, 100);
        let jobs = load.jobs.clone();
        let ids = jobs.into_iter().map(|job| load.submit(job)).collect();
        load.dispatcher.hold(load.now, false);
        (load, ids)
    }

    /// Submits a job for which there is room.
    pub(crate) fn submit(&mut self, job: Job) -> JobId {
        self.now = self.now + Duration::from_nanos(100);
        match self.dispatcher.submit(self.now, job) {
            Admission::Queued(id) => id,
            other => panic!("there is room, but {job:?} is {other:?}"),
        }
    }

    /// Submits all jobs while nothing starts.
    pub(crate) fn submit_all(&mut self) {
        self.dispatcher.hold(self.now, true);
        for &job in &self.jobs {
            self.now = self.now + Duration::from_nanos(100);
            self.dispatcher.submit(self.now, job);
        }
    }

    /// Lets the jobs start and end until none is left. Ends are taken as the engine does, per operation.
    pub(crate) fn drain(&mut self) {
        self.dispatcher.hold(self.now, false);
        let mut calls = VecDeque::<JobId>::new();
        loop {
            self.now = self.now + Duration::from_nanos(100);
            match self.dispatcher.next(self.now) {
                Next::Start(start) => calls.push_back(start.job),
                _ => match calls.pop_front() {
                    Some(job) => self.finish(job),
                    None => break,
                },
            }
        }
    }

    /// Ends the call of a job well.
    pub(crate) fn finish(&mut self, job: JobId) {
        self.dispatcher.finish(self.now, job, Finish::Done, 0);
        drop(self.dispatcher.take_ended());
        drop(self.dispatcher.take_changed());
        self.decisions.clear();
        self.dispatcher.take_decisions(&mut self.decisions);
    }

    /// Starts the next job, which there is.
    pub(crate) fn start(&mut self) -> JobId {
        self.now = self.now + Duration::from_nanos(100);
        match self.dispatcher.next(self.now) {
            Next::Start(start) => start.job,
            other => panic!("a job is ready, but the dispatcher says {other:?}"),
        }
    }
}

/// Rules with the classes of the search front; room for all jobs.
fn policy(jobs: u32) -> Policy {
    let class = |max_wait| ClassPolicy {
        max_wait,
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    };
    Policy {
        classes: vec![
            class(None),
            class(Some(Duration::from_secs(15))),
            class(None),
            class(Some(Duration::from_secs(60))),
        ],
        capacity: jobs * 2 + 1_000,
        agenda_capacity: jobs,
        backlog_floor: jobs + 1_000,
        aging: Duration::from_secs(10),
        put_off: Duration::from_secs(10),
        crew: CrewPolicy {
            base: WORKERS,
            max: WORKERS,
            grow_at: 60,
            shrink_below: 40,
            step: Duration::from_secs(1),
            slot_time: Duration::from_secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: [60, 300, 900].map(Duration::from_secs).to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: Duration::from_secs(86_400),
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_millis(500),
        records: 16,
    }
}

fn quota() -> Quota {
    Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: 4,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

/// A job without keys.
pub(crate) fn job(upstream: UpstreamId, class: Class) -> Job {
    Job::new(upstream, class)
}

/// Marsaglia's xorshift64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}
