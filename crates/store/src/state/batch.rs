//! Changes waiting for the next commit, at most one per row, so that they stay few however long the disk
//! takes. No files, no threads.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    row::{AgendaRow, Change, Past, Start, UpstreamRow},
    value::{Ledger, Wall, Window},
};
use crate::Error;

/// Starts that are kept one by one while they wait; further ones are added up.
pub(super) const STARTS: usize = 8192;
/// Waiting agenda entries at which further agenda changes are refused. Two batches of that size, one being committed and
/// one waiting, are written well within a second. A single call is never cut in two, because the one after a restart
/// must be complete.
pub(super) const ENTRIES: usize = 1 << 16;

/// Waiting changes, by front.
#[derive(Debug, Default)]
pub(super) struct Batch(pub(super) HashMap<String, FrontBatch>);

/// Waiting changes of one front.
#[derive(Debug, Default)]
pub(super) struct FrontBatch {
    /// Upstreams of which nothing from before is left. Written before all else.
    pub(super) cleared: HashSet<Arc<str>>,
    pub(super) upstreams: HashMap<Arc<str>, UpstreamRow>,
    pub(super) limits: HashMap<(Arc<str>, Ledger, Window), Option<u32>>,
    starts: Vec<(Arc<str>, Start)>,
    /// Starts beyond [`STARTS`], added up: their latest time and their sum. Counting some of them later than they were
    /// is on the safe side of every quota.
    folded: HashMap<(Arc<str>, Ledger, Window), (Wall, u32)>,
    /// What is written about the latest past, by upstream.
    pub(super) pasts: HashMap<Arc<str>, Past>,
    /// The row, or `None` if it left the agenda.
    pub(super) agenda: HashMap<u64, Option<AgendaRow>>,
}

impl Batch {
    /// Adds changes, in their order. Agenda changes are dropped if too many already wait.
    pub(super) fn absorb(&mut self, front: &str, changes: Vec<Change>) -> Result<(), Error> {
        let waiting: usize = self.0.values().map(|front| front.agenda.len()).sum();
        let batch = self.0.entry(front.to_owned()).or_default();
        let mut refused = false;
        for change in changes {
            match change {
                Change::Scheduled(_) | Change::Taken(_) if waiting >= ENTRIES => refused = true,
                change => batch.add(change),
            }
        }
        if refused { Err(Error::Full) } else { Ok(()) }
    }

    /// Puts back what could not be written; changes made since then override it.
    pub(super) fn put_back(&mut self, older: Self) {
        for (front, older) in older.0 {
            let batch = self.0.entry(front).or_default();
            let newer = std::mem::replace(batch, older);
            batch.overlay(newer);
        }
    }
}

impl FrontBatch {
    /// All waiting starts, the added-up ones last.
    pub(super) fn starts(&self) -> impl Iterator<Item = (&Arc<str>, Start)> {
        let folded = self
            .folded
            .iter()
            .map(|((name, ledger, window), &(at, times))| {
                let start = Start {
                    ledger: *ledger,
                    window: *window,
                    at,
                    times,
                };
                (name, start)
            });
        let single = self.starts.iter().map(|(name, start)| (name, *start));
        single.chain(folded)
    }

    fn add(&mut self, change: Change) {
        match change {
            Change::Cleared(name) => self.clear(name),
            Change::Upstream { name, row } => {
                self.upstreams.insert(name, row);
            }
            Change::Started { upstream, start } => self.start(upstream, start),
            Change::Learned { upstream, limit } => {
                let key = (upstream, limit.ledger, limit.window);
                self.limits.insert(key, Some(limit.calls));
            }
            Change::Unlearned {
                upstream,
                ledger,
                window,
            } => {
                self.limits.insert((upstream, ledger, window), None);
            }
            Change::Past { name, past } => {
                self.pasts.insert(name, past);
            }
            Change::Scheduled(row) => {
                self.agenda.insert(row.id, Some(row));
            }
            Change::Taken(id) => {
                self.agenda.insert(id, None);
            }
        }
    }

    fn clear(&mut self, name: Arc<str>) {
        self.upstreams.remove(&name);
        self.limits.retain(|(one, ..), _| *one != name);
        self.starts.retain(|(one, _)| *one != name);
        self.folded.retain(|(one, ..), _| *one != name);
        self.pasts.remove(&name);
        self.cleared.insert(name);
    }

    fn start(&mut self, upstream: Arc<str>, start: Start) {
        if self.starts.len() < STARTS {
            self.starts.push((upstream, start));
            return;
        }
        let key = (upstream, start.ledger, start.window);
        let (at, times) = self.folded.entry(key).or_insert((start.at, 0));
        *at = start.at.max(*at);
        *times = times.saturating_add(start.times);
    }

    fn overlay(&mut self, newer: Self) {
        for name in &newer.cleared {
            self.clear(Arc::clone(name));
        }
        let starts: Vec<_> = newer
            .starts()
            .map(|(name, start)| (Arc::clone(name), start))
            .collect();
        for (upstream, start) in starts {
            self.start(upstream, start);
        }
        self.upstreams.extend(newer.upstreams);
        self.limits.extend(newer.limits);
        self.pasts.extend(newer.pasts);
        self.agenda.extend(newer.agenda);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::story::{DAY, NOW, after, entry, failures, start, started, up};

    #[test]
    fn what_is_put_back_lies_below_what_came_since() {
        let limit = |calls| Change::Learned {
            upstream: "a".into(),
            limit: crate::state::Limit {
                ledger: Ledger::Grab,
                window: DAY,
                calls,
            },
        };
        let mut older = Batch::default();
        let changes = vec![
            up("a", failures(1)),
            up("b", failures(1)),
            limit(1),
            started("a", start(NOW, 1)),
            Change::Scheduled(entry(1, "a", NOW)),
            Change::Scheduled(entry(2, "a", NOW)),
        ];
        older.absorb("search", changes.clone()).unwrap();
        older.absorb("news", changes).unwrap();
        let mut batch = Batch::default();
        let changes = vec![
            up("a", failures(2)),
            limit(2),
            started("a", start(after(1), 1)),
            Change::Taken(1),
        ];
        batch.absorb("search", changes).unwrap();
        batch.put_back(older);
        let front = &batch.0["search"];
        assert_eq!(front.upstreams["a"], failures(2));
        assert_eq!(front.upstreams["b"], failures(1));
        assert_eq!(front.limits.values().collect::<Vec<_>>(), [&Some(2)]);
        assert_eq!(front.agenda[&1], None);
        assert!(front.agenda[&2].is_some());
        let starts: Vec<Start> = front.starts().map(|(_, start)| start).collect();
        assert_eq!(starts, [start(NOW, 1), start(after(1), 1)]);
        assert_eq!(batch.0["news"].agenda.len(), 2);
    }
}
