//! What an operator, a reload or an upstream's own word changes.

use crate::cooldown::Health;
use crate::job::{DropReason, End, Job, Skip, UpstreamId, Wait};
use crate::moment::Moment;
use crate::policy::{Budget, Quota, Usage};
use crate::record::What;
use crate::upstream::Upstream;

use super::Dispatcher;

impl Dispatcher {
    /// Adds an upstream. Ids are never used again: decisions, rows and calls under way may still name one that is gone.
    pub fn add_upstream(&mut self, now: Moment, quota: Quota) -> UpstreamId {
        self.advance(now);
        let id = UpstreamId(
            u32::try_from(self.upstreams.len()).expect("upstreams are configured by hand"),
        );
        self.upstreams.push(Upstream::new(quota));
        self.present += 1;
        id
    }

    /// Takes an upstream away. Its jobs that have not started end; calls under way go on.
    pub fn remove_upstream(&mut self, now: Moment, upstream: UpstreamId) {
        let now = self.advance(now);
        let Some(up) = self.present_mut(upstream) else {
            return;
        };
        up.gone = true;
        self.present -= 1;
        // What is left of it is its place and its calls under way. Its jobs are let go, since a reload that renames
        // upstreams may leave many behind.
        self.end_queued(upstream.0, now, false, End::Dropped(DropReason::Gone));
        self.end_scheduled(upstream.0, now, End::Dropped(DropReason::Gone));
        self.refresh(upstream.0, now);
    }

    /// Gives an upstream another quota. Starts made so far stay counted.
    pub fn set_quota(&mut self, now: Moment, upstream: UpstreamId, quota: Quota) {
        let now = self.advance(now);
        if self.present_mut(upstream).is_none() {
            return;
        }
        // Rule 60: it asked with another gap and other limits.
        self.recall(upstream.0, now);
        self.upstreams[upstream.0 as usize].allow(quota);
        self.refresh(upstream.0, now);
    }

    /// Takes in what an upstream said about a limit of its own (rule 50).
    pub fn observe(&mut self, now: Moment, upstream: UpstreamId, usage: Usage) {
        let now = self.advance(now);
        let Some(up) = self.present_mut(upstream) else {
            return;
        };
        up.allowance_mut(usage.budget)
            .learn(usage.window, usage.limit, usage.used, now);
        self.mark_changed(upstream.0);
        self.refresh(upstream.0, now);
    }

    /// Counts one more request of a call under way: some calls make two.
    pub fn count(&mut self, now: Moment, upstream: UpstreamId, budget: Budget) {
        let now = self.advance(now);
        let Some(up) = self.present_mut(upstream) else {
            return;
        };
        up.allowance_mut(budget).record(now);
        self.mark_changed(upstream.0);
        self.refresh(upstream.0, now);
    }

    /// Gives the crew other limits. It goes to the nearest size that they allow; no call is cut off (rule 42).
    pub fn set_crew(&mut self, now: Moment, base: u32, max: u32) {
        self.advance(now);
        self.crew.resize(base, max);
    }

    /// An operator ends a cooldown: the upstream is open again, its ladder and the limits that it told forgotten
    /// (rule 34). One that is off stays off.
    pub fn clear(&mut self, now: Moment, upstream: UpstreamId) {
        let now = self.advance(now);
        let mut what = What::Cleared;
        if let Some(up) = self.present_mut(upstream) {
            if up.health.cooldown().is_none() {
                what = What::Forgiven;
            }
            // Also the told limits, since a wrong one is never found out while it is kept to. Whatever their time is,
            // it has come by `NEVER`.
            for budget in [Budget::Query, Budget::Grab] {
                up.allowance_mut(budget).unlearn(Moment::NEVER);
            }
        }
        self.operate(now, upstream, what, Health::clear);
    }

    /// An operator switches an upstream off. Its queued jobs end as skipped; those on the agenda do when they are due.
    pub fn switch_off(&mut self, now: Moment, upstream: UpstreamId) {
        self.operate(now, upstream, What::SwitchedOff, |health| {
            health.switch(true)
        });
    }

    /// An operator switches an upstream on. A cooldown that has not ended goes on.
    pub fn switch_on(&mut self, now: Moment, upstream: UpstreamId) {
        self.operate(now, upstream, What::SwitchedOn, |health| {
            health.switch(false)
        });
    }

    /// While held, nothing starts; all else goes on, so jobs queue up, age and are skipped.
    pub fn hold(&mut self, now: Moment, held: bool) {
        self.advance(now);
        self.held = held;
    }

    /// Ends all jobs that have not started; later submissions end at once. Calls under way are still to be finished,
    /// and have no further attempt.
    pub fn shutdown(&mut self, now: Moment) {
        let now = self.advance(now);
        self.stopped = true;
        for upstream in 0..u32::try_from(self.upstreams.len()).expect("ids are u32") {
            self.end_queued(upstream, now, false, End::Shutdown);
            self.end_scheduled(upstream, now, End::Shutdown);
            self.refresh(upstream, now);
        }
    }

    /// Records what became of a job that was not submitted: it shares somebody else's call. The upstream may have gone
    /// since.
    pub fn note_other(&mut self, now: Moment, job: &Job, what: What) {
        let now = self.advance(now);
        if self.upstreams.get(job.upstream.0 as usize).is_some() {
            self.note_of(job, now, what);
        }
    }

    /// The same for one whose shared call was dropped.
    pub fn note_drop(&mut self, now: Moment, job: &Job, reason: DropReason) {
        let limit = self.limit_of(reason);
        self.note_other(now, job, What::Dropped { reason, limit });
    }

    /// What all switches have in common: the act, its record, a row to keep, and an upstream to look at anew.
    fn operate(
        &mut self,
        now: Moment,
        upstream: UpstreamId,
        what: What,
        act: impl FnOnce(&mut Health),
    ) {
        let now = self.advance(now);
        let Some(up) = self.present_mut(upstream) else {
            return;
        };
        act(&mut up.health);
        let is_off = up.health.is_off();
        self.note_health(upstream.0, now, what);
        self.mark_changed(upstream.0);
        // Asked of the state and not of the act: clearing an upstream that is off finds nothing queued anyway.
        if is_off {
            let off = Skip {
                reason: Wait::Off,
                wait: None,
                limit: None,
            };
            // Probes stay: to try an upstream that is off is what they are for.
            self.end_queued(upstream.0, now, true, End::Skipped(off));
        }
        self.refresh(upstream.0, now);
    }

    /// The upstream with this id, unless it is gone.
    pub(super) fn present_mut(&mut self, upstream: UpstreamId) -> Option<&mut Upstream> {
        self.upstreams
            .get_mut(upstream.0 as usize)
            .filter(|up| !up.gone)
    }
}
