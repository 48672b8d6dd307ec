//! The state in memory: for tests, `weir demo` and a Weir without a data directory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{
    State,
    row::{AgendaRow, Change, Kept, KeptUpstream, Limit, Start, UpstreamRow},
    value::{Ledger, Wall, Window, Windows},
};
use crate::Error;

/// Keeps rows until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryState(Mutex<HashMap<String, Front>>);

#[derive(Debug, Default)]
struct Front {
    upstreams: BTreeMap<Arc<str>, Upstream>,
    agenda: BTreeMap<u64, AgendaRow>,
}

#[derive(Debug, Default)]
struct Upstream {
    row: UpstreamRow,
    limits: BTreeMap<(Ledger, Window), u32>,
    starts: BTreeMap<(Wall, Ledger, Windows), u32>,
}

impl MemoryState {
    /// An empty state.
    pub fn new() -> Self {
        Self::default()
    }
}

impl State for MemoryState {
    fn load(&self, front: &str, now: Wall) -> Result<Kept, Error> {
        let mut fronts = self.0.lock();
        let Some(front) = fronts.get_mut(front) else {
            return Ok(Kept::default());
        };
        let upstreams = front.upstreams.iter_mut();
        let mut agenda: Vec<_> = front.agenda.values().cloned().collect();
        agenda.sort_by_key(|row| (row.due, row.id));
        Ok(Kept {
            upstreams: upstreams
                .map(|(name, upstream)| upstream.kept(name, now))
                .collect(),
            agenda,
            unreadable: 0,
        })
    }

    fn save(&self, front: &str, changes: Vec<Change>) -> Result<(), Error> {
        let mut fronts = self.0.lock();
        let front = fronts.entry(front.to_owned()).or_default();
        changes.into_iter().for_each(|change| front.apply(change));
        Ok(())
    }

    fn flush(&self) -> Result<(), Error> {
        Ok(())
    }

    fn forget(&self, before: Wall) -> Result<usize, Error> {
        let mut forgotten = 0;
        for front in self.0.lock().values_mut() {
            let gone = front.upstreams.extract_if(.., |_, upstream| {
                upstream.row.gone.is_some_and(|gone| gone < before)
            });
            let names: Vec<_> = gone.map(|(name, _)| name).collect();
            front.agenda.retain(|_, row| !names.contains(&row.upstream));
            forgotten += names.len();
        }
        Ok(forgotten)
    }
}

impl Front {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Upstream { name, row } => self.upstreams.entry(name).or_default().row = row,
            Change::Started { upstream, start } => {
                self.upstreams.entry(upstream).or_default().start(start);
            }
            Change::Learned { upstream, limit } => {
                let limits = &mut self.upstreams.entry(upstream).or_default().limits;
                limits.insert((limit.ledger, limit.window), limit.calls);
            }
            Change::Unlearned {
                upstream,
                ledger,
                window,
            } => {
                if let Some(upstream) = self.upstreams.get_mut(&upstream) {
                    upstream.limits.remove(&(ledger, window));
                }
            }
            Change::Scheduled(row) => {
                self.agenda.insert(row.id, row);
            }
            Change::Taken(id) => {
                self.agenda.remove(&id);
            }
        }
    }
}

impl Upstream {
    fn start(&mut self, start: Start) {
        let day = start.at.before(Windows::ALL.length());
        while let Some(oldest) = self
            .starts
            .first_entry()
            .filter(|entry| entry.key().0 <= day)
        {
            oldest.remove();
        }
        let key = (start.at, start.ledger, start.windows);
        let times = self.starts.entry(key).or_default();
        *times = times.saturating_add(start.times);
    }

    fn kept(&mut self, name: &Arc<str>, now: Wall) -> KeptUpstream {
        self.row.settle(now);
        let ahead =
            self.starts
                .split_off(&(Wall(now.0.saturating_add(1)), Ledger::Query, Windows::LEAST));
        for ((_, ledger, windows), times) in ahead {
            self.start(Start {
                ledger,
                windows,
                at: now,
                times,
            });
        }
        let starts = self
            .starts
            .iter()
            .map(|(&(at, ledger, windows), &times)| Start {
                ledger,
                windows,
                at,
                times,
            });
        KeptUpstream {
            name: Arc::clone(name),
            row: self.row.clone(),
            limits: self
                .limits
                .iter()
                .map(|(&(ledger, window), &calls)| Limit {
                    ledger,
                    window,
                    calls,
                })
                .collect(),
            starts: starts.filter(|start| !start.is_over(now)).collect(),
        }
    }
}
