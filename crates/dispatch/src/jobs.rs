//! The table of all jobs, and lists that run through it without allocating.
//!
//! A million jobs do not fit into any cache, so what every decision needs of a job is one cache line;
//! keys and a max-wait of its own, which most jobs lack, lie in a table beside it.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::job::{Job, JobId, JobKey};
use crate::moment::Moment;
use crate::policy::{Budget, Class};
use crate::record::Asker;

/// A job's place in the table, valid until the job ends. (The slot that an upstream's quota opens is another thing.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobSlot(u32);

impl JobSlot {
    /// No job: the end of a list. Not an `Option`, which would make each of a record's four links 8 bytes.
    pub(crate) const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPlace {
    /// Nowhere: the slot is free, or its job is being moved.
    Nowhere,
    /// In the list of its queue.
    Listed,
    /// In its queue before the list, by submit number: raised, or back from standing aside.
    Early,
    /// Standing aside while a call with its order key is under way.
    Aside,
    /// On the agenda.
    Scheduled,
    /// Asking whether it may start, with a worker.
    Asking,
    /// Under way, with a worker.
    Busy,
    /// Under way without a worker: given back, or not held at all.
    Waiting,
}

/// What every decision needs of a job. Where no two states of a job need a field at once,
/// they share it, as `number`, `at` and `queue` are shared.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct JobRecord {
    /// Counts the jobs that were taken in; the order of jobs that fall due together (rule 20).
    pub(crate) serial: u64,
    /// The submit number while queued or asking, the start number while under way.
    pub(crate) number: u64,
    /// When it was queued, also while it asks; while scheduled, when it is due; while under way, when it started.
    pub(crate) at: Moment,
    pub(crate) upstream: u32,
    pub(crate) asker: Asker,
    /// How often its slot has been used before.
    generation: u32,
    /// In its queue or among the busy calls: a job is in one of them at most.
    queue: JobLink,
    /// Among the jobs of its queue with the same max-wait.
    patience: JobLink,
    pub(crate) class: Class,
    pub(crate) budget: Budget,
    pub(crate) place: JobPlace,
    /// Attempts that were started.
    pub(crate) attempts: u8,
    pub(crate) probe: bool,
    pub(crate) trial: bool,
    pub(crate) claims: bool,
    /// While it asks: the class whose gap it asked with.
    pub(crate) gap_class: Class,
    /// Its call started while its upstream was cooling down: an operator's probe.
    pub(crate) during_cooldown: bool,
    has_extras: bool,
}

const _: () = assert!(size_of::<JobRecord>() == 64, "a record is one cache line");

/// What few jobs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    /// Its own max-wait.
    pub(crate) max_wait: Option<Duration>,
    pub(crate) pending: Option<JobKey>,
    pub(crate) scheduled: Option<JobKey>,
    pub(crate) order: Option<JobKey>,
    /// When it was queued, if another node was asking the same then: it takes that place again, by its submit number. One
    /// more than the moment's number, so that it needs no more room.
    deferred: Option<NonZeroU64>,
}

/// The neighbours of a job in a list.
#[derive(Clone, Copy, Debug)]
struct JobLink {
    before: JobSlot,
    after: JobSlot,
}

impl JobLink {
    const NONE: Self = Self {
        before: JobSlot::NONE,
        after: JobSlot::NONE,
    };
}

/// All jobs that have not ended.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    records: Vec<JobRecord>,
    /// By slot; shorter than `records` where no job beyond has any.
    extras: Vec<Extras>,
    /// The slot to use next: those that came free are a list through their queue links. The last to come free is
    /// the first to be used again, while it is still in a cache.
    free: JobSlot,
    /// From here on no slot is used or in that list.
    fresh: u32,
    /// How many slots are used.
    used: u32,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            extras: Vec::new(),
            free: JobSlot::NONE,
            fresh: 0,
            used: 0,
        }
    }
}

impl Jobs {
    /// Takes a job in that is nowhere yet.
    pub(crate) fn insert(&mut self, job: &Job, serial: u64) -> JobSlot {
        let extras = Extras {
            max_wait: job.max_wait,
            pending: job.pending,
            scheduled: job.scheduled,
            order: job.order,
            deferred: None,
        };
        let mut record = JobRecord {
            serial,
            number: 0,
            at: job.not_before,
            upstream: job.upstream.0,
            asker: job.asker,
            generation: 0,
            queue: JobLink::NONE,
            patience: JobLink::NONE,
            class: job.class,
            budget: job.budget,
            place: JobPlace::Nowhere,
            attempts: job.attempts_made,
            probe: job.probe,
            trial: job.trial,
            claims: job.claims,
            gap_class: job.class,
            during_cooldown: false,
            has_extras: extras != Extras::default(),
        };
        let slot = self.next_slot();
        match self.records.get_mut(slot.index()) {
            Some(old) => {
                // What tells the ids of two jobs in one slot apart outlives both.
                record.generation = old.generation;
                *old = record;
            }
            None => self.records.push(record),
        }
        // Where the new job has none, those of the slot's last job stay: `has_extras` says that they are not its own.
        if self[slot].has_extras {
            if self.extras.len() <= slot.index() {
                self.extras.resize(slot.index() + 1, Extras::default());
            }
            self.extras[slot.index()] = extras;
        }
        slot
    }

    /// Another node is asking the same: the job leaves its queue for a while. Says whether this is the first time.
    pub(crate) fn defer(&mut self, slot: JobSlot) -> bool {
        let at = self[slot].at;
        if !std::mem::replace(&mut self[slot].has_extras, true) {
            if self.extras.len() <= slot.index() {
                self.extras.resize(slot.index() + 1, Extras::default());
            }
            self.extras[slot.index()] = Extras::default();
        }
        let deferred = NonZeroU64::MIN.saturating_add(at.0);
        let before = self.extras[slot.index()].deferred.replace(deferred);
        before.is_none()
    }

    /// When a job that left its queue for another node's call was queued.
    pub(crate) fn deferred(&self, slot: JobSlot) -> Option<Moment> {
        let deferred = self.extras(slot).deferred;
        deferred.map(|after| Moment(after.get() - 1))
    }

    /// Whether it is one of those, which is forgotten with this: it starts.
    pub(crate) fn take_deferred(&mut self, slot: JobSlot) -> bool {
        self[slot].has_extras && self.extras[slot.index()].deferred.take().is_some()
    }

    /// A slot that no job has.
    fn next_slot(&mut self) -> JobSlot {
        self.used += 1;
        let slot = self.free;
        if slot != JobSlot::NONE {
            self.free = self[slot].queue.after;
            return slot;
        }
        let slot = JobSlot(self.fresh);
        self.fresh = self
            .fresh
            .checked_add(1)
            .expect("queue, agenda and calls under way are capped far below");
        slot
    }

    /// Forgets a job; its id will never be found again.
    pub(crate) fn remove(&mut self, slot: JobSlot) {
        let free = std::mem::replace(&mut self.free, slot);
        let record = &mut self[slot];
        // An id comes again after four billion jobs in the same slot. Nobody holds one for that long.
        record.generation = record.generation.wrapping_add(1);
        record.place = JobPlace::Nowhere;
        record.queue.after = free;
        self.used -= 1;
        if self.used == 0 {
            // Jobs that come one after another lie side by side again, however the old ones ended.
            self.free = JobSlot::NONE;
            self.fresh = 0;
        }
    }

    /// The slot in the low half, its generation in the high one. The engine's table of payloads has the same
    /// places and takes the id apart in the same way.
    pub(crate) fn id(&self, slot: JobSlot) -> JobId {
        JobId(u64::from(self[slot].generation) << 32 | u64::from(slot.0))
    }

    /// The job with this id, if it has not ended.
    pub(crate) fn find(&self, id: JobId) -> Option<JobSlot> {
        let slot = JobSlot((id.0 & u64::from(u32::MAX)) as u32);
        let record = self.records.get(slot.index())?;
        let alive = u64::from(record.generation) == id.0 >> 32 && record.place != JobPlace::Nowhere;
        alive.then_some(slot)
    }

    /// The job's keys and its own max-wait.
    #[inline]
    pub(crate) fn extras(&self, slot: JobSlot) -> Extras {
        if self[slot].has_extras {
            self.extras[slot.index()]
        } else {
            Extras::default()
        }
    }

    #[inline]
    pub(crate) fn order(&self, slot: JobSlot) -> Option<JobKey> {
        self.extras(slot).order
    }
}

impl std::ops::Index<JobSlot> for Jobs {
    type Output = JobRecord;

    #[inline]
    fn index(&self, slot: JobSlot) -> &JobRecord {
        &self.records[slot.index()]
    }
}

impl std::ops::IndexMut<JobSlot> for Jobs {
    #[inline]
    fn index_mut(&mut self, slot: JobSlot) -> &mut JobRecord {
        &mut self.records[slot.index()]
    }
}

/// Which of a job's two links a list runs through; a job is in at most one list of each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thread {
    /// The order in a queue.
    Queue,
    /// Jobs of one queue with the same max-wait.
    Patience,
}

/// A first-in first-out list of jobs; a job in the middle leaves in O(1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobList {
    first: JobSlot,
    last: JobSlot,
}

impl Default for JobList {
    fn default() -> Self {
        Self {
            first: JobSlot::NONE,
            last: JobSlot::NONE,
        }
    }
}

impl JobList {
    pub(crate) fn first(self) -> Option<JobSlot> {
        (self.first != JobSlot::NONE).then_some(self.first)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.first == JobSlot::NONE
    }

    #[inline]
    /// Puts a job that is in no list of this thread at the end.
    pub(crate) fn push(&mut self, jobs: &mut Jobs, thread: Thread, slot: JobSlot) {
        *link(jobs, thread, slot) = JobLink {
            before: self.last,
            after: JobSlot::NONE,
        };
        match self.last {
            JobSlot::NONE => self.first = slot,
            last => link(jobs, thread, last).after = slot,
        }
        self.last = slot;
    }

    #[inline]
    /// Takes a job out, wherever in this list it stands.
    pub(crate) fn unlink(&mut self, jobs: &mut Jobs, thread: Thread, slot: JobSlot) {
        let JobLink { before, after } = std::mem::replace(link(jobs, thread, slot), JobLink::NONE);
        match before {
            JobSlot::NONE => self.first = after,
            before => link(jobs, thread, before).after = after,
        }
        match after {
            JobSlot::NONE => self.last = before,
            after => link(jobs, thread, after).before = before,
        }
    }
}

#[inline]
fn link(jobs: &mut Jobs, thread: Thread, slot: JobSlot) -> &mut JobLink {
    let record = &mut jobs[slot];
    match thread {
        Thread::Queue => &mut record.queue,
        Thread::Patience => &mut record.patience,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::UpstreamId;

    fn add(jobs: &mut Jobs) -> JobSlot {
        let job = Job::new(UpstreamId(0), Class(0));
        let slot = jobs.insert(&job, 0);
        jobs[slot].place = JobPlace::Listed;
        slot
    }

    #[test]
    fn a_job_takes_the_place_of_one_that_ended_but_not_its_id() {
        let mut jobs = Jobs::default();
        let [first, second] = [add(&mut jobs), add(&mut jobs)];
        let old = jobs.id(first);
        jobs.remove(first);
        assert_eq!(jobs.find(old), None);
        assert_eq!(add(&mut jobs), first);
        assert_eq!(jobs.find(old), None);
        assert_eq!(jobs.find(jobs.id(second)), Some(second));
        assert_eq!(jobs.records.len(), 2);
    }

    #[test]
    fn when_no_job_is_left_slots_are_given_from_the_first_on() {
        let mut jobs = Jobs::default();
        let slots = [0; 3].map(|_| add(&mut jobs));
        let ids = slots.map(|slot| jobs.id(slot));
        for index in [1, 2, 0] {
            jobs.remove(slots[index]);
        }
        assert_eq!([0; 4].map(|_| add(&mut jobs)), [0, 1, 2, 3].map(JobSlot));
        assert_eq!(ids.map(|id| jobs.find(id)), [None; 3]);
    }
}
