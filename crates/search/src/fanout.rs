//! Asks all indexers of a search at once, each by itself (`asking`): its caps, the cache, a flight, its turn.
//!
//! A slow indexer costs its own releases, never the reply: who waits is told apart from who is asked.

mod asking;
mod record;

use std::sync::Arc;

use weir_engine::{Flights, Lifetime};

use crate::answer::{AnswerKey, SearchAnswer};
use crate::bill;
use crate::history::Searched;
use crate::introductions::Introductions;
use crate::merge::ReleaseList;
use crate::model::Model;
use crate::search::{PartState, Search, SearchId, SearchQuestion};
use crate::unanswered::PANICKED;

use self::asking::Asking;
use self::record::{began, ended, searched};

/// The searches under way.
pub(crate) struct Fanout {
    model: Arc<Model>,
    pub(crate) introductions: Introductions,
    /// Who asks an indexer the same shares one call.
    parts: Flights<AnswerKey, SearchAnswer>,
    lifetime: Lifetime,
}

/// However a task ends, nobody waits for it in vain.
struct OnPanic<'a>(&'a Search, usize);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        let Self(search, at) = *self;
        if std::thread::panicking() {
            let reason = PANICKED.to_owned();
            search.set(
                at,
                PartState::Failed {
                    reason,
                    until: None,
                },
            );
        }
    }
}

impl Fanout {
    pub(crate) fn new(model: Arc<Model>, lifetime: Lifetime) -> Self {
        Self {
            introductions: Introductions::new(model.clone(), lifetime.clone()),
            parts: Flights::new(model.engine.clone()),
            model,
            lifetime,
        }
    }

    /// Begins a search. It goes on by itself; whoever wants to know how it goes watches it.
    pub(crate) fn begin(self: &Arc<Self>, question: SearchQuestion) -> Arc<Search> {
        let id = SearchId(self.random());
        let (search, bills) = Search::new(id, question, self.model.now());
        let search = Arc::new(search);
        self.model.announcer.announce(|| began(&search));
        for (at, bill) in bills.into_iter().enumerate() {
            let (fanout, search) = (self.clone(), search.clone());
            self.lifetime.spawn(async move {
                let _guard = OnPanic(&search, at);
                Asking::new(&fanout, &search, at, bill).run().await;
            });
        }
        search
    }

    /// Waits until an asker is told what there is: everybody has answered, it is late, or Weir stops.
    pub(crate) async fn told_by(&self, search: &Search) {
        tokio::select! {
            () = search.settled(search.deadline()) => {}
            () = self.lifetime.left() => {}
        }
        // The deadline has also come for those who see to the indexers: they go first, and say whom it was too early for.
        tokio::task::yield_now().await;
    }

    /// All releases of a search that are there now. Sources whose indexer gives files now come first.
    pub(crate) fn list(&self, search: &Search) -> Arc<ReleaseList> {
        search.list(|indexer| indexer.wait_for_files(&self.model.engine).is_none())
    }

    /// Sees to it that a search is remembered, whether its asker waits for it or not. `scope` says who was asked, in
    /// words.
    pub(crate) fn remember(self: &Arc<Self>, search: &Arc<Search>, scope: String) {
        let (fanout, search) = (self.clone(), search.clone());
        let row = self.model.history.begin_search();
        // A task of its own, because a client that hangs up takes its request along.
        self.lifetime.spawn(async move {
            fanout.told_by(&search).await;
            let (list, mut costs) = (fanout.list(&search), search.costs());
            let before = costs.borrow().clone();
            let history = &fanout.model.history;
            let told = searched(&search, &before, scope, &list);
            fanout.model.announcer.announce(|| ended(&search, &told));
            history.note_search(Searched { id: row, ..told });
            let names = search.question.scope.iter();
            let names: Vec<String> = names.map(|indexer| indexer.name().to_owned()).collect();
            // What it found is not needed for its cost.
            drop((list, search));
            tokio::select! {
                () = bill::closed(&mut costs) => {}
                () = fanout.lifetime.closing() => {}
            }
            let later = costs.borrow().clone();
            if later != before {
                let later = names.into_iter().zip(later).collect();
                history.note_cost(row, later);
            }
        });
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        match getrandom::fill(&mut bytes) {
            Ok(()) => u64::from_le_bytes(bytes),
            // A machine without random numbers does not start; this is for the compiler.
            Err(_) => self.model.now().0,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::dispatch::Moment;
    use weir_search_proto::{Function, Query};

    use super::*;
    use crate::merge::tests::{indexer, question};

    #[tokio::test]
    async fn a_task_that_panics_is_not_waited_for() {
        let question = question(Query::new(Function::Search), vec![indexer(0, 25)]);
        let (search, _) = Search::new(SearchId(1), question, Moment(0));
        let search = Arc::new(search);
        let mut tasks = tokio::task::JoinSet::new();
        let asked = search.clone();
        tasks.spawn(async move {
            let _guard = OnPanic(&asked, 0);
            panic!("as if the code were wrong");
        });
        search.settled(search.deadline()).await;
        let parts = search.parts();
        assert!(
            matches!(&parts[0].state, PartState::Failed { reason, .. } if reason == PANICKED),
            "an outcome"
        );
    }
}
