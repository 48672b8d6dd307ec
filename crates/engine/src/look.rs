//! Views of an engine: counts and pages of rows, never a walk over the backlog.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Availability, Budget, Class, Moment, Quota, UpstreamId, UpstreamStatus, Wait};

use crate::engine::Engine;
use crate::errors::PastError;
use crate::keeper::Off;
use crate::record::Record;
use crate::series::{Point, Span};
use crate::side::{Side, Standing, UpstreamTrouble};
use crate::state::State;
use crate::tally::{Counters, Latency, Requests};

/// A front's counts. Pages and Prometheus read the same ones.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Which front.
    pub front: &'static str,
    /// When they were taken.
    pub at: Moment,
    /// The dispatcher's counts: queued, capacity, agenda, workers.
    pub counts: weir_dispatch::Status,
    /// Queued jobs in whole percent of the capacity.
    pub fill_percent: u32,
    /// The most workers there may be.
    pub max_workers: u32,
    /// The fill in percent at which there are more of them.
    pub grows_at: u32,
    /// How often a listener found no place in the queue.
    pub refused_full: u64,
    /// How often a listener found no token.
    pub rate_limited: u64,
    /// How many upstreams were left out because the queue was filling.
    pub throttled: u64,
    /// What became of everything that was asked.
    pub counters: Counters,
    /// Whether our own network is known to be down.
    pub network_down: bool,
    /// How many upstreams of all fronts showed it.
    pub troubled: usize,
    /// How many upstreams it has.
    pub upstreams: usize,
}

/// One upstream's counts.
#[derive(Clone, Debug)]
pub struct UpstreamFigures {
    /// Which one.
    pub upstream: UpstreamId,
    /// Its name.
    pub name: Arc<str>,
    /// Its state, without times.
    pub standing: Standing,
    /// Its attempts by outcome.
    pub requests: Requests,
    /// How long they took.
    pub latency: Latency,
}

/// One upstream as a person sees it.
#[derive(Clone, Debug)]
pub struct UpstreamView {
    /// Its counts.
    pub figures: UpstreamFigures,
    /// State, cooldown, quota.
    pub status: UpstreamStatus,
    /// What it allows.
    pub quota: Quota,
    /// The time-out of its calls.
    pub time_out: Duration,
    /// Why an operator switched it off, while it is off.
    pub off: Option<Off>,
    /// What last went wrong, and when.
    pub last_error: Option<(Moment, Arc<str>)>,
    /// The last few things that went wrong, newest first.
    pub errors: Vec<PastError>,
    /// Why it is not called, and since when, while it cools down, is disabled or being probed.
    pub trouble: Option<UpstreamTrouble>,
    /// How many of its newest calls in a row were in vain, as far as records tell; see [`Kind::is_in_vain`](crate::Kind::is_in_vain).
    pub in_vain: u32,
    /// When it was last called for anything.
    pub last_call: Option<Moment>,
    /// When it is tried by itself if nobody asks for anything before; `None` while it is being tried.
    pub probe_at: Option<Moment>,
    /// Since when it has been in its state.
    pub since: Moment,
    /// When this was looked at.
    pub at: Moment,
    /// Its states over the last day, oldest first; the first may have begun earlier.
    pub history: Vec<(Moment, Standing)>,
    /// Its calls over the last day, those that ended just now included.
    pub day: Vec<Point>,
    /// The next call of the most urgent class is possible after so long.
    pub next_call: Duration,
    /// How many rungs its ladder has.
    pub rungs: usize,
    /// The cooldown that the next failure would begin.
    pub next_cooldown: Option<Duration>,
}

impl Engine {
    /// The front's counts, at a cost that does not depend on the backlog.
    pub fn status(&self) -> Figures {
        let at = self.shared.timeline.now();
        let [refused_full, rate_limited, throttled] = self.shared.gate.refusals();
        let listeners = self.shared.listened();
        let mut state = self.shared.state.lock();
        let counts = state.dispatcher.status(at);
        let (max_workers, grows_at) = state.dispatcher.crew_limits();
        Figures {
            front: self.shared.front,
            at,
            fill_percent: counts.fill_percent(),
            max_workers,
            grows_at,
            counts,
            refused_full,
            rate_limited,
            throttled,
            counters: state.counters.with(listeners),
            network_down: self.shared.weather.is_down(),
            troubled: self.shared.weather.troubled(),
            upstreams: state.sides.iter().filter(|side| !side.gone).count(),
        }
    }

    /// The counts of a page of upstreams, in the order in which they were added.
    pub fn upstreams(&self, skip: usize, page: usize) -> Vec<UpstreamFigures> {
        let now = self.shared.timeline.now();
        let state = self.shared.state.lock();
        let ids = (0..).map(UpstreamId).zip(&state.sides);
        let there = ids.filter(|(_, side)| !side.gone).skip(skip).take(page);
        there
            .filter_map(|(upstream, _)| state.figures(upstream, now))
            .collect()
    }

    /// One upstream, unless it is gone.
    pub fn upstream(&self, upstream: UpstreamId) -> Option<UpstreamView> {
        self.view(&mut self.shared.state.lock(), upstream)
    }

    /// One upstream and all records about it, newest first, of the same moment.
    pub fn upstream_with_records(
        &self,
        upstream: UpstreamId,
    ) -> Option<(UpstreamView, Vec<Record>)> {
        let mut state = self.shared.state.lock();
        let view = self.view(&mut state, upstream)?;
        state.settle_calls(upstream);
        let records = state.sides[upstream.0 as usize].records.newest();
        Some((view, records.collect()))
    }

    fn view(&self, state: &mut State, upstream: UpstreamId) -> Option<UpstreamView> {
        let now = self.shared.timeline.now();
        // Its history ends with the state that it is in.
        state.note_state(upstream, now);
        state.settle_calls(upstream);
        let status = state.dispatcher.upstream(now, upstream)?;
        let quota = state.dispatcher.quota(upstream)?.clone();
        let figures = state.figures(upstream, now)?;
        let side = &state.sides[upstream.0 as usize];
        // What is under way is a try as well.
        let is_tried = status.in_flight > 0
            && matches!(status.state, Availability::Untried | Availability::Probing);
        let can_be_tried = self.shared.prober.get().is_some() && !is_tried;
        let next = usize::from(status.rung).min(state.ladder.len().saturating_sub(1));
        Some(UpstreamView {
            figures,
            quota,
            time_out: side.time_out,
            off: side.off.clone(),
            last_error: side.last_error.clone(),
            errors: side.errors.newest(),
            trouble: side.trouble.clone(),
            in_vain: side.in_vain(),
            last_call: side.new.last_call,
            probe_at: (side.probe_at < Moment::NEVER && can_be_tried).then_some(side.probe_at),
            since: side.since(&status),
            at: now,
            history: side.history.iter().copied().collect(),
            day: side.series.day(now),
            next_call: state.next_wait(now, upstream, Class(0), Budget::Query).0,
            rungs: state.ladder.len(),
            next_cooldown: state.ladder.get(next).copied(),
            status,
        })
    }

    /// Until when each of these is left alone; `None` for an upstream that may be called.
    pub fn rests(&self, upstreams: impl IntoIterator<Item = UpstreamId>) -> Vec<Option<Moment>> {
        let now = self.shared.timeline.now();
        let state = self.shared.state.lock();
        let until = |upstream| match state.dispatcher.state(now, upstream) {
            Some(Availability::Untried | Availability::Open | Availability::Probing) => None,
            Some(Availability::Cooldown { until } | Availability::Disabled { until }) => {
                Some(until)
            }
            Some(Availability::Off) | None => Some(Moment::NEVER),
        };
        upstreams.into_iter().map(until).collect()
    }

    /// The cooldowns of rungs 1, 2, …
    pub fn ladder(&self) -> Vec<Duration> {
        self.shared.state.lock().ladder.clone()
    }

    /// How long the next call in this class and budget would have to wait, and for what; calls that pause because of our
    /// own network included.
    pub fn next_wait(
        &self,
        upstream: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let now = self.shared.timeline.now();
        let state = self.shared.state.lock();
        state.next_wait(now, upstream, class, budget)
    }

    /// A page of the decisions about an upstream, newest first, starting with the one before number
    /// `before`.
    pub fn decisions(&self, upstream: UpstreamId, before: Option<u64>, page: usize) -> Vec<Record> {
        let before = before.unwrap_or(u64::MAX);
        self.records(upstream, |record| record.number < before, page)
    }

    /// The newest records about an upstream for which `is_wanted` holds, at most so many. It runs under the engine's lock.
    pub fn records(
        &self,
        upstream: UpstreamId,
        is_wanted: impl Fn(&Record) -> bool,
        most: usize,
    ) -> Vec<Record> {
        let mut state = self.shared.state.lock();
        state.settle_calls(upstream);
        let Some(side) = state.sides.get(upstream.0 as usize) else {
            return Vec::new();
        };
        let records = side.records.newest();
        records.filter(is_wanted).take(most).collect()
    }

    /// The front's series over a span, oldest first.
    pub fn series(&self, span: Span) -> Vec<Point> {
        let now = self.shared.timeline.now();
        self.shared.state.lock().series.points(span, now)
    }

    /// An upstream's series over a span, oldest first; steps without a call are missing.
    pub fn upstream_series(&self, upstream: UpstreamId, span: Span) -> Vec<Point> {
        let now = self.shared.timeline.now();
        let state = self.shared.state.lock();
        let side = state.sides.get(upstream.0 as usize);
        side.map_or_else(Vec::new, |side| side.series.points(span, now))
    }
}

impl State {
    fn figures(&self, upstream: UpstreamId, now: Moment) -> Option<UpstreamFigures> {
        let standing = self.dispatcher.state(now, upstream)?.into();
        let side = &self.sides[upstream.0 as usize];
        Some(UpstreamFigures {
            upstream,
            name: side.name.clone(),
            standing,
            requests: side.requests,
            latency: side.latency,
        })
    }
}

impl Side {
    /// How many of its newest calls in a row were in vain. Those under way do not count.
    fn in_vain(&self) -> u32 {
        let ended = self.records.newest().filter_map(|record| record.end);
        let in_vain = ended.take_while(|end| end.kind.is_in_vain()).count();
        u32::try_from(in_vain).unwrap_or(u32::MAX)
    }

    /// Since when it has been in its state. A disabled upstream is disabled from the first such cooldown on: failed
    /// probes in between change nothing for whoever looks.
    pub(crate) fn since(&self, status: &UpstreamStatus) -> Moment {
        match (status.state, &self.trouble, &self.off) {
            (Availability::Cooldown { .. } | Availability::Disabled { .. }, Some(trouble), _) => {
                trouble.since
            }
            (Availability::Probing, ..) => status
                .cooldown
                .map_or(self.began(), |cooldown| cooldown.until),
            (Availability::Off, _, Some(off)) => off.at,
            _ => self.began(),
        }
    }

    /// When the state was noted that it is in.
    fn began(&self) -> Moment {
        self.history.back().map_or(Moment(0), |&(at, _)| at)
    }
}
