//! Claims, streams, tables, logs and connections.

use super::*;

impl Rows {
    pub(in super::super) fn claim(
        &mut self,
        now: u64,
        keys: &[[u8; 16]],
        by: NodeId,
        span: Duration,
    ) -> Vec<Claim> {
        let mut claim = |key: &[u8; 16]| match self.claims.get(key) {
            Some((other, until)) if *other != by && now < *until => Claim::Theirs {
                by: *other,
                left: Duration::from_millis(until - now),
            },
            _ => {
                self.claims.insert(*key, (by, now + millis(span)));
                Claim::Ours
            }
        };
        keys.iter().map(&mut claim).collect()
    }

    pub(in super::super) fn append(
        &mut self,
        now: u64,
        stream: Stream,
        body: Vec<u8>,
        keep: Duration,
    ) -> Place {
        let row = self.streams.entry(stream).or_default();
        let place = if now > row.last.millis {
            Place {
                millis: now,
                number: 0,
            }
        } else {
            Place {
                number: row.last.number + 1,
                ..row.last
            }
        };
        row.last = place;
        row.entries.insert(place, body);
        // The newest of those that are too old stays: who has read it knows that nothing was forgotten since.
        let oldest = Place {
            millis: now.saturating_sub(millis(keep)),
            number: 0,
        };
        let marker = row.entries.range(..oldest).next_back();
        if let Some(marker) = marker.map(|(place, _)| *place) {
            row.entries = row.entries.split_off(&marker);
        }
        place
    }

    pub(in super::super) fn read(&self, after: &[(Stream, Place)], most: usize) -> Vec<StreamEnd> {
        let end = |(stream, place): &(Stream, Place)| {
            let entries = self.streams.get(stream).map(|row| &row.entries);
            let last = entries.and_then(|entries| Some(*entries.last_key_value()?.0));
            let after = (
                std::ops::Bound::Excluded(*place),
                std::ops::Bound::Unbounded,
            );
            let entries = entries.into_iter().flat_map(|entries| entries.range(after));
            StreamEnd {
                stream: *stream,
                last,
                entries: entries
                    .take(most)
                    .map(|(place, body)| (*place, body.clone()))
                    .collect(),
            }
        };
        after.iter().map(end).collect()
    }

    pub(in super::super) fn put(
        &mut self,
        now: u64,
        run: u64,
        table: Table,
        entries: Vec<Entry>,
        keep: Duration,
    ) -> Version {
        let epoch = self.epoch(run).map_or(Epoch(0), |epoch| epoch.id);
        let row = self.tables.entry(table).or_default();
        row.forget(now);
        for (key, value) in entries {
            row.count += 1;
            let entry = (row.count, now + millis(keep), value);
            row.rows.insert(key, entry);
        }
        Version::of(epoch, row.count)
    }

    pub(in super::super) fn changes(
        &mut self,
        now: u64,
        run: u64,
        table: Table,
        since: Version,
    ) -> TableChanges {
        let epoch = self.epoch(run).map_or(Epoch(0), |epoch| epoch.id);
        let row = self.tables.entry(table).or_default();
        row.forget(now);
        let version = Version::of(epoch, row.count);
        let seen = since.count();
        let whole = since == Version::NONE
            || !since.is_of(epoch)
            || seen > row.count
            || seen < row.forgotten;
        let mut changed: Vec<_> = row.rows.iter().collect();
        changed.retain(|(_, (count, _, value))| {
            if whole {
                value.is_some()
            } else {
                *count > seen
            }
        });
        changed.sort_by_key(|(_, (count, ..))| *count);
        let entry = |(key, (.., value)): (&Vec<u8>, &Kept)| (key.clone(), value.clone());
        TableChanges {
            version,
            whole,
            entries: changed.into_iter().map(entry).collect(),
        }
    }

    /// Whether this is the epoch, if any is asked for.
    pub(in super::super) fn is_in(&self, epoch: Option<Epoch>, run: u64) -> bool {
        let is_now = |id| self.epoch(run).is_some_and(|epoch| epoch.id == id);
        epoch.is_none_or(is_now)
    }

    pub(in super::super) fn extend(
        &mut self,
        log: LogKey,
        known: u64,
        entries: Vec<Vec<u8>>,
        may: bool,
    ) -> LogAnswer {
        let log = self.logs.entry(log).or_default();
        let appended = may && log.len() as u64 == known;
        if appended {
            log.extend(entries);
        }
        let from = usize::try_from(known).unwrap_or(usize::MAX);
        let entries = log.get(from..).unwrap_or_default();
        LogAnswer {
            appended,
            length: log.len() as u64,
            entries: entries.iter().take(MOST_ENTRIES).cloned().collect(),
        }
    }

    pub(in super::super) fn lease(
        &mut self,
        now: u64,
        account: UpstreamKey,
        by: NodeId,
        open: u32,
        limit: u32,
    ) -> Lease {
        let nodes = self.leases.entry(account).or_default();
        let members = &self.members;
        nodes.retain(|node, lease| {
            let beat = members.get(node).map_or(0, |member| member.seen);
            now <= lease.seen.max(beat) + millis(HERE)
        });
        nodes.remove(&by);
        let others: u32 = nodes.values().map(|lease| lease.granted).sum();
        let granted = open.min(limit.saturating_sub(others));
        if open > 0 {
            nodes.insert(by, LeaseRow { granted, seen: now });
        }
        Lease {
            granted,
            others,
            nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            now: StoreTime(now),
        }
    }
}

impl TableRow {
    fn forget(&mut self, now: u64) {
        let forgotten = &mut self.forgotten;
        self.rows.retain(|_, (count, until, value)| {
            let keep = now < *until;
            if !keep && value.is_none() {
                *forgotten = (*forgotten).max(*count);
            }
            keep
        });
    }
}
