//! What the store has yet to hear: kept until it was told.

use super::*;

/// Something that the store has yet to hear. Times are this node's until they are told.
#[derive(Clone, Debug)]
pub(super) enum Untold {
    Unused(AskId),
    Started {
        id: AskId,
        budget: Budget,
        at: Moment,
    },
    Throttled {
        until: Moment,
        reason: Arc<str>,
        at: Moment,
    },
    Limit(Usage, Moment),
    /// An operator switched it; how, is looked up when it is told.
    Switched(UpstreamId),
    Cleared(Moment),
    /// What this node has configured, looked up when it is told.
    Configured(UpstreamId),
}

impl Untold {
    fn told(self, state: &State, node: &Node, now: Moment) -> Option<Told> {
        let sharing = state.sharing.as_ref()?;
        let there = |at: Moment| sharing.ledger.when(at, now);
        Some(match self {
            Self::Unused(id) => Told::Unused(id),
            Self::Started { id, budget, at } => Told::Started {
                id,
                ledger: ledger::ledger(budget),
                age: at.until(now),
                spaced: budget == Budget::Query,
            },
            Self::Throttled { until, reason, at } => Told::Throttled {
                span: now.until(until),
                by: node.id(),
                reason: reason.to_string(),
                at: there(at),
            },
            Self::Limit(usage, at) => Told::Limit(ToldLimit {
                ledger: ledger::ledger(usage.budget),
                window: ledger::stored(usage.window),
                limit: usage.limit,
                used: usage.used,
                at: there(at),
            }),
            Self::Switched(upstream) => return state.switched(upstream, now).map(Told::Switched),
            Self::Cleared(at) => Told::Cleared(there(at)),
            Self::Configured(upstream) => Told::Configured(node.id(), state.configured(upstream)),
        })
    }
}

impl Shared {
    /// Tells the store what it has yet to hear, unless somebody does already.
    pub(crate) fn tell_store(self: &Arc<Self>) {
        let shared = self.clone();
        self.tasks.spawn_on(tell(shared), &self.runtime);
    }
}

/// Tells the store what it has yet to hear. What does not get through is told when the store is back.
async fn tell(shared: Arc<Shared>) {
    let Some(node) = shared.node() else { return };
    loop {
        let sent = shared.timeline.waking();
        let (upstream, batch, told) = {
            let mut state = shared.state.lock();
            let Some((upstream, batch)) = state.next_untold() else {
                return;
            };
            let told = batch.iter().cloned();
            let told: Vec<_> = told
                .filter_map(|one| one.told(&state, &node, sent.at))
                .collect();
            (upstream, batch, told)
        };
        let heard = node.call(|store| store.tell(upstream, told)).await;
        // Told anew after all have said how long ago everything was.
        let jumped = heard.as_ref().is_ok_and(|time| node.hear_time(*time, sent));
        let mut state = shared.state.lock();
        let Some(sharing) = &mut state.sharing else {
            return;
        };
        match heard {
            Ok(time) if !jumped => sharing.ledger.hear(time, shared.timeline.now()),
            _ => {
                for one in batch.into_iter().rev() {
                    sharing.untold.push_front((upstream, one));
                }
                while sharing.untold.len() > UNTOLD {
                    sharing.untold.pop_front();
                }
                sharing.telling = false;
                return;
            }
        }
    }
}

impl State {
    /// A call ended: if its upstream wants to be left alone, the others must know.
    pub(crate) fn finish_shared(
        &mut self,
        upstream: UpstreamId,
        finish: Finish,
        now: Moment,
        effects: &mut Effects,
    ) {
        if self.sharing.is_none() || !matches!(finish, Finish::Throttled { .. }) {
            return;
        }
        let state = self.dispatcher.state(now, upstream);
        let Some(Availability::Cooldown { until }) = state else {
            return;
        };
        let side = &self.sides[upstream.0 as usize];
        let reason = side.trouble.as_ref().map(|trouble| trouble.reason.clone());
        let reason = reason.unwrap_or_else(|| "it asked us to wait".into());
        if let Some(sharing) = &mut self.sharing {
            let at = now;
            sharing.note(upstream, Untold::Throttled { until, reason, at });
            self.tell_if_untold(effects);
        }
    }

    /// An upstream told a limit of its own.
    pub(crate) fn observe_shared(
        &mut self,
        upstream: UpstreamId,
        usage: Usage,
        now: Moment,
        effects: &mut Effects,
    ) {
        if let Some(sharing) = &mut self.sharing {
            sharing.ledger.learn(upstream, &usage, now);
            sharing.note(upstream, Untold::Limit(usage, now));
            self.tell_if_untold(effects);
        }
    }

    /// An operator cleared an upstream.
    pub(crate) fn clear_shared(
        &mut self,
        upstream: UpstreamId,
        now: Moment,
        effects: &mut Effects,
    ) {
        if let Some(sharing) = &mut self.sharing {
            sharing.note(upstream, Untold::Cleared(now));
            self.tell_if_untold(effects);
        }
    }

    /// Has the store told what it has yet to hear, if it can hear it.
    pub(crate) fn tell_if_untold(&mut self, effects: &mut Effects) {
        if let Some(sharing) = &mut self.sharing
            && !sharing.alone
            && !sharing.untold.is_empty()
            && !std::mem::replace(&mut sharing.telling, true)
        {
            effects.tells = true;
        }
    }

    /// The next things to tell, all about one upstream. With nothing left, or while this node is alone, nobody tells.
    pub(super) fn next_untold(&mut self) -> Option<(UpstreamKey, Vec<Untold>)> {
        let sharing = self.sharing.as_mut()?;
        let first = sharing.untold.front().filter(|_| !sharing.alone);
        let Some(&(upstream, _)) = first else {
            sharing.telling = false;
            return None;
        };
        let mut batch = Vec::new();
        while batch.len() < TOLD_AT_ONCE
            && let Some((key, _)) = sharing.untold.front()
            && *key == upstream
        {
            batch.extend(sharing.untold.pop_front().map(|(_, untold)| untold));
        }
        Some((upstream, batch))
    }
}
