//! The search front's model: its indexers, what is known, and the questions under way.

use std::cell::LazyCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Class, UpstreamId};
use weir_engine::{Engine, Flights, Outward, Restored, Rows};
use weir_search_proto::Protocol;
use weir_store::sqlite::File;

use crate::cache::Cache;
use crate::call::{CapsAnswer, FileAnswer, Office};
use crate::config::{Config, indexer};
use crate::history::History;
use crate::indexer::{Indexer, Known, Roster};
use crate::links::Links;
use crate::merge::List;
use crate::outbound::{Bounds, Outbound};
use crate::part::{Answer, Digest, PartKey};
use crate::policy;
use crate::program::{PROGRAMS, Programs};
use crate::search::{Search, SearchId};
use crate::session::Sessions;
use crate::throttle::Throttle;
use crate::words::seconds;

/// How often old things are let go of.
const SWEEP: Duration = Duration::from_secs(60);

/// Where the search front keeps what it knows.
pub struct Storage {
    /// `state.db`: history, the key of links, the numbers of indexers.
    pub state: File,
    /// Where `search.db` is, the cache; without it, or when it cannot be used, answers are kept in memory alone.
    pub cache: Option<PathBuf>,
}

/// Why there is no search front.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not to be had.
    #[error("the search front cannot use its file: {0}")]
    Store(#[from] weir_store::Error),
    /// There is no way out to indexers.
    #[error("cannot call indexers: {0}")]
    Net(#[from] weir_net::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// Time that a search under way still has when Weir stops.
const LEAVE: Duration = Duration::from_secs(2);

/// The model.
pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) config: ArcSwap<Config>,
    pub(crate) roster: ArcSwap<Roster>,
    pub(crate) office: Arc<Office>,
    pub(crate) parts: Flights<PartKey, Answer>,
    pub(crate) caps: Flights<UpstreamId, CapsAnswer>,
    pub(crate) files: Flights<(UpstreamId, Digest), FileAnswer>,
    pub(crate) programs: Programs,
    pub(crate) sessions: Sessions,
    pub(crate) searches: Searches,
    pub(crate) history: History,
    pub(crate) links: Links,
    pub(crate) downloads: Throttle,
    pub(crate) counts: Counts,
    pub(crate) tasks: TaskTracker,
    /// Weir is to stop: whoever waits for a search gets what there is.
    pub(crate) leaving: CancellationToken,
    pub(crate) closing: CancellationToken,
    rows: Option<Arc<Rows>>,
}

/// How often the cache had an answer.
#[derive(Default)]
pub(crate) struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Counts {
    pub(crate) fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Hits and misses.
    pub(crate) fn read(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.hits), read(&self.misses))
    }
}

/// Searches that people look at, newest last.
#[derive(Default)]
pub(crate) struct Searches(Mutex<std::collections::VecDeque<Arc<Search>>>);

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

impl Desk {
    pub(crate) fn start(
        config: &Config,
        outward: Outward,
        files: Storage,
    ) -> Result<Arc<Self>, Error> {
        let Outward {
            engine,
            rows,
            restored,
            ground,
        } = outward;
        let Storage { state, cache } = files;
        let bounds = Bounds {
            private: config.allow_private_upstreams,
            private_links: config.allow_private_links,
            answer_limit: config.answer_bytes.len(),
            file_limit: config.file_bytes.len(),
        };
        let sizes = &config.cache;
        let cache = Cache::open(
            cache,
            sizes.size.bytes(),
            sizes.memory.len(),
            config.answer_bytes.len(),
        );
        let office = Arc::new(Office {
            outbound: Outbound::new(ground, bounds)?,
            cache,
            timeline: engine.timeline(),
        });
        let history = History::open(state)?;
        let max_age = longest_call(config);
        let desk = Arc::new(Self {
            parts: Flights::new(engine.clone(), max_age),
            caps: Flights::new(engine.clone(), max_age),
            files: Flights::new(engine.clone(), max_age),
            links: Links::new(&history.link_key()?),
            config: ArcSwap::from_pointee(config.clone()),
            roster: ArcSwap::default(),
            office,
            programs: Programs::heard_before(history.heard(PROGRAMS)?),
            sessions: Sessions::default(),
            searches: Searches::default(),
            history,
            downloads: Throttle::default(),
            counts: Counts::default(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            closing: CancellationToken::new(),
            rows,
            engine,
        });
        desk.set(config, &desk.numbers(config)?, Some(&restored));
        let vital = desk.engine.vitals().add("search", "sweeper");
        let sweep = vital.drive(desk.clone(), |desk| Box::pin(desk.sweep()));
        desk.tasks.spawn(sweep);
        Ok(desk)
    }

    /// The numbers of a configuration's indexers; new ones are given and kept.
    pub(crate) fn numbers(&self, config: &Config) -> Result<Vec<u32>, Error> {
        let all = config.indexers.iter();
        let all = all.map(|entry| self.history.number(&entry.name));
        Ok(all.collect::<Result<_, _>>()?)
    }

    /// Takes other settings over. Indexers that stay keep their state.
    pub(crate) fn reload(&self, config: &Config, numbers: &[u32]) {
        self.set(config, numbers, None);
        self.config.store(Arc::new(config.clone()));
        let workers = policy::workers(config);
        self.engine.set_crew(workers, workers);
        let max_age = longest_call(config);
        self.parts.set_max_age(max_age);
        self.caps.set_max_age(max_age);
        self.files.set_max_age(max_age);
    }

    /// The operator has looked at the configuration: what the names of indexers lead to now is right.
    pub(crate) fn look_up_anew(&self) {
        for indexer in &self.roster.load().all {
            indexer.endpoint.look_up_anew();
        }
    }

    /// `restored` is there at the start.
    fn set(&self, config: &Config, numbers: &[u32], restored: Option<&Restored>) {
        let (before, now) = (self.roster.load_full(), self.engine.timeline().now());
        // One that leads elsewhere begins anew, or calls to the old address would count against it.
        let stays = |entry: &indexer::Indexer| {
            let same = before.named(&entry.name);
            same.filter(|same| same.config.leads_where(entry))
        };
        for gone in &before.all {
            let mut entries = config.indexers.iter();
            if !entries.any(|entry| stays(entry).is_some_and(|same| Arc::ptr_eq(same, gone))) {
                self.engine.remove_upstream(gone.upstream);
            }
        }
        let rows = self.rows.as_ref();
        let kept = LazyCell::new(|| rows.map(|rows| rows.kept()).unwrap_or_default());
        let mut all = Vec::new();
        for (entry, &number) in config.indexers.iter().zip(numbers) {
            let quota = policy::quota(config, entry, now);
            if let Some(same) = stays(entry) {
                self.engine.set_quota(same.upstream, quota);
                self.engine.set_time_out(same.upstream, entry.timeout);
                all.push(match same.config == *entry {
                    true => same.clone(),
                    false => Arc::new(Indexer {
                        calls: same.calls.clone(),
                        ..self.indexer(entry, number, same.upstream, same.known.load_full())
                    }),
                });
                continue;
            }
            let upstream = self.engine.add_upstream(&entry.name, quota, entry.timeout);
            let indexer = self.indexer(entry, number, upstream, None);
            let kept = match restored {
                Some(restored) => restored.upstreams.get(entry.name.as_str()),
                None => kept.get(entry.name.as_str()),
            };
            if let Some(kept) = kept {
                // It was called before, nobody knows how often.
                indexer.calls.lock().since = now;
                self.engine.restore(upstream, &kept.row, kept.off.clone());
                if before.named(&entry.name).is_some() {
                    // What kept it from answering may be just what was changed.
                    self.engine.clear(upstream);
                }
            }
            all.push(Arc::new(indexer));
        }
        self.roster.store(Arc::new(Roster { all }));
        if let Some(rows) = &self.rows {
            let names: Vec<&str> = config
                .indexers
                .iter()
                .map(|entry| entry.name.as_str())
                .collect();
            rows.settle(&self.engine, &names);
        }
    }

    fn indexer(
        &self,
        entry: &indexer::Indexer,
        number: u32,
        upstream: UpstreamId,
        known: Option<Arc<Known>>,
    ) -> Indexer {
        let indexer = Indexer::new(entry.clone(), number, upstream, known);
        if indexer.known.load().is_none()
            && let Some((caps, at)) = self.office.cache.caps(&entry.name, &indexer.source)
        {
            indexer.known.store(Some(Arc::new(Known::new(caps, at))));
        }
        indexer
    }

    /// Those of a protocol, in the order of the configuration.
    pub(crate) fn all_of(&self, protocol: Protocol) -> Vec<Arc<Indexer>> {
        let roster = self.roster.load();
        let all = roster.all.iter();
        all.filter(|indexer| indexer.protocol() == protocol)
            .cloned()
            .collect()
    }

    /// All releases of a search that are there now.
    pub(crate) fn list(&self, search: &Search) -> Arc<List> {
        search.list(|indexer| self.is_healthy(indexer))
    }

    /// Waits until an asker is told what there is: everybody has answered, it is late, or Weir stops.
    pub(crate) async fn told_by(&self, search: &Search) {
        let leave = async {
            self.leaving.cancelled().await;
            tokio::time::sleep(LEAVE).await;
        };
        tokio::select! {
            () = search.settled(search.deadline()) => {}
            () = leave => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// Whether an indexer could be asked for a file now.
    pub(crate) fn is_healthy(&self, indexer: &Indexer) -> bool {
        self.wait_for_files(indexer).is_none()
    }

    /// How long the next download has to wait, if it does.
    pub(crate) fn wait_for_files(&self, indexer: &Indexer) -> Option<Duration> {
        let next = self
            .engine
            .next_wait(indexer.upstream, policy::INTERACTIVE, Budget::Grab);
        let (wait, why) = next;
        let now = self.engine.timeline().now();
        let allowed = now.until(indexer.calls.lock().no_files_before);
        let wait = why.map_or(allowed, |_| wait.max(allowed));
        (!wait.is_zero()).then_some(wait)
    }

    /// The earliest that any of these can be asked, in whole seconds from now.
    pub(crate) fn earliest(&self, indexers: &[Arc<Indexer>], class: Class) -> u64 {
        let waits = indexers.iter().map(|indexer| {
            let (wait, _) = self
                .engine
                .next_wait(indexer.upstream, class, Budget::Query);
            wait
        });
        let wait = waits.min().unwrap_or_default();
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        seconds.clamp(1, 24 * 60 * 60)
    }

    pub(crate) fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        match getrandom::fill(&mut bytes) {
            Ok(()) => u64::from_le_bytes(bytes),
            // A machine without random numbers does not start; this is for the compiler.
            Err(_) => self.engine.timeline().now().0,
        }
    }

    async fn sweep(&self) {
        let mut tick = tokio::time::interval(SWEEP);
        // After a machine has slept, once is enough.
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return,
                _ = tick.tick() => {}
            }
            let config = self.config.load();
            self.sessions.sweep(config.session);
            self.downloads.sweep();
            let stale = seconds(config.cache.stale);
            let now = self.office.wall();
            self.office.cache.forget_before(now.saturating_sub(stale));
            self.history.trim(config.history.get());
        }
    }

    /// Ends everything within `drain`.
    pub(crate) async fn stop(&self, drain: Duration) {
        self.leaving.cancel();
        self.engine.shutdown(drain).await;
        self.closing.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(drain.max(Duration::from_secs(1)), self.tasks.wait()).await;
    }
}

/// No call takes longer.
fn longest_call(config: &Config) -> Duration {
    let longest = config.indexers.iter().map(|indexer| indexer.timeout).max();
    longest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use weir_search_proto::{Function, Query};

    use super::*;
    use crate::merge::tests::{part, release};
    use crate::search::{How, Question, State};

    fn answered(id: u64) -> Arc<Search> {
        let answer = part(1, vec![release("a", 1, None)]);
        let question = Question {
            query: Query::new(Function::Search),
            scope: vec![answer.indexer],
            class: policy::INTERACTIVE,
            max_wait: None,
            no_cache: false,
            program: Programs::default().heard("a test", weir_engine::dispatch::Moment(0)),
            address: String::new(),
            deadline: Duration::from_secs(15),
        };
        let moment = weir_engine::dispatch::Moment(0);
        let (search, _) = Search::new(SearchId(id), question, moment);
        let (part, how) = (answer.part, How::Asked);
        search.set(0, State::Answered { part, how });
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
        search.set(0, State::Nothing("a test"));
        let second = search.list(|_| true);
        assert_eq!((first.releases.len(), second.releases.len()), (1, 0));
    }
}
