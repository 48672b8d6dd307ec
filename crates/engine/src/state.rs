//! What the engine's lock protects: the dispatcher and what is kept alongside it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{
    Admission, Asker, Budget, Cause, Cooldown, Decision, Dispatcher, End, JobId, Moment, SavedJob,
    Start, UpstreamId, Wait, What,
};
use weir_store::state::SERIES;

use crate::call::{Call, Ended, KEPT_BYTES, Skipped};
use crate::flow::Flows;
use crate::keeper::{AgendaChange, Changes, KeptPast, KeptUpstream, Memory};
use crate::new_calls::NewCalls;
use crate::past;
use crate::pause::Pause;
use crate::payload::{Elsewhere, Payload, Payloads, Told};
use crate::probes::Probes;
use crate::record::{About, Got, Record};
use crate::series::Series;
use crate::shared::{Effects, Shared, Started};
use crate::sharing::{Granted, Sharing};
use crate::side::{Side, UpstreamTrouble};
use crate::tally::{Counters, ListenerCounts};

/// How often an idle front writes that it ran. A crash in such a time shows as a gap that is longer by so much.
const IDLE: Duration = Duration::from_secs(600);

/// One front's jobs and figures.
pub(crate) struct State {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) payloads: Payloads,
    /// By the number in [`UpstreamId`].
    pub(crate) sides: Vec<Side>,
    pub(crate) counters: Counters,
    pub(crate) series: Series,
    pub(crate) flows: Flows,
    /// When the series are handed over although nothing was asked.
    pub(crate) series_at: Moment,
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
    /// Everything has ended, and what is written from now on is the last of this run.
    pub(crate) ended: bool,
    /// How far back the states of an upstream are kept.
    pub(crate) history: Duration,
    /// The cooldowns of the ladder, for pages that show which one comes next.
    pub(crate) ladder: Vec<Duration>,
    /// How many records are kept per upstream.
    pub(crate) records: usize,
    /// Upstreams with something new to keep that the dispatcher knows nothing of.
    pub(crate) changed: Vec<UpstreamId>,
    /// Calls on their way to the records.
    pub(crate) new_calls: NewCalls,
    /// Decisions on their way from the dispatcher to the records; kept only to spare an allocation at each step.
    pub(crate) decisions: Vec<Decision>,
    /// Skips on their way from the records to whoever asked, in the order in which they were decided. Without a job: that
    /// of a submission that was turned away.
    pub(crate) skipped: VecDeque<(Option<JobId>, Arc<Skipped>)>,
    /// When records and states are handed over; `NEVER` while nothing has changed.
    pub(crate) past_at: Moment,
    /// How long after a change that is.
    pub(crate) past_every: Duration,
    pub(crate) probes: Probes,
    /// When no call started last, because our own network was down; it may last.
    pub(crate) pause: Option<Pause>,
    /// What is shared with other nodes, if there are any.
    pub(crate) sharing: Option<Box<Sharing>>,
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
        // Before jobs leave the table: what was decided about them is told with what they are about.
        self.take_decisions(Some(&*call));
        let turned_away = match entry {
            Admission::Ended(end) => Some(self.plain(None, end)),
            _ => None,
        };
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
                let ended = turned_away.unwrap_or_else(|| without_record(end, Moment(0)));
                self.counters.end_unsent(&ended);
                effects.ended.push((Payload::new(call, told), ended));
                None
            }
        }
    }

    /// A job starts: its call goes to a worker. `granted` is its right to, where its upstream is shared and it had to ask.
    pub(crate) fn begin(
        &mut self,
        mut start: Start,
        granted: Option<Granted>,
        now: Moment,
        effects: &mut Effects,
    ) {
        // Records have the order of what happened.
        if !self.dispatcher.decisions().is_empty() {
            self.record_first(start.decided);
        }
        self.keep_past(now);
        let upstream = start.upstream;
        start.reason = self.waited_for(&start, now);
        let side = &mut self.sides[upstream.0 as usize];
        let payload = self
            .payloads
            .find(start.job)
            .expect("a job has a payload until its end is reaped");
        let first = !std::mem::replace(&mut payload.sent, true);
        if first {
            // Whoever asked may have been told that it comes too late: then this call is one of Weir's own.
            let own = !std::mem::replace(&mut payload.open, false);
            self.counters.asked += u64::from(own);
        }
        side.new.last_call = Some(now);
        payload.told.start(now);
        effects.moved.extend(side.moved.clone());
        let (call, time_out) = (payload.call.clone(), side.time_out);
        let followed = payload.told.has_hook();
        // For its record alone: the dispatcher knows of no wait before the queue.
        if let (1, Some(since)) = (start.attempt, call.held_since()) {
            start.since = since;
            start.reason = Some(Wait::Cooldown);
        }
        let record =
            (self.records > 0).then(|| self.note_call(&start, now, call.about(), followed));
        effects.starts.push(Started {
            job: start.job,
            upstream,
            class: start.class,
            attempt: start.attempt,
            call,
            at: now,
            time_out,
            uncounted: first,
            record,
            question: granted.and_then(|granted| granted.claimed()),
        });
        if self.sharing.is_some() {
            self.start_shared(upstream, start.budget, granted, now, effects);
        }
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
        self.take_decisions(None);
        for (job, end) in self.dispatcher.take_ended() {
            let ended = match (end, &own) {
                (End::Finished(_) | End::Answered, Some((mine, ended))) if *mine == job => {
                    ended.clone()
                }
                _ => self.plain(Some(job), end),
            };
            let Some(payload) = self.payloads.remove(job) else {
                continue;
            };
            if !payload.sent {
                // As with a start: whoever asked may have been told long ago, and this is one of Weir's own.
                self.counters.asked += u64::from(!payload.open);
                match payload.elsewhere {
                    Elsewhere::Kept => self.counters.from_memory += 1,
                    Elsewhere::Fails => self.counters.shared += 1,
                    _ => self.counters.end_unsent(&ended),
                }
            }
            effects.ended.push((payload, ended));
        }
        self.skipped.clear();
        if !self.keeps {
            drop(self.dispatcher.take_agenda_changes());
        }
    }

    /// Makes records of what was decided since the last look. `submitted` is the call of a submission that is not in the
    /// table yet.
    #[inline]
    pub(crate) fn take_decisions(&mut self, submitted: Option<&dyn Call>) {
        // Each step looks, and most have decided nothing.
        if !self.dispatcher.decisions().is_empty() {
            self.record_all(submitted);
        }
    }

    /// Makes records of the first `count` decisions that wait, which were made before a start.
    fn record_first(&mut self, count: usize) {
        let mut taken = std::mem::take(&mut self.decisions);
        self.dispatcher.take_first_decisions(count, &mut taken);
        for decision in taken.drain(..) {
            self.record(&decision, None);
        }
        self.decisions = taken;
    }

    fn record_all(&mut self, submitted: Option<&dyn Call>) {
        let mut taken = std::mem::take(&mut self.decisions);
        self.dispatcher.take_decisions(&mut taken);
        for decision in taken.drain(..) {
            self.record(&decision, submitted);
        }
        self.decisions = taken;
    }

    /// The same for a decision that the front asked to be noted; `got` is what whoever asked got. Gives its record.
    pub(crate) fn take_noted(&mut self, about: &About, got: Option<Got>) -> Option<Record> {
        let mut taken = std::mem::take(&mut self.decisions);
        self.dispatcher.take_decisions(&mut taken);
        let mut noted = None;
        for decision in taken.drain(..) {
            // Time may have brought others before it.
            if decision.job.is_some() || decision.class.is_none() {
                self.record(&decision, None);
                continue;
            }
            let record = self.record_about(&decision, about.clone());
            record.got = got;
            noted = Some(record.clone());
        }
        self.decisions = taken;
        noted
    }

    fn record(&mut self, decision: &Decision, submitted: Option<&dyn Call>) {
        let payload = decision.job.and_then(|job| self.payloads.find(job));
        let about = match (payload, submitted) {
            (Some(payload), _) => payload.call.about(),
            (None, Some(call)) => call.about(),
            (None, None) => About::Nothing,
        };
        let record = self.record_about(decision, about);
        if matches!(decision.what, What::Skipped(_)) {
            let skipped = record.skipped().map(Arc::new);
            self.skipped
                .extend(skipped.map(|skipped| (decision.job, skipped)));
        }
    }

    /// The front knows why this was decided, of which it has just been told.
    pub(crate) fn explain_noted(&mut self, upstream: UpstreamId, number: u64, cause: Arc<str>) {
        let upstream = self.heir(upstream);
        let records = &mut self.sides[upstream.0 as usize].records;
        records.explain(number, cause);
    }

    /// An end about which the engine knows no more than the dispatcher, and why it was decided.
    fn plain(&mut self, job: Option<JobId>, end: End) -> Ended {
        let ended = without_record(end, Moment(0));
        if !matches!(ended, Ended::Skipped(_)) {
            return ended;
        }
        // Nearly always the first: jobs end in the order of their decisions.
        let place = self.skipped.iter().position(|(of, _)| *of == job);
        let skipped = place.and_then(|place| self.skipped.remove(place));
        skipped.map_or(ended, |(_, skipped)| Ended::Skipped(skipped))
    }

    /// Makes a record of one decision, with the reason that it has at this moment.
    pub(crate) fn record_about(&mut self, decision: &Decision, about: About) -> &mut Record {
        self.keep_past(decision.at);
        self.settle_calls(decision.upstream);
        let side = &mut self.sides[decision.upstream.0 as usize];
        let cause = match decision.what {
            What::CooldownBegan { cooldown, .. } => Some(side.begin_trouble(cooldown, decision.at)),
            What::Healed | What::Cleared | What::Forgiven => {
                side.trouble = None;
                side.trials = 0;
                None
            }
            What::Waits { reason, .. } => side.why(reason),
            What::Skipped(skip) | What::Missed(skip) => side.why(skip.reason),
            What::Retried { .. } => side.latest.clone(),
            What::SwitchedOff => side.why(Wait::Off),
            _ => None,
        };
        let acted_by = side.acted_by.filter(|who| *who != Asker::NOBODY);
        // One that was removed may have come back: its records are there.
        let shown = self.heir(decision.upstream).0 as usize;
        let records = &mut self.sides[shown].records;
        let record = records.push(self.records, decision, about, cause);
        if matches!(
            decision.what,
            What::SwitchedOff | What::SwitchedOn | What::Cleared | What::Forgiven
        ) {
            record.asker = acted_by.unwrap_or(Asker::OPERATOR);
        }
        record
    }

    /// Sees to it that records and states reach the keeper.
    pub(crate) fn keep_past(&mut self, now: Moment) {
        if self.keeps && self.past_at == Moment::NEVER {
            self.past_at = now + self.past_every;
        }
    }

    /// Gathers all rows that changed, for the keeper.
    pub(crate) fn gather(&mut self) {
        self.flush_at = Moment::NEVER;
        let mut changes = Changes::default();
        let mut changed = self.dispatcher.take_changed();
        changed.append(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for upstream in changed {
            let side = &self.sides[upstream.0 as usize];
            changes
                .upstreams
                .extend(self.dispatcher.row(upstream).map(|row| KeptUpstream {
                    upstream,
                    name: side.name.clone(),
                    row,
                    off: side.off.clone(),
                    memory: side.memory(),
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

    /// Gathers the records and states that changed, and the front's series, for the keeper.
    pub(crate) fn gather_pasts(&mut self, now: Moment, shared: &Shared, listeners: ListenerCounts) {
        let (askers, own) = (&shared.askers, &shared.own);
        self.past_at = Moment::NEVER;
        if !self.keeps {
            return;
        }
        self.settle_all_calls();
        // One that was removed may still have had a call under way.
        let latest = self.sides.iter_mut().filter(|side| side.owns_its_name());
        let mut pasts: Vec<KeptPast> = latest
            .filter_map(|side| {
                let records = side
                    .records
                    .due(self.ended)
                    .map(|last| (&side.records, last));
                records.map(|records| KeptPast {
                    name: side.name.clone(),
                    text: past::write(&side.history, (&side.series, now), records, askers),
                })
            })
            .collect();
        pasts.extend(own.write(self.ended).map(|text| KeptPast {
            name: "".into(),
            text,
        }));
        self.series_at = now + IDLE;
        pasts.push(KeptPast {
            name: SERIES.into(),
            text: self.write_series(now, listeners),
        });
        self.outbox.push(Changes {
            pasts,
            ..Changes::default()
        });
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

/// An end of which nothing was recorded.
pub(crate) fn without_record(end: End, at: Moment) -> Ended {
    match end {
        // Cannot happen: only a worker finishes a job, and it says how.
        End::Finished(_) => Ended::Panicked,
        End::Skipped(skip) => Ended::Skipped(Arc::new(Skipped {
            skip,
            class: None,
            at,
            cause: None,
            number: None,
        })),
        End::Dropped(reason) => Ended::Dropped(reason),
        End::Cancelled => Ended::Cancelled,
        End::Answered => Ended::Answered,
        End::Shutdown => Ended::Shutdown,
    }
}

impl Side {
    /// A cooldown begins or grows. Returns why, in words.
    fn begin_trouble(&mut self, cooldown: Cooldown, now: Moment) -> Arc<str> {
        let reason = self
            .latest
            .clone()
            .unwrap_or_else(|| in_general(cooldown.cause).into());
        let disables = cooldown.cause.disables();
        let same = self.trouble.take();
        let since = same
            .filter(|trouble| trouble.disables == disables)
            .map_or(now, |trouble| trouble.since);
        self.trouble = Some(UpstreamTrouble {
            since,
            began: now,
            disables,
            reason: reason.clone(),
        });
        reason
    }

    /// Why the upstream makes a job wait, as far as there are words for it.
    fn why(&self, wait: Wait) -> Option<Arc<str>> {
        match wait {
            Wait::Cooldown => Some(self.trouble.as_ref()?.reason.clone()),
            Wait::Off => Some(self.off.as_ref()?.reason.as_str().into()),
            Wait::Claimed => self.latest.clone(),
            Wait::Network => Some("our own network is down".into()),
            Wait::Window | Wait::Gap | Wait::Agreeing | Wait::Share => None,
        }
    }

    /// What is kept of it besides the dispatcher's row.
    fn memory(&self) -> Memory {
        Memory {
            trouble: self.trouble.clone(),
            last_error: self.last_error.clone(),
            last_call: self.new.last_call,
            on: self.on,
            own: self.own.clone(),
        }
    }
}

/// What is known of a cooldown without words of its own.
fn in_general(cause: Cause) -> &'static str {
    match cause {
        Cause::Throttled => "it asked us to wait",
        Cause::FailedOften => "it failed too often",
        Cause::Rejected => "it failed in a way that a retry does not fix",
        Cause::Failed => "it did not answer",
    }
}
