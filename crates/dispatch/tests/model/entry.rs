//! Who gets in: the reference model's checks of a submission, a due job and a further attempt.

use std::time::Duration;

use weir_dispatch::job::{Admission, DropReason, End, Finish, Job, Skip, UpstreamId, Wait};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Class, OnCooldown, Overflow};

use super::allowance::Call;
use super::{Held, Model, Place};

impl Model {
    pub(super) fn enter(&mut self, mut job: Job) -> Admission {
        job.class = self.real_class(job.class);
        if self.upstream(job.upstream).is_none() {
            return Admission::Ended(End::Dropped(DropReason::Gone));
        }
        if self.shut {
            return Admission::Ended(End::Shutdown);
        }
        let same = self
            .jobs
            .iter()
            .find(|held| job.pending.is_some() && held.job.pending == job.pending);
        if let Some(held) = same {
            return Admission::Duplicate(held.id);
        }
        if job.not_before > self.now {
            return self.enter_agenda(job, job.not_before);
        }
        if let Some(skip) = self.refusal(&job, job.class) {
            return self.turned_away(&job, End::Skipped(skip));
        }
        match (
            self.no_room(job.upstream),
            self.class_policy(job.class).overflow,
        ) {
            (None, _) => {
                let place = self.queue_place();
                Admission::Queued(self.keep(job, place))
            }
            (Some(reason), Overflow::Agenda) => {
                let due = self.now + self.policy.put_off;
                let entry = self.enter_agenda(job, due);
                if let Admission::Scheduled(id) = entry {
                    self.tell_put_off(job.upstream, id, due, reason);
                }
                entry
            }
            (Some(reason), Overflow::Drop) => self.turned_away(&job, End::Dropped(reason)),
        }
    }

    /// A job that is not taken in, with a record.
    fn turned_away(&mut self, job: &Job, end: End) -> Admission {
        self.tell(job.upstream, None, end);
        Admission::Ended(end)
    }

    fn enter_agenda(&mut self, job: Job, due: Moment) -> Admission {
        match self.agenda_refusal(&job) {
            Some(reason) => self.turned_away(&job, End::Dropped(reason)),
            None => Admission::Scheduled(self.keep(job, Place::Scheduled { due })),
        }
    }

    /// Why the agenda would not take this job.
    pub(super) fn agenda_refusal(&self, job: &Job) -> Option<DropReason> {
        let scheduled = || {
            self.jobs
                .iter()
                .filter(|held| matches!(held.place, Place::Scheduled { .. }))
        };
        if job.scheduled.is_some() && scheduled().any(|held| held.job.scheduled == job.scheduled) {
            return Some(DropReason::Scheduled);
        }
        let full = scheduled().count() >= self.policy.agenda_capacity as usize;
        full.then_some(DropReason::AgendaFull)
    }

    /// Why the queue would not take a job of this upstream.
    pub(super) fn no_room(&self, upstream: UpstreamId) -> Option<DropReason> {
        if self.queued() >= self.policy.capacity as usize {
            return Some(DropReason::QueueFull);
        }
        let backlog = self.queued_at(upstream).count();
        (backlog >= self.backlog_share()).then_some(DropReason::Backlog)
    }

    /// How many jobs fit into what has no room.
    pub(super) fn limit_of(&self, reason: DropReason) -> u32 {
        match reason {
            DropReason::QueueFull => self.policy.capacity,
            DropReason::Backlog => self.backlog_share() as u32,
            DropReason::AgendaFull => self.policy.agenda_capacity,
            DropReason::Scheduled | DropReason::Gone => 0,
        }
    }

    /// How many places of the queue one upstream may hold.
    fn backlog_share(&self) -> usize {
        let capacity = self.policy.capacity as usize;
        let present = self.upstream_ids().len();
        if present == 1 {
            return capacity;
        }
        let fair = (capacity / 2).min(2 * capacity / present);
        fair.max(self.policy.backlog_floor as usize)
    }

    /// Why a job of this class would not be taken on by its upstream as it is now.
    pub(super) fn refusal(&self, job: &Job, class: Class) -> Option<Skip> {
        let upstream = self.upstream(job.upstream)?;
        if job.probe {
            return None;
        }
        if upstream.off {
            return Some(Skip {
                reason: Wait::Off,
                wait: None,
                limit: None,
            });
        }
        if let Some(cooldown) = upstream.cooling(self.now)
            && self.class_policy(class).on_cooldown == OnCooldown::End
        {
            return Some(Skip {
                reason: Wait::Cooldown,
                wait: Some(self.now.until(cooldown.until)),
                limit: None,
            });
        }
        self.too_long(job, class)
    }

    /// The skip of a job whose upstream's next wait exceeds what it accepts.
    pub(super) fn too_long(&self, job: &Job, class: Class) -> Option<Skip> {
        let limit = job.max_wait.or(self.class_policy(class).max_wait)?;
        let (wait, reason) = self.wait_of(job, class);
        let reason = reason.filter(|_| wait > limit)?;
        Some(Skip {
            reason,
            wait: Some(wait),
            limit: Some(limit),
        })
    }

    /// The wait before the job's further attempt, if it is to have one.
    pub(super) fn wish(
        &self,
        held: &Held,
        call: Call,
        finish: Finish,
        jitter: u16,
    ) -> Option<Duration> {
        if held.job.probe || held.job.trial {
            return None;
        }
        let left = held.made < self.policy.attempts;
        let probed = self
            .upstream(held.job.upstream)
            .is_some_and(|upstream| upstream.probed_by(call));
        match finish {
            Finish::Again { after } => Some(after),
            Finish::Unavailable if left && !probed => Some(self.backoff(held.made, jitter)),
            Finish::OurNetwork { pause } if left => {
                Some(self.backoff(held.made, jitter).max(pause))
            }
            _ => None,
        }
    }

    /// The wait after the `made`th attempt: doubled for each, and up to half as long again.
    fn backoff(&self, made: u8, jitter: u16) -> Duration {
        let base = self.policy.retry_base.as_nanos();
        let jitter = u128::from(jitter.min(500));
        let nanos = 2_u128
            .checked_pow(u32::from(made) - 1)
            .and_then(|factor| base.checked_mul(factor))
            .and_then(|wait| wait.checked_mul(1000 + jitter))
            .map_or(u128::MAX, |wait| wait / 1000);
        let nanos = if base == 0 { 0 } else { nanos };
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
