//! A search as the history keeps it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bill::Cost;
use crate::form;
use crate::history::{PartOutcome, Searched};
use crate::merge::ReleaseList;
use crate::search::{AnsweredFrom, IndexerPart, PartState, Search};
use crate::words::{self, unix};

/// A search as it is remembered, with what it cost so far. `scope` says who was asked, in words.
pub(super) fn searched(
    search: &Search,
    costs: &[Cost],
    scope: String,
    list: &ReleaseList,
) -> Searched {
    let tally = search.told_tally();
    let question = &search.question;
    Searched {
        at: unix(search.began),
        program: question.program.name.to_string(),
        address: question.address.clone(),
        class: question.class.0,
        query: question.query.words(),
        question: form::written(&question.query),
        scope,
        asked: count(tally.asked),
        answered: count(tally.answered),
        results: count(list.releases.len()),
        took_ms: millis(search.began_at.elapsed()),
        calls: count(tally.calls),
        shared: count(tally.shared),
        indexers: search
            .told()
            .iter()
            .zip(costs)
            .map(|(part, cost)| outcome(part, cost, list))
            .collect(),
        ..Searched::default()
    }
}

/// What is announced of a search that begins.
pub(super) fn began(search: &Search) -> Value {
    let question = &search.question;
    json!({
        "what": "began",
        "id": search.id.to_string(),
        "program": &*question.program.name,
        "query": question.query.words(),
        "asked": question.scope.len(),
    })
}

/// What is announced when whoever asked was told. Calls that are made later are in the history.
pub(super) fn ended(search: &Search, told: &Searched) -> Value {
    json!({
        "what": "ended",
        "id": search.id.to_string(),
        "program": told.program,
        "query": told.query,
        "asked": told.asked,
        "answered": told.answered,
        "results": told.results,
        "calls": told.calls,
        "took_ms": told.took_ms,
    })
}

/// What an indexer had to do with a search.
fn outcome(part: &IndexerPart, cost: &Cost, list: &ReleaseList) -> PartOutcome {
    let (releases, alone) = list.counts_of(&part.indexer);
    PartOutcome {
        indexer: part.indexer.name().to_owned(),
        what: part.state.stage(),
        reason: match &part.state {
            PartState::Answered {
                from: AnsweredFrom::Cache(age),
                ..
            } => format!("{} old", words::age(*age)),
            _ => part.reason().unwrap_or_default(),
        },
        releases: count(releases),
        alone: count(alone),
        took_ms: millis(part.took),
        calls: cost.calls,
        shared_with: cost.shared_with.clone(),
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
