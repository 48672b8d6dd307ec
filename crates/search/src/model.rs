//! What the front knows: its indexers, what they answered, who asked for what. Calls and clients add to it; the fan-out,
//! feeds, pages and API read it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use weir_engine::dispatch::Moment;
use weir_engine::{Engine, Outward, Roster};
use weir_search_proto::Protocol;
use weir_store::sqlite::File;
use weir_web::Announcer;

use crate::cache::Cache;
use crate::config::Config;
use crate::error::Error;
use crate::history::History;
use crate::indexer::{Abilities, Indexer};
use crate::links::Links;
use crate::nodes::{IndexerNumber, NumberBook, Together, number_row};
use crate::outbound::Outbound;
use crate::policy::{self, IndexerRules};
use crate::program::{PROGRAMS, Programs};
use crate::rules::{SearchRules, split};
use crate::words::unix;

/// Where the search front keeps what it knows.
pub struct Storage {
    /// `state.db`: history, the key of links, the numbers of indexers.
    pub state: File,
    /// Where `search.db` is, the cache; without it, or when it cannot be used, answers are kept in memory alone.
    pub cache: Option<PathBuf>,
}

/// What is known, and the way to learn more.
pub(crate) struct Model {
    pub(crate) engine: Engine,
    /// Replaced as a whole by a reload.
    pub(crate) rules: ArcSwap<SearchRules>,
    /// Bytes of sessions, and of kept searches, each; of the cache as well, which was told.
    pub(crate) memory: usize,
    pub(crate) indexers: Roster<Indexer>,
    pub(crate) outbound: Outbound,
    pub(crate) cache: Cache,
    pub(crate) history: History,
    pub(crate) programs: Programs,
    pub(crate) links: Arc<Links>,
    /// What is held together with other nodes, if there are several.
    pub(crate) together: Option<Together>,
    /// The numbers on which they agree.
    shared_numbers: Arc<NumberBook>,
    /// Tells of searches that begin and end.
    pub(crate) announcer: Announcer,
    /// Other nodes may want what is answered here.
    pub(crate) is_shared: bool,
}

/// The numbers of a configuration's indexers by their names. Giving new ones may fail, so they are had before anything
/// else is changed.
pub(crate) type Numbers = HashMap<String, IndexerNumber>;

impl Model {
    pub(crate) fn open(
        config: &Config,
        mut outward: Outward,
        files: Storage,
    ) -> Result<Self, Error> {
        let indexers = Roster::new(&mut outward);
        let (start, rules, searches) = split(config);
        let (bytes, answer) = (start.cache_bytes, start.bounds.answer_limit);
        let cache = Cache::open(files.cache, bytes, start.memory, answer);
        let history = History::open(files.state)?;
        let numbers = outward.engine.clone();
        let now = unix(outward.engine.timeline().now());
        let links = Arc::new(Links::new(history.link_keys(now)?));
        let shared_numbers = Arc::new(match &outward.node {
            Some(_) => history.shared_numbers()?,
            None => NumberBook::default(),
        });
        let node = outward.node.as_ref();
        let together =
            node.map(|node| Together::new(node, history.file(), &links, &shared_numbers));
        let model = Self {
            is_shared: outward.node.is_some(),
            engine: outward.engine,
            rules: ArcSwap::from_pointee(searches),
            memory: start.memory,
            indexers,
            outbound: Outbound::new(outward.ground, start.bounds)?,
            cache,
            links,
            together,
            shared_numbers,
            programs: Programs::heard_before(history.heard(PROGRAMS)?, move |name| {
                numbers.asker(name)
            }),
            history,
            announcer: Announcer::of_searches(),
        };
        let numbers = model.numbers(&rules)?;
        model.reconcile(&rules, &numbers);
        Ok(model)
    }

    /// The numbers of a configuration's indexers; new ones are given and kept.
    pub(crate) fn numbers(&self, rules: &IndexerRules) -> Result<Numbers, Error> {
        let all = rules.entries.iter();
        let all = all.map(|entry| Ok((entry.name.clone(), self.number(&entry.name)?)));
        all.collect()
    }

    fn number(&self, name: &str) -> Result<IndexerNumber, Error> {
        let Some(together) = &self.together else {
            return Ok(self.history.number(name)?.into());
        };
        let (number, new) = self.shared_numbers.number(name, self.wall());
        if let Some(new) = new {
            self.history.keep_number(name, new)?;
            together.numbers.tell(number_row(name, new));
        }
        Ok(number)
    }

    /// Takes other settings over. Indexers that stay keep their state.
    pub(crate) fn apply(&self, indexers: &IndexerRules, searches: SearchRules, numbers: &Numbers) {
        // First the indexers: a search that begins in between has at worst a new indexer under old settings.
        self.reconcile(indexers, numbers);
        let workers = searches.workers;
        self.rules.store(Arc::new(searches));
        self.engine.set_crew(workers, workers);
    }

    fn reconcile(&self, rules: &IndexerRules, numbers: &Numbers) {
        let now = self.now();
        self.indexers.reconcile(
            &rules.entries,
            |entry| (policy::quota(rules, entry, now), entry.timeout),
            |entry, joining| {
                let number = numbers.get(&entry.name).cloned();
                let number = number.expect("all of this configuration have been given one");
                let indexer = Indexer::join(entry.clone(), number, joining, now);
                if indexer.known.load().is_none()
                    && let Some((caps, at)) = self.cache.caps(&entry.name, &indexer.source)
                {
                    indexer
                        .known
                        .store(Some(Arc::new(Abilities::new(caps, at))));
                }
                indexer
            },
        );
        self.indexers.settle();
    }

    pub(crate) fn now(&self) -> Moment {
        self.engine.timeline().now()
    }

    /// The wall time in seconds since 1970.
    pub(crate) fn wall(&self) -> i64 {
        unix(self.now())
    }

    /// The indexers of a protocol, in the order of the configuration.
    pub(crate) fn all_of(&self, protocol: Protocol) -> Vec<Arc<Indexer>> {
        let all = self.indexers.all();
        let all = all.iter().filter(|one| one.protocol() == protocol);
        all.cloned().collect()
    }
}
