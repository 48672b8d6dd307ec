//! A front with made-up time: the dispatcher and its model, the policies of the three fronts, and short words for them.

use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::{
    Admission, After, Ask, Availability, Budget, Class, Decision, End, Finish, Job, JobId, JobKey,
    MAX_CLASSES, Moment, Next, Policy, Quota, Refused, Skip, Start, Status, UpstreamId,
    UpstreamStatus, Usage, Wait, What, Windows,
};

use crate::both::Both;

/// A start as it is told.
fn told(start: Start, at: Moment) -> Decision {
    Decision {
        upstream: start.upstream,
        job: Some(start.job),
        at,
        class: Some(start.class),
        asker: start.asker,
        what: What::Started {
            waited: start.since.until(at),
            reason: start.reason,
            attempt: start.attempt,
        },
    }
}

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

/// The same policy with a crew that keeps this size.
pub(crate) fn of_crew(size: u32, mut policy: Policy) -> Policy {
    policy.crew.base = size;
    policy.crew.max = size;
    policy
}

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

pub(crate) fn key(number: u64) -> Option<JobKey> {
    NonZeroU64::new(number).map(JobKey)
}

/// The dispatcher and the model of it, and what time it is. Every step is taken by both and must come out the same.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) both: Both,
    pub(crate) now: Moment,
    /// What was started, and how many decisions had been made before.
    started: Vec<(usize, Decision)>,
}

impl Front {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            both: Both::new(policy, at(0)),
            now: at(0),
            started: Vec::new(),
        }
    }

    /// A front without the model: for what only the dispatcher has, or what is too much for lists and full scans.
    pub(crate) fn alone(policy: Policy) -> Self {
        Self {
            both: Both::alone(policy, at(0)),
            now: at(0),
            started: Vec::new(),
        }
    }

    /// A front with one upstream of this quota.
    pub(crate) fn with(policy: Policy, quota: Quota) -> (Self, UpstreamId) {
        let mut front = Self::new(policy);
        let upstream = front.add(quota);
        (front, upstream)
    }

    pub(crate) fn add(&mut self, quota: Quota) -> UpstreamId {
        self.both.add_upstream(self.now, quota)
    }

    pub(crate) fn remove(&mut self, upstream: UpstreamId) {
        self.both.remove_upstream(self.now, upstream);
    }

    pub(crate) fn entry(&mut self, job: Job) -> Admission {
        self.both.submit(self.now, job)
    }

    /// Submits a job that is to be queued.
    pub(crate) fn queue(&mut self, job: Job) -> JobId {
        match self.entry(job) {
            Admission::Queued(id) => id,
            other => panic!("{job:?} is not queued but {other:?}"),
        }
    }

    /// Submits a job that is to be put on the agenda.
    pub(crate) fn schedule(&mut self, job: Job) -> JobId {
        match self.entry(job) {
            Admission::Scheduled(id) => id,
            other => panic!("{job:?} is not scheduled but {other:?}"),
        }
    }

    pub(crate) fn cancel(&mut self, job: JobId) -> bool {
        self.both.cancel(self.now, job)
    }

    pub(crate) fn raise(&mut self, job: JobId, class: Class) -> bool {
        self.both.raise(self.now, job, class)
    }

    pub(crate) fn next(&mut self) -> Next {
        let next = self.both.next(self.now);
        if let Next::Start(start) = next {
            self.started.push((start.decided, told(start, self.now)));
        }
        next
    }

    /// The one job that starts next.
    pub(crate) fn start(&mut self) -> Start {
        match self.next() {
            Next::Start(start) => start,
            other => panic!("nothing starts but {other:?}"),
        }
    }

    /// The one job that asks next.
    pub(crate) fn ask(&mut self) -> Ask {
        match self.next() {
            Next::Ask(ask) => ask,
            other => panic!("nothing asks but {other:?}"),
        }
    }

    /// Whether nothing starts or asks now.
    pub(crate) fn is_still(&mut self) -> bool {
        matches!(self.next(), Next::Wait(_) | Next::Idle)
    }

    /// The other nodes allow it.
    pub(crate) fn grant(&mut self, job: JobId) -> Option<Start> {
        let start = self.both.grant(self.now, job);
        let record = start.map(|start| (start.decided, told(start, self.now)));
        self.started.extend(record);
        start
    }

    /// The other nodes do not, until so many seconds after the start.
    pub(crate) fn refuse(&mut self, job: JobId, reason: Wait, until: u64) -> bool {
        let refused = Refused {
            until: at(until),
            reason,
            full: None,
        };
        self.both.refuse(self.now, job, refused)
    }

    /// All jobs that start now, in order.
    pub(crate) fn starts(&mut self) -> Vec<JobId> {
        let mut started = Vec::new();
        while let Next::Start(start) = self.next() {
            started.push(start.job);
        }
        started
    }

    /// When the dispatcher wants to be asked again, which is not too late.
    pub(crate) fn wake(&mut self) -> Option<Moment> {
        self.earliest_start();
        match self.next() {
            Next::Start(start) => panic!("{start:?} is ready"),
            Next::Wait(at) => Some(at),
            Next::Idle => None,
            Next::Ask(ask) => panic!("nothing is to start, but {ask:?}"),
        }
    }

    /// When the next job would start if nothing else happened.
    pub(crate) fn earliest_start(&mut self) -> Option<Moment> {
        self.both.earliest_start(self.now)
    }

    pub(crate) fn finish(&mut self, job: JobId, finish: Finish) -> After {
        self.finish_after(job, finish, 0)
    }

    /// Ends a call; another attempt waits for so many thousandths longer.
    pub(crate) fn finish_after(&mut self, job: JobId, finish: Finish, jitter: u16) -> After {
        self.both.finish(self.now, job, finish, jitter)
    }

    /// Submits a job that starts now, alone.
    pub(crate) fn begin(&mut self, job: Job) -> JobId {
        let id = self.queue(job);
        assert_eq!(self.starts(), [id]);
        id
    }

    /// Submits a job so many times, and all of them start now.
    pub(crate) fn begin_all<const N: usize>(&mut self, job: Job) -> [JobId; N] {
        let ids = [0; N].map(|_| self.queue(job));
        assert_eq!(self.starts(), ids);
        ids
    }

    /// Submits a job, starts it and ends its call like this.
    pub(crate) fn call(&mut self, job: Job, finish: Finish) -> After {
        let id = self.begin(job);
        self.finish(id, finish)
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.pass_ms(1000 * seconds);
    }

    pub(crate) fn pass_ms(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    pub(crate) fn hold(&mut self, held: bool) {
        self.both.hold(self.now, held);
    }

    pub(crate) fn clear(&mut self, upstream: UpstreamId) {
        self.both.clear(self.now, upstream);
    }

    pub(crate) fn switch_off(&mut self, upstream: UpstreamId) {
        self.both.switch_off(self.now, upstream);
    }

    pub(crate) fn switch_on(&mut self, upstream: UpstreamId) {
        self.both.switch_on(self.now, upstream);
    }

    pub(crate) fn set_quota(&mut self, upstream: UpstreamId, quota: Quota) {
        self.both.set_quota(self.now, upstream, quota);
    }

    pub(crate) fn set_crew(&mut self, base: u32, max: u32) {
        self.both.set_crew(self.now, base, max);
    }

    pub(crate) fn observe(&mut self, upstream: UpstreamId, usage: Usage) {
        self.both.observe(self.now, upstream, usage);
    }

    pub(crate) fn shutdown(&mut self) {
        self.both.shutdown(self.now);
    }

    /// Restarts at a moment of the new clock, which may be an earlier one. Gives the jobs of the agenda.
    pub(crate) fn restart(&mut self, now: Moment) -> Vec<JobId> {
        self.now = now;
        self.started.clear();
        self.both.restart(now)
    }

    pub(crate) fn ended(&mut self) -> Vec<(JobId, End)> {
        self.both.pass(self.now);
        self.both.take_ended()
    }

    /// What was decided about an upstream, newest first.
    pub(crate) fn decisions(&self, up: UpstreamId) -> Vec<Decision> {
        let mut all = self.both.real.decisions().to_vec();
        for &(before, start) in self.started.iter().rev() {
            all.insert(before, start);
        }
        let newest = all.into_iter().rev();
        newest.filter(|decision| decision.upstream == up).collect()
    }

    pub(crate) fn status(&mut self) -> Status {
        self.both.pass(self.now);
        self.both.real.status(self.now)
    }

    /// Calls that hold a worker, and calls that wait.
    pub(crate) fn counts(&mut self) -> (u32, u32) {
        let status = self.status();
        (status.busy, status.waiting)
    }

    pub(crate) fn queued(&mut self) -> u32 {
        self.status().queued
    }

    pub(crate) fn view(&mut self, upstream: UpstreamId) -> UpstreamStatus {
        self.both.pass(self.now);
        let view = self.both.real.upstream(self.now, upstream);
        view.expect("it is there")
    }

    pub(crate) fn state(&mut self, upstream: UpstreamId) -> Availability {
        self.view(upstream).state
    }

    pub(crate) fn rung(&mut self, upstream: UpstreamId) -> u8 {
        self.view(upstream).rung
    }

    pub(crate) fn is_slow(&mut self, upstream: UpstreamId) -> bool {
        self.view(upstream).slow
    }

    /// How long a job of this class and budget would wait, and for what.
    pub(crate) fn wait(
        &self,
        upstream: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        self.both.next_wait(self.now, upstream, class, budget)
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
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: limit,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

/// The gaps of an indexer's classes.
pub(crate) const GAPS: [u64; 4] = [6, 30, 42, 60];

/// An indexer: gaps between starts, one call at a time.
pub(crate) fn indexer() -> Quota {
    Quota {
        gaps: GAPS.map(secs),
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

fn class(max_wait: Option<u64>, on_cooldown: OnCooldown, overflow: Overflow) -> ClassPolicy {
    ClassPolicy {
        max_wait: max_wait.map(secs),
        on_cooldown,
        overflow,
    }
}

/// The search front's defaults, with a crew of 200.
pub(crate) fn search() -> Policy {
    Policy {
        classes: vec![
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(15), OnCooldown::Hold, Overflow::Drop),
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(60), OnCooldown::Hold, Overflow::Drop),
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
            class(None, OnCooldown::End, Overflow::Agenda),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
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
        classes: vec![class(None, OnCooldown::End, Overflow::Drop); 3],
        ..search
    }
}
