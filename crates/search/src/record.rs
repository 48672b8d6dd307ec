//! What the history is told of a search: all of it when its asker gets what is there, and its cost once more when no
//! call can come of it any more.

use std::sync::Arc;
use std::time::Duration;

use crate::asking;
use crate::desk::Desk;
use crate::history::{Cost, Outcome, Searched};
use crate::indexer::Indexer;
use crate::merge::List;
use crate::search::{Bill, How, Place, Search, State};
use crate::words::unix;

impl Desk {
    /// Sees to it that a search is remembered, whether its asker waits for it or not. `scope` says who was asked, in
    /// words.
    pub(crate) fn remember(self: &Arc<Self>, search: &Arc<Search>, scope: String) {
        let (desk, search) = (self.clone(), search.clone());
        self.tasks.spawn(async move {
            desk.told_by(&search).await;
            let list = desk.list(&search);
            let searched = searched(&search, scope, &list);
            let before = searched.cost();
            let row = desk.history.note_search(searched);
            let (over, bills) = (search.over(), search.bills());
            // What it found is not needed for its cost.
            drop((list, search));
            tokio::select! {
                () = over => {}
                () = desk.closing.cancelled() => {}
            }
            let later = bills.iter().map(|(indexer, bill)| cost(indexer, bill));
            let later: Vec<_> = later.collect();
            if later != before {
                desk.history.note_cost(&row, later);
            }
        });
    }
}

/// An indexer's calls, and whose call was shared.
fn cost(indexer: &Indexer, bill: &Bill) -> Cost {
    let shared_with = bill.shared_with.get().cloned();
    (indexer.name().to_owned(), bill.calls(), shared_with)
}

fn searched(search: &Search, scope: String, list: &List) -> Searched {
    let tally = search.tally();
    let question = &search.question;
    Searched {
        at: unix(search.began),
        program: question.program.name.to_string(),
        address: question.address.clone(),
        class: question.class.0,
        query: question.query.words(),
        question: asking::written(&question.query),
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
            .map(|place| outcome(place, list))
            .collect(),
        ..Searched::default()
    }
}

/// What an indexer had to do with a search.
fn outcome(place: &Place, list: &List) -> Outcome {
    let (releases, alone) = list.counts_of(&place.indexer);
    let (indexer, calls, shared_with) = cost(&place.indexer, &place.bill);
    Outcome {
        indexer,
        what: place.state.name().to_owned(),
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
        calls,
        shared_with,
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
