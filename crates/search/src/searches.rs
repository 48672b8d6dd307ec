//! The searches of people and of the API, kept so that their pages can be looked at again.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::search::{Search, SearchId};

/// Searches that people look at, newest last.
#[derive(Default)]
pub(crate) struct Searches(Mutex<VecDeque<Arc<Search>>>);

impl Searches {
    /// Keeps a search beside the last ones, as many of them as there may be and as hold no more than `bytes`.
    pub(crate) fn keep(&self, search: &Arc<Search>, most: usize, bytes: usize) {
        let mut searches = self.0.lock();
        let mut held: usize = searches.iter().map(|search| search.weight()).sum();
        while searches.len() >= most.max(1) || held > bytes {
            let Some(gone) = searches.pop_front() else {
                break;
            };
            held = held.saturating_sub(gone.weight());
        }
        searches.push_back(search.clone());
    }

    pub(crate) fn find(&self, id: SearchId) -> Option<Arc<Search>> {
        let searches = self.0.lock();
        searches.iter().find(|search| search.id == id).cloned()
    }

    /// Newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Search>> {
        self.0.lock().iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::dispatch::Moment;
    use weir_search_proto::{Function, Query};

    use super::*;
    use crate::merge::tests::{input, question, release};
    use crate::search::{AnsweredFrom, PartState};

    fn answered(id: u64) -> Arc<Search> {
        let answer = input(1, vec![release("a", 1, None)]);
        let question = question(Query::new(Function::Search), vec![answer.indexer]);
        let (search, _) = Search::new(SearchId(id), question, Moment(0));
        let (answer, from) = (answer.answer, AnsweredFrom::Call);
        search.set(0, PartState::Answered { answer, from });
        Arc::new(search)
    }

    #[tokio::test]
    async fn the_oldest_searches_go_when_there_are_too_many_or_all_hold_too_much() {
        let one = answered(1).weight();
        assert!(one > 0);
        let kept = |most, bytes| {
            let searches = Searches::default();
            (1..=4).for_each(|id| searches.keep(&answered(id), most, bytes));
            let all = searches.all();
            all.iter().map(|search| search.id.0).collect::<Vec<_>>()
        };
        assert_eq!(kept(3, usize::MAX), [4, 3, 2]);
        // The newest is not weighed: its answers are still to come.
        assert_eq!(kept(100, one), [4, 3]);
        assert_eq!(kept(100, 0), [4]);
    }

    #[tokio::test]
    async fn what_has_not_changed_is_merged_once() {
        let search = answered(1);
        let first = search.list(|_| true);
        assert!(Arc::ptr_eq(&first, &search.list(|_| true)));
        search.set(0, PartState::Nothing("a test"));
        let second = search.list(|_| true);
        assert_eq!((first.releases.len(), second.releases.len()), (1, 0));
    }
}
