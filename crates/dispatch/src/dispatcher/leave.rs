//! How jobs leave the queue: cancelled, raised, skipped, standing aside, ended.
//!
//! `leave_queue` and `rejoin_queue` are the only ways out of and back into a queue; both keep the counts of the front
//! and of the upstream. Whoever uses them refreshes the upstream afterwards, when all else is in its place.

use crate::job::{End, JobId, JobKey, Skip, Wait};
use crate::jobs::{JobPlace, JobSlot};
use crate::moment::Moment;
use crate::policy::{Class, OnCooldown};
use crate::queue;
use crate::record::What;

use super::Dispatcher;

impl Dispatcher {
    /// Takes a job back that has not started. Says whether there was one: a call under way ends by itself.
    pub fn cancel(&mut self, now: Moment, job: JobId) -> bool {
        self.withdraw(now, job, End::Cancelled)
    }

    /// Ends a job that has not started. Says whether there was one.
    pub(super) fn withdraw(&mut self, now: Moment, job: JobId, end: End) -> bool {
        let now = self.advance(now);
        let Some(slot) = self.jobs.find(job) else {
            return false;
        };
        let upstream = self.jobs[slot].upstream;
        match self.jobs[slot].place {
            JobPlace::Nowhere | JobPlace::Busy | JobPlace::Waiting => return false,
            JobPlace::Scheduled => self.unschedule(slot),
            JobPlace::Asking => self.leave_asking(slot, now),
            JobPlace::Listed | JobPlace::Early | JobPlace::Aside => self.leave_queue(slot),
        }
        self.end(slot, end);
        self.refresh(upstream, now);
        true
    }

    /// Takes the job back that is pending under a key, if it is queued. Says whether there was one. One on the agenda
    /// stays, which [`Self::cancel_scheduled`] takes back by the key that it has there.
    pub fn cancel_queued(&mut self, now: Moment, pending: JobKey) -> bool {
        let Some(&slot) = self.pending.get(&pending) else {
            return false;
        };
        self.jobs[slot].place != JobPlace::Scheduled && self.cancel(now, self.jobs.id(slot))
    }

    /// Takes the job back that is on the agenda under a key. Says whether there was one.
    pub fn cancel_scheduled(&mut self, now: Moment, scheduled: JobKey) -> bool {
        let Some(slot) = self.agenda.find(Some(scheduled)) else {
            return false;
        };
        self.cancel(now, self.jobs.id(slot))
    }

    /// Makes a job more urgent that has not started. It keeps its submit number. Says whether
    /// anything changed.
    pub fn raise(&mut self, now: Moment, job: JobId, class: Class) -> bool {
        let now = self.advance(now);
        let Some(slot) = self.jobs.find(job) else {
            return false;
        };
        let from = self.jobs[slot].class;
        // Never less urgent: of several who want the same job the most urgent one decides.
        if class >= from {
            return false;
        }
        match self.jobs[slot].place {
            JobPlace::Nowhere | JobPlace::Busy | JobPlace::Waiting => return false,
            // These stand in no queue; they join that of their new class when they come back.
            JobPlace::Scheduled | JobPlace::Aside | JobPlace::Asking => {
                self.jobs[slot].class = class
            }
            // Rule 12: with its old number, so among the early ones of its new queue.
            JobPlace::Listed | JobPlace::Early => {
                self.leave_queue(slot);
                self.jobs[slot].class = class;
                self.rejoin_queue(slot);
            }
        }
        self.note(slot, now, What::Raised { from });
        self.refresh(self.jobs[slot].upstream, now);
        true
    }

    /// Takes a job out of wherever it is queued.
    pub(super) fn leave_queue(&mut self, slot: JobSlot) {
        let record = &self.jobs[slot];
        let up = &mut self.upstreams[record.upstream as usize];
        match record.place {
            JobPlace::Aside => {
                up.aside.remove(&record.number);
                // Nothing is left to come back when the call with its order key ends.
                let order = self.jobs.order(slot);
                if let Some(aside) = order.and_then(|key| self.under_way.get_mut(&key)) {
                    aside.retain(|other| *other != slot);
                }
            }
            _ if record.probe => up.probes_mut().take(&mut self.jobs, slot),
            _ => {
                let index = queue::index(record.class, record.budget);
                up.queues[index].take(&mut self.jobs, slot);
                if up.queues[index].is_empty() {
                    up.filled &= !(1 << index);
                }
            }
        }
        up.queued -= 1;
        self.queued -= 1;
        self.jobs[slot].place = JobPlace::Nowhere;
    }

    /// Puts a job back into its queue, where its submit number belongs.
    pub(super) fn rejoin_queue(&mut self, slot: JobSlot) {
        let record = &self.jobs[slot];
        let index = queue::index(record.class, record.budget);
        let up = &mut self.upstreams[record.upstream as usize];
        if record.probe {
            up.probes_mut().push_early(&mut self.jobs, slot);
        } else {
            up.queues[index].push_early(&mut self.jobs, slot);
            up.filled |= 1 << index;
        }
        up.queued += 1;
        self.queued += 1;
    }

    /// The head of a queue lets later jobs pass until the call with its order key has ended (rule 10). Out of the
    /// queue, so that looking for the next head never walks over jobs that cannot start.
    pub(super) fn stand_aside(&mut self, slot: JobSlot) {
        self.leave_queue(slot);
        let record = &mut self.jobs[slot];
        record.place = JobPlace::Aside;
        let up = &mut self.upstreams[record.upstream as usize];
        up.aside.insert(record.number, slot);
        // It still has its place in the queue as far as capacity and share are concerned.
        up.queued += 1;
        self.queued += 1;
        let order = self
            .jobs
            .order(slot)
            .expect("only a job with an order key stands aside");
        self.under_way.entry(order).or_default().push(slot);
    }

    /// Ends a queued job as skipped, with a record.
    pub(super) fn skip(&mut self, slot: JobSlot, skip: Skip, now: Moment) {
        self.leave_queue(slot);
        self.end_noted(slot, now, End::Skipped(skip));
    }

    /// A cooldown began or grew: ends the queued jobs whose class ends with it, and those that it is too long for
    /// (rule 25). The only place where jobs behind the head are judged; its cost is that of the jobs it ends.
    pub(super) fn end_on_cooldown(&mut self, upstream: u32, now: Moment) {
        let Some(until) = self.upstreams[upstream as usize].health.cooling_until(now) else {
            return;
        };
        // Rule 60.
        self.recall(upstream, now);
        let cooldown = Skip {
            reason: Wait::Cooldown,
            wait: Some(now.until(until)),
            limit: None,
        };
        // Those that stand aside are walked through one by one: they are too few to be sorted by what they accept.
        let standing_aside: Vec<JobSlot> = self.upstreams[upstream as usize]
            .aside
            .values()
            .copied()
            .collect();
        for slot in standing_aside {
            if self.jobs[slot].probe {
                continue;
            }
            if self.ends_on_cooldown(self.jobs[slot].class) {
                self.skip(slot, cooldown, now);
            } else if let Some(skip) = self.too_late(&self.demand(slot), now) {
                self.skip(slot, skip, now);
            }
        }
        for index in self.upstreams[upstream as usize].filled() {
            let (class, budget) = queue::kind(index);
            if self.ends_on_cooldown(class) {
                while let Some(head) = self.upstreams[upstream as usize].queues[index].head() {
                    self.skip(head.slot, cooldown, now);
                }
                continue;
            }
            // All jobs of one queue have the same next wait, so it is worked out once and those that do not accept it are
            // taken by their limits.
            let up = &self.upstreams[upstream as usize];
            let (ready, _) = up.ready(class, budget, now);
            let (wait, limit) = (now.until(ready), self.max_wait_of(class));
            while let Some(slot) =
                self.upstreams[upstream as usize].queues[index].impatient(wait, limit)
            {
                let skip = self
                    .too_late(&self.demand(slot), now)
                    .expect("its limit is shorter than the wait");
                self.skip(slot, skip, now);
            }
        }
    }

    /// Whether jobs of this class do not outlive the beginning of a cooldown.
    pub(super) fn ends_on_cooldown(&self, class: Class) -> bool {
        self.policy.classes[usize::from(class.0)].on_cooldown == OnCooldown::End
    }

    /// Ends all jobs of an upstream that are queued, with what `end` says; probes stay if wanted.
    pub(super) fn end_queued(&mut self, upstream: u32, now: Moment, keep_probes: bool, end: End) {
        // Rule 60.
        self.recall(upstream, now);
        // One at a time and from the beginning again: each end changes what the next look finds.
        loop {
            let up = &self.upstreams[upstream as usize];
            let queued = up.filled().next().and_then(|index| up.queues[index].head());
            let aside = up
                .aside
                .values()
                .copied()
                .find(|&slot| !(keep_probes && self.jobs[slot].probe));
            let probe = up.probe().filter(|_| !keep_probes);
            let slot = queued.or(probe).map(|head| head.slot);
            let Some(slot) = slot.or(aside) else {
                break;
            };
            self.leave_queue(slot);
            self.end_noted(slot, now, end);
        }
    }

    /// Ends all jobs of an upstream that are on the agenda, with what `end` says.
    pub(super) fn end_scheduled(&mut self, upstream: u32, now: Moment, end: End) {
        let scheduled = |it: &Self| {
            let next = it.upstreams[upstream as usize].scheduled.first_key_value();
            next.map(|(_, slot)| *slot)
        };
        while let Some(slot) = scheduled(self) {
            self.unschedule(slot);
            self.end_noted(slot, now, end);
        }
    }

    /// Ends a job that is nowhere any more, with a record if it was skipped or dropped.
    pub(super) fn end_noted(&mut self, slot: JobSlot, now: Moment, end: End) {
        // Of an upstream that is gone too: it may come back with its records.
        if let Some(what) = self.refusal_of(end) {
            self.note(slot, now, what);
        }
        self.end(slot, end);
    }

    /// A job that is nowhere any more has ended. All ends of jobs that were taken in go through here, once (rule 19).
    pub(super) fn end(&mut self, slot: JobSlot, end: End) {
        let id = self.jobs.id(slot);
        if let Some(key) = self.jobs.extras(slot).pending {
            self.pending.remove(&key);
        }
        self.jobs.remove(slot);
        self.ended.push((id, end));
    }
}
