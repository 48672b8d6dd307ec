//! Upstreams come and go, and an operator acts on them.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Asker, Budget, Class, Job, Quota, SavedUpstream, UpstreamId, Usage};

use crate::call::Call;
use crate::engine::Engine;
use crate::keeper::Off;
use crate::side::Side;
use crate::ticket::Ticket;

impl Engine {
    /// Adds an upstream. `time_out` bounds each of its calls.
    pub fn add_upstream(&self, name: &str, quota: Quota, time_out: Duration) -> UpstreamId {
        self.shared.weather.add_upstream();
        self.shared.with(|state, now, _| {
            state.sides.push(Side::new(name.into(), time_out, now));
            state.dispatcher.add_upstream(now, quota)
        })
    }

    /// Restores a stored row for an upstream that was just added.
    pub fn restore(&self, upstream: UpstreamId, row: &SavedUpstream, off: Option<Off>) {
        self.shared.with(|state, now, _| {
            state.dispatcher.restore(now, upstream, row);
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                side.off = off;
            }
            state.note_state(upstream, now);
        });
    }

    /// Hands everything that changed to the keeper now.
    pub(crate) fn hand_over(&self) {
        self.shared
            .with(|state, _, effects| effects.handover = state.keeps);
    }

    /// Removes an upstream. Its jobs that have not started end; calls under way carry on.
    pub fn remove_upstream(&self, upstream: UpstreamId) {
        // Its row must be with the keeper first: the upstream may come back and read it.
        self.hand_over();
        let there = self.shared.with(|state, now, _| {
            let there = state.dispatcher.state(now, upstream).is_some();
            state.dispatcher.remove_upstream(now, upstream);
            if there {
                state.sides[upstream.0 as usize].gone = true;
            }
            there
        });
        if there {
            let whom = self.shared.whom(upstream);
            self.shared.weather.remove_upstream(whom);
        }
    }

    /// Sets a new quota for an upstream. Calls made so far stay counted.
    pub fn set_quota(&self, upstream: UpstreamId, quota: Quota) {
        self.shared.with(|state, now, effects| {
            state.dispatcher.set_quota(now, upstream, quota);
            state.move_turn(upstream, effects);
        });
    }

    /// Notes what an upstream said outside a call about a limit of its own; see
    /// [`Permit::observe`](crate::Permit::observe).
    pub fn observe(&self, upstream: UpstreamId, usage: Usage) {
        self.shared.observe(upstream, usage);
    }

    /// Sets a new time-out for an upstream, for calls that start from now on.
    pub fn set_time_out(&self, upstream: UpstreamId, time_out: Duration) {
        let mut state = self.shared.state.lock();
        if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
            side.time_out = time_out;
        }
    }

    /// The time-out of calls to an upstream that start now; zero for an unknown upstream.
    pub(crate) fn time_out(&self, upstream: UpstreamId) -> Duration {
        let state = self.shared.state.lock();
        let side = state.sides.get(upstream.0 as usize);
        side.map_or(Duration::ZERO, |side| side.time_out)
    }

    /// An operator clears a cooldown: the upstream is open again and its failures are forgotten.
    pub fn clear(&self, upstream: UpstreamId) {
        self.shared.with(|state, now, _| {
            state.dispatcher.clear(now, upstream);
            state.note_state(upstream, now);
        });
    }

    /// An operator switches an upstream off until it is switched on again. Its queued jobs end.
    pub fn switch_off(&self, upstream: UpstreamId, reason: &str, who: &str) {
        self.shared.with(|state, now, _| {
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                side.off = Some(Off {
                    reason: reason.to_owned(),
                    who: who.to_owned(),
                    at: now,
                });
            }
            state.dispatcher.switch_off(now, upstream);
            state.note_state(upstream, now);
        });
    }

    /// An operator switches an upstream on again. A cooldown that has not ended continues.
    pub fn switch_on(&self, upstream: UpstreamId) {
        self.shared.with(|state, now, _| {
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                side.off = None;
            }
            state.dispatcher.switch_on(now, upstream);
            state.note_state(upstream, now);
        });
    }

    /// An operator probes an upstream now, even if it is cooling down or off, with the front's own probe call.
    pub fn probe(&self, upstream: UpstreamId, call: Arc<dyn Call>, asker: Asker) -> Ticket {
        let job = Job {
            budget: Budget::Side,
            probe: true,
            asker,
            ..Job::new(upstream, Class(0))
        };
        self.submit(job, call)
    }
}
