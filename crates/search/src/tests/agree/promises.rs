//! What is said about the future comes true: until when an indexer is left alone, when it is tried by itself, when the
//! next call is possible.

use std::collections::BTreeMap;

use weir_engine::Standing;
use weir_engine::dispatch::{Availability, Moment, What};

use super::book::{Fact, News};
use super::story::Happened;
use super::*;

/// A timer is late by up to this much.
const TICK: Duration = Duration::from_millis(2);

/// Whether something happened when it was said to happen.
fn is_at(happened: Moment, said: Moment) -> bool {
    said <= happened && happened <= said + TICK
}

/// What was said at the last look.
#[derive(Default)]
pub(super) struct Promises {
    said: BTreeMap<String, Said>,
}

/// What is said of one indexer.
#[derive(Clone, Debug)]
struct Said {
    at: Moment,
    /// When the same was first said of its state.
    first: Moment,
    state: Availability,
    since: Moment,
    reason: Option<String>,
    probe: Option<Moment>,
    /// Nothing is queued and no call under way.
    idle: bool,
    /// Nobody is called before, because our own network is down.
    paused: Option<Moment>,
    next_call: Duration,
    /// Requests that it has seen.
    requests: usize,
}

impl Said {
    fn of(world: &World, name: &str, requests: usize) -> Self {
        let view = world.view(name);
        let off = view.off.as_ref().map(|off| off.reason.clone());
        let trouble = view.trouble.as_ref();
        Self {
            at: view.at,
            first: view.at,
            state: view.status.state,
            since: view.since,
            reason: off.or(trouble.map(|trouble| trouble.reason.to_string())),
            probe: view.probe_at,
            idle: view.status.queued == 0 && view.status.in_flight == 0,
            paused: world.engine.status().counts.paused_until,
            next_call: view.next_call,
            requests,
        }
    }

    fn until(&self) -> Option<Moment> {
        match self.state {
            Availability::Cooldown { until } | Availability::Disabled { until } => Some(until),
            _ => None,
        }
    }
}

impl Promises {
    /// Looks whether what was said has come true, and notes what is said now.
    pub(super) fn look(
        &mut self,
        world: &World,
        indexers: &[Indexer],
        happened: &Happened,
        news: &News,
    ) {
        for row in world.engine.upstreams(0, usize::MAX) {
            let name = row.name.to_string();
            let index = NAMES.iter().position(|known| *known == name);
            let indexer = &indexers[index.expect("one of ours")];
            let seen = indexer.seen();
            let mut now = Said::of(world, &name, seen.len());
            let before = self.said.get(&name).cloned();
            let same = before.as_ref().filter(|before| before.state == now.state);
            now.first = same.map_or(now.first, |same| same.first);
            self.said.insert(name.clone(), now.clone());
            let Some(before) = before else {
                continue;
            };
            if happened.killed && killed::is_lost(before.first, before.at) {
                continue;
            }
            let times: Vec<Moment> = seen[before.requests..]
                .iter()
                .map(|seen| world.timeline.now() - seen.at.elapsed())
                .collect();
            let news = news.iter().filter(|(of, _)| *of == name);
            let watch = Watch {
                name: &name,
                before,
                now,
                news: news.map(|(_, fact)| fact).collect(),
                requests: times,
                touched: happened.operated.contains(&*name),
                changed: happened.changed.contains(&*name),
                happened,
            };
            watch.is_paused();
            watch.is_left_alone();
            watch.stays_off();
            watch.is_tried_by_itself();
            watch.is_called_when_possible(index.expect("one of ours"));
        }
    }
}

/// One indexer between two looks.
struct Watch<'a> {
    name: &'a str,
    before: Said,
    now: Said,
    news: Vec<&'a Fact>,
    /// When requests reached it.
    requests: Vec<Moment>,
    touched: bool,
    changed: bool,
    happened: &'a Happened,
}

impl Watch<'_> {
    fn starts(&self) -> impl Iterator<Item = &&Fact> {
        self.news.iter().filter(|fact| fact.is_start())
    }

    fn is_paused(&self) {
        let Some(until) = self.before.paused.filter(|_| !self.happened.restarted) else {
            return;
        };
        let early = self.starts().find(|fact| fact.at < until);
        assert!(early.is_none(), "{self:?}: called before {until:?}");
    }

    fn is_left_alone(&self) {
        let (Some(until), false) = (self.before.until(), self.touched) else {
            return;
        };
        // Another key is another account. Other limits change nothing.
        if self.changed && self.name == NAMES[0] {
            return;
        }
        let early = self.starts().find(|fact| fact.at < until);
        assert!(early.is_none(), "{self:?}: called before {until:?}");
        if self.before.idle {
            let early = self.requests.iter().find(|at| **at < until);
            assert!(early.is_none(), "{self:?}: asked before {until:?}");
        }
        if self.now.at < until {
            let later = self.now.until();
            assert!(later.is_some_and(|later| later >= until), "{self:?}");
            if later == Some(until) {
                let said = |said: &Said| (said.since, said.reason.clone(), said.state);
                assert_eq!(said(&self.now), said(&self.before), "{self:?}");
            }
        } else if self.starts().next().is_none() && self.now.state == Availability::Probing {
            assert_eq!(self.now.since, until, "{self:?}");
            assert_eq!(self.now.reason, self.before.reason, "{self:?}");
        }
    }

    fn stays_off(&self) {
        if self.before.state != Availability::Off || self.touched {
            return;
        }
        let said = |said: &Said| (said.since, said.reason.clone(), said.state);
        assert_eq!(said(&self.now), said(&self.before), "{self:?}");
        assert_eq!(self.starts().count(), 0, "{self:?}");
        if self.before.idle {
            assert_eq!(self.requests.len(), 0, "{self:?}");
        }
    }

    fn is_tried_by_itself(&self) {
        let quiet = self.before.idle && !self.touched && !self.changed && !self.happened.asked;
        // A pause that began meanwhile has put it off.
        if !quiet || self.happened.restarted || self.happened.lost_by_us {
            return;
        }
        let first = self.starts().next();
        match (self.before.probe, first) {
            (Some(probe), Some(first)) => {
                assert!(is_at(first.at, probe), "{self:?}: not when it was said");
                assert_eq!(first.asker.as_deref(), Some("Weir"), "{self:?}");
            }
            (Some(probe), None) => assert!(self.now.at <= probe + TICK, "{self:?}: not tried"),
            (None, Some(_)) => panic!("{self:?}: called, and nobody asked"),
            (None, None) => {}
        }
        let standing = Standing::from(self.before.state);
        let said = matches!(
            standing,
            Standing::Untried | Standing::Cooldown | Standing::Probing | Standing::Disabled
        );
        assert_eq!(self.before.probe.is_some(), said, "{self:?}");
    }

    /// Who asks alone is called exactly when the page said that a call is possible.
    fn is_called_when_possible(&self, index: usize) {
        let alone = self.happened.alone == Some((index, INTERACTIVE));
        if !alone || !self.before.idle {
            return;
        }
        if self.happened.lost_by_us || self.news.iter().any(|fact| fact.is_about_caps()) {
            return;
        }
        let possible = self.before.at + self.before.next_call;
        let first = self
            .news
            .iter()
            .find(|fact| fact.is_start() || fact.is_skip());
        match first.map(|fact| (fact.what, fact.at)) {
            Some((What::Started { .. }, at)) => assert!(is_at(at, possible), "{self:?}"),
            Some((What::Skipped(skip) | What::Missed(skip), at)) => {
                let next = skip.wait.map(|wait| at + wait);
                assert!(next.is_none_or(|next| is_at(next, possible)), "{self:?}");
            }
            _ => {}
        }
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sentences = self.news.iter().map(|fact| (fact.at, &fact.sentence));
        f.debug_struct(self.name)
            .field("before", &self.before)
            .field("now", &self.now)
            .field("requests", &self.requests)
            .field("happened", self.happened)
            .field("news", &sentences.collect::<Vec<_>>())
            .finish()
    }
}
