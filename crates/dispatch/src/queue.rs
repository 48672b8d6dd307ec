//! The jobs that wait at one upstream for one class and budget (rule 4).
//!
//! The common case, jobs that come and go in order, is a linked list through the table of jobs and allocates
//! nothing. What few queues ever need (jobs that come back with an old number, max-waits of their own) lies in a box.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::jobs::{JobList, JobPlace, JobSlot, Jobs, Thread};
use crate::moment::Moment;
use crate::policy::{Budget, Class, MAX_CLASSES};

/// How many queues an upstream has. There is a bit for each in `Upstream::filled`.
pub(crate) const QUEUES: usize = MAX_CLASSES * BUDGETS;

const BUDGETS: usize = 3;

/// Which queue of its upstream a job of this class and budget waits in. Those for queries, which are
/// nearly all that is used, lie together.
pub(crate) fn index(class: Class, budget: Budget) -> usize {
    budget as usize * MAX_CLASSES + usize::from(class.0)
}

/// The class and budget of a queue.
pub(crate) fn kind(index: usize) -> (Class, Budget) {
    // In the order in which they are declared, for `index` takes a budget as its number.
    const ALL: [Budget; BUDGETS] = [Budget::Query, Budget::Side, Budget::Grab];
    (Class((index % MAX_CLASSES) as u8), ALL[index / MAX_CLASSES])
}

/// Jobs in the order of their submit numbers.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Those that came in with the highest number so far, so in order without sorting.
    list: JobList,
    /// The jobs that have no max-wait of their own. All accept what their class does, so when one of them does not
    /// accept a wait none does, and it is enough to look at the first.
    ordinary: JobList,
    /// The first of the list and of the early ones, or [`JobSlot::NONE`].
    head: QueueHead,
    /// When a job of this queue last started; the beginning of time if none did.
    pub(crate) last_start: Moment,
    rare: Option<Box<Rare>>,
}

/// The first job in line, with what the choice among upstreams needs of it: a table of a million jobs
/// is far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueHead {
    pub(crate) number: u64,
    /// When it was queued.
    pub(crate) at: Moment,
    pub(crate) slot: JobSlot,
}

/// What most queues never have.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Jobs that came in with a number from before: raised (rule 12), or back from standing aside (rule 10).
    early: BTreeMap<u64, JobSlot>,
    /// The jobs with a max-wait of their own, by it: when a cooldown begins, those that it is too long for are found
    /// without looking at the others.
    patience: BTreeMap<Duration, JobList>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            list: JobList::default(),
            ordinary: JobList::default(),
            head: QueueHead {
                number: 0,
                at: Moment(0),
                slot: JobSlot::NONE,
            },
            last_start: Moment(0),
            rare: None,
        }
    }
}

impl Queue {
    /// The job that is first in line.
    #[inline]
    pub(crate) fn head(&self) -> Option<QueueHead> {
        (!self.is_empty()).then_some(self.head)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.slot == JobSlot::NONE
    }

    /// Puts a job with the highest number so far at the end.
    pub(crate) fn push(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        jobs[slot].place = JobPlace::Listed;
        self.list.push(jobs, Thread::Queue, slot);
        self.wait_at_most(jobs, slot);
        // Whoever is the head stays it: no number is higher than the new one's.
        if self.is_empty() {
            self.head = head(jobs, slot);
        }
    }

    /// Puts a job where its number belongs.
    pub(crate) fn push_early(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        jobs[slot].place = JobPlace::Early;
        let number = jobs[slot].number;
        self.rare_mut().early.insert(number, slot);
        self.wait_at_most(jobs, slot);
        self.head = self.first(jobs);
    }

    /// Takes a job out.
    pub(crate) fn take(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        let early = jobs[slot].place == JobPlace::Early;
        jobs[slot].place = JobPlace::Nowhere;
        if early {
            let number = jobs[slot].number;
            self.rare_mut().early.remove(&number);
        } else {
            self.list.unlink(jobs, Thread::Queue, slot);
        }
        self.wait_no_more(jobs, slot);
        // Most jobs that leave are the head and start. The others leave the head as it is.
        if slot == self.head.slot {
            self.head = self.first(jobs);
        }
    }

    /// A job that does not accept `wait`, given what those without a max-wait of their own accept.
    pub(crate) fn impatient(&self, wait: Duration, class: Option<Duration>) -> Option<JobSlot> {
        let ordinary = self
            .ordinary
            .first()
            .filter(|_| class.is_some_and(|limit| limit < wait));
        ordinary.or_else(|| {
            // The shortest limit comes first: where it is accepted, all others are.
            let (&limit, list) = self.rare.as_ref()?.patience.first_key_value()?;
            list.first().filter(|_| limit < wait)
        })
    }

    /// Works the head out anew.
    fn first(&self, jobs: &Jobs) -> QueueHead {
        let listed = self.list.first().map(|slot| head(jobs, slot));
        let early = self.rare.as_ref().and_then(|rare| {
            let (_, &slot) = rare.early.first_key_value()?;
            Some(head(jobs, slot))
        });
        let first = listed.into_iter().chain(early).min_by_key(|h| h.number);
        first.unwrap_or(Self::default().head)
    }

    /// Notes what wait a job accepts.
    fn wait_at_most(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        let Some(limit) = jobs.extras(slot).max_wait else {
            return self.ordinary.push(jobs, Thread::Patience, slot);
        };
        let same = self.rare_mut().patience.entry(limit).or_default();
        same.push(jobs, Thread::Patience, slot);
    }

    /// Undoes [`Self::wait_at_most`].
    fn wait_no_more(&mut self, jobs: &mut Jobs, slot: JobSlot) {
        let Some(limit) = jobs.extras(slot).max_wait else {
            return self.ordinary.unlink(jobs, Thread::Patience, slot);
        };
        let patience = &mut self.rare_mut().patience;
        if let Some(same) = patience.get_mut(&limit) {
            same.unlink(jobs, Thread::Patience, slot);
            // An empty list would hide the next longer limit from `impatient`.
            if same.is_empty() {
                patience.remove(&limit);
            }
        }
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

fn head(jobs: &Jobs, slot: JobSlot) -> QueueHead {
    let record = &jobs[slot];
    QueueHead {
        number: record.number,
        at: record.at,
        slot,
    }
}
