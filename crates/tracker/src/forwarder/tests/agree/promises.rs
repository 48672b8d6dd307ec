//! What is said about the future comes true while nobody interferes.

use weir_engine::dispatch::{Availability, Moment, What};
use weir_engine::{About, Kind, Record, Standing};

use super::super::*;

/// Timers are exact to the millisecond.
const EXACT: Duration = Duration::from_millis(1);

/// The queue is through in this time: twelve calls, four at once, half a minute each.
const LINE: Duration = Duration::from_secs(100);

/// What was said of each forwarder when the wait began.
pub(super) struct Promises {
    made: Vec<Promise>,
    /// Calls that our own network had failed by then.
    lost: u64,
    /// Nothing starts, so nothing of it need come true.
    held: bool,
}

struct Promise {
    name: String,
    /// The number of its newest record.
    newest: u64,
    /// Its state ends by itself.
    until: Option<Moment>,
    /// It is tried then at the latest.
    probe: Option<Moment>,
    /// Torrents about which it will be asked again.
    retries: Vec<(Moment, About)>,
    /// Nobody is called before.
    paused: Option<Moment>,
    /// Those about which it would have been, had there been room.
    put_off: Vec<(Moment, About)>,
}

impl Promises {
    pub(super) fn made(world: &World, held: bool) -> Self {
        let all = world.forwarders.all();
        let paused = world.engine.status().counts.paused_until;
        let made = all.iter().map(|forwarder| {
            let name = forwarder.config.name.clone();
            let view = world.view(&name);
            let until = match view.status.state {
                Availability::Cooldown { until } | Availability::Disabled { until } => Some(until),
                _ => None,
            };
            let records = world.engine.decisions(forwarder.upstream, None, usize::MAX);
            let retries = records.iter().filter_map(|record| match record.what {
                What::Retried { due } if due > view.at => Some((due, record.about.clone())),
                _ => None,
            });
            let retries = retries.filter(|_| until.is_none() && view.off.is_none());
            let retries = retries.filter(|(_, about)| world.retries(about));
            let put_off = records.iter().filter_map(|record| match record.what {
                What::PutOff { due, .. } if due > view.at => Some((due, record.about.clone())),
                _ => None,
            });
            let put_off = put_off.filter(|_| until.is_none() && view.off.is_none());
            let put_off = put_off.filter(|(_, about)| world.retries(about));
            Promise {
                put_off: put_off.collect(),
                newest: records.first().map_or(0, |record| record.number),
                until,
                probe: view.probe_at,
                retries: retries.collect(),
                paused,
                name,
            }
        });
        Self {
            made: made.collect(),
            lost: lost_by_us(world),
            held,
        }
    }

    pub(super) fn kept(&self, world: &World) {
        // A pause that began meanwhile has put everything off.
        let is_put_off = lost_by_us(world) != self.lost;
        for promise in &self.made {
            promise.kept(world, self.held || is_put_off);
        }
    }
}

/// Calls of this run that our own network has failed.
fn lost_by_us(world: &World) -> u64 {
    let all = world.engine.upstreams(0, usize::MAX).into_iter();
    all.map(|one| one.requests[Kind::OurNetwork as usize]).sum()
}

impl Promise {
    fn kept(&self, world: &World, held: bool) {
        let view = world.view(&self.name);
        let (name, now) = (&self.name, view.at);
        let records = world
            .engine
            .decisions(view.figures.upstream, None, usize::MAX);
        let since = records.iter().filter(|record| record.number > self.newest);
        let later: Vec<&Record> = since.collect();
        let calls: Vec<Moment> = later
            .iter()
            .filter(|record| matches!(record.what, What::Started { .. }))
            .map(|record| record.at)
            .collect();
        if let Some(until) = self.until {
            let longer = later.iter().any(|record| match record.what {
                What::CooldownBegan { cooldown, .. } => cooldown.until > until,
                _ => false,
            });
            let state = Standing::from(view.status.state);
            let waits = matches!(state, Standing::Cooldown | Standing::Disabled);
            if until > now {
                assert!(
                    waits,
                    "{name} was to wait until {until:?}, and is {state:?}"
                );
            } else if !longer {
                let ended = view.history.iter().any(|&(at, _)| at == until);
                assert!(ended, "{name} until {until:?}: {:?}", view.history);
            }
            let early = calls.iter().find(|at| **at < until);
            assert_eq!(early, None, "{name} was left alone until {until:?}");
        }
        let early = calls.iter().find(|at| Some(**at) < self.paused);
        assert_eq!(early, None, "calls paused until {:?}", self.paused);
        if held {
            return;
        }
        if let Some(probe) = self.probe.filter(|probe| *probe + EXACT <= now) {
            let tried = calls.iter().any(|at| *at <= probe + EXACT) || view.status.in_flight > 0;
            assert!(tried, "{name} was to be tried at {probe:?}: {later:?}");
        }
        for (due, about) in &self.retries {
            let asked = |record: &&&Record| record.about == *about && record.at >= *due;
            let trouble = |record: &&&Record| {
                record.at <= *due && matches!(record.what, What::CooldownBegan { .. })
            };
            let put_off = *due + 15 * SECOND > now;
            let is_kept = later.iter().any(|record| asked(&record))
                || later.iter().any(|record| trouble(&record));
            assert!(
                put_off || is_kept,
                "{name} was to be asked about {about:?} at {due:?}: {later:?}"
            );
        }
        for (due, about) in &self.put_off {
            let tried = later.iter().any(|record| {
                record.about == *about && record.at >= *due
                    || matches!(record.what, What::CooldownBegan { .. })
            });
            // Whoever else is in the queue may hang as long as it may.
            let is_late = *due + LINE <= now;
            assert!(
                tried || !is_late || !world.holds(about),
                "{name} was to be asked about {about:?} at {due:?}: {later:?}"
            );
        }
    }
}

impl World {
    /// Whether somebody takes part.
    fn holds(&self, about: &About) -> bool {
        let About::Torrent([first, ..]) = about else {
            return false;
        };
        self.tracker.swarms.holds(&[*first; 20])
    }

    /// Whether a retry about this torrent is still on the agenda.
    fn retries(&self, about: &About) -> bool {
        let About::Torrent([first, ..]) = about else {
            return false;
        };
        // All bytes of a hash are the same here.
        let flags = self.tracker.swarms.flags(&[*first; 20]);
        flags.has(crate::swarm::ForwardFlags::PENDING)
    }
}
