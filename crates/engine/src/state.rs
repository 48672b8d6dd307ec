//! What the engine's lock protects: the dispatcher and what is kept alongside it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{
    Admission, Budget, Dispatcher, End, JobId, Moment, SavedJob, Start, UpstreamId,
};

use crate::call::{Call, Ended, KEPT_BYTES};
use crate::keeper::{AgendaChange, Changes, KeptUpstream};
use crate::payload::{Payload, Payloads, Told};
use crate::series::Series;
use crate::shared::{Effects, Started};
use crate::side::Side;
use crate::tally::Counters;

/// One front's jobs and figures.
pub(crate) struct State {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) payloads: Payloads,
    /// By the number in [`UpstreamId`].
    pub(crate) sides: Vec<Side>,
    pub(crate) counters: Counters,
    pub(crate) series: Series,
    pub(crate) rng: fastrand::Rng,
    /// What the driver sleeps until.
    pub(crate) wakes_at: Moment,
    /// Queued jobs as last reported to the gate.
    pub(crate) queued: u32,
    /// When rows that may have changed are handed over; `NEVER` while there are none.
    pub(crate) flush_at: Moment,
    /// Rows on their way to the keeper.
    pub(crate) outbox: Vec<Changes>,
    pub(crate) keeps: bool,
    /// How far back the states of an upstream are kept.
    pub(crate) history: Duration,
    /// The cooldowns of the ladder, for pages that show which one comes next.
    pub(crate) ladder: Vec<Duration>,
}

impl State {
    /// Takes in a submission that the dispatcher has judged. Returns the job, even if it is somebody else's.
    pub(crate) fn take_in(
        &mut self,
        entry: Admission,
        call: Arc<dyn Call>,
        told: Told,
        effects: &mut Effects,
    ) -> Option<JobId> {
        self.counters.asked += 1;
        // Jobs that ended must leave the table first: the new one may get the place of one of them.
        self.reap(None, effects);
        match entry {
            Admission::Queued(job) | Admission::Scheduled(job) => {
                self.payloads.insert(job, Payload::new(call, told));
                Some(job)
            }
            Admission::Duplicate(job) => {
                self.counters.duplicates += 1;
                effects.unused.push(call);
                if let Some(payload) = self.payloads.find(job) {
                    payload.join(told);
                }
                Some(job)
            }
            Admission::Ended(end) => {
                let ended = plain(end);
                self.counters.end_unsent(ended);
                effects.ended.push((Payload::new(call, told), ended));
                None
            }
        }
    }

    /// A job starts: its call goes to a worker.
    pub(crate) fn begin(&mut self, start: Start, now: Moment, effects: &mut Effects) {
        let upstream = start.upstream;
        let side = &mut self.sides[upstream.0 as usize];
        let payload = self
            .payloads
            .find(start.job)
            .expect("a job has a payload until its end is reaped");
        if !std::mem::replace(&mut payload.sent, true) {
            self.counters.sent += 1;
        }
        payload.told.start(now);
        effects.moved.extend(side.moved.clone());
        effects.starts.push(Started {
            start,
            call: payload.call.clone(),
            at: now,
            time_out: side.time_out,
        });
        let limited = |budget| self.dispatcher.is_limited(upstream, budget);
        effects.handover |= self.keeps && (limited(Budget::Query) || limited(Budget::Grab));
    }

    /// An upstream's next slot may now be later: whoever waits to hear of that is told.
    pub(crate) fn move_turn(&self, upstream: UpstreamId, effects: &mut Effects) {
        let side = self.sides.get(upstream.0 as usize);
        effects
            .moved
            .extend(side.and_then(|side| side.moved.clone()));
    }

    /// Moves the jobs that ended out of the table. `own` is how one of them ended, if the engine knows that
    /// better than the dispatcher.
    pub(crate) fn reap(&mut self, own: Option<(JobId, Ended)>, effects: &mut Effects) {
        for (job, end) in self.dispatcher.take_ended() {
            let ended = match (end, own) {
                (End::Finished(_), Some((mine, ended))) if mine == job => ended,
                _ => plain(end),
            };
            let Some(payload) = self.payloads.remove(job) else {
                continue;
            };
            if !payload.sent {
                self.counters.end_unsent(ended);
            }
            effects.ended.push((payload, ended));
        }
        if !self.keeps {
            drop(self.dispatcher.take_agenda_changes());
        }
    }

    /// Gathers all rows that changed, for the keeper.
    pub(crate) fn gather(&mut self) {
        self.flush_at = Moment::NEVER;
        let mut changes = Changes::default();
        for upstream in self.dispatcher.take_changed() {
            let side = &self.sides[upstream.0 as usize];
            changes
                .upstreams
                .extend(self.dispatcher.row(upstream).map(|row| KeptUpstream {
                    upstream,
                    name: side.name.clone(),
                    row,
                    off: side.off.clone(),
                }));
        }
        let mut jobs = self.dispatcher.take_agenda_changes();
        jobs.sort_unstable();
        jobs.dedup();
        for job in jobs {
            let row = self.dispatcher.agenda_row(job);
            let change = row.and_then(|row| self.kept(row));
            changes
                .agenda
                .push(change.unwrap_or(AgendaChange::Gone(job)));
        }
        if !changes.is_empty() {
            self.outbox.push(changes);
        }
    }

    fn kept(&mut self, row: SavedJob) -> Option<AgendaChange> {
        let call = self.payloads.find(row.job)?.call.clone();
        // Under the lock: a front that panics here loses its own entry and nothing else.
        let kept = catch_unwind(AssertUnwindSafe(|| call.keep())).ok()??;
        let upstream = self.sides[row.upstream.0 as usize].name.clone();
        (kept.len() <= KEPT_BYTES).then_some(AgendaChange::Put {
            row,
            upstream,
            kept,
        })
    }
}

/// An end about which the engine knows no more than the dispatcher.
pub(crate) fn plain(end: End) -> Ended {
    match end {
        // Cannot happen: only a worker finishes a job, and it says how.
        End::Finished(_) => Ended::Panicked,
        End::Skipped(skip) => Ended::Skipped(skip),
        End::Dropped(reason) => Ended::Dropped(reason),
        End::Cancelled => Ended::Cancelled,
        End::Shutdown => Ended::Shutdown,
    }
}
