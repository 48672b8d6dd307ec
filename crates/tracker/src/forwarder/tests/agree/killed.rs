//! After a kill: what was written is word for word what it was, and what was not is gone.

use std::collections::BTreeMap;

use weir_engine::OwnDecision;

use super::super::*;
use super::kept::{Kept, Written, goes_on, walled};

/// Records are written once a minute. The second is for whoever gathers them.
const WRITTEN: Duration = Duration::from_secs(61);

impl Kept {
    /// Weir was killed at this time, and is there again.
    pub(super) fn killed(&mut self, world: &World, at: SystemTime) {
        let oldest = world.timeline.wall(world.timeline.now()) - DAY;
        for forwarder in world.forwarders.all().iter() {
            let name = &forwarder.config.name;
            let records = world.engine.decisions(forwarder.upstream, None, usize::MAX);
            let again: BTreeMap<u64, Written> = records
                .iter()
                .map(|record| (record.number, Written::of(world, name, record)))
                .collect();
            let of = (name.clone(), 0)..=(name.clone(), u64::MAX);
            let known: Vec<_> = self
                .records
                .range(of)
                .map(|(place, _)| place.clone())
                .collect();
            for place in known {
                let before = &self.records[&place];
                let was_written = self.since[&place] + WRITTEN < at;
                let happened: jiff::Timestamp = before.at.parse().expect("a time");
                match again.get(&place.1) {
                    Some(after) => after.survives(before, was_written),
                    None if SystemTime::from(happened) <= oldest => {}
                    None => {
                        assert!(!was_written, "{place:?} was lost: {before:?}");
                        self.records.remove(&place);
                    }
                }
            }
            for (number, written) in again {
                let place = (name.clone(), number);
                // The start itself may have begun something.
                if self.records.contains_key(&place) {
                    self.since.insert(place.clone(), oldest);
                    self.records.insert(place, written);
                }
            }
        }
        self.own_killed(world, at);
        self.cut();
    }

    /// Some records may be gone, while what they led to is still known.
    pub(super) fn cut(&mut self) {
        self.cuts.clone_from(&self.highest);
    }

    fn own_killed(&mut self, world: &World, at: SystemTime) {
        let oldest = world.timeline.wall(world.timeline.now()) - DAY;
        let oldest = oldest.duration_since(SystemTime::UNIX_EPOCH);
        let oldest = oldest.expect("after the epoch").as_millis();
        let decisions = world.engine.own_decisions().into_iter();
        let is_old = |decision: &OwnDecision| u128::from(decision.last.0) <= oldest;
        let again: BTreeMap<u64, OwnDecision> = decisions
            .map(|decision| (decision.number, walled(world, decision)))
            .collect();
        for number in self.own.keys().copied().collect::<Vec<_>>() {
            let before = &self.own[&number];
            let was_written = self.own_since[&number] + WRITTEN < at;
            match again.get(&number) {
                Some(after) => {
                    // As it was at some time.
                    goes_on(after, before);
                    assert!(
                        !was_written || after.sentence() == before.sentence(),
                        "{before:?}, then {after:?}"
                    );
                    self.own.insert(number, after.clone());
                }
                None if is_old(before) => {}
                None => {
                    assert!(!was_written, "it was lost: {before:?}");
                    self.own.remove(&number);
                }
            }
        }
    }
}

impl Written {
    /// Fails unless this is `before` after a kill.
    fn survives(&self, before: &Self, was_written: bool) {
        let same = (&self.at, &self.what) == (&before.at, &before.what);
        assert!(same && !self.open, "{before:?}, then {self:?}");
        if self.sentence == before.sentence {
            return;
        }
        let unknown = "; how it ended is not known, because Weir was killed.";
        let began = self.sentence.strip_suffix(unknown);
        let is_cut = began.is_some_and(|began| before.sentence.starts_with(began));
        assert!(is_cut, "{before:?}, then {self:?}");
        assert!(before.open || !was_written, "{before:?}, then {self:?}");
    }
}
