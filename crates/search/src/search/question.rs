//! What a search asks for, and which releases are that: indexers give more than they were asked for.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::{Class, Moment};
use weir_search_proto::{Mapping, Query, Release};

use crate::indexer::Indexer;
use crate::program::Program;
use crate::words::unix;

/// A question to some indexers.
pub(crate) struct SearchQuestion {
    pub(crate) query: Query,
    /// Who is asked.
    pub(crate) scope: Vec<Arc<Indexer>>,
    pub(crate) class: Class,
    /// In place of the class's.
    pub(crate) max_wait: Option<Duration>,
    /// Nothing is answered from the cache.
    pub(crate) no_cache: bool,
    /// Who asks.
    pub(crate) program: Program,
    /// The client's address.
    pub(crate) address: String,
    /// How long the asker waits.
    pub(crate) deadline: Duration,
}

impl SearchQuestion {
    /// Whether a release is what was asked for: indexers give more than that.
    pub(super) fn fits(&self, indexer: &Indexer, release: &Release, now: Moment) -> bool {
        let query = &self.query;
        if release
            .protocol
            .is_some_and(|protocol| protocol != indexer.protocol())
        {
            return false;
        }
        let bounds = (query.min_size, query.max_size);
        if let (Some(size), (least, most)) = (release.size, bounds)
            && (least.is_some_and(|least| size < least) || most.is_some_and(|most| size > most))
        {
            return false;
        }
        let before = |days: Option<u32>| {
            let days = i64::from(days?) * 24 * 60 * 60;
            Some(unix(now).saturating_sub(days))
        };
        // One without a date may be of any age.
        let ages = (before(query.max_age_days), before(query.min_age_days));
        if let (Some(published), (oldest, newest)) = (release.published, ages)
            && (oldest.is_some_and(|oldest| published < oldest)
                || newest.is_some_and(|newest| published > newest))
        {
            return false;
        }
        true
    }

    pub(super) fn fits_category(&self, indexer: &Indexer, release: &Release) -> bool {
        let query = &self.query;
        if query.categories.is_empty() {
            return true;
        }
        let ours = ours(indexer, release);
        // One that names no category may be of any.
        ours.is_empty() || Mapping::wants(&query.categories, &ours)
    }
}

/// The categories of a release in our numbers.
pub(crate) fn ours(indexer: &Indexer, release: &Release) -> Vec<u32> {
    let known = indexer.known.load();
    let mut ours: Vec<u32> = match &*known {
        Some(known) => release
            .categories
            .iter()
            .flat_map(|theirs| known.mapping.ours(*theirs))
            .collect(),
        None => release.categories.clone(),
    };
    ours.sort_unstable();
    ours.dedup();
    ours
}

#[cfg(test)]
mod tests {
    use weir_search_proto::Function;

    use super::*;
    use crate::merge::tests::{input, question, release};
    use crate::search::{AnsweredFrom, PartState, Search, SearchId};

    /// The titles that a query leaves of some releases, at this time.
    fn left(query: Query, releases: Vec<Release>, now: i64) -> Vec<String> {
        let answer = input(1, releases);
        let question = question(query, vec![answer.indexer]);
        let began = Moment(0) + Duration::from_secs(now as u64);
        let (search, _) = Search::new(SearchId(1), question, began);
        let (answer, from) = (answer.answer, AnsweredFrom::Call);
        search.set(0, PartState::Answered { answer, from });
        let list = search.list(|_| true);
        let titles = list.releases.iter();
        titles
            .map(|merged| list.at(merged.sources[0]).title.clone())
            .collect()
    }

    #[tokio::test]
    async fn ages_are_kept_and_what_has_no_date_may_be_of_any() {
        const DAY: i64 = 24 * 60 * 60;
        let now = 20_000 * DAY;
        let releases = || {
            let dated = |title: &str, published| Release {
                published,
                ..release(title, 1, None)
            };
            vec![
                dated("new", Some(now - DAY / 2)),
                dated("old", Some(now - 3 * DAY / 2)),
                dated("ancient", Some(now - 30 * DAY)),
                dated("undated", None),
            ]
        };
        let left = |least, most| {
            let query = Query {
                min_age_days: least,
                max_age_days: most,
                ..Query::new(Function::Search)
            };
            left(query, releases(), now)
        };
        assert_eq!(left(None, None), ["new", "old", "ancient", "undated"]);
        assert_eq!(left(None, Some(2)), ["new", "old", "undated"]);
        assert_eq!(left(Some(1), None), ["old", "ancient", "undated"]);
        assert_eq!(left(Some(1), Some(2)), ["old", "undated"]);
    }
}
