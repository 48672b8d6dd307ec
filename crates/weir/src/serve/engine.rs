//! What the engines of all fronts share: one timeline, one weather, one store of rows.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use weir_engine::dispatch::Policy;
use weir_engine::dispatch::policy::{CrewPolicy, FailurePolicy};
use weir_engine::{Engine, Node, Options, Outward, Rate, Rows, Timeline, Vitals, Weather};
use weir_store::sqlite::File;
use weir_store::state::{SqliteState, State};

use crate::config::{engine, store};

/// Builds the engine of each front.
pub(super) struct Engines {
    pub(super) timeline: Timeline,
    /// The tasks that must never end, of all fronts.
    pub(super) vitals: Vitals,
    pub(super) weather: Weather,
    state: Arc<dyn State>,
    /// The settings that all fronts share. Each front replaces classes, crew and capacity.
    general: Policy,
    history: Duration,
    write_every: Duration,
    records_every: Duration,
    probe_after: Duration,
    try_within: Duration,
    /// This node among others, if there are several.
    pub(super) node: Option<Node>,
}

impl Engines {
    /// Destructures both sections without `..`, so that a new key does not compile until it is used.
    pub(super) fn new(
        engine: engine::Config,
        store: &store::Config,
        state: &File,
    ) -> anyhow::Result<Self> {
        let engine::Config {
            ladder,
            retry_after_max,
            agenda_factor,
            agenda_delay,
            upstream_backlog,
            scale_up_pct,
            scale_down_pct,
            scale_every,
            slow_call,
            waiting_calls,
            weather_upstreams,
            weather_quiet,
            weather_pause,
            decisions,
            history,
            probe_after,
            try_within,
        } = engine;
        // What nodes share is `node`'s.
        let &store::Config {
            redis: _,
            secret: _,
            write_every,
            records_every,
        } = store;
        let general = Policy {
            classes: Vec::new(),
            capacity: 1,
            agenda_capacity: agenda_factor.get(),
            backlog_floor: upstream_backlog.get(),
            aging: Duration::from_secs(10),
            put_off: agenda_delay,
            crew: CrewPolicy {
                base: 1,
                max: 1,
                grow_at: scale_up_pct.value().into(),
                shrink_below: scale_down_pct.value().into(),
                step: scale_every,
                slot_time: slow_call,
                waiting_max: waiting_calls.get(),
            },
            failure: FailurePolicy {
                ladder,
                threshold: 1,
                threshold_disables: false,
                throttled: None,
                longest: retry_after_max,
            },
            again_class: None,
            attempts: 1,
            retry_base: Duration::from_millis(500),
            records: decisions.get() as usize,
        };
        let state = SqliteState::open(state.clone()).context("cannot use state.db")?;
        Ok(Self {
            timeline: Timeline::starting_at(wall()).with_sleep(super::node::slept),
            vitals: Vitals::default(),
            weather: Weather::new(weather_upstreams.get(), weather_quiet, weather_pause),
            state: Arc::new(state),
            general,
            history,
            write_every,
            records_every,
            probe_after,
            try_within,
            node: None,
        })
    }

    /// The rows of all engines.
    pub(super) fn rows(&self) -> Arc<dyn State> {
        Arc::clone(&self.state)
    }

    /// The policy that each front adapts.
    pub(super) fn general(&self) -> Policy {
        self.general.clone()
    }

    /// Builds the engine of a front, with its stored rows.
    pub(super) fn build(
        &self,
        front: &'static str,
        policy: Policy,
        rate: Rate,
        never: Duration,
    ) -> anyhow::Result<Outward> {
        let settings = (rate, never, self.weather.clone());
        self.build_under(front, policy, settings, self.node.clone())
    }

    /// The same for a front whose upstreams say nothing about the way out to those of the others: its weather is its own, and
    /// it shares nothing with other nodes.
    pub(super) fn build_apart(
        &self,
        front: &'static str,
        policy: Policy,
        never: Duration,
    ) -> anyhow::Result<Outward> {
        let settings = (Rate::NONE, never, self.weather.apart());
        self.build_under(front, policy, settings, None)
    }

    fn build_under(
        &self,
        front: &'static str,
        policy: Policy,
        (rate, never, weather): (Rate, Duration, Weather),
        node: Option<Node>,
    ) -> anyhow::Result<Outward> {
        let state = Arc::clone(&self.state);
        let (rows, restored) = Rows::load(front, state, self.timeline, Arc::new(wall))
            .with_context(|| format!("cannot read the stored state of the front {front}"))?;
        let options = Options {
            rate,
            keeper: Some(rows.clone()),
            write_every: self.write_every,
            past_every: self.records_every,
            history: self.history,
            probe_after: self.probe_after,
            try_within: self.try_within,
            never,
            vitals: self.vitals.clone(),
            node: node.clone(),
            ..Options::new(self.timeline, weather)
        };
        let engine = Engine::new(front, policy, options);
        if let Some(past) = &restored.past {
            engine.restore_own(past);
        }
        if let Some(series) = &restored.series {
            engine.restore_series(series);
        }
        Ok(Outward {
            engine,
            rows: Some(rows),
            restored,
            ground: Arc::new(weir_net::System::new()),
            node,
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the wall clock is given to the engines"
)]
fn wall() -> SystemTime {
    SystemTime::now()
}
