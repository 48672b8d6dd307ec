//! What follows from how an attempt went: for its upstream (rules 26 to 34) and for its job (rules 35 to 40).

use std::time::Duration;

use crate::cooldown::CallStart;
use crate::job::{After, DropReason, End, Finish, JobId, Wait};
use crate::jobs::{JobPlace, JobSlot};
use crate::moment::Moment;
use crate::policy::{Budget, Class};
use crate::record::What;

use super::Dispatcher;

impl Dispatcher {
    /// An attempt ended. `jitter` stretches the wait before another one by so many thousandths, at most 500; it is the
    /// caller's, so that the dispatcher decides the same whenever it is told the same.
    ///
    /// # Panics
    /// If no call of this job is under way.
    pub fn finish(&mut self, now: Moment, job: JobId, finish: Finish, jitter: u16) -> After {
        let now = self.advance(now);
        let slot = self
            .jobs
            .find(job)
            .expect("only a call under way is finished");
        let upstream = self.jobs[slot].upstream;
        let up = &self.upstreams[upstream as usize];
        // Where the call neither kept another from starting nor says anything new, the offer stays.
        let matters = up.is_busy() || !up.health.is_well() || self.jobs.order(slot).is_some();
        // The order matters. The call frees its room first, so that what follows sees the upstream without it. Its
        // upstream is judged before its job, since a failed try decides whether the job has another attempt. Jobs that a
        // cooldown ends are ended before this one is put on the agenda, which is judged when due (rule 37).
        self.free_worker(slot, now);
        let probed = self.judge(slot, finish, now);
        let again = if probed {
            None
        } else {
            self.again(slot, finish, jitter, now)
        };
        let after = match again {
            None => {
                self.end(slot, End::Finished(finish));
                After::Ended
            }
            Some(due) => self.try_again(slot, due, now),
        };
        if matters || !self.upstreams[upstream as usize].health.is_well() {
            self.refresh(upstream, now);
        }
        after
    }

    /// The call no longer counts, and jobs that stood aside for it take their places again.
    fn free_worker(&mut self, slot: JobSlot, now: Moment) {
        match self.jobs[slot].place {
            JobPlace::Busy => self.crew.end_busy(&mut self.jobs, slot),
            JobPlace::Waiting => self.crew.end_waiting(),
            place => {
                unreachable!("a call under way is busy or waiting, but this job is {place:?}")
            }
        }
        let record = &mut self.jobs[slot];
        record.place = JobPlace::Nowhere;
        let up = &mut self.upstreams[record.upstream as usize];
        up.in_flight -= 1;
        // Rule 44. Before workers given back can make it slow again, which the next `advance` does (rule 46).
        up.slow &= !self.crew.is_quick(record.at, now);
        self.release_order(slot, now);
    }

    /// No call with this job's order key is under way any more: jobs that stood aside for it take their places again.
    pub(super) fn release_order(&mut self, slot: JobSlot, now: Moment) {
        let Some(order) = self.jobs.order(slot) else {
            return;
        };
        for aside in self.under_way.remove(&order).unwrap_or_default() {
            let record = &self.jobs[aside];
            let up = &mut self.upstreams[record.upstream as usize];
            up.aside.remove(&record.number);
            // It counted as queued all along, and `rejoin_queue` counts it once more.
            up.queued -= 1;
            self.queued -= 1;
            let upstream = record.upstream;
            self.rejoin_queue(aside);
            // Whoever ends a call or an ask refreshes its own upstream when all else is done.
            if upstream != self.jobs[slot].upstream {
                self.refresh(upstream, now);
            }
        }
    }

    /// What the attempt says about its upstream. Says whether it was the failed try of an upstream
    /// that was probing, which is final for its job.
    fn judge(&mut self, slot: JobSlot, finish: Finish, now: Moment) -> bool {
        let record = &self.jobs[slot];
        let call = CallStart {
            number: record.number,
            during_cooldown: record.during_cooldown,
            // An operator's first probe is the same try, made by hand.
            trial: record.trial || record.probe,
            started: self.started,
        };
        // Rule 33. Attempts count from 1 here, so a policy of 0 is one of 1 (rule 13).
        let last = record.probe || record.trial || record.attempts >= self.policy.attempts;
        let upstream = record.upstream;
        // Rule 40: also for an upstream that is gone, since it is our network that failed.
        if let Finish::OurNetwork { pause } = finish {
            self.paused_until = self.paused_until.max(now + pause);
        }
        if self.upstreams[upstream as usize].gone {
            return false;
        }
        let policy = &self.policy.failure;
        let health = &mut self.upstreams[upstream as usize].health;
        // Rule 29. Only faults that may pass say "still not there"; the others bring a cooldown of their own or say
        // nothing, and are final for their job as it is.
        let passing = matches!(finish, Finish::Unavailable | Finish::Broken);
        let probed = health.is_probe(call, now) && passing;
        let before = health.row();
        let began = match finish {
            Finish::Done | Finish::No | Finish::Again { .. } => {
                let healed = health.succeed(call);
                if healed {
                    self.note_health(upstream, now, What::Healed);
                }
                false
            }
            Finish::Unavailable if last || probed => health.fail(policy, call, now),
            // Final for its job, so it needs no look at the attempts left.
            Finish::Broken => health.fail(policy, call, now),
            Finish::Throttled { retry_after } => health.throttle(policy, call, retry_after, now),
            Finish::Rejected { at_least } => health.reject(policy, call, at_least, now),
            Finish::Unavailable | Finish::OurNetwork { .. } | Finish::Panicked => false,
        };
        // A row is written for every change. Most ends change nothing: another success of a healthy upstream.
        if self.upstreams[upstream as usize].health.row() != before {
            self.mark_changed(upstream);
        }
        if began {
            self.cooldown_began(upstream, now);
        }
        probed
    }

    /// A cooldown began or grew: leaves the record, and ends the queued jobs that it is too long for.
    pub(super) fn cooldown_began(&mut self, upstream: u32, now: Moment) {
        let up = &self.upstreams[upstream as usize];
        if let Some(cooldown) = up.health.cooldown() {
            let rung = up.health.rung();
            let next = self.policy.failure.cooldown_after(rung);
            let probe = match up.ready(Class(0), Budget::Side, now) {
                (ready, Wait::Window | Wait::Share) => ready,
                _ => cooldown.until,
            };
            let began = What::CooldownBegan {
                cooldown,
                rung,
                failures: up.health.failures(),
                next,
                probe,
            };
            self.note_health(upstream, now, began);
        }
        self.end_on_cooldown(upstream, now);
    }

    /// When the job has another attempt, if it has one.
    fn again(&mut self, slot: JobSlot, finish: Finish, jitter: u16, now: Moment) -> Option<Moment> {
        let attempts = self.jobs[slot].attempts;
        // Rules 11 and 55: one call was wanted.
        if self.jobs[slot].probe || self.jobs[slot].trial {
            return None;
        }
        match finish {
            Finish::Again { after } => {
                // Rule 35: the start counted it.
                self.jobs[slot].attempts = attempts - 1;
                Some(now + after)
            }
            Finish::Unavailable if attempts < self.policy.attempts => {
                Some(now + self.backoff(attempts, jitter))
            }
            Finish::OurNetwork { pause } if attempts < self.policy.attempts => {
                Some(now + self.backoff(attempts, jitter).max(pause))
            }
            _ => None,
        }
    }

    /// The wait after this many attempts (rule 39).
    fn backoff(&self, attempts: u8, jitter: u16) -> Duration {
        // In 128 bits nothing is lost before the one rounding at the end. 2^64 times a nanosecond is five centuries,
        // so more doublings than that change nothing.
        let base = self.policy.retry_base.as_nanos();
        let doubled = base.saturating_mul(1 << u32::from(attempts.saturating_sub(1)).min(64));
        let nanos = doubled.saturating_mul(1000 + u128::from(jitter.min(500))) / 1000;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Puts the job on the agenda for another attempt, if it may have one (rule 38).
    fn try_again(&mut self, slot: JobSlot, due: Moment, now: Moment) -> After {
        let record = &self.jobs[slot];
        let refused = if self.upstreams[record.upstream as usize].gone {
            Some(End::Dropped(DropReason::Gone))
        } else if self.stopped {
            Some(End::Shutdown)
        } else {
            self.agenda_refuses(self.jobs.extras(slot).scheduled)
                .map(End::Dropped)
        };
        if let Some(end) = refused {
            self.end_noted(slot, now, end);
            return After::Ended;
        }
        self.note(slot, now, What::Retried { due });
        // Rule 36.
        if let Some(class) = self.policy.again_class {
            self.jobs[slot].class = class;
        }
        self.schedule(slot, due);
        After::Scheduled(due)
    }
}
