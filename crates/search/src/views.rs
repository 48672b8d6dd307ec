//! What feeds, pages and API see of the front, and what they may ask of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Class, DropReason, Wait};
use weir_engine::{Lifetime, drop_reason};

use crate::downloads::Downloads;
use crate::fanout::Fanout;
use crate::form::SearchForm;
use crate::indexer::Indexer;
use crate::merge::{NotOffered, ReleaseList};
use crate::model::Model;
use crate::policy::INTERACTIVE;
use crate::program::Program;
use crate::progress::Progress;
use crate::search::{Search, SearchQuestion};
use crate::searches::Searches;
use crate::session::Sessions;
use crate::unanswered::why;

/// How often old things are let go of. All that is let go of is bounded by itself as well.
const SWEEP: Duration = Duration::from_secs(60);

/// Whom those ask who name nobody, in words.
pub(crate) const EVERYBODY: &str = "all indexers";

/// All that a route is given.
pub(crate) struct Views {
    pub(crate) model: Arc<Model>,
    pub(crate) fanout: Arc<Fanout>,
    pub(crate) downloads: Downloads,
    pub(crate) searches: Searches,
    pub(crate) sessions: Sessions,
    pub(crate) lifetime: Lifetime,
}

impl Views {
    pub(crate) fn new(model: Model) -> Self {
        let (model, lifetime) = (Arc::new(model), Lifetime::default());
        Self {
            fanout: Arc::new(Fanout::new(model.clone(), lifetime.clone())),
            downloads: Downloads::new(model.clone()),
            searches: Searches::default(),
            sessions: Sessions::default(),
            model,
            lifetime,
        }
    }

    /// Begins a search for a person or the API; it is kept so that it can be looked at again.
    ///
    /// # Errors
    /// With a sentence that says what is wrong.
    pub(crate) fn search_for(
        &self,
        ask: &SearchForm,
        program: Program,
        address: String,
    ) -> Result<Arc<Search>, String> {
        let query = ask.query()?;
        let scope = ask.scope(&self.model.indexers.all())?;
        let rules = self.model.rules.load();
        let search = self.fanout.begin(SearchQuestion {
            query,
            scope,
            class: INTERACTIVE,
            max_wait: None,
            no_cache: ask.no_cache,
            program,
            address,
            deadline: rules.deadline,
        });
        let searches = &self.searches;
        searches.keep(&search, rules.kept_searches, self.model.memory);
        self.fanout.remember(&search, self.scope_of(&search));
        Ok(search)
    }

    /// Whether a search goes to all indexers that there are.
    pub(crate) fn asks_everybody(&self, search: &Search) -> bool {
        search.question.scope.len() == self.model.indexers.all().len()
    }

    /// Who was asked, in words.
    fn scope_of(&self, search: &Search) -> String {
        if self.asks_everybody(search) {
            return EVERYBODY.to_owned();
        }
        let scope = search.question.scope.iter();
        let names: Vec<&str> = scope.map(|indexer| indexer.name()).collect();
        names.join(", ")
    }

    /// All releases of a search that can be offered now.
    pub(crate) fn list(&self, search: &Search) -> Arc<ReleaseList> {
        self.offered(&self.fanout.list(search))
    }

    /// A list without what nobody could download any more, because its indexer was switched off or removed since it answered.
    /// Whoever shows a list that was made before goes through here.
    pub(crate) fn offered(&self, list: &Arc<ReleaseList>) -> Arc<ReleaseList> {
        let contributions = list.contributions.iter();
        let off = contributions.filter_map(|contribution| {
            let (upstream, name) = (contribution.indexer.upstream, contribution.indexer.name());
            let reason = self.why_not_offered(name)?;
            Some(NotOffered {
                upstream,
                name: name.to_owned(),
                reason,
            })
        });
        let off: Vec<_> = off.collect();
        match off.is_empty() {
            true => list.clone(),
            false => Arc::new(list.without(off)),
        }
    }

    /// Why a link to an indexer leads nowhere now. Links know it by its name: with another key it is another upstream.
    fn why_not_offered(&self, name: &str) -> Option<String> {
        let engine = &self.model.engine;
        let Some(indexer) = self.model.indexers.named(name) else {
            return Some(drop_reason(DropReason::Gone, None));
        };
        let (_, wait) = engine.next_wait(indexer.upstream, INTERACTIVE, Budget::Query);
        if wait != Some(Wait::Off) {
            return None;
        }
        let switched = engine.upstream(indexer.upstream).and_then(|view| view.off);
        let cause = switched.as_ref().map(|switched| &*switched.reason);
        Some(why(Wait::Off, cause))
    }

    /// How far a search is.
    pub(crate) fn progress(&self, search: &Search, list: &ReleaseList) -> Progress {
        Progress::of(search, list, self.model.wall())
    }

    /// The earliest that any of these can be asked, in whole seconds from now; `None` if an operator has switched all of
    /// them off, so that there is no time to tell.
    pub(crate) fn earliest(&self, indexers: &[Arc<Indexer>], class: Class) -> Option<u64> {
        let engine = &self.model.engine;
        let waits = indexers.iter().filter_map(|indexer| {
            let (wait, why) = engine.next_wait(indexer.upstream, class, Budget::Query);
            (why != Some(Wait::Off)).then_some(wait)
        });
        let wait = waits.min()?;
        // Never 0, which programs take for *at once*, and never more than a day, however long it is disabled.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Some(seconds.clamp(1, 24 * 60 * 60))
    }

    /// Lets go of what is old, from time to time.
    pub(crate) async fn sweep(&self) {
        let mut tick = tokio::time::interval(SWEEP);
        // After a machine has slept, once is enough.
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.lifetime.closing() => return,
                _ = tick.tick() => {}
            }
            let (model, rules) = (&self.model, self.model.rules.load());
            self.sessions.sweep(rules.session);
            let oldest = model.wall().saturating_sub(rules.lives.stale);
            model.cache.forget_before(oldest);
            model.history.trim(rules.history);
        }
    }
}
