//! What a program got, what the history says of it, and the records: each part of each search is told in all three.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_engine::dispatch::What;
use weir_engine::{Got, Kind};

use super::book::Fact;
use super::searches::BROWSER;
use super::story::{Heard, Story};
use super::views::text;
use super::*;

/// One indexer's part of a search: what the history says, and what the program was told.
struct Part<'a> {
    heard: &'a Heard,
    row: &'a Value,
    indexer: &'a str,
    what: &'a str,
    reason: &'a str,
}

pub(super) async fn agree(story: &Story) {
    let world = &story.world;
    world.state.write_blocking(|_| Ok(())).expect("a file");
    let api = world.json("/api/v1/history?limit=500").await;
    let page = text(&world.get("/history").await.body);
    let rows = api["searches"].as_array().expect("a list").iter();
    let rows: Vec<&Value> = rows.filter(|row| row["program"] != BROWSER).collect();
    let heard = story.heard.iter().rev();
    let heard: Vec<&Heard> = heard.map(|heard| heard.as_ref().expect("heard")).collect();
    assert_eq!(rows.len(), heard.len(), "a row for each search");
    let mut used = BTreeSet::new();
    let mut searches: Vec<_> = rows.into_iter().zip(heard).enumerate().collect();
    // Who got an answer first is told by the first record that fits.
    searches.sort_by_key(|(_, (_, heard))| heard.ended);
    for (index, (row, heard)) in searches {
        assert_eq!(row["program"], heard.ask.program.name(), "{row}");
        let class = crate::policy::class_name(heard.ask.class());
        assert_eq!(row["class"], class, "{row}");
        let parts = row["indexers"].as_array().expect("a list");
        for part in parts {
            let part = Part {
                heard,
                row,
                indexer: part["indexer"].as_str().expect("a name"),
                what: part["what"].as_str().expect("a word"),
                reason: part["reason"].as_str().expect("words"),
            };
            part.agrees_with_reply();
            if index < 50 && ["skipped", "failed", "nothing"].contains(&part.what) {
                assert!(page.contains(part.reason), "{} in {page}", part.reason);
            }
            if let Some(number) = part.record(story, &used) {
                used.insert((part.indexer.to_owned(), number));
            }
        }
    }
}

impl Part<'_> {
    fn agrees_with_reply(&self) {
        let Self { heard, what, .. } = self;
        let reply = &heard.reply;
        let missing = !["answered", "shared", "cached", "nothing"].contains(what);
        match reply.status {
            200 => {
                let told = reply.skipped();
                let told = told.iter().find(|(name, ..)| name == self.indexer);
                assert_eq!(told.is_some(), missing, "{} {}", self.row, reply.body);
                if let Some((_, reason, _)) = told {
                    assert_eq!(text(reason), self.reason, "{}", self.row);
                }
            }
            429 | 503 => {
                let words = format!("{}: {}", self.indexer, self.reason);
                let told = text(&reply.body.replace("description=\"", ">"));
                assert!(!missing || told.contains(&words), "{words} in {told}");
                self.has_a_time_that_comes();
            }
            status => panic!("{status}: {}", reply.body),
        }
    }

    /// Nobody is told to come back at a time of somebody who is switched off: there is none.
    fn has_a_time_that_comes(&self) {
        let reply = &self.heard.reply;
        let parts = self.row["indexers"].as_array().expect("a list").iter();
        let mut asked = parts.filter(|part| part["what"] != "nothing");
        let is_off = |part: &Value| {
            let reason = part["reason"].as_str().expect("words");
            reason.starts_with("switched off by an operator")
        };
        if asked.all(is_off) {
            assert_eq!(reply.status, 503, "{} {}", self.row, reply.body);
        }
        if reply.status == 503 {
            assert_eq!(reply.retry_after.as_deref(), Some("300"), "{}", reply.body);
        }
    }

    /// The record that tells the same, among those that tell no other part; fails if there is none.
    fn record(&self, story: &Story, used: &BTreeSet<(String, u64)>) -> Option<u64> {
        if ["cached", "nothing"].contains(&self.what) {
            return None;
        }
        if self.is_of_weir_itself(story) {
            self.is_not_contradicted(story);
            return None;
        }
        // Nothing is told of one that is gone, until it comes back.
        let present = story.world.engine.upstreams(0, usize::MAX);
        if !present.iter().any(|row| *row.name == *self.indexer) {
            return None;
        }
        let facts = story.book.of(self.indexer);
        let unused = |number: u64| !used.contains(&(self.indexer.to_owned(), number));
        let fits = facts.filter(|(number, fact)| unused(*number) && self.is_told_by(fact));
        // A record about the question itself, before one about the caps that come before it.
        let first = fits.min_by_key(|(number, fact)| (fact.is_about_caps(), *number));
        let first = first.map(|(number, _)| number);
        if first.is_none() && !self.is_old(story) {
            let all: Vec<_> = story.book.of(self.indexer).collect();
            panic!(
                "no record tells {} of {} in {all:#?}",
                self.indexer, self.row
            );
        }
        first
    }

    /// Whether nothing was decided about the indexer: Weir stopped, or the indexer was removed while it was asked. That must have
    /// happened while the program waited.
    fn is_of_weir_itself(&self, story: &Story) -> bool {
        let times = [
            ("Weir is stopping", &story.stops),
            ("it is no longer configured", &story.removals),
        ];
        let mut times = times.into_iter();
        let found = times.find(|(reason, _)| self.reason.starts_with(reason));
        let Some((_, times)) = found else {
            return false;
        };
        let waited = self.heard.began..=self.heard.ended;
        let happened = times.iter().any(|at| waited.contains(at));
        assert!(happened, "{} of {}: {times:?}", self.indexer, self.row);
        true
    }

    /// No record says that the program got what it was told it would not get.
    fn is_not_contradicted(&self, story: &Story) {
        let heard = self.heard;
        let is_same = |other: &&Heard| {
            let same = |one: &Heard| (one.ask.program, one.ask.words);
            let overlaps = other.began <= heard.ended && heard.began <= other.ended;
            same(other) == same(heard) && overlaps
        };
        // Of two who asked the same at once it is not said which one a record tells.
        if story.heard.iter().flatten().filter(is_same).count() > 1 {
            return;
        }
        for (_, fact) in story.book.of(self.indexer) {
            let mine = fact.asker.as_deref() == Some(heard.ask.program.name());
            let in_time = heard.began <= fact.at && fact.at <= heard.ended;
            let answered = fact.end.is_some_and(|(kind, _)| kind == Kind::Done);
            let gives = match fact.what {
                What::Started { .. } => answered && matches!(fact.got, None | Some(Got::Fresh)),
                What::Shared { .. } => fact.got == Some(Got::Fresh),
                _ => false,
            };
            let about = self.row["query"] == Value::from(fact.about.as_deref());
            assert!(
                !(mine && in_time && about && gives),
                "{fact:?} and {}",
                self.row
            );
        }
    }

    /// Its records may be forgotten, or were lost with a kill.
    fn is_old(&self, story: &Story) -> bool {
        let now = story.world.timeline.now();
        self.heard.began + DAY <= now || story.may_be_lost((self.heard.began, self.heard.ended))
    }

    fn is_told_by(&self, fact: &Fact) -> bool {
        let heard = self.heard;
        let mine = fact.asker.as_deref() == Some(heard.ask.program.name());
        let in_time = heard.began <= fact.at && fact.at <= heard.ended;
        let about = fact.about.as_deref();
        let is_caps = fact.is_about_caps();
        if !mine || !in_time || !(is_caps || self.row["query"] == Value::from(about)) {
            return false;
        }
        let failed = fact.end.is_some_and(|(kind, _)| kind.is_failure());
        let shared = matches!(fact.what, What::Shared { .. });
        let got_nothing = !matches!(fact.got, None | Some(Got::Fresh));
        let told = match self.what {
            "answered" => {
                fact.is_start() && !is_caps && fact.end.is_some_and(|(kind, _)| kind == Kind::Done)
            }
            "shared" => shared && !is_caps && fact.got == Some(Got::Fresh),
            "skipped" => {
                (fact.is_skip() || matches!(fact.what, What::Dropped { .. }))
                    && self.gives(fact, is_caps)
            }
            "failed" => fact.is_start() && failed || shared && got_nothing,
            "asking" => fact.is_start() || fact.is_skip(),
            word => panic!("{word}"),
        };
        told && (is_caps || self.is_got(fact))
    }

    /// Why and until when: the same in the record as the program was told.
    fn gives(&self, fact: &Fact, is_caps: bool) -> bool {
        let (What::Skipped(skip) | What::Missed(skip)) = fact.what else {
            return true;
        };
        if !is_caps && fact.class != Some(self.heard.ask.class().0) {
            return false;
        }
        let cause = fact.cause.as_deref();
        let why = cause.is_none_or(|cause| self.reason.contains(cause));
        let told = self.heard.reply.skipped();
        let told = told.into_iter().find(|(name, ..)| name == self.indexer);
        let until = told.and_then(|(_, _, until)| until);
        let wait = skip.wait.filter(|wait| !wait.is_zero() || is_caps);
        let next = wait.map(|wait| fact.at + wait);
        let next = next.map(|next| crate::words::second(crate::words::unix(next)).to_string());
        let when = self.heard.reply.status != 200 || until == next;
        let wait = wait.filter(|_| !is_caps).map(weir_engine::span);
        let in_words = wait.is_none_or(|wait| self.reason.contains(&format!("in {wait}")));
        why && when && in_words
    }

    /// What the program got instead of an answer.
    fn is_got(&self, fact: &Fact) -> bool {
        let cached = self.reason.split_once("; answered from cache, ");
        match fact.got {
            None => cached.is_none() && ["answered", "shared"].contains(&self.what),
            Some(Got::Fresh) => self.what == "shared",
            Some(Got::Nothing) => cached.is_none() && self.heard.reply.status != 429,
            // Each indexer's answer stands for itself.
            Some(Got::Elsewhere) => false,
            Some(Got::Cached { age }) => {
                let words = weir_engine::words::age(age);
                cached.is_some_and(|(_, old)| old == format!("{words} old"))
            }
            Some(Got::Retry { after }) => {
                let told = self.heard.reply.retry_after.as_deref();
                cached.is_none() && told == Some(&*after.as_secs().to_string())
            }
        }
    }
}
