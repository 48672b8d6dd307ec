//! What was once written stays: a record changes only where it was still open, and a number is never given twice.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use weir_engine::dispatch::{Asker, Class, Moment, What};
use weir_engine::{OwnDecision, Record, Scene, sentence};

use super::super::*;
use crate::policy::{CLASSES, RETRY};

/// Records as they were when they were last seen.
#[derive(Default)]
pub(super) struct Kept {
    /// By forwarder and number.
    pub(super) records: BTreeMap<(String, u64), Written>,
    pub(super) own: BTreeMap<u64, OwnDecision>,
    /// When each was first seen as it is.
    pub(super) since: BTreeMap<(String, u64), SystemTime>,
    pub(super) own_since: BTreeMap<u64, SystemTime>,
    /// The highest number that was ever seen of each forwarder, and of the front itself.
    pub(super) highest: BTreeMap<String, u64>,
    /// The same when some were lost or forgotten last.
    pub(super) cuts: BTreeMap<String, u64>,
    own_highest: u64,
    /// Those of dropped jobs, and whether such a job was never sent for certain.
    drops: BTreeMap<(String, u64), bool>,
}

/// A record with everything that people read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) at: String,
    pub(super) what: String,
    /// The end of its call is still open.
    pub(super) open: bool,
    pub(super) sentence: String,
}

impl Kept {
    pub(super) fn check(&mut self, world: &World) {
        let clock = world.timeline.wall(world.timeline.now());
        for forwarder in world.forwarders.all().iter() {
            let name = &forwarder.config.name;
            let records = world.engine.decisions(forwarder.upstream, None, usize::MAX);
            let highest = self.highest.get(name).copied().unwrap_or_default();
            let newest = records.first().map_or(0, |record| record.number);
            self.highest.insert(name.clone(), highest.max(newest));
            for record in &records {
                if let What::Dropped { .. } = record.what {
                    // A retry was sent before, in this run or in an earlier one; then it counts as asked anew.
                    let unsent = record.class != Some(RETRY);
                    self.drops.insert((name.clone(), record.number), unsent);
                }
                let now = Written::of(world, name, record);
                let place = (name.clone(), record.number);
                let before = self.records.insert(place.clone(), now);
                let now = &self.records[&place];
                match &before {
                    Some(before) => now.follows(before),
                    None => assert!(record.number > highest, "{place:?} comes late: {now:?}"),
                }
                if before.as_ref() != Some(now) {
                    self.since.insert(place, clock);
                }
            }
            let times: Vec<(u64, Moment)> =
                records.iter().map(|one| (one.number, one.at)).collect();
            assert!(times.is_sorted_by(|one, other| one.0 > other.0 && one.1 >= other.1));
        }
        for decision in world.engine.own_decisions() {
            let number = decision.number;
            let now = walled(world, decision);
            let before = self.own.insert(number, now);
            let now = &self.own[&number];
            match &before {
                Some(before) => goes_on(before, now),
                None => assert!(number > self.own_highest, "it comes late: {now:?}"),
            }
            let same = before.filter(|before| (before.count, before.last) == (now.count, now.last));
            if same.is_none() {
                self.own_since.insert(number, clock);
            }
        }
        let newest = self.own.last_key_value();
        let newest = newest.map_or(0, |(number, _)| *number);
        self.own_highest = self.own_highest.max(newest);
    }
}

impl Kept {
    /// How many jobs were dropped before they were sent, at least and at most, as records have it.
    pub(super) fn drops(&self) -> RangeInclusive<u64> {
        let unsent = self.drops.values().filter(|unsent| **unsent).count();
        // Those of one that was not listed may be lost or forgotten before it is again.
        let most = match self.cuts.is_empty() {
            true => self.drops.len() as u64,
            false => u64::MAX,
        };
        unsent as u64..=most
    }
}

impl Written {
    pub(super) fn of(world: &World, name: &str, record: &Record) -> Self {
        let what = match record.what {
            What::Started { .. } => "started".to_owned(),
            what => format!("{:?}", std::mem::discriminant(&what)),
        };
        let scene = Scene {
            upstream: name,
            class: &|class: Class| {
                CLASSES
                    .get(usize::from(class.0))
                    .copied()
                    .unwrap_or("a probe")
            },
            asker: &|asker: Asker| Some(world.engine.asker_name(asker)?.to_string()),
            clock: &|moment, _| world.wall(moment),
        };
        Self {
            at: world.wall(record.at),
            what,
            open: matches!(record.what, What::Started { .. }) && record.end.is_none(),
            sentence: sentence(record, &scene),
        }
    }

    fn follows(&self, before: &Self) {
        assert_eq!(
            (&self.at, &self.what),
            (&before.at, &before.what),
            "{before:?}, then {self:?}"
        );
        match before.open {
            // How the call ended is added at its end.
            true => assert!(
                self.sentence
                    .starts_with(before.sentence.trim_end_matches('.')),
                "{before:?}, then {self:?}"
            ),
            false => assert_eq!(self.sentence, before.sentence),
        }
    }
}

/// The same decision with its times on a clock that a restart does not change.
pub(super) fn walled(world: &World, decision: OwnDecision) -> OwnDecision {
    let wall = |moment| {
        let wall = world
            .timeline
            .wall(moment)
            .duration_since(SystemTime::UNIX_EPOCH);
        let wall = wall.expect("after the epoch").as_millis();
        Moment(u64::try_from(wall).expect("this century"))
    };
    OwnDecision {
        at: wall(decision.at),
        last: wall(decision.last),
        ..decision
    }
}

/// A burst grows; whatever else it says stays.
pub(super) fn goes_on(before: &OwnDecision, now: &OwnDecision) {
    let particulars = |decision: &OwnDecision| {
        let mut own = decision.own.clone();
        (own.concerned, own.fill, own.example) = (0, None, None);
        (decision.at, own)
    };
    assert_eq!(particulars(now), particulars(before));
    let grows = now.count >= before.count && now.last >= before.last;
    assert!(
        grows && now.own.concerned >= before.own.concerned,
        "{before:?}, then {now:?}"
    );
    if now.count == before.count {
        assert_eq!(now.sentence(), before.sentence());
    }
}

impl World {
    /// A moment by the wall clock, to the millisecond.
    pub(super) fn wall(&self, moment: Moment) -> String {
        let wall = jiff::Timestamp::try_from(self.timeline.wall(moment)).expect("a time");
        let whole = jiff::Timestamp::from_millisecond(wall.as_millisecond());
        whole.expect("a time").to_string()
    }
}
