//! What was recorded: nothing that was written changes, but for what was open then and is filled in once.

use std::collections::BTreeMap;

use weir_engine::dispatch::{Asker, Moment, UpstreamId, What};
use weir_engine::{Got, Kind, OwnKind, Record, Scene, Standing, sentence};

use super::*;

/// How long records are kept over a restart.
pub(super) const KEPT: Duration = DAY;
/// How many are kept of an indexer.
pub(super) const MOST: usize = 200;

/// Everything that was recorded so far.
#[derive(Default)]
pub(in crate::tests) struct Book {
    /// By the indexer's name and the record's number.
    pub(super) facts: BTreeMap<(String, u64), Fact>,
    /// When each was first seen as it is.
    pub(super) seen: BTreeMap<(String, u64), Moment>,
    /// The highest number that each indexer had when Weir was killed. The next one is far higher.
    pub(super) cuts: Vec<(String, u64)>,
    /// What was recorded in this run, by the indexer's name and the record's number.
    pub(super) run: BTreeMap<(String, u64), Record>,
    /// The newest record that an indexer brought along from before.
    from: BTreeMap<String, u64>,
    /// The engine's latest number of each indexer: it is another one when the indexer was removed and has come back.
    numbers: BTreeMap<String, UpstreamId>,
    /// When each indexer was last looked at.
    last: BTreeMap<String, Moment>,
    /// Downloads that the front had refused by itself before this run, as far as that is still recorded.
    refused_before: u64,
}

/// A record in words, which mean the same in every run.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::tests) struct Fact {
    pub(super) at: Moment,
    pub(super) class: Option<u8>,
    pub(super) asker: Option<String>,
    pub(super) about: Option<String>,
    pub(super) what: What,
    pub(super) cause: Option<String>,
    pub(super) end: Option<(Kind, Duration)>,
    pub(super) got: Option<Got>,
    pub(super) sentence: String,
}

fn refused(world: &World) -> u64 {
    let own = world.engine.own_decisions().into_iter();
    let refused = own.filter(|decision| decision.own.kind == OwnKind::Refused);
    refused.map(|decision| decision.count).sum()
}

/// What was recorded since the last look: by whom, and what.
pub(in crate::tests) type News = Vec<(String, Fact)>;

impl Fact {
    pub(super) fn of(world: &World, name: &str, record: &Record) -> Self {
        let asker = |asker| match asker {
            Asker::OPERATOR => Some("operator".to_owned()),
            Asker::WEIR => Some("Weir".to_owned()),
            asker => world.engine.asker_name(asker).map(|name| name.to_string()),
        };
        let words = sentence(
            record,
            &Scene {
                upstream: name,
                class: &|class| crate::policy::class_name(class),
                asker: &asker,
                clock: &|moment, _| format!("{}", moment.0),
            },
        );
        // Numbers of programs are of one run; the sentence has the name.
        let what = match record.what {
            What::Shared { after, .. } => What::Shared {
                with: Asker::NOBODY,
                after,
            },
            what => what,
        };
        Self {
            at: record.at,
            class: record.class.map(|class| class.0),
            asker: asker(record.asker),
            about: record.about.words(),
            what,
            cause: record.cause.as_deref().map(str::to_owned),
            end: record.end.map(|end| (end.kind, end.took)),
            got: record.got,
            sentence: words,
        }
    }

    pub(super) fn is_start(&self) -> bool {
        matches!(self.what, What::Started { .. })
    }

    pub(super) fn is_about_caps(&self) -> bool {
        self.about.as_deref() == Some("caps")
    }

    pub(super) fn is_skip(&self) -> bool {
        matches!(self.what, What::Skipped(_) | What::Missed(_))
    }

    /// Fails unless this is what `before` has become.
    fn follows(&self, before: &Self, place: &(String, u64)) {
        let fixed = |fact: &Self| {
            (
                fact.at,
                fact.class,
                fact.asker.clone(),
                fact.about.clone(),
                fact.what,
            )
        };
        assert_eq!(fixed(self), fixed(before), "{place:?}: a record changed");
        let ended_now = before.is_start() && before.end.is_none() && self.end.is_some();
        if !ended_now {
            let end = |fact: &Self| (fact.end, fact.cause.clone());
            assert_eq!(end(self), end(before), "{place:?}: its reason changed");
        }
        let shared = matches!(self.what, What::Shared { .. });
        let told_now = matches!(self.got, Some(Got::Retry { .. }));
        let had_nothing = before.got == Some(Got::Nothing);
        let given_now = before.got.is_none() || (shared || told_now) && had_nothing;
        if !given_now {
            assert_eq!(
                self.got, before.got,
                "{place:?}: what the asker got changed"
            );
        }
        if !ended_now && self.got == before.got {
            assert_eq!(self.sentence, before.sentence, "{place:?}");
        }
    }
}

impl std::fmt::Debug for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = Moment(BEGINS * 1_000_000_000).until(self.at).as_secs_f64();
        let Self {
            what,
            got,
            sentence,
            ..
        } = self;
        write!(f, "{seconds}: {sentence} {what:?} {got:?}")
    }
}

impl Book {
    /// The facts about an indexer, oldest first.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (u64, &'a Fact)> {
        let facts = self.facts.iter();
        let own = facts.filter(move |((of, _), _)| of == name);
        own.map(|((_, number), fact)| (*number, fact))
    }

    /// Downloads that the front has refused by itself in this run, as its own decisions tell.
    pub(super) fn refused(&self, world: &World) -> u64 {
        refused(world) - self.refused_before
    }

    /// Records of this run alone, of everybody.
    pub(super) fn of_run(&self) -> impl Iterator<Item = &Record> {
        self.run.values()
    }

    /// Records of this run about an indexer.
    pub(super) fn of_run_about(&self, name: &str) -> impl Iterator<Item = &Record> {
        let own = (name.to_owned(), 0)..=(name.to_owned(), u64::MAX);
        self.run.range(own).map(|(_, record)| record)
    }

    /// Looks at all records. Gives those that are new.
    pub(in crate::tests) fn look(&mut self, world: &World) -> News {
        let (now, mut news) = (world.timeline.now(), News::new());
        self.begin_run(world);
        for (name, upstream) in &self.numbers {
            let records = world.engine.records(*upstream, |_| true, usize::MAX);
            for record in records.into_iter().rev() {
                if record.number > self.from[name] {
                    self.run.insert((name.clone(), record.number), record);
                }
            }
        }
        let all = world.engine.upstreams(0, usize::MAX);
        for row in all {
            let name = row.name.to_string();
            let (_, records) = world
                .engine
                .upstream_with_records(row.upstream)
                .expect("it is there");
            let kept = records.len();
            let newest = self.of(&name).last().map_or(0, |(number, _)| number);
            // Nothing gets the number of one that is lost.
            let cuts = self.cuts.iter().filter(|(of, _)| *of == name);
            let newest = cuts.map(|(_, cut)| *cut).chain([newest]).max();
            let newest = newest.unwrap_or_default();
            for record in records.iter().rev() {
                let fact = Fact::of(world, &name, record);
                let place = (name.clone(), record.number);
                match self.facts.get(&place) {
                    Some(before) => fact.follows(before, &place),
                    None => {
                        assert!(record.number > newest, "{place:?} comes late: {fact:?}");
                        let last = self.last.get(&name).copied().unwrap_or_default();
                        let since = last..=now;
                        assert!(since.contains(&fact.at), "{place:?}: {fact:?}, {since:?}");
                        news.push((name.clone(), fact.clone()));
                    }
                }
                if self.facts.get(&place) != Some(&fact) {
                    self.seen.insert(place.clone(), now);
                }
                self.facts.insert(place, fact);
            }
            self.assert_kept(&name, &records, kept, now);
            self.last.insert(name.clone(), now);
            if row.standing == Standing::Untried {
                let healed = self.of(&name).any(|(_, fact)| fact.what == What::Healed);
                assert!(!healed || name == NAMES[0], "{name} answered before");
            }
        }
        news
    }

    /// Only what is old, or too much, is forgotten.
    fn assert_kept(&self, name: &str, records: &[Record], kept: usize, now: Moment) {
        let oldest = records.last().map_or(u64::MAX, |record| record.number);
        let lost = self
            .of(name)
            .filter(|(number, fact)| *number < oldest && kept < MOST && fact.at + KEPT > now);
        let lost: Vec<_> = lost.collect();
        assert!(lost.is_empty(), "{name} has lost {lost:?}");
        for record in records.windows(2) {
            let (later, earlier) = (record[0].number, record[1].number);
            let mut cuts = self.cuts.iter().filter(|(of, _)| of == name);
            let is_cut = cuts.any(|(_, cut)| earlier <= *cut && *cut < later);
            assert!(later == earlier + 1 || is_cut, "{name}: a gap");
        }
    }

    /// Weir has been started anew.
    pub(in crate::tests) fn restart(&mut self, world: &World) {
        self.run.clear();
        self.from.clear();
        self.numbers.clear();
        self.refused_before = refused(world);
        self.begin_run(world);
        // Nothing of the run before is still under way.
        for row in world.engine.upstreams(0, usize::MAX) {
            let records = world.engine.records(row.upstream, |_| true, usize::MAX);
            for record in records {
                let open = matches!(record.what, What::Started { .. }) && record.end.is_none();
                assert!(!open, "{} has no end: {record:?}", row.name);
            }
        }
    }

    /// Notes where the records of those begin who are new in this run.
    pub(super) fn begin_run(&mut self, world: &World) {
        for row in world.engine.upstreams(0, usize::MAX) {
            let newest = world.engine.decisions(row.upstream, None, 1);
            let newest = newest.first().map_or(0, |record| record.number);
            self.from.entry(row.name.to_string()).or_insert(newest);
            self.numbers.insert(row.name.to_string(), row.upstream);
        }
    }
}
