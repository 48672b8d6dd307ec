//! What the engines of all fronts share: one timeline, one weather, one store of rows.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context;
use weir_engine::dispatch::Policy;
use weir_engine::dispatch::policy::{CrewPolicy, FailurePolicy};
use weir_engine::{Engine, Options, Outward, Rate, Rows, Timeline, Vitals, Weather};
use weir_store::sqlite::File;
use weir_store::state::{SqliteState, State};

use crate::config::engine::Config;

/// Makes engines.
pub(super) struct Engines {
    pub(super) timeline: Timeline,
    /// All that must not end, of all fronts.
    pub(super) vitals: Vitals,
    weather: Weather,
    state: Arc<dyn State>,
}

impl Engines {
    pub(super) fn new(config: &Config, state: &File) -> anyhow::Result<Self> {
        let state = SqliteState::open(state.clone()).context("cannot use state.db")?;
        Ok(Self {
            timeline: Timeline::starting_at(wall()),
            vitals: Vitals::default(),
            weather: Weather::new(config.weather_quiet, config.weather_pause),
            state: Arc::new(state),
        })
    }

    /// Makes the engine of a front, with what was kept of it.
    pub(super) fn build(
        &self,
        front: &'static str,
        policy: Policy,
        rate: Rate,
        never: std::time::Duration,
    ) -> anyhow::Result<Outward> {
        let state = Arc::clone(&self.state);
        let (rows, restored) = Rows::load(front, state, self.timeline, Arc::new(wall))
            .with_context(|| format!("cannot read what was kept of the front {front}"))?;
        let options = Options {
            rate,
            keeper: Some(rows.clone()),
            never,
            vitals: self.vitals.clone(),
            ..Options::new(self.timeline, self.weather.clone())
        };
        Ok(Outward {
            engine: Engine::new(front, policy, options),
            rows: Some(rows),
            restored,
            ground: Arc::new(weir_net::System::new()),
        })
    }
}

/// The numbers that hold for all fronts. Classes, crew and capacity are each front's own.
pub(super) fn general(config: &Config) -> Policy {
    let capacity = 1;
    Policy {
        classes: Vec::new(),
        capacity,
        agenda_capacity: capacity * config.agenda_factor.get(),
        backlog_floor: config.upstream_backlog.get(),
        aging: std::time::Duration::from_secs(10),
        put_off: config.agenda_delay,
        crew: CrewPolicy {
            base: 1,
            max: 1,
            grow_at: config.scale_up_pct.value().into(),
            shrink_below: config.scale_down_pct.value().into(),
            step: config.scale_every,
            slot_time: config.slow_call,
            waiting_max: config.waiting_calls.get(),
        },
        failure: FailurePolicy {
            ladder: config.ladder.clone(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: config.retry_after_max,
        },
        again_class: None,
        attempts: 1,
        retry_base: std::time::Duration::from_millis(500),
        records: config.decisions.get() as usize,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the wall clock is given to the engines"
)]
fn wall() -> SystemTime {
    SystemTime::now()
}
