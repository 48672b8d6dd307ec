//! What was recorded: nothing that was written changes, but for what was open then and is filled in once; and everybody
//! whom a server gave nothing is told to have got something else, or nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_engine::dispatch::{Asker, Moment, UpstreamId, Wait, What};
use weir_engine::{Got, Kind, Record, Scene, sentence};

use super::world::World;
use crate::policy::CLASSES;
use crate::reading::SilentServer;
use crate::silence;

/// How long records are kept.
const KEPT: Duration = Duration::from_secs(86_400);
/// How many are kept of a server.
const MOST: usize = 200;

/// Everything that was recorded so far.
#[derive(Default)]
pub(super) struct Book {
    /// By the server's name and the record's number.
    facts: BTreeMap<(String, u64), Fact>,
    /// What was recorded in this run.
    run: BTreeMap<(String, u64), Record>,
    /// The newest record that a server brought along from before.
    from: BTreeMap<String, u64>,
    /// The engine's latest number of each server: it is another one when the server was removed and has come back.
    numbers: BTreeMap<String, UpstreamId>,
    /// What the front had refused by itself before this run.
    refused_before: u64,
}

/// A record in words, which mean the same in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    at: Moment,
    class: Option<u8>,
    asker: Option<String>,
    about: Option<String>,
    what: What,
    cause: Option<String>,
    end: Option<(Kind, Duration)>,
    got: Option<Got>,
    sentence: String,
}

impl Fact {
    fn of(world: &World, name: &str, record: &Record) -> Self {
        let asker = |asker| match asker {
            Asker::OPERATOR => Some("an operator".to_owned()),
            Asker::WEIR => Some("Weir".to_owned()),
            asker => world.engine.asker_name(asker).map(|name| name.to_string()),
        };
        let class = |class: weir_engine::dispatch::Class| {
            let name = CLASSES.get(usize::from(class.0));
            name.copied().unwrap_or("probe")
        };
        let words = sentence(
            record,
            &Scene {
                upstream: name,
                class: &class,
                asker: &asker,
                clock: &|moment, _| moment.0.to_string(),
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

    /// Fails unless this is what `before` has become.
    fn follows(&self, before: &Self, place: &(String, u64)) {
        let is_start = matches!(self.what, What::Started { .. });
        let ended_now = is_start && before.end.is_none() && self.end.is_some();
        let shared = matches!(self.what, What::Shared { .. });
        let had_nothing = before.got == Some(Got::Nothing);
        let given_now = before.got.is_none() || shared && had_nothing;
        let wanted = Self {
            end: if ended_now { self.end } else { before.end },
            cause: if ended_now {
                self.cause.clone()
            } else {
                before.cause.clone()
            },
            got: if given_now { self.got } else { before.got },
            sentence: match ended_now || self.got != before.got {
                true => self.sentence.clone(),
                false => before.sentence.clone(),
            },
            ..before.clone()
        };
        assert_eq!(*self, wanted, "{place:?} has changed");
    }
}

/// Whether whoever asked has not got an answer.
fn came_to_nothing(record: &Record) -> bool {
    match record.what {
        What::Skipped(_) | What::Missed(_) | What::Dropped { .. } => true,
        What::Started { .. } => record.end.is_some_and(|end| end.kind.is_failure()),
        _ => false,
    }
}

impl Book {
    /// Looks at all records.
    pub(super) fn look(&mut self, world: &World) {
        self.begin_run(world);
        for (name, upstream) in self.numbers.clone() {
            let records = world.engine.records(upstream, |_| true, usize::MAX);
            for record in records.into_iter().rev() {
                if record.number > self.from[&name] {
                    self.run.insert((name.clone(), record.number), record);
                }
            }
        }
        let now = world.timeline.now();
        for row in world.engine.upstreams(0, usize::MAX) {
            let name = row.name.to_string();
            let records = world.engine.decisions(row.upstream, None, usize::MAX);
            for record in records.iter().rev() {
                let (fact, place) = (
                    Fact::of(world, &name, record),
                    (name.clone(), record.number),
                );
                match self.facts.get(&place) {
                    Some(before) => fact.follows(before, &place),
                    None => assert!(fact.at <= now, "{place:?}: {fact:?}"),
                }
                self.facts.insert(place, fact);
            }
            // Only what is old, or too much, is forgotten.
            let oldest = records.last().map_or(u64::MAX, |record| record.number);
            let own = (name.clone(), 0)..(name.clone(), oldest);
            let lost = self
                .facts
                .range(own)
                .filter(|(_, fact)| records.len() < MOST && fact.at + KEPT > now);
            let lost: Vec<_> = lost.collect();
            assert!(lost.is_empty(), "{name} has lost {lost:?}");
            for pair in records.windows(2) {
                assert_eq!(pair[0].number, pair[1].number + 1, "{name}: a gap");
            }
        }
        if world.is_quiet() {
            self.all_got_something();
        }
    }

    /// Every record of somebody whom a server gave nothing says what they got.
    fn all_got_something(&self) {
        for (place, record) in &self.run {
            // A call that fails is made again for those who joined late. If that is skipped there is a record for the one who
            // asked first, who has left, and one after it for each of the others.
            let next = self.run.get(&(place.0.clone(), place.1 + 1));
            let is_again = next.is_some_and(|next| {
                let what = |record: &Record| (record.at, record.about.clone(), record.what);
                what(next) == what(record)
            });
            let waits = ![Asker::WEIR, Asker::OPERATOR].contains(&record.asker);
            if came_to_nothing(record) && waits && !is_again {
                let got = matches!(
                    record.got,
                    Some(Got::Nothing | Got::Elsewhere | Got::Cached { .. })
                );
                assert!(got, "{place:?}: {record:?}");
            }
        }
    }

    /// Weir has been started anew.
    pub(super) fn restart(&mut self, world: &World) {
        self.run.clear();
        self.from.clear();
        self.numbers.clear();
        self.refused_before = refused(world);
        self.begin_run(world);
        for row in world.engine.upstreams(0, usize::MAX) {
            for record in world.engine.decisions(row.upstream, None, usize::MAX) {
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

    /// Records of this run, of one server or of all.
    pub(super) fn count(&self, name: Option<&str>, is: impl Fn(&Record) -> bool) -> u64 {
        let own = self.run.iter();
        let own = own.filter(|((of, _), _)| name.is_none_or(|name| name == of));
        own.filter(|(_, record)| is(record)).count() as u64
    }

    /// What the front has refused by itself in this run.
    pub(super) fn refused(&self, world: &World) -> u64 {
        refused(world) - self.refused_before
    }

    /// What somebody is told of a server that gave nothing is what is recorded of it.
    pub(super) fn tells(&self, world: &World, told: &SilentServer) {
        let SilentServer {
            name,
            reason,
            retry_at,
        } = told;
        let own = (name.to_string(), 0)..=(name.to_string(), u64::MAX);
        let own: Vec<&Record> = self.run.range(own).map(|(_, record)| record).collect();
        let before = self
            .facts
            .range((name.to_string(), 0)..=(name.to_string(), u64::MAX));
        let caused = |cause: Option<&str>| cause.is_some_and(|cause| reason.ends_with(cause));
        let is_told = own.iter().any(|record| {
            let cause = record.cause.as_deref();
            match record.what {
                What::Skipped(skip) | What::Missed(skip) => match skip.reason {
                    Wait::Off => reason.starts_with("switched off") && caused(cause),
                    Wait::Cooldown => reason.starts_with("it is cooling down") && caused(cause),
                    _ => {
                        let queued = reason.starts_with("it was not asked: the request was still");
                        let late = reason.starts_with("it did not answer within");
                        queued && skip.wait == Some(Duration::ZERO) || late && skip.wait.is_none()
                    }
                },
                What::Dropped { .. } => {
                    reason.starts_with("it was not asked: ") && reason.contains("queue")
                }
                What::Started { .. } => {
                    cause == Some(reason) || reason.starts_with("it did not answer within")
                }
                // Nobody asked, since it could not be asked.
                What::CooldownBegan { .. } => {
                    reason.starts_with("it is cooling down") && caused(cause)
                }
                What::SwitchedOff => reason.starts_with("switched off") && caused(cause),
                _ => false,
            }
        });
        // Of a trouble or a switch of an earlier run.
        let is_old = before.into_iter().any(|(_, fact)| {
            matches!(fact.what, What::CooldownBegan { .. } | What::SwitchedOff)
                && caused(fact.cause.as_deref())
        });
        let stops = reason.ends_with("Weir is stopping") || reason.ends_with("not asked in time");
        assert!(is_told || is_old || stops, "{name}: {reason}: {own:#?}");
        if let Some(at) = retry_at {
            let is_end = |fact: &Fact| match fact.what {
                What::CooldownBegan { cooldown, .. } => {
                    silence::seconds(&world.engine, cooldown.until) == *at
                }
                _ => false,
            };
            let mut all = self.facts.iter().filter(|((of, _), _)| **of == **name);
            let is_said = all.any(|(_, fact)| is_end(fact));
            let probed = world.engine.upstreams(0, usize::MAX).into_iter();
            let mut probed = probed.filter(|row| row.name == *name);
            let probed = probed.any(|row| {
                let view = world.engine.upstream(row.upstream).expect("it is there");
                let times = [
                    view.probe_at,
                    view.status.cooldown.map(|cooldown| cooldown.until),
                ];
                let mut times = times.into_iter().flatten();
                times.any(|time| silence::seconds(&world.engine, time) == *at)
            });
            assert!(is_said || probed, "{name} at {at}: {reason}: {own:#?}");
        }
    }
}

fn refused(world: &World) -> u64 {
    let own = world.engine.own_decisions().into_iter();
    own.map(|decision| decision.count).sum()
}
