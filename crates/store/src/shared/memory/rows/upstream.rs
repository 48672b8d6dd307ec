//! What is known of one upstream.

use std::collections::btree_map::Entry;

use super::*;

impl UpstreamRow {
    pub(super) fn see(&mut self, ledger: Ledger, length: u64) {
        let row = self.ledgers.entry(ledger).or_default();
        row.longest = row.longest.max(length);
    }

    pub(super) fn space(&mut self, at: u64, id: AskId) {
        match self.last {
            Some((last, ..)) if last > at => {}
            Some((_, same, before)) if same == id => self.last = Some((at, id, before)),
            last => self.last = Some((at, id, last.map(|(last, ..)| last))),
        }
    }

    pub(super) fn started(
        &mut self,
        now: u64,
        id: AskId,
        ledger: Ledger,
        age: Duration,
        spaced: bool,
    ) {
        let age = millis(age);
        let row = self.ledgers.entry(ledger).or_default();
        let at = now.saturating_sub(age);
        if let Entry::Vacant(vacant) = row.starts.entry(id) {
            vacant.insert(at);
            // It counts in a window that this store has not seen yet.
            if age > LOOSE && age > row.longest {
                row.longest = age.max(DAY);
            }
        }
        // Of one that was granted too: it may have been made a while later.
        if spaced {
            self.space(at, id);
        }
    }

    /// The same for a start that its node hands in: it knows how long ago that was, while the times of older data mean
    /// little where another clock goes on from them.
    pub(super) fn handed(&mut self, now: u64, start: &HandedStart) {
        self.started(now, start.id, start.ledger, start.age, start.spaced);
        let at = now.saturating_sub(millis(start.age));
        let row = self.ledgers.entry(start.ledger).or_default();
        if let Some(known) = row.starts.get_mut(&start.id) {
            *known = (*known).max(at);
        }
    }

    pub(super) fn unused(&mut self, id: AskId) {
        for row in self.ledgers.values_mut() {
            row.starts.remove(&id);
        }
        if let Some((_, last, before)) = self.last
            && last == id
        {
            self.last = before.map(|at| (at, NOBODYS, None));
        }
    }

    pub(super) fn throttle(&mut self, now: u64, span: Duration, by: NodeId, reason: &str, at: u64) {
        let at = at.min(now);
        if self.was_cleared_after(at) {
            return;
        }
        self.throttled_at = self.throttled_at.max(Some(at));
        let until = now + millis(span);
        if self.throttled.as_ref().is_none_or(|(old, ..)| *old < until) {
            self.throttled = Some((until, by, shortened(reason).to_owned()));
        }
    }

    /// Whether an operator has ended its cooldown since.
    fn was_cleared_after(&self, at: u64) -> bool {
        self.cleared
            .is_some_and(|cleared| at + millis(CLOCKS) < cleared)
    }

    /// An operator ended its cooldown: what was told before is forgotten.
    pub(super) fn clear(&mut self, now: u64, at: u64) {
        let at = at.min(now);
        if self.cleared.is_some_and(|cleared| at < cleared) {
            return;
        }
        self.cleared = Some(at);
        if self.throttled_at.is_none_or(|told| told <= at) {
            (self.throttled, self.throttled_at) = (None, None);
        }
        self.limits.retain(|_, limit| limit.at.0 > at);
    }

    /// It told a limit. `again` says whether this replaces what was told at the same time, as nodes know it.
    pub(super) fn limit(&mut self, now: u64, mut told: ToldLimit, again: bool) {
        told.limit = told.limit.max(1);
        told.at.0 = told.at.0.min(now);
        let key = (told.ledger, told.window);
        let counts = |known: &ToldLimit| match again {
            true => told.at.0 + millis(CLOCKS) >= known.at.0,
            false => told.at > known.at,
        };
        let is_later = self.limits.get(&key).is_none_or(counts);
        if !is_later || self.was_cleared_after(told.at.0) {
            return;
        }
        if self.limits.len() >= MOST_LIMITS && !self.limits.contains_key(&key) {
            return;
        }
        self.limits.insert(key, told);
        self.see(told.ledger, length(told.window));
        let Some(used) = told.used else { return };
        let row = self.ledgers.entry(told.ledger).or_default();
        let known: u64 = row
            .events(now, told.window, None)
            .map(|(_, count)| count)
            .sum();
        let more = u64::from(used.min(told.limit)).saturating_sub(known);
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.count(told.ledger, told.window, now, more);
        }
    }

    /// What a node has configured. Where there is no more room, one that is no member any more makes some.
    pub(super) fn configure(
        &mut self,
        node: NodeId,
        mut limits: Vec<Configured>,
        is_member: impl Fn(&NodeId) -> bool,
    ) {
        limits.truncate(MOST_CONFIGURED);
        if limits.is_empty() {
            self.configured.remove(&node);
            return;
        }
        if self.configured.len() >= MOST_CONFIGURED && !self.configured.contains_key(&node) {
            let stranger = self.configured.keys().find(|other| !is_member(other));
            let Some(stranger) = stranger.copied() else {
                return;
            };
            self.configured.remove(&stranger);
        }
        self.configured.insert(node, limits);
    }

    /// An operator switched it. `again` says whether this replaces what happened at the same moment.
    pub(super) fn switch(&mut self, now: u64, switched: Switched, again: bool) {
        let at = StoreTime(switched.at.0.min(now));
        let known = self.switched.as_ref().map(|known| known.at);
        if known.is_none_or(|known| known < at || (again && known == at)) {
            self.switched = Some(Switched {
                by: shortened(&switched.by).to_owned(),
                reason: shortened(&switched.reason).to_owned(),
                at,
                ..switched
            });
        }
    }

    /// Counts starts of which only the number is known.
    pub(super) fn count(&mut self, ledger: Ledger, window: Window, at: u64, count: u32) {
        let row = self.ledgers.entry(ledger).or_default();
        row.longest = row.longest.max(length(window));
        row.counted
            .retain(|lump| at < lump.at + counts(lump.window));
        row.counted.push(Lump { at, window, count });
        let of_window = |lump: &&Lump| lump.window == window;
        if row.counted.iter().filter(of_window).count() > MOST_COUNTED {
            // The two oldest become one, which counts until the later of them would end.
            let mut older = row.counted.iter().enumerate();
            let oldest = older.find(|(_, lump)| lump.window == window);
            if let Some((place, oldest)) = oldest.map(|(place, lump)| (place, *lump)) {
                row.counted.remove(place);
                let next = row.counted.iter_mut().find(|lump| lump.window == window);
                if let Some(next) = next {
                    next.count = next.count.saturating_add(oldest.count);
                }
            }
        }
    }

    /// The limits to keep to: the node's own, and those that were told for other lengths.
    pub(super) fn windows(&self, ask: &Ask) -> BTreeMap<Window, u32> {
        let told = self.limits.values();
        let told = told.filter(|told| told.ledger == ask.ledger);
        let mut windows: BTreeMap<_, _> = told.map(|told| (told.window, told.limit)).collect();
        windows.extend(ask.windows.iter().copied());
        windows
    }

    /// How long until another start fits into a full sliding window.
    pub(super) fn next_fit(
        &self,
        now: u64,
        ledger: Ledger,
        window: Window,
        used: u64,
        left: u64,
    ) -> u64 {
        let never = counts(window);
        let Some(row) = self.ledgers.get(&ledger).filter(|_| left > 0) else {
            return never;
        };
        let mut events: Vec<_> = row.events(now, window, None).collect();
        events.sort_unstable();
        let mut to_end = used + 1 - left;
        for (at, count) in events {
            if count >= to_end {
                return (at + counts(window)).saturating_sub(now);
            }
            to_end -= count;
        }
        never
    }

    pub(super) fn shared(&self, now: u64) -> SharedRow {
        let mut row = SharedRow {
            last_start: self.last.map(|(at, ..)| StoreTime(at)),
            switched: self.switched.clone(),
            limits: self.limits.values().copied().collect(),
            configured: self.configured.clone().into_iter().collect(),
            ..SharedRow::default()
        };
        if let Some((until, by, reason)) = &self.throttled
            && now < *until
        {
            row.throttled = Some((StoreTime(*until), *by, reason.clone()));
        }
        for (ledger, ledger_row) in &self.ledgers {
            let keep = ledger_row.keep();
            let counting = ledger_row.starts.iter().filter(|(_, at)| now < *at + keep);
            let mut starts: Vec<_> = counting
                .map(|(id, at)| (*id, StoreTime(*at), *ledger))
                .collect();
            starts.sort_by_key(|(id, at, _)| (*at, *id));
            let too_many = starts.len().saturating_sub(MOST_STARTS);
            row.starts.extend(starts.drain(too_many..));
            for lump in &ledger_row.counted {
                if now < lump.at + counts(lump.window) {
                    row.counted.push(Counted {
                        ledger: *ledger,
                        window: lump.window,
                        starts: lump.count,
                        at: StoreTime(lump.at),
                    });
                }
            }
        }
        row.starts
            .sort_by_key(|(id, at, ledger)| (*at, *ledger, *id));
        row.counted
            .sort_by_key(|lump| (lump.ledger, lump.window, lump.at, lump.starts));
        for ((ledger, window), nodes) in &self.shares {
            for (node, starts) in nodes {
                row.shares.push((*node, *ledger, *window, *starts));
            }
        }
        row
    }
}

/// Names a start that no node made.
const NOBODYS: AskId = AskId {
    node: NodeId(0),
    number: 0,
};

impl LedgerRow {
    /// How long a start may count.
    pub(super) fn keep(&self) -> u64 {
        self.longest.max(LOOSE) + millis(USE_WITHIN)
    }

    pub(super) fn trim(&mut self, now: u64) {
        let keep = self.keep();
        self.starts.retain(|_, at| now < *at + keep);
    }

    /// The starts that count in a window, with how many each stands for.
    pub(super) fn events(
        &self,
        now: u64,
        window: Window,
        day: Option<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let counting = move |at: u64| match day {
            // One that was granted just before may be used just after.
            Some(began) => at + millis(USE_WITHIN) >= began,
            None => now < at + counts(window),
        };
        let starts = self.starts.values().map(|at| (*at, 1));
        let lumps = self
            .counted
            .iter()
            .filter(move |lump| lump.window == window);
        let lumps = lumps.map(|lump| (lump.at, u64::from(lump.count)));
        starts.chain(lumps).filter(move |(at, _)| counting(*at))
    }
}
