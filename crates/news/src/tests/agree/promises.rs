//! What is said about the future comes true while nobody interferes: until when a server is left alone, and when it is
//! tried by itself.

use std::time::Duration;

use weir_engine::dispatch::{Availability, Moment, What};
use weir_engine::{Record, Standing};

use super::world::World;

/// Timers are exact to the millisecond.
const EXACT: Duration = Duration::from_millis(2);

/// What was said of each server when a wait began.
pub(super) struct Promises(Vec<Promise>);

struct Promise {
    name: String,
    /// The number of its newest record.
    newest: u64,
    /// Its state ends by itself.
    until: Option<Moment>,
    /// It is tried then at the latest.
    probe: Option<Moment>,
    /// Nothing was under way.
    idle: bool,
}

impl Promises {
    pub(super) fn made(world: &World) -> Self {
        let rows = world.engine.upstreams(0, usize::MAX).into_iter();
        let made = rows.map(|row| {
            let view = world.engine.upstream(row.upstream).expect("it is there");
            let newest = world.engine.decisions(row.upstream, None, 1);
            Promise {
                name: row.name.to_string(),
                newest: newest.first().map_or(0, |record| record.number),
                until: match view.status.state {
                    Availability::Cooldown { until } | Availability::Disabled { until } => {
                        Some(until)
                    }
                    _ => None,
                },
                probe: view.probe_at,
                idle: world.is_quiet(),
            }
        });
        Self(made.collect())
    }

    pub(super) fn kept(&self, world: &World) {
        self.0.iter().for_each(|promise| promise.kept(world));
    }
}

impl Promise {
    fn kept(&self, world: &World) {
        let rows = world.engine.upstreams(0, usize::MAX);
        let row = rows.iter().find(|row| *row.name == *self.name);
        let upstream = row.expect("it is there").upstream;
        let view = world.engine.upstream(upstream).expect("it is there");
        let later =
            world
                .engine
                .records(upstream, |record| record.number > self.newest, usize::MAX);
        let calls: Vec<Moment> = later
            .iter()
            .filter(|record| matches!(record.what, What::Started { .. }))
            .map(|record| record.at)
            .collect();
        let name = &self.name;
        if let Some(until) = self.until {
            let early = calls.iter().find(|at| **at < until);
            assert_eq!(early, None, "{name} was left alone until {until:?}");
            let state = Standing::from(view.status.state);
            let waits = matches!(state, Standing::Cooldown | Standing::Disabled);
            let longer = later.iter().any(|record| match record.what {
                What::CooldownBegan { cooldown, .. } => cooldown.until > until,
                _ => false,
            });
            if until > view.at {
                assert!(
                    waits,
                    "{name} was to wait until {until:?}, and is {state:?}"
                );
            } else if !longer {
                let ended = view.history.iter().any(|&(at, _)| at == until);
                assert!(ended, "{name} until {until:?}: {:?}", view.history);
            }
        }
        if let Some(probe) = self.probe.filter(|probe| *probe + EXACT <= view.at) {
            let tried = calls.iter().any(|at| *at <= probe + EXACT) || view.status.in_flight > 0;
            assert!(tried, "{name} was to be tried at {probe:?}: {later:?}");
        }
        if self.idle {
            // What became of a post is asked for as long as it is not known.
            let posted = |record: &&Record| {
                let about = record.about.words().unwrap_or_default();
                about.starts_with("whether ") || about.starts_with("posting ")
            };
            let own = later.iter().filter(|record| !posted(record));
            let own = own.filter(|record| matches!(record.what, What::Started { .. }));
            let first = own.map(|record| record.at).min();
            let early = first.filter(|first| self.probe.is_none_or(|probe| *first < probe));
            assert_eq!(
                early, None,
                "{name}: nobody asked, and it was to be tried at {:?}: {later:?}",
                self.probe
            );
        }
    }
}
