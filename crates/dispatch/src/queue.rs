//! The jobs that wait at one upstream for one class and budget.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::jobs::{Jobs, List, Place, Slot, Thread};
use crate::moment::Moment;
use crate::policy::{Budget, Class, MAX_CLASSES};

/// How many queues an upstream has.
pub(crate) const QUEUES: usize = MAX_CLASSES * BUDGETS;

const BUDGETS: usize = 3;

/// Which queue of its upstream a job of this class and budget waits in. Lower is more urgent.
pub(crate) fn index(class: Class, budget: Budget) -> usize {
    usize::from(class.0) * BUDGETS + budget as usize
}

/// The class and budget of a queue.
pub(crate) fn kind(index: usize) -> (Class, Budget) {
    const ALL: [Budget; BUDGETS] = [Budget::Query, Budget::Side, Budget::Grab];
    (Class((index / BUDGETS) as u8), ALL[index % BUDGETS])
}

/// Jobs in the order of their submit numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    list: List,
    /// Jobs that came in with a number from before: raised, or back from standing aside.
    early: BTreeMap<u64, Slot>,
    /// The jobs with a max-wait, by it: when a rest begins, those that it is too long for are found
    /// without looking at the others. Nearly always one entry, the class's own.
    patience: Vec<(Duration, List)>,
    /// When a job of this queue last started.
    pub(crate) last_start: Option<Moment>,
}

impl Queue {
    /// The job that is first in line.
    pub(crate) fn head(&self, jobs: &Jobs) -> Option<Slot> {
        let listed = self.list.first();
        let Some((&number, &early)) = self.early.first_key_value() else {
            return listed;
        };
        listed
            .filter(|&slot| jobs[slot].number < number)
            .or(Some(early))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.early.is_empty()
    }

    /// Puts a job with the highest number so far at the end.
    pub(crate) fn push(&mut self, jobs: &mut Jobs, slot: Slot, limit: Option<Duration>) {
        jobs[slot].place = Place::Listed;
        self.list.push(jobs, Thread::Queue, slot);
        self.wait_at_most(jobs, slot, limit);
    }

    /// Puts a job where its number belongs.
    pub(crate) fn push_early(&mut self, jobs: &mut Jobs, slot: Slot, limit: Option<Duration>) {
        jobs[slot].place = Place::Early;
        self.early.insert(jobs[slot].number, slot);
        self.wait_at_most(jobs, slot, limit);
    }

    /// Takes a job out.
    pub(crate) fn take(&mut self, jobs: &mut Jobs, slot: Slot, limit: Option<Duration>) {
        match jobs[slot].place {
            Place::Early => {
                self.early.remove(&jobs[slot].number);
            }
            _ => self.list.unlink(jobs, Thread::Queue, slot),
        }
        jobs[slot].place = Place::Nowhere;
        let Some(limit) = limit else { return };
        if let Ok(at) = self
            .patience
            .binary_search_by_key(&limit, |&(limit, _)| limit)
        {
            self.patience[at].1.unlink(jobs, Thread::Patience, slot);
            if self.patience[at].1.is_empty() {
                self.patience.remove(at);
            }
        }
    }

    /// A job whose max-wait is shorter than `wait`.
    pub(crate) fn impatient(&self, wait: Duration) -> Option<Slot> {
        let &(limit, list) = self.patience.first()?;
        list.first().filter(|_| limit < wait)
    }

    fn wait_at_most(&mut self, jobs: &mut Jobs, slot: Slot, limit: Option<Duration>) {
        let Some(limit) = limit else { return };
        let at = match self
            .patience
            .binary_search_by_key(&limit, |&(limit, _)| limit)
        {
            Ok(at) => at,
            Err(at) => {
                self.patience.insert(at, (limit, List::default()));
                at
            }
        };
        self.patience[at].1.push(jobs, Thread::Patience, slot);
    }
}
