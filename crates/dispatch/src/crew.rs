//! How many workers there should be now, and which calls still count as one (rules 41 to 47).
//!
//! A worker is a right to start, not a thread: a crew bounds how fast calls to *answering* upstreams begin. Calls
//! that take long wait without one, up to a bound of their own, so that upstreams which never answer cannot
//! use up the crew.

use crate::jobs::{JobList, JobPlace, JobSlot, Jobs, Thread};
use crate::moment::Moment;
use crate::policy::CrewPolicy;

/// The workers of one front.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    policy: CrewPolicy,
    size: u32,
    /// Calls that hold a worker. More than `size` after the crew shrank, since no call is cut off (rule 42).
    busy: u32,
    /// Calls under way that hold none.
    waiting: u32,
    /// The busy calls in order of their start, so that the first is always the oldest.
    calls: JobList,
    /// Steps are counted from here.
    origin: Moment,
}

impl Crew {
    pub(crate) fn new(mut policy: CrewPolicy, now: Moment) -> Self {
        // Rule 42; otherwise `change` would shrink a crew below its base.
        policy.max = policy.max.max(policy.base);
        Self {
            size: policy.base,
            policy,
            busy: 0,
            waiting: 0,
            calls: JobList::default(),
            origin: now,
        }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn limits(&self) -> (u32, u32) {
        (self.policy.max, self.policy.grow_at)
    }

    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(crate) fn busy(&self) -> u32 {
        self.busy
    }

    pub(crate) fn has_free_worker(&self) -> bool {
        self.busy < self.size
    }

    /// Other limits; the crew goes to the nearest size that they allow.
    pub(crate) fn resize(&mut self, base: u32, max: u32) {
        self.policy.base = base;
        self.policy.max = max.max(base);
        self.size = self.size.clamp(base, self.policy.max);
    }

    /// A call starts. At a slow upstream it waits from the start, if there is room for it (rule 44).
    pub(crate) fn start(&mut self, jobs: &mut Jobs, slot: JobSlot, slow: bool) {
        if slow && self.may_wait() {
            jobs[slot].place = JobPlace::Waiting;
            self.waiting += 1;
        } else {
            jobs[slot].place = JobPlace::Busy;
            self.busy += 1;
            self.calls.push(jobs, Thread::Queue, slot);
        }
    }

    /// A job asks whether it may start. It holds a worker as a call does, but keeps it until the answer (rule 59).
    pub(crate) fn start_asking(&mut self) {
        self.busy += 1;
    }

    /// It asks no longer.
    pub(crate) fn end_asking(&mut self) {
        self.busy -= 1;
    }

    /// A call that holds a worker ended, or gives it back.
    pub(crate) fn end_busy(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        self.busy -= 1;
        self.calls.unlink(jobs, Thread::Queue, slot);
    }

    /// A call that holds no worker ended.
    pub(crate) fn end_waiting(&mut self) {
        self.waiting -= 1;
    }

    /// When the next call gives its worker back, and which it is. The moment may have passed: such a call found
    /// no room to wait until now (rule 43).
    pub(crate) fn next_return(&self, jobs: &Jobs) -> Option<(Moment, JobSlot)> {
        let slot = self.calls.first()?;
        self.may_wait()
            .then(|| (jobs[slot].at + self.policy.slot_time, slot))
    }

    /// A call counts as waiting from now on.
    pub(crate) fn give_back(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        self.end_busy(jobs, slot);
        jobs[slot].place = JobPlace::Waiting;
        self.waiting += 1;
    }

    /// Whether a call that ends now is too young to have given its worker back. At exactly `slot_time` it is not:
    /// time goes before the operation (rule 3), so its worker is gone already.
    pub(crate) fn is_quick(&self, started: Moment, now: Moment) -> bool {
        started.until(now) < self.policy.slot_time
    }

    /// Whether there is room for another waiting call.
    fn may_wait(&self) -> bool {
        self.waiting < self.policy.waiting_max
    }

    /// When the next step changes the size, if the queue stays as it is.
    pub(crate) fn next_step(&self, queued: u32, capacity: u32, after: Moment) -> Option<Moment> {
        // Steps of no length would all fall on one moment and time would stand still, so there are none.
        if self.change(queued, capacity) == 0 || self.policy.step.is_zero() {
            return None;
        }
        let step = u64::try_from(self.policy.step.as_nanos()).unwrap_or(u64::MAX);
        // Rule 41: on the grid, so that asking more often does not make the crew grow faster.
        let passed = after.0.saturating_sub(self.origin.0) / step;
        Some(Moment(self.origin.0.saturating_add(
            passed.saturating_add(1).saturating_mul(step),
        )))
    }

    /// Makes the step that [`Self::next_step`] announced.
    pub(crate) fn step(&mut self, queued: u32, capacity: u32) {
        self.size = self
            .size
            .saturating_add_signed(self.change(queued, capacity));
    }

    /// What a step does to the size at this fill. Between the two marks it does nothing, or a fill that lies
    /// at one of them would make workers come and go every second.
    fn change(&self, queued: u32, capacity: u32) -> i32 {
        if self.policy.base == self.policy.max {
            return 0;
        }
        // In hundredths on both sides, which spares a division and its rounding.
        let (queued, capacity) = (u64::from(queued) * 100, u64::from(capacity));
        if queued >= u64::from(self.policy.grow_at) * capacity && self.size < self.policy.max {
            1
        } else if queued < u64::from(self.policy.shrink_below) * capacity
            && self.size > self.policy.base
        {
            -1
        } else {
            0
        }
    }
}
