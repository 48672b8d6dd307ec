//! Upstreams that nobody asks are tried by themselves: soon after a cooldown has ended, and soon after they were added.
//!
//! Otherwise an idle front would show a cooldown that is long over, and nobody would know whether a new upstream works.
//! The next real job is the better probe, so there is none while one is queued or under way.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Asker, Availability, Budget, Cause, Class, Job, Moment, UpstreamId};

use crate::call::Call;
use crate::engine::Engine;
use crate::payload::Told;
use crate::shared::{Effects, Shared};
use crate::state::State;

/// Makes the call that tries an upstream.
pub(crate) type Prober = Box<dyn Fn(UpstreamId) -> Option<Arc<dyn Call>> + Send + Sync>;

/// When upstreams are tried.
#[derive(Debug)]
pub(crate) struct Probes {
    /// How long after the end of a cooldown.
    pub(crate) after: Duration,
    /// Within which time after they were added.
    pub(crate) within: Duration,
    /// The earliest [`Side::probe_at`](crate::side::Side), or earlier.
    pub(crate) next: Moment,
}

impl Engine {
    /// Lets upstreams be tried that nobody asks for anything; `prober` makes the call for one of them. Only the first
    /// one counts.
    pub fn set_prober(
        &self,
        prober: impl Fn(UpstreamId) -> Option<Arc<dyn Call>> + Send + Sync + 'static,
    ) {
        let _ = self.shared.prober.set(Box::new(prober));
    }
}

impl State {
    /// Sets when an upstream is tried next, after anything about its state has changed.
    pub(crate) fn plan_probe(&mut self, upstream: UpstreamId, now: Moment, effects: &mut Effects) {
        let status = self.dispatcher.upstream(now, upstream);
        let state = status.as_ref().map(|status| status.state);
        let cooldown = status.and_then(|status| status.cooldown);
        let is_throttled = cooldown.is_some_and(|cooldown| cooldown.cause == Cause::Throttled);
        let side = &mut self.sides[upstream.0 as usize];
        side.probe_at = match state {
            // Its end is a probe, and is told as that.
            Some(Availability::Disabled { until }) => until,
            Some(Availability::Cooldown { until }) if is_throttled => {
                // Its cooldowns do not grow as those of the ladder do: without this, one that says "in 5 s" to every try
                // would be tried every 35 s for ever.
                let top = self.ladder.last().copied().unwrap_or_default();
                let doubled = self.probes.after.saturating_mul(1 << side.trials.min(20));
                until + doubled.min(top).max(self.probes.after)
            }
            Some(Availability::Cooldown { until }) => until + self.probes.after,
            Some(Availability::Probing) => now + self.probes.after,
            // The first time spread out, so that a start does not ask all at once; then less and less often, as the
            // ladder says.
            Some(Availability::Untried) if side.trials == 0 => {
                let within = u64::try_from(self.probes.within.as_nanos()).unwrap_or(u64::MAX);
                let least = within / 10;
                now + Duration::from_nanos(self.rng.u64(least..=within.max(least)))
            }
            Some(Availability::Untried) => {
                let rung = usize::from(side.trials).min(self.ladder.len().saturating_sub(1));
                now + self.ladder.get(rung).copied().unwrap_or(self.probes.within)
            }
            Some(Availability::Open) => {
                side.trials = 0;
                Moment::NEVER
            }
            Some(Availability::Off) | None => Moment::NEVER,
        };
        self.put_off_probe(upstream, now, effects);
    }

    /// A probe counts like any call, so it is planned for when the upstream's windows have room for one and calls do not
    /// pause: whoever is told the time can rely on it.
    pub(crate) fn put_off_probe(
        &mut self,
        upstream: UpstreamId,
        now: Moment,
        effects: &mut Effects,
    ) {
        let planned = self.sides.get(upstream.0 as usize);
        if planned.is_none_or(|side| side.probe_at == Moment::NEVER) {
            return;
        }
        let (wait, _) = self.next_wait(now, upstream, Class(0), Budget::Side);
        let side = &mut self.sides[upstream.0 as usize];
        side.probe_at = side.probe_at.max(now + wait);
        if side.probe_at < self.probes.next {
            self.probes.next = side.probe_at;
            effects.sooner = true;
        }
    }

    /// Finds the upstreams that are to be tried now.
    pub(crate) fn find_trials(&mut self, now: Moment, effects: &mut Effects) {
        if self.probes.next > now {
            return;
        }
        let mut next = Moment::NEVER;
        for (upstream, index) in (0..).map(UpstreamId).zip(0..self.sides.len()) {
            if self.sides[index].probe_at <= now {
                // Another call may have taken the room for it meanwhile.
                self.put_off_probe(upstream, now, effects);
            }
            if self.sides[index].probe_at <= now {
                let status = self.dispatcher.upstream(now, upstream);
                let is_idle =
                    status.is_some_and(|status| status.queued == 0 && status.in_flight == 0);
                // A real job is a try as well. Whatever comes of this, it is looked at again.
                self.sides[index].probe_at = now + self.probes.after;
                if is_idle {
                    effects.trials.push(upstream);
                }
            }
            next = next.min(self.sides[index].probe_at);
        }
        self.probes.next = next;
    }
}

impl Shared {
    /// Tries an upstream, unless its state has changed meanwhile.
    pub(crate) fn try_out(self: &Arc<Self>, upstream: UpstreamId) {
        let Some(prober) = self.prober.get() else {
            return;
        };
        // Not under the lock: the front may do anything to make its call.
        let Some(call) = prober(upstream) else {
            return;
        };
        self.with(|state, now, effects| {
            let is_wanted = matches!(
                state.dispatcher.state(now, upstream),
                Some(Availability::Untried | Availability::Probing)
            );
            if !is_wanted {
                return;
            }
            let side = &mut state.sides[upstream.0 as usize];
            side.trials = side.trials.saturating_add(1);
            let job = Job {
                budget: Budget::Side,
                trial: true,
                asker: Asker::WEIR,
                ..Job::new(upstream, Class(u8::MAX))
            };
            let admission = state.dispatcher.submit(now, job);
            state.take_in(admission, call, Told::Nobody, effects);
        });
    }
}
