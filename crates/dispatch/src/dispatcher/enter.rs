//! How jobs come in: submitted, or from the agenda (rules 14 to 22).
//!
//! A job is judged before it gets a place in the table, so one that is refused costs nothing but its record.

use std::time::Duration;

use crate::job::{Admission, DropReason, End, Job, JobKey, Skip, UpstreamId, Wait};
use crate::jobs::{JobPlace, JobSlot};
use crate::moment::Moment;
use crate::policy::{Budget, Class, Overflow};
use crate::queue;
use crate::record::{Decision, What};

use super::Dispatcher;

/// What a job wants of its upstream: the same whether it is in the table or only offered.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    upstream: u32,
    class: Class,
    budget: Budget,
    probe: bool,
    /// Its own max-wait, else its class's.
    limit: Option<Duration>,
}

/// Where a job that is let in goes.
enum Destination {
    Queue,
    /// No room now, for this reason; again at this moment.
    Later(Moment, DropReason),
}

impl Dispatcher {
    /// Takes a job in, or says at once why not.
    pub fn submit(&mut self, now: Moment, job: Job) -> Admission {
        let now = self.advance(now);
        let job = &self.fitting(&job);
        // Rule 14. Duplicates come before all that depends on the upstream's state: whoever asks for what is pending
        // is to share it, also when a new job would be skipped.
        if let Some(refusal) = self.never(job) {
            return Admission::Ended(refusal);
        }
        if let Some(twin) = self.twin(job, now) {
            return twin;
        }
        if job.not_before > now {
            return self.enter_agenda(job, job.not_before, now);
        }
        match self.room(&self.demand_of(job), now) {
            Ok(Destination::Queue) => {
                let slot = self.add(job);
                let id = self.jobs.id(slot);
                self.join_queue(slot, now);
                Admission::Queued(id)
            }
            Ok(Destination::Later(due, reason)) => {
                let entry = self.enter_agenda(job, due, now);
                if let Admission::Scheduled(id) = entry {
                    let slot = self.jobs.find(id).expect("it was just taken in");
                    self.note_put_off(slot, now, due, reason);
                }
                entry
            }
            Err(end) => self.turn_away(job, end, now),
        }
    }

    /// Puts a job back on the agenda that was there before a restart, also when it is due already: it then falls due
    /// with the next operation. Its state is not asked before (rule 15), so upstreams may be restored later.
    pub fn reschedule(&mut self, now: Moment, job: Job) -> Admission {
        let now = self.advance(now);
        let job = self.fitting(&job);
        if let Some(refusal) = self.never(&job) {
            return Admission::Ended(refusal);
        }
        if let Some(twin) = self.twin(&job, now) {
            return twin;
        }
        self.enter_agenda(&job, job.not_before.max(now), now)
    }

    /// The job with a class that there is: one beyond the last (kept by a Weir that had more) counts
    /// as the last.
    fn fitting(&self, job: &Job) -> Job {
        // At least one and at most four classes: `new` saw to it.
        let last = self.policy.classes.len() - 1;
        let class = Class(job.class.0.min(last as u8));
        Job { class, ..*job }
    }

    /// The same job, if it is pending already.
    fn twin(&mut self, job: &Job, now: Moment) -> Option<Admission> {
        let &twin = job.pending.and_then(|key| self.pending.get(&key))?;
        self.note_of(job, now, What::Duplicate);
        Some(Admission::Duplicate(self.jobs.id(twin)))
    }

    /// Why no job for this upstream is taken in at all.
    fn never(&self, job: &Job) -> Option<End> {
        let up = self.upstreams.get(job.upstream.0 as usize);
        if up.is_none_or(|up| up.gone) {
            Some(End::Dropped(DropReason::Gone))
        } else {
            self.stopped.then_some(End::Shutdown)
        }
    }

    /// Puts a new job on the agenda, if it has room for it.
    fn enter_agenda(&mut self, job: &Job, due: Moment, now: Moment) -> Admission {
        if let Some(reason) = self.agenda_refuses(job.scheduled) {
            return self.turn_away(job, End::Dropped(reason), now);
        }
        let slot = self.add(job);
        self.schedule(slot, due);
        Admission::Scheduled(self.jobs.id(slot))
    }

    /// Ends a job that was never in the table, and leaves a record of it.
    fn turn_away(&mut self, job: &Job, end: End, now: Moment) -> Admission {
        if let Some(what) = self.refusal_of(end) {
            self.note_of(job, now, what);
        }
        Admission::Ended(end)
    }

    /// What the record of an end says, if it was a skip or a drop: other ends leave none.
    pub(super) fn refusal_of(&self, end: End) -> Option<What> {
        match end {
            End::Skipped(skip) => Some(What::Skipped(skip)),
            End::Dropped(reason) => {
                let limit = self.limit_of(reason);
                Some(What::Dropped { reason, limit })
            }
            End::Finished(_) | End::Cancelled | End::Answered | End::Shutdown => None,
        }
    }

    /// Gives a job that is let in its place in the table and its pending key.
    fn add(&mut self, job: &Job) -> JobSlot {
        let slot = self.jobs.insert(job, self.taken_in);
        self.taken_in += 1;
        if let Some(key) = job.pending {
            self.pending.insert(key, slot);
        }
        slot
    }

    /// What a job that is not in the table wants of its upstream.
    fn demand_of(&self, job: &Job) -> Demand {
        Demand {
            upstream: job.upstream.0,
            class: job.class,
            budget: job.budget,
            probe: job.probe,
            limit: self.max_wait(job),
        }
    }

    /// What a job wants of its upstream.
    pub(super) fn demand(&self, slot: JobSlot) -> Demand {
        let record = &self.jobs[slot];
        Demand {
            upstream: record.upstream,
            class: record.class,
            budget: record.budget,
            probe: record.probe,
            limit: self
                .jobs
                .extras(slot)
                .max_wait
                .or(self.max_wait_of(record.class)),
        }
    }

    /// The longest next wait that a job accepts: its own, else its class's.
    pub fn max_wait(&self, job: &Job) -> Option<Duration> {
        job.max_wait
            .or_else(|| self.max_wait_of(self.fitting(job).class))
    }

    pub(super) fn max_wait_of(&self, class: Class) -> Option<Duration> {
        self.policy.classes[usize::from(class.0)].max_wait
    }

    /// Whether there is room in the queue for a job that may start from now on.
    fn room(&self, demand: &Demand, now: Moment) -> Result<Destination, End> {
        // Rule 11: a probe is not refused by its upstream, but needs room like everybody else.
        if !demand.probe
            && let Some(skip) = self.refused_by_upstream(demand, now)
        {
            return Err(End::Skipped(skip));
        }
        // Rule 14: the whole queue before the upstream's share, so that a full front is not blamed on one upstream.
        let full = if self.queued >= self.policy.capacity {
            DropReason::QueueFull
        } else if self.upstreams[demand.upstream as usize].queued >= self.backlog_share() {
            DropReason::Backlog
        } else {
            return Ok(Destination::Queue);
        };
        match self.policy.classes[usize::from(demand.class.0)].overflow {
            Overflow::Drop => Err(End::Dropped(full)),
            Overflow::Agenda => Ok(Destination::Later(now + self.policy.put_off, full)),
        }
    }

    /// How many queued jobs one upstream may have (rule 17): an upstream that answers nobody fills its share, and the
    /// queue keeps room for the others.
    pub(super) fn backlog_share(&self) -> u32 {
        if self.present <= 1 {
            return self.policy.capacity;
        }
        let even = u64::from(self.policy.capacity) * 2 / u64::from(self.present);
        let share = u64::from(self.policy.capacity / 2).min(even);
        u32::try_from(share)
            .unwrap_or(u32::MAX)
            .max(self.policy.backlog_floor)
    }

    /// Why the agenda has no place for a job with this scheduled key (rule 15).
    pub(super) fn agenda_refuses(&self, key: Option<JobKey>) -> Option<DropReason> {
        if self.agenda.holds(key) {
            Some(DropReason::Scheduled)
        } else if self.agenda.len() >= self.policy.agenda_capacity as usize {
            Some(DropReason::AgendaFull)
        } else {
            None
        }
    }

    /// Why this job may not even be queued at its upstream: off, cooling down, or its turn too late (rule 16).
    fn refused_by_upstream(&self, demand: &Demand, now: Moment) -> Option<Skip> {
        let health = &self.upstreams[demand.upstream as usize].health;
        if health.is_off() {
            return Some(Skip {
                reason: Wait::Off,
                wait: None,
                limit: None,
            });
        }
        match health.cooling_until(now) {
            Some(until) if self.ends_on_cooldown(demand.class) => Some(Skip {
                reason: Wait::Cooldown,
                wait: Some(now.until(until)),
                limit: None,
            }),
            _ => self.too_late(demand, now),
        }
    }

    /// Why a job is skipped, if its turn would come too late for it.
    pub(super) fn too_late(&self, demand: &Demand, now: Moment) -> Option<Skip> {
        let limit = demand.limit?;
        let up = &self.upstreams[demand.upstream as usize];
        let (at, reason) = up.ready(demand.class, demand.budget, now);
        let wait = now.until(at);
        // A wait as long as the limit is accepted.
        (limit < wait).then_some(Skip {
            reason,
            wait: Some(wait),
            limit: Some(limit),
        })
    }

    /// Puts a job at the end of its queue, which has room for it.
    pub(super) fn join_queue(&mut self, slot: JobSlot, now: Moment) {
        let record = &mut self.jobs[slot];
        record.number = self.submitted;
        record.at = now;
        self.submitted += 1;
        let upstream = record.upstream;
        let index = queue::index(record.class, record.budget);
        let up = &mut self.upstreams[upstream as usize];
        up.queued += 1;
        self.queued += 1;
        // Rule 11: a probe waits apart from all queues.
        if record.probe {
            up.probes_mut().push(&mut self.jobs, slot);
        } else {
            let was_empty = up.queues[index].is_empty();
            up.queues[index].push(&mut self.jobs, slot);
            up.filled |= 1 << index;
            if !was_empty {
                // Behind another: neither head nor offer has changed, and nothing has to be worked out. With a long
                // backlog this is what nearly every submission comes to.
                return;
            }
        }
        self.refresh(upstream, now);
    }

    /// Puts a job on the agenda, which has room for it.
    pub(super) fn schedule(&mut self, slot: JobSlot, due: Moment) {
        let record = &mut self.jobs[slot];
        record.place = JobPlace::Scheduled;
        record.at = due;
        let (place, upstream) = ((due, record.serial), record.upstream as usize);
        self.agenda
            .insert(place, self.jobs.extras(slot).scheduled, slot);
        self.upstreams[upstream].scheduled.insert(place, slot);
        self.agenda_changes.push(self.jobs.id(slot));
    }

    /// Takes a job off the agenda. Where it goes from there is the caller's business.
    pub(super) fn unschedule(&mut self, slot: JobSlot) {
        let record = &self.jobs[slot];
        let (place, upstream) = ((record.at, record.serial), record.upstream as usize);
        self.agenda.remove(place, self.jobs.extras(slot).scheduled);
        self.upstreams[upstream].scheduled.remove(&place);
        self.jobs[slot].place = JobPlace::Nowhere;
        self.agenda_changes.push(self.jobs.id(slot));
    }

    /// A scheduled job's time has come.
    pub(super) fn fall_due(&mut self, slot: JobSlot, now: Moment) {
        self.unschedule(slot);
        // Rule 21. `now` is the due moment, not the moment of the operation (rule 5).
        match self.room(&self.demand(slot), now) {
            Ok(Destination::Queue) => match self.jobs.deferred(slot) {
                // Rule 66.
                Some(since) => {
                    self.jobs[slot].at = since;
                    let upstream = self.jobs[slot].upstream;
                    self.rejoin_queue(slot);
                    self.refresh(upstream, now);
                }
                None => self.join_queue(slot, now),
            },
            Ok(Destination::Later(_, reason)) | Err(End::Dropped(reason)) => {
                // Rule 22: whatever its class does with overflow, a job that was taken in is not dropped for it.
                // At least a moment later, or it would be due again at once and time stand still.
                let put_off = self.policy.put_off.max(Duration::from_nanos(1));
                let due = now + put_off;
                self.schedule(slot, due);
                // Whoever was told when it would be tried is told that it is not.
                self.note_put_off(slot, now, due, reason);
            }
            Err(end) => self.end_noted(slot, now, end),
        }
    }

    /// Records that there was no room for a job, and when it tries again.
    fn note_put_off(&mut self, slot: JobSlot, now: Moment, due: Moment, reason: DropReason) {
        let limit = self.limit_of(reason);
        self.note(slot, now, What::PutOff { due, reason, limit });
    }

    /// Records a job that was not submitted, because its turn would come too late for whoever wanted it. Gives how it
    /// ended, which is otherwise where its upstream is gone.
    pub fn note_skip(&mut self, now: Moment, job: &Job, skip: Skip) -> End {
        let now = self.advance(now);
        let job = self.fitting(job);
        if let Some(refusal) = self.never(&job) {
            return refusal;
        }
        self.note_of(&job, now, What::Skipped(skip));
        End::Skipped(skip)
    }

    /// Leaves a decision about a job that is not in the table.
    pub(super) fn note_of(&mut self, job: &Job, at: Moment, what: What) {
        self.decide(Decision {
            upstream: job.upstream,
            job: None,
            at,
            class: Some(job.class),
            asker: job.asker,
            what,
        });
    }

    /// How many jobs fit into what there was no room in.
    pub(super) fn limit_of(&self, reason: DropReason) -> u32 {
        match reason {
            DropReason::QueueFull => self.policy.capacity,
            DropReason::Backlog => self.backlog_share(),
            DropReason::AgendaFull => self.policy.agenda_capacity,
            DropReason::Scheduled | DropReason::Gone => 0,
        }
    }

    /// How long the next call of this class and budget would have to wait, and for what: rule 23. Nothing is changed
    /// by asking. Who else is in line is not considered.
    pub fn next_wait(
        &self,
        now: Moment,
        upstream: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let now = now.max(self.clock);
        let up = self.upstreams.get(upstream.0 as usize);
        let (at, reason) = up.map_or((Moment::NEVER, Wait::Off), |up| {
            up.ready(class, budget, now)
        });
        (now.until(at), (at > now).then_some(reason))
    }
}
