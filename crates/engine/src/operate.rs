//! Upstreams come and go, and an operator acts on them.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Asker, Budget, Class, Job, Moment, Quota, UpstreamId, Usage};
use weir_store::shared::UpstreamKey;

use crate::call::{Call, KEPT_BYTES};
use crate::engine::Engine;
use crate::errors::PastErrors;
use crate::keeper::{Memory, Off};
use crate::past;
use crate::rows::RestoredUpstream;
use crate::side::Side;
use crate::state::State;
use crate::ticket::Ticket;

impl Engine {
    /// Adds an upstream. `time_out` bounds each of its calls.
    pub fn add_upstream(&self, name: &str, quota: Quota, time_out: Duration) -> UpstreamId {
        self.shared.weather.add_upstream();
        self.shared.with(|state, now, effects| {
            state.add_side(Side::new(name.into(), time_out, now));
            let upstream = state.dispatcher.add_upstream(now, quota);
            state.plan_probe(upstream, now, effects);
            upstream
        })
    }

    /// An upstream has another name from now on and is otherwise the same. All that is kept of it is handed over again, under
    /// its new name.
    pub(crate) fn rename(&self, upstream: UpstreamId, name: &str) {
        self.shared.with(|state, _, _| {
            // Calls to one that had the name until now may still be under way.
            for gone in state.sides.iter_mut().filter(|side| side.gone) {
                if *gone.name == *name {
                    gone.name = "".into();
                }
            }
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                side.name = name.into();
                side.records.changed = true;
                state.changed.push(upstream);
            }
        });
    }

    /// Restores what was kept of an upstream that was just added: what is said about it is what was said before.
    pub fn restore(&self, upstream: UpstreamId, kept: &RestoredUpstream) {
        self.shared.with(|state, now, effects| {
            state.dispatcher.restore(now, upstream, &kept.row);
            state.restore_shared(upstream, &kept.row, now);
            let (oldest, most) = (now - state.history, state.records);
            // What one has that was there before in this run is newer than what was written.
            let is_back = state.sides.iter().any(|one| one.heir == Some(upstream));
            let Some(side) = state.sides.get_mut(upstream.0 as usize) else {
                return;
            };
            let Memory {
                trouble,
                last_error,
                last_call,
                on,
                own,
            } = kept.memory.clone();
            (side.off, side.on, side.own) = (kept.off.clone(), on, own);
            (side.trouble, side.last_error) = (trouble, last_error);
            side.new.last_call = last_call;
            if let Some(restored) = kept.past.as_ref().filter(|_| !is_back) {
                let askers = (most, &self.shared.askers);
                let past = past::read(&restored.text, restored.shift, oldest..=now, askers);
                side.records = past.records;
                side.series.restore(&past.calls);
                for (span, text) in &past.series {
                    side.series.read(*span, text, restored.shift, now);
                }
                side.restore_history(past.states, now);
            }
            if !is_back {
                let records = side.records.newest();
                side.errors = PastErrors::restored(records, side.last_error.as_ref());
            }
            state.note_state(upstream, now);
            state.plan_probe(upstream, now, effects);
        });
    }

    /// Keeps bytes of the front's own about an upstream over a restart, at most [`KEPT_BYTES`].
    pub fn keep_own(&self, upstream: UpstreamId, bytes: &[u8]) {
        debug_assert!(bytes.len() <= KEPT_BYTES, "longer ones are not kept");
        self.shared.with(|state, _, _| {
            let side = state.sides.get_mut(upstream.0 as usize);
            if let Some(side) = side.filter(|side| *side.own != *bytes) {
                side.own = bytes.into();
                state.changed.push(upstream);
            }
        });
    }

    /// Other nodes call this upstream too, and know it by this key. Calls that are limited, or whose answers others can
    /// use, are made after asking the store. Told before [`Engine::restore`].
    pub fn share(&self, upstream: UpstreamId, key: UpstreamKey) {
        self.shared.with(|state, now, _| {
            if let Some(sharing) = &mut state.sharing {
                sharing.ledger.add(upstream, key);
                state.dispatcher.share(now, upstream, true);
            }
        });
    }

    /// All that is restored has been: numbers of records are kept free with the next handover, before any is made.
    pub(crate) fn keep_numbers_free(&self) {
        let mut state = self.shared.state.lock();
        state
            .sides
            .iter_mut()
            .for_each(|side| side.records.keep_numbers_free());
        drop(state);
        self.shared.own.keep_numbers_free();
    }

    /// Hands everything that changed to the keeper now.
    pub fn hand_over(&self) {
        let listeners = self.shared.listened();
        self.shared.with(|state, now, effects| {
            state.gather_pasts(now, &self.shared, listeners);
            effects.handover = state.keeps;
        });
    }

    /// Removes an upstream. Its jobs that have not started end; calls under way carry on.
    pub fn remove_upstream(&self, upstream: UpstreamId) {
        // Its row must be with the keeper first: the upstream may come back and read it.
        self.hand_over();
        let listeners = self.shared.listened();
        let there = self.shared.with(|state, now, effects| {
            let there = state.dispatcher.state(now, upstream).is_some();
            let longest = state.longest(upstream, now);
            state.dispatcher.remove_upstream(now, upstream);
            if let Some(sharing) = &mut state.sharing {
                sharing.ledger.remove(upstream, longest, now);
            }
            if there {
                // So must its records, with what became of its jobs.
                state.take_decisions(None);
                state.gather_pasts(now, &self.shared, listeners);
                effects.handover = state.keeps;
                let side = &mut state.sides[upstream.0 as usize];
                (side.gone, side.probe_at) = (true, Moment::NEVER);
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
            state.put_off_probe(upstream, now, effects);
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
    pub fn clear(&self, upstream: UpstreamId, who: &str) {
        self.shared.with(|state, now, effects| {
            let who = state.acts_here(upstream, who);
            let act = |state: &mut State| state.dispatcher.clear(now, upstream);
            self.act(state, upstream, &who, act);
            state.clear_shared(upstream, now, effects);
            state.note_state(upstream, now);
            state.plan_probe(upstream, now, effects);
        });
    }

    /// An operator switches an upstream off until it is switched on again. Its queued jobs end. One that is off already
    /// stays so, for the reason that it has.
    pub fn switch_off(&self, upstream: UpstreamId, reason: &str, who: &str) {
        self.shared.with(|state, now, effects| {
            let who = state.acts_here(upstream, who);
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                if side.off.is_some() {
                    return;
                }
                side.off = Some(Off {
                    reason: reason.to_owned(),
                    who: who.clone(),
                    at: now,
                });
            }
            // Recorded with the reason that it has now.
            let act = |state: &mut State| state.dispatcher.switch_off(now, upstream);
            self.act(state, upstream, &who, act);
            state.switch_shared(upstream, effects);
            state.note_state(upstream, now);
            state.plan_probe(upstream, now, effects);
        });
    }

    /// An operator switches an upstream on again. A cooldown that has not ended continues.
    pub fn switch_on(&self, upstream: UpstreamId, who: &str) {
        self.shared.with(|state, now, effects| {
            let who = state.acts_here(upstream, who);
            if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
                (side.off, side.on, side.on_by) = (None, Some(now), Some(who.clone()));
            }
            let act = |state: &mut State| state.dispatcher.switch_on(now, upstream);
            self.act(state, upstream, &who, act);
            state.switch_shared(upstream, effects);
            state.note_state(upstream, now);
            state.plan_probe(upstream, now, effects);
        });
    }

    /// Does what an operator wants, and records who it was.
    fn act(
        &self,
        state: &mut State,
        upstream: UpstreamId,
        who: &str,
        act: impl FnOnce(&mut State),
    ) {
        // What was decided before is nobody's act.
        state.take_decisions(None);
        let asker = self.asker(who);
        if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
            side.acted_by = Some(asker);
        }
        act(state);
        state.take_decisions(None);
        if let Some(side) = state.sides.get_mut(upstream.0 as usize) {
            side.acted_by = None;
        }
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
