//! A search as the history keeps it.

use std::time::Duration;

use crate::ask;
use crate::bill::Cost;
use crate::history::{Outcome, Searched};
use crate::merge::List;
use crate::search::{How, Place, Search, State};
use crate::words::unix;

/// A search as it is remembered, with what it cost so far. `scope` says who was asked, in words.
pub(super) fn searched(search: &Search, costs: &[Cost], scope: String, list: &List) -> Searched {
    let tally = search.tally();
    let question = &search.question;
    Searched {
        at: unix(search.began),
        program: question.program.name.to_string(),
        address: question.address.clone(),
        class: question.class.0,
        query: question.query.words(),
        question: ask::written(&question.query),
        scope,
        asked: count(tally.asked),
        answered: count(tally.answered),
        results: count(list.releases.len()),
        took_ms: millis(search.began_at.elapsed()),
        calls: count(tally.calls),
        shared: count(tally.shared),
        indexers: search
            .places()
            .iter()
            .zip(costs)
            .map(|(place, cost)| outcome(place, cost, list))
            .collect(),
        ..Searched::default()
    }
}

/// What an indexer had to do with a search.
fn outcome(place: &Place, cost: &Cost, list: &List) -> Outcome {
    let (releases, alone) = list.counts_of(&place.indexer);
    Outcome {
        indexer: place.indexer.name().to_owned(),
        what: place.state.stage(),
        reason: match &place.state {
            State::Answered {
                how: How::Cached(age),
                ..
            } => format!("{age} s old"),
            state => state.reason().unwrap_or_default().to_owned(),
        },
        releases: count(releases),
        alone: count(alone),
        took_ms: millis(place.took),
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
