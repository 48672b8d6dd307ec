//! What the history is told of a search: all of it when its asker gets what is there, and its cost once more when no
//! call can come of it any more.

use std::sync::Arc;
use std::time::Duration;

use crate::asking;
use crate::bill::{self, Cost};
use crate::desk::Desk;
use crate::history::{Outcome, Searched};
use crate::merge::List;
use crate::search::{How, Place, Search, State};
use crate::words::unix;

impl Desk {
    /// Sees to it that a search is remembered, whether its asker waits for it or not. `scope` says who was asked, in
    /// words.
    pub(crate) fn remember(self: &Arc<Self>, search: &Arc<Search>, scope: String) {
        let (desk, search) = (self.clone(), search.clone());
        self.tasks.spawn(async move {
            desk.told_by(&search).await;
            let list = desk.list(&search);
            let mut costs = search.costs();
            let before = costs.borrow().clone();
            let row = desk
                .history
                .note_search(searched(&search, &before, scope, &list));
            let names = search.question.scope.iter();
            let names: Vec<String> = names.map(|indexer| indexer.name().to_owned()).collect();
            // What it found is not needed for its cost.
            drop((list, search));
            tokio::select! {
                () = bill::closed(&mut costs) => {}
                () = desk.closing.cancelled() => {}
            }
            let later = costs.borrow().clone();
            if later != before {
                let later = names.into_iter().zip(later).collect();
                desk.history.note_cost(row, later);
            }
        });
    }
}

fn searched(search: &Search, costs: &[Cost], scope: String, list: &List) -> Searched {
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
