//! What all nodes know of an upstream: read now and then, so that a node that asks nothing also hears that an upstream was
//! switched off or wants to be left alone, and for pages.

use std::sync::Arc;

use weir_dispatch::{Asker, Budget, Moment, UpstreamId, Usage, Window, WindowUse};
use weir_store::shared::{SharedRow, StoreTime};
use weir_store::state;

use crate::engine::Engine;
use crate::ledger;
use crate::node::Node;
use crate::shared::{Effects, Shared};
use crate::state::State;

use super::SharedUse;

/// It is read with every so many beats: a job that asks hears of everything at once anyway.
const EVERY: u32 = 4;

/// Upstreams that are read at once.
const AT_ONCE: usize = 50;

impl Engine {
    /// What all nodes together used of an upstream, if it is shared and was read.
    pub fn shared_use(&self, upstream: UpstreamId) -> Option<SharedUse> {
        let state = self.shared.state.lock();
        state.sharing.as_ref()?.seen.get(&upstream).cloned()
    }
}

impl Shared {
    /// Reads what all nodes know of the upstreams of this front.
    pub(crate) fn read_rows(self: &Arc<Self>) {
        let shared = self.clone();
        self.tasks.spawn_on(read(shared), &self.runtime);
    }
}

async fn read(shared: Arc<Shared>) {
    let Some(node) = shared.node() else { return };
    let all = shared.state.lock().all_shared();
    for some in all.chunks(AT_ONCE) {
        let keys = some.iter().map(|(_, key)| *key).collect();
        let Ok(rows) = node.call(|store| store.rows(keys)).await else {
            return;
        };
        let ignored = rows.iter().map(|row| u64::from(row.ignored));
        node.figures().ignore(ignored.sum());
        shared.with(|state, now, effects| {
            for ((upstream, _), row) in some.iter().zip(rows) {
                let by = row.switched.as_ref();
                let by = by.map_or(Asker::NOBODY, |by| shared.askers.number(&by.by));
                state.read_row(*upstream, (&row, by), &node, now, effects);
            }
        });
    }
}

impl State {
    /// Whether it is time to read what all nodes know; at once after this node was alone.
    pub(super) fn looks_at_rows(&mut self, at_once: bool) -> bool {
        let Some(sharing) = self.sharing.as_mut().filter(|sharing| !sharing.alone) else {
            return false;
        };
        sharing.looks += 1;
        let due = at_once || sharing.looks >= EVERY;
        if due {
            sharing.looks = 0;
        }
        due
    }

    fn read_row(
        &mut self,
        upstream: UpstreamId,
        (row, by): (&SharedRow, Asker),
        node: &Node,
        now: Moment,
        effects: &mut Effects,
    ) {
        let Some(status) = self.dispatcher.upstream(now, upstream) else {
            return;
        };
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let Some(key) = sharing.ledger.key(upstream) else {
            return;
        };
        // What the store has yet to hear of this upstream is newer than what it says.
        if sharing.telling || sharing.untold.iter().any(|(other, _)| *other == key) {
            return;
        }
        let Some(there) = sharing.ledger.time(now) else {
            return;
        };
        let throttled = row.throttled.as_ref().filter(|(until, ..)| *until > there);
        let off = row.switched.as_ref().filter(|switched| switched.off);
        let budgets = [(Budget::Query, &status.query), (Budget::Grab, &status.grab)];
        let windows = budgets.into_iter().flat_map(|(budget, windows)| {
            let used = |one: &WindowUse| (budget, one.window, used(row, budget, one.window, there));
            windows.iter().map(used).collect::<Vec<_>>()
        });
        let seen = SharedUse {
            at: now,
            windows: windows.collect(),
            off_at: off.map(|off| node.name_of(off.node)),
            throttled_at: throttled.map(|(_, by, _)| node.name_of(*by)),
            differing: Vec::new(),
        };
        sharing.seen.insert(upstream, seen);
        self.compare_limits(upstream, &row.configured, node, effects);
        // A limit that another node was told: calls that it holds for ask from now on.
        for limit in &row.limits {
            let (budget, windows) = match limit.ledger {
                state::Ledger::Query => (Budget::Query, &status.query),
                state::Ledger::Grab => (Budget::Grab, &status.grab),
            };
            let window = Window::of_seconds(limit.window.0);
            let known = windows.iter().find(|one| one.window == window);
            if known.is_some_and(|known| !known.learned) {
                continue;
            }
            let usage = Usage {
                budget,
                window,
                limit: limit.limit,
                used: None,
            };
            let is_new = known.is_none_or(|known| known.limit != limit.limit);
            if let Some(sharing) = &mut self.sharing {
                sharing
                    .ledger
                    .learn(upstream, &usage, now - limit.at.until(there));
            }
            if is_new {
                self.dispatcher.observe(now, upstream, usage);
                self.move_turn(upstream, effects);
            }
        }
        match &row.switched {
            Some(switched) => self.hear_switched(upstream, switched, by, now, effects),
            // It was off here before the others were there to hear it.
            None if self.sides[upstream.0 as usize].off.is_some() => {
                self.switch_shared(upstream, effects);
            }
            None => {}
        }
        if let Some((until, by, reason)) = throttled {
            let words = format!("{reason} (told to {})", node.name_of(*by));
            let until = now + there.until(*until);
            self.sides[upstream.0 as usize].latest = Some(words.into());
            self.dispatcher.throttle(now, upstream, until);
            self.take_decisions(None);
            self.sides[upstream.0 as usize].latest = None;
            self.note_state(upstream, now);
            self.move_turn(upstream, effects);
        }
    }
}

/// How many starts a window holds, of all nodes.
fn used(row: &SharedRow, budget: Budget, window: Window, now: StoreTime) -> u32 {
    let (side, length) = (ledger::ledger(budget), window.length());
    let counts = |at: &StoreTime| at.after(length) > now;
    let starts = row.starts.iter();
    let named = starts.filter(|(_, at, ledger)| *ledger == side && counts(at));
    let counted = row.counted.iter().filter(|one| {
        one.ledger == side && one.window == ledger::stored(window) && counts(&one.at)
    });
    let counted: u32 = counted.map(|one| one.starts).sum();
    u32::try_from(named.count())
        .unwrap_or(u32::MAX)
        .saturating_add(counted)
}
