//! The state in memory: for tests, `weir demo` and a Weir without a data directory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{
    State,
    row::{
        AgendaRow, Change, Kept, KeptUpstream, Limit, Past, SERIES, Start, UpstreamRow, is_upstream,
    },
    value::{Ledger, Wall, Window},
};
use crate::Error;

/// Keeps rows until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryState(Mutex<HashMap<String, Front>>);

#[derive(Debug, Default)]
struct Front {
    upstreams: BTreeMap<Arc<str>, Upstream>,
    agenda: BTreeMap<u64, AgendaRow>,
    pasts: BTreeMap<Arc<str>, Past>,
}

#[derive(Debug, Default)]
struct Upstream {
    row: UpstreamRow,
    limits: BTreeMap<(Ledger, Window), u32>,
    starts: BTreeMap<(Ledger, Window), BTreeMap<Wall, u32>>,
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
                .map(|(name, upstream)| KeptUpstream {
                    past: front.pasts.get(name).cloned(),
                    ..upstream.kept(name, now)
                })
                .collect(),
            agenda,
            past: front.pasts.get("").cloned(),
            series: front.pasts.get(SERIES).cloned(),
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
            front.pasts.retain(|name, _| !names.contains(name));
            forgotten += names.len();
        }
        Ok(forgotten)
    }
}

impl Front {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Cleared(name) => {
                self.upstreams.remove(&name);
                self.pasts.remove(&name);
            }
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
            Change::Past { name, past } => {
                if is_upstream(&name) {
                    self.upstreams.entry(name.clone()).or_default();
                }
                self.pasts.insert(name, past);
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
        let starts = self.starts.entry((start.ledger, start.window)).or_default();
        let over = start.at.before(start.window.length());
        while let Some(oldest) = starts.first_entry().filter(|entry| *entry.key() <= over) {
            oldest.remove();
        }
        let times = starts.entry(start.at).or_default();
        *times = times.saturating_add(start.times);
    }

    fn kept(&mut self, name: &Arc<str>, now: Wall) -> KeptUpstream {
        self.row.settle(now);
        let mut starts = Vec::new();
        for (&(ledger, window), times) in &mut self.starts {
            let ahead = times.split_off(&Wall(now.0.saturating_add(1)));
            if !ahead.is_empty() {
                let at_now = times.entry(now).or_default();
                *at_now = ahead.into_values().fold(*at_now, u32::saturating_add);
            }
            starts.extend(times.iter().map(|(&at, &times)| Start {
                ledger,
                window,
                at,
                times,
            }));
        }
        starts.retain(|start| !start.is_over(now));
        starts.sort_by_key(|start| (start.at, start.ledger, start.window));
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
            starts,
            past: None,
        }
    }
}
