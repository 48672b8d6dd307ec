//! Downloads: what a program got, what the history says of it, and the records.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_engine::Got;
use weir_engine::dispatch::{Moment, What};

use super::book::Fact;
use super::story::Story;
use super::views::text;
use super::*;

/// What a program got for a link.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) program: Program,
    pub(super) began: Moment,
    pub(super) ended: Moment,
    pub(super) reply: Reply,
}

impl Fetched {
    /// Whether it came as far as an indexer: links to one that is gone lead nowhere, and of too many the front tells by itself.
    fn is_remembered(&self) -> bool {
        let body = &self.reply.body;
        !body.contains("is no longer configured") && !self.is_too_many()
    }

    pub(super) fn is_too_many(&self) -> bool {
        self.reply.body.starts_with("Too many downloads")
    }

    /// Whether this record tells of it.
    fn is_told_by(&self, fact: &Fact, what: &Value) -> bool {
        // Links need no key, so a program that has never shown one has no name of its own in the records.
        let mine = fact.asker.as_deref().unwrap_or(self.program.name()) == self.program.name();
        let in_time = self.began <= fact.at && fact.at <= self.ended;
        if !mine || !in_time || fact.about.as_deref() != Some("a file") {
            return false;
        }
        let is_call = fact.is_start() || matches!(fact.what, What::Shared { .. });
        if what == "file" {
            return is_call && matches!(fact.got, None | Some(Got::Fresh));
        }
        let got = match &self.reply.retry_after {
            Some(seconds) if self.reply.status == 429 => Got::Retry {
                after: Duration::from_secs(seconds.parse().expect("seconds")),
            },
            _ => Got::Nothing,
        };
        (is_call || fact.is_skip()) && fact.got == Some(got)
    }
}

pub(super) async fn agree(story: &Story) {
    let world = &story.world;
    let api = world.json("/api/v1/history?kind=grabs&limit=500").await;
    let page = text(&world.get("/history?kind=grabs").await.body);
    let rows = api["grabs"].as_array().expect("a list");
    let fetched = story
        .fetched
        .iter()
        .filter(|fetched| fetched.is_remembered());
    assert_eq!(
        rows.len(),
        fetched.clone().count(),
        "a row for each download"
    );
    let (mut used, now) = (BTreeSet::new(), world.timeline.now());
    for (row, fetched) in rows.iter().rev().zip(fetched) {
        let (indexer, what) = (row["indexer"].as_str().expect("a name"), &row["what"]);
        assert_eq!(row["program"], fetched.program.name(), "{row}");
        assert_eq!(what == "failed", fetched.reply.status >= 400, "{row}");
        if what == "failed" {
            let reason = row["reason"].as_str().expect("words");
            assert_eq!(reason, fetched.reply.body.trim(), "{row}");
            assert!(page.contains(reason), "{reason} in {page}");
        }
        let present = world.engine.upstreams(0, usize::MAX);
        if what == "cached" || !present.iter().any(|row| *row.name == *indexer) {
            continue;
        }
        let is_new = |number: u64| !used.contains(&(indexer.to_owned(), number));
        let mut facts = story.book.of(indexer);
        let told = facts.find(|(number, fact)| is_new(*number) && fetched.is_told_by(fact, what));
        let told = told.map(|(number, _)| number);
        match told {
            Some(number) => _ = used.insert((indexer.to_owned(), number)),
            None if fetched.began + DAY <= now => {}
            None if story.may_be_lost((fetched.began, fetched.ended)) => {}
            None => {
                let all: Vec<_> = story.book.of(indexer).collect();
                panic!("no record tells {row}, {fetched:?} in {all:#?}");
            }
        }
    }
}
