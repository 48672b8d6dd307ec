//! What this node's beat sees of one engine: which windows it wants a share of, and what it knows.

use std::sync::{Arc, Weak};
use std::time::Duration;

use weir_dispatch::{Budget, Cause, Moment, SavedUpstream, SavedWindow, UpstreamId};
use weir_store::shared::{HandIn, HandedStart, Leave, ShareWish};

use crate::ledger;
use crate::node::{NodePart, NodeStanding, NodeView};
use crate::shared::Shared;
use crate::state::State;

/// One engine, as long as it is there.
pub(crate) struct EnginePart(Weak<Shared>);

impl EnginePart {
    pub(crate) fn of(shared: &Arc<Shared>) -> Arc<dyn NodePart> {
        Arc::new(Self(Arc::downgrade(shared)))
    }
}

impl NodePart for EnginePart {
    fn wishes(&self) -> Vec<ShareWish> {
        let Some(shared) = self.0.upgrade() else {
            return Vec::new();
        };
        let now = shared.timeline.now();
        let mut state = shared.state.lock();
        let all = state.all_shared();
        let wishes = all.into_iter().filter_map(|(upstream, key)| {
            let status = state.dispatcher.upstream(now, upstream)?;
            Some(ledger::wishes(key, &status.query, &status.grab).collect::<Vec<_>>())
        });
        wishes.flatten().collect()
    }

    fn hand_in(&self, to: &mut HandIn) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let now = shared.timeline.now();
        let mut state = shared.state.lock();
        for (upstream, key) in state.all_shared() {
            let Some(status) = state.dispatcher.upstream(now, upstream) else {
                continue;
            };
            if let Some(sharing) = &state.sharing {
                let windows = (&*status.query, &*status.grab);
                let told = sharing.ledger.told(upstream, windows, now);
                to.limits.extend(told.map(|limit| (key, limit)));
            }
            let side = &state.sides[upstream.0 as usize];
            if let Some(cooldown) = status.cooldown
                && cooldown.cause == Cause::Throttled
                && cooldown.until > now
            {
                let reason = side
                    .trouble
                    .as_ref()
                    .map(|trouble| trouble.reason.to_string());
                let reason = reason.unwrap_or_default();
                to.throttled.push((key, now.until(cooldown.until), reason));
            }
            let switched = state.switched(upstream, now);
            to.switched.extend(switched.map(|switched| (key, switched)));
        }
        if let Some(sharing) = &mut state.sharing {
            to.starts.extend(sharing.ledger.handed(now));
            // Granted, perhaps, by the store as it was: then the answer is still on its way. If not, it is taken back.
            for (&id, open) in &mut sharing.open {
                open.handed_in = true;
                to.starts.extend(
                    sharing
                        .ledger
                        .key(open.upstream)
                        .map(|upstream| HandedStart {
                            upstream,
                            id,
                            ledger: ledger::ledger(open.budget),
                            age: Duration::ZERO,
                            spaced: open.budget == Budget::Query,
                        }),
                );
            }
        }
    }

    fn leave(&self, to: &mut Leave) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let state = shared.state.lock();
        if let Some(sharing) = &state.sharing {
            let now = shared.timeline.now();
            to.starts.extend(sharing.ledger.left(now));
        }
    }

    fn look(&self, view: &NodeView) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        shared.with(|state, now, effects| {
            let Some(sharing) = &mut state.sharing else {
                return;
            };
            let alone = view.standing != NodeStanding::Together;
            let changed = sharing.alone != alone || sharing.returns != view.returns;
            sharing.alone = alone;
            sharing.returns = view.returns;
            sharing.heard = view.heard;
            sharing.ledger.look(&view.shares, view.count());
            if let Some(now_there) = view.now.filter(|_| !alone) {
                sharing.ledger.hear(now_there, now);
            }
            if changed {
                // What was said to hold so far was said by the other: jobs ask anew.
                for (upstream, _) in state.all_shared() {
                    state.dispatcher.share(now, upstream, false);
                    state.dispatcher.share(now, upstream, true);
                    state.move_turn(upstream, effects);
                }
            }
            state.tell_if_untold(effects);
            effects.reads |= state.looks_at_rows(changed);
        });
    }
}

impl State {
    pub(super) fn all_shared(&self) -> Vec<(UpstreamId, weir_store::shared::UpstreamKey)> {
        let sharing = self.sharing.as_ref();
        sharing.map_or_else(Vec::new, |sharing| sharing.ledger.all().collect())
    }

    /// Starts of an earlier run: they count against the share of this node while it is alone, and a store that has lost
    /// something must hear of them.
    pub(crate) fn restore_shared(
        &mut self,
        upstream: UpstreamId,
        row: &SavedUpstream,
        now: Moment,
    ) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let quota = self.dispatcher.quota(upstream);
        let gap = quota.and_then(|quota| quota.gaps.iter().copied().max());
        let nodes = u32::try_from(sharing.node.view().count()).unwrap_or(u32::MAX);
        let spacing = gap.unwrap_or_default().saturating_mul(nodes);
        for (budget, windows) in [(Budget::Query, &row.query), (Budget::Grab, &row.grab)] {
            // Each window has its own count of the same starts: the longest has them all.
            let longest = windows.iter().max_by_key(|one| one.window);
            let starts = longest.map_or(&[][..], |SavedWindow { starts, .. }| starts);
            // Without a window, the last one is known by the spacing clock alone.
            let last = row.last_start.map(|at| at.min(now)).filter(|at| {
                budget == Budget::Query && starts.is_empty() && at.until(now) < spacing
            });
            for (at, times) in starts.iter().copied().chain(last.map(|at| (at, 1))) {
                for _ in 0..times {
                    let id = sharing.node.ask_id();
                    sharing.ledger.restore(id, upstream, budget, at);
                }
            }
        }
    }
}
