//! The table of all jobs, and lists that run through it without allocating.

use std::time::Duration;

use crate::job::{Job, JobId, Key};
use crate::moment::Moment;
use crate::policy::{Budget, Class};
use crate::record::Asker;

/// No job: the end of a list.
const NONE: u32 = u32::MAX;

/// A job's place in the table, valid until the job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(u32);

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
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
    /// Under way, with a worker.
    Busy,
    /// Under way, its worker given back.
    Waiting,
}

/// What is known of one job.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Counts the jobs that were taken in.
    pub(crate) serial: u64,
    /// The submit number while queued, the start number while under way.
    pub(crate) number: u64,
    /// When it was queued; while scheduled, when it is due; while under way, when it started.
    pub(crate) at: Moment,
    /// Its own max-wait.
    pub(crate) own_max_wait: Option<Duration>,
    pub(crate) pending: Option<Key>,
    pub(crate) scheduled: Option<Key>,
    pub(crate) order: Option<Key>,
    pub(crate) upstream: u32,
    pub(crate) asker: Asker,
    /// 0 for none.
    pub(crate) batch: u32,
    generation: u32,
    queue: Link,
    patience: Link,
    pub(crate) class: Class,
    pub(crate) budget: Budget,
    pub(crate) place: Place,
    /// Attempts that were started.
    pub(crate) attempts: u8,
    pub(crate) probe: bool,
    /// Its call started while its upstream rested.
    pub(crate) during_rest: bool,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl Link {
    const NONE: Self = Self {
        before: NONE,
        after: NONE,
    };
}

/// All jobs that have not ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    records: Vec<Record>,
    free: Vec<u32>,
}

impl Jobs {
    /// Takes a job in; its links and generation are the table's own.
    pub(crate) fn insert(&mut self, record: Record) -> Slot {
        if let Some(index) = self.free.pop() {
            let generation = self.records[index as usize].generation;
            self.records[index as usize] = Record {
                generation,
                ..record
            };
            return Slot(index);
        }
        let index = u32::try_from(self.records.len())
            .expect("queue, agenda and calls under way are capped far below");
        self.records.push(record);
        Slot(index)
    }

    /// Forgets a job; its id will never be found again.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let record = &mut self.records[slot.0 as usize];
        record.generation = record.generation.wrapping_add(1);
        record.place = Place::Nowhere;
        self.free.push(slot.0);
    }

    pub(crate) fn id(&self, slot: Slot) -> JobId {
        JobId(u64::from(self[slot].generation) << 32 | u64::from(slot.0))
    }

    /// The job with this id, if it has not ended.
    pub(crate) fn find(&self, id: JobId) -> Option<Slot> {
        let slot = Slot((id.0 & u64::from(u32::MAX)) as u32);
        let record = self.records.get(slot.0 as usize)?;
        let alive = u64::from(record.generation) == id.0 >> 32 && record.place != Place::Nowhere;
        alive.then_some(slot)
    }
}

impl std::ops::Index<Slot> for Jobs {
    type Output = Record;

    fn index(&self, slot: Slot) -> &Record {
        &self.records[slot.0 as usize]
    }
}

impl std::ops::IndexMut<Slot> for Jobs {
    fn index_mut(&mut self, slot: Slot) -> &mut Record {
        &mut self.records[slot.0 as usize]
    }
}

impl Record {
    /// A record that is nowhere yet.
    pub(crate) fn new(job: &Job, batch: u32) -> Self {
        Self {
            serial: 0,
            number: 0,
            at: job.not_before,
            own_max_wait: job.max_wait,
            pending: job.pending,
            scheduled: job.scheduled,
            order: job.order,
            upstream: job.upstream.0,
            asker: job.asker,
            batch,
            generation: 0,
            queue: Link::NONE,
            patience: Link::NONE,
            class: job.class,
            budget: job.budget,
            place: Place::Nowhere,
            attempts: job.attempts_made,
            probe: job.probe,
            during_rest: false,
        }
    }
}

/// Which of a job's two links a list runs through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thread {
    /// The order in a queue.
    Queue,
    /// Jobs of one queue with the same max-wait.
    Patience,
}

/// A first-in first-out list of jobs; a job in the middle leaves in O(1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
        }
    }
}

impl List {
    pub(crate) fn first(self) -> Option<Slot> {
        (self.first != NONE).then_some(Slot(self.first))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.first == NONE
    }

    pub(crate) fn push(&mut self, jobs: &mut Jobs, thread: Thread, slot: Slot) {
        *link(jobs, thread, slot.0) = Link {
            before: self.last,
            after: NONE,
        };
        match self.last {
            NONE => self.first = slot.0,
            last => link(jobs, thread, last).after = slot.0,
        }
        self.last = slot.0;
    }

    pub(crate) fn unlink(&mut self, jobs: &mut Jobs, thread: Thread, slot: Slot) {
        let Link { before, after } = std::mem::replace(link(jobs, thread, slot.0), Link::NONE);
        match before {
            NONE => self.first = after,
            before => link(jobs, thread, before).after = after,
        }
        match after {
            NONE => self.last = before,
            after => link(jobs, thread, after).before = before,
        }
    }
}

fn link(jobs: &mut Jobs, thread: Thread, index: u32) -> &mut Link {
    let record = &mut jobs.records[index as usize];
    match thread {
        Thread::Queue => &mut record.queue,
        Thread::Patience => &mut record.patience,
    }
}
