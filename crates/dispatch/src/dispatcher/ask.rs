//! Permission of the nodes that share an upstream (rules 56 to 66): between *chosen* and *started* a job asks for it.
//!
//! A job that asks holds a worker, a place among its upstream's calls in flight and its order key, as its call will;
//! but it has not started. It keeps its submit number and the time of its submission, so that it can go back to its queue
//! as if nothing had happened. Of each upstream at most one job asks at a time, which keeps their order (rule 4).

use std::time::Duration;

use crate::job::{Ask, End, JobId, Refused, Start, UpstreamId, Wait};
use crate::jobs::{JobPlace, JobSlot};
use crate::moment::Moment;
use crate::policy::{Budget, Window};
use crate::record::What;

use super::{Chosen, Dispatcher};

/// A refusal holds for at least this long. Whoever answers at once, with a time that has passed, must not be asked again
/// and again at one moment.
const SHORTEST_REFUSAL: Duration = Duration::from_millis(1);

impl Dispatcher {
    /// Says whether other nodes call this upstream too (rule 56). Its jobs that are limited, or that claim a question, then
    /// ask before they start. A job that asks already goes on asking.
    pub fn share(&mut self, now: Moment, upstream: UpstreamId, shared: bool) {
        let now = self.advance(now);
        let Some(up) = self.present_mut(upstream) else {
            return;
        };
        up.shared = shared;
        if !shared {
            // What others used is nothing to an upstream of our own.
            up.query.release();
            up.grab.release();
        }
        self.refresh(upstream.0, now);
    }

    /// The answer is yes: starts the job (rule 61). `None` where it does not start now after all; then the permission is to
    /// be given back. It ended, or went back to its queue and will ask again.
    pub fn grant(&mut self, now: Moment, job: JobId) -> Option<Start> {
        let now = self.advance(now);
        let slot = self.asking(job)?;
        let record = &self.jobs[slot];
        let (upstream, since) = (record.upstream, record.at);
        let up = &self.upstreams[upstream as usize];
        let (ready, _) = up.ready(record.gap_class, record.budget, now);
        // Rule 28: an operator's probe may have started meanwhile. The job's own place is one of those in flight.
        let second = up.health.is_probing(now) && up.in_flight > 1;
        if self.held || now < self.paused_until || ready > now || second {
            self.recall(upstream, now);
            self.refresh(upstream, now);
            return None;
        }
        self.crew.end_asking();
        self.upstreams[upstream as usize].asking = JobSlot::NONE;
        let chosen = Chosen {
            upstream,
            slot,
            since,
        };
        Some(self.start(chosen, now))
    }

    /// The answer is no: the job goes back to its queue, and its upstream is held as the answer says (rules 62 to 64). Says
    /// whether the job was still asking; otherwise nothing is changed.
    pub fn refuse(&mut self, now: Moment, job: JobId, refused: Refused) -> bool {
        let now = self.advance(now);
        let Some(slot) = self.asking(job) else {
            return false;
        };
        let record = &self.jobs[slot];
        let (upstream, gap_class, budget) = (record.upstream, record.gap_class, record.budget);
        // Back in its queue before anything is judged, so that it is judged with the others there.
        self.recall(upstream, now);
        // Rule 65.
        let until = refused.until.max(now + SHORTEST_REFUSAL);
        let until = until.min(now + Window::DAY.length());
        let up = &mut self.upstreams[upstream as usize];
        match refused.reason {
            Wait::Gap if budget == Budget::Query => up.space_until(gap_class, until),
            Wait::Cooldown if self.hear(upstream, refused.until, now) => {}
            reason => {
                let up = &mut self.upstreams[upstream as usize];
                up.allowance_mut(budget).hold(until, reason, refused.full);
                // Another wait than the one that ended before it asked, though for the same reason: recorded anew. One of
                // which nobody knows the end is still the same.
                let known = refused.full.is_some_and(|full| full.kept > 0);
                if !matches!(reason, Wait::Agreeing) && (reason != Wait::Share || known) {
                    up.waits_for = None;
                }
            }
        }
        self.refresh(upstream, now);
        true
    }

    /// There is no answer: the job goes back to its queue, and asks again when its turn comes (rule 62). Says whether it was
    /// still asking.
    pub fn put_back(&mut self, now: Moment, job: JobId) -> bool {
        let now = self.advance(now);
        let Some(slot) = self.asking(job) else {
            return false;
        };
        let upstream = self.jobs[slot].upstream;
        self.recall(upstream, now);
        self.refresh(upstream, now);
        true
    }

    /// Another node is asking the same question: the job waits on the agenda and asks again at `until`, unless it is
    /// [`Self::answered`] before (rule 66). This is recorded once. For a job that is on the agenda already this is another
    /// due moment. Says whether the job was in one of these places.
    pub fn defer(&mut self, now: Moment, job: JobId, until: Moment) -> bool {
        let now = self.advance(now);
        let Some(slot) = self.jobs.find(job) else {
            return false;
        };
        let upstream = self.jobs[slot].upstream;
        match self.jobs[slot].place {
            JobPlace::Scheduled => self.unschedule(slot),
            JobPlace::Asking => {
                self.leave_asking(slot, now);
                if let Some(reason) = self.agenda_refuses(self.jobs.extras(slot).scheduled) {
                    self.end_noted(slot, now, End::Dropped(reason));
                    self.refresh(upstream, now);
                    return true;
                }
                if self.jobs.defer(slot) {
                    let waits = What::Waits {
                        reason: Wait::Claimed,
                        until,
                        full: None,
                    };
                    self.note(slot, now, waits);
                }
            }
            _ => return false,
        }
        self.schedule(slot, until.max(now));
        self.refresh(upstream, now);
        true
    }

    /// The answer came from another node: ends a job that has not started. Says whether there was one.
    pub fn answered(&mut self, now: Moment, job: JobId) -> bool {
        self.withdraw(now, job, End::Answered)
    }

    /// Another node was told to leave this upstream alone until then (rule 64).
    pub fn throttle(&mut self, now: Moment, upstream: UpstreamId, until: Moment) {
        let now = self.advance(now);
        if self.present_mut(upstream).is_some() && self.hear(upstream.0, until, now) {
            self.refresh(upstream.0, now);
        }
    }

    /// Whether a chosen job asks before it starts (rule 57).
    pub(super) fn asks(&self, chosen: &Chosen) -> bool {
        let up = &self.upstreams[chosen.upstream as usize];
        // One node alone looks no further than this.
        up.shared && {
            let record = &self.jobs[chosen.slot];
            !record.probe && (record.claims || up.is_limited(record.budget))
        }
    }

    /// A chosen job asks. It holds all that its call will hold.
    pub(super) fn ask(&mut self, chosen: &Chosen, now: Moment) -> Ask {
        let &Chosen {
            upstream,
            slot,
            since,
        } = chosen;
        let up = &mut self.upstreams[upstream as usize];
        up.asking = slot;
        let record = &mut self.jobs[slot];
        record.place = JobPlace::Asking;
        record.gap_class = up.gap_class(record.class, record.budget, now);
        let asked = Ask {
            job: JobId(0),
            upstream: UpstreamId(upstream),
            class: record.class,
            budget: record.budget,
            gap: (record.budget == Budget::Query).then(|| up.class_gap(record.gap_class)),
            attempt: record.attempts.saturating_add(1),
            asker: record.asker,
            since,
        };
        self.crew.start_asking();
        // Rule 10: calls with one key must not overlap, and this one may start at any moment.
        if let Some(order) = self.jobs.order(slot) {
            self.under_way.entry(order).or_default();
        }
        self.refresh(upstream, now);
        Ask {
            job: self.jobs.id(slot),
            ..asked
        }
    }

    /// A job asks no longer. Where it goes from here, and a look at its upstream, is the caller's business.
    pub(super) fn leave_asking(&mut self, slot: JobSlot, now: Moment) {
        self.crew.end_asking();
        let record = &mut self.jobs[slot];
        record.place = JobPlace::Nowhere;
        let up = &mut self.upstreams[record.upstream as usize];
        up.asking = JobSlot::NONE;
        up.in_flight -= 1;
        self.release_order(slot, now);
    }

    /// Puts the job of an upstream that asks back into its queue, if there is one (rule 60). Its answer will come too late.
    pub(super) fn recall(&mut self, upstream: u32, now: Moment) {
        let slot = self.upstreams[upstream as usize].asking;
        if slot != JobSlot::NONE {
            self.leave_asking(slot, now);
            self.rejoin_queue(slot);
        }
    }

    /// The job with this id, if it asks.
    fn asking(&self, job: JobId) -> Option<JobSlot> {
        let slot = self.jobs.find(job)?;
        (self.jobs[slot].place == JobPlace::Asking).then_some(slot)
    }

    /// Takes in that another node was told to leave the upstream alone. Says whether a cooldown began or grew.
    fn hear(&mut self, upstream: u32, until: Moment, now: Moment) -> bool {
        let health = &mut self.upstreams[upstream as usize].health;
        let began = health.hear(&self.policy.failure, until, self.started, now);
        if began {
            self.mark_changed(upstream);
            self.cooldown_began(upstream, now);
        }
        began
    }
}
