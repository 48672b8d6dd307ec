//! Upstreams that an operator of one node switches off, or on again, for all.
//!
//! What happened later counts, whoever hears of it when: a node that was away comes back with what was true as it left, and
//! so does a store that lost something.

use super::*;

use crate::keeper::Off;

impl State {
    /// Who acts here, as other nodes read it.
    pub(crate) fn acts_here(&self, upstream: UpstreamId, who: &str) -> String {
        let sharing = self.sharing.as_ref();
        match sharing.filter(|sharing| sharing.ledger.key(upstream).is_some()) {
            Some(sharing) => format!("{who} on {}", sharing.node.name()),
            None => who.to_owned(),
        }
    }

    /// An operator of this node switched an upstream.
    pub(crate) fn switch_shared(&mut self, upstream: UpstreamId, effects: &mut Effects) {
        if let Some(sharing) = &mut self.sharing {
            sharing.note(upstream, Untold::Switched(upstream));
            self.tell_if_untold(effects);
        }
    }

    /// How an upstream was last switched, as far as this node knows, in the store's words.
    pub(super) fn switched(&self, upstream: UpstreamId, now: Moment) -> Option<Switched> {
        let side = self.sides.get(upstream.0 as usize)?;
        let sharing = self.sharing.as_ref()?;
        let at = |at: Moment| sharing.ledger.when(at, now);
        let node = sharing.node.id();
        match (&side.off, side.on) {
            (Some(off), _) => Some(Switched {
                off: true,
                node,
                by: off.who.clone(),
                reason: off.reason.clone(),
                at: at(off.at),
            }),
            (None, Some(on)) => Some(Switched {
                off: false,
                node,
                // Who it was is not kept over a restart.
                by: match &side.on_by {
                    Some(who) => who.clone(),
                    None => self.acts_here(upstream, "an operator"),
                },
                reason: String::new(),
                at: at(on),
            }),
            (None, None) => None,
        }
    }

    /// What the store says about how an upstream was last switched. `by` is who did it.
    pub(super) fn hear_switched(
        &mut self,
        upstream: UpstreamId,
        told: &Switched,
        by: Asker,
        now: Moment,
        effects: &mut Effects,
    ) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        let (key, time) = (sharing.ledger.key(upstream), sharing.ledger.time(now));
        let (Some(key), Some(there)) = (key, time) else {
            return;
        };
        let mut untold = sharing.untold.iter();
        let is_newer =
            untold.any(|(other, what)| *other == key && matches!(what, Untold::Switched(_)));
        if is_newer {
            return;
        }
        let at = now - told.at.until(there);
        let Some(side) = self.sides.get_mut(upstream.0 as usize) else {
            return;
        };
        let own = side.off.as_ref().map(|off| off.at).or(side.on);
        match (told.off, &side.off) {
            (true, Some(_)) => return,
            (false, None) => {
                if side.on.is_none() {
                    side.on = Some(at);
                    self.changed.push(upstream);
                }
                return;
            }
            // The store has yet to hear of it.
            _ if own.is_some_and(|own| own > at) => return self.switch_shared(upstream, effects),
            (true, None) => {
                side.off = Some(Off {
                    reason: told.reason.clone(),
                    who: told.by.clone(),
                    at,
                });
                side.acted_by = Some(by);
                self.dispatcher.switch_off(now, upstream);
            }
            (false, Some(_)) => {
                (side.off, side.on, side.on_by) = (None, Some(at), Some(told.by.clone()));
                side.acted_by = Some(by);
                self.dispatcher.switch_on(now, upstream);
            }
        }
        self.take_decisions(None);
        self.sides[upstream.0 as usize].acted_by = None;
        self.note_state(upstream, now);
        self.plan_probe(upstream, now, effects);
    }
}
