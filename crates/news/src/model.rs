//! What the front knows of newsgroups, threads and articles, and how it learns more. Pages, the API and the NNTP server ask
//! it in domain words.
//!
//! The parts: `catalogue` (which newsgroups there are), `newsgroup` (one that is read), `bring` (whom to ask what),
//! `threads` and `articles` (what readers get), `keeping` (what is written down).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::time::Instant;
use weir_engine::dispatch::{Asker, Class, Moment, UpstreamId};
use weir_engine::{Engine, Lifetime, Outward, Recent};
use weir_net::Roots;
use weir_news_proto::{MessageId, Newsgroup};

use crate::agree::Agreement;
use crate::articles::{ArticleRead, Articles};
use crate::bring::Wish;
use crate::call::AskNewsgroups;
use crate::catalogue::{Catalogue, MergedList, Ranked};
use crate::config::Config;
use crate::errand::{Errand, Errands};
use crate::error::Error;
use crate::federation::Federation;
use crate::newest::{DatedList, NewsgroupStats};
use crate::newsgroup::OpenNewsgroup;
use crate::numbered::ToldMarks;
use crate::numbers::ServerId;
use crate::policy::{HIGH, NORMAL};
use crate::posting::NotPosted;
use crate::posting::outbox::Outbox;
use crate::reading::{
    NewsgroupList, NewsgroupRow, Posting, ReadArticle, SilentServer, ThreadView, Unread,
};
use crate::rules::{ReadingRules, split};
use crate::server::Server;
use crate::silence::{COME_BACK, late, seconds};
use crate::store::{NewsFile, TextIndex};

/// An errand of several calls is not joined any more after this time; each call of it has its own.
const ERRAND: Duration = Duration::from_secs(120);

/// The same for an article that is posted, which must never be sent by two at once: longer than all servers take together.
const POST: Duration = Duration::from_secs(3600);

/// After the first server has sent its newsgroups, the others have this much time to be on the same page.
const GRACE: Duration = Duration::from_secs(2);

/// Time that tasks have to end at least, however short the drain is.
const LAST: Duration = Duration::from_secs(1);

/// Bytes for the dates of newest articles; some thousand newsgroups.
const STATS: usize = 1 << 20;

/// Parts of the memory for caches: open newsgroups have half of it, articles and pages of threads a quarter each.
const PARTS: usize = 4;

/// What our own server calls itself unless somebody says otherwise.
const HOST: &str = "weir.invalid";

/// What is known, and the way to learn more.
pub struct Model {
    pub(crate) me: Weak<Self>,
    pub(crate) engine: Engine,
    pub(crate) federation: Arc<Federation>,
    /// Replaced as a whole by a reload.
    pub(crate) rules: ArcSwap<ReadingRules>,
    pub(crate) catalogue: Catalogue,
    open: Mutex<Recent<Newsgroup, Arc<OpenNewsgroup>>>,
    /// All that somebody still works on, in memory or just out of it: there is never a second one of the same name, which
    /// would give the same numbers to other articles.
    live: Mutex<HashMap<Newsgroup, Weak<OpenNewsgroup>>>,
    /// Bytes for all caches, as read at start.
    memory: usize,
    pub(crate) articles: Articles,
    pub(crate) thread_views: Mutex<Recent<ThreadKey, Arc<ThreadView>>>,
    pub(crate) errands: Errands<(Wish, Class), ()>,
    pub(crate) article_errands: Errands<(MessageId, Class), ArticleRead>,
    pub(crate) post_errands: Errands<MessageId, Result<(), NotPosted>>,
    /// What was posted here.
    pub(crate) outbox: Outbox,
    pub(crate) lifetime: Lifetime,
    /// How often readers were served from memory or the store, and how often a server had to be asked.
    hits: AtomicU64,
    misses: AtomicU64,
    pub(crate) file: NewsFile,
    /// The full text of what is in it, if that is wanted.
    pub(crate) index: Option<TextIndex>,
    pub(crate) stats: Mutex<Recent<Newsgroup, NewsgroupStats>>,
    /// Changes whenever they do.
    pub(crate) stats_version: AtomicU64,
    pub(crate) dated: Mutex<Option<DatedList>>,
    pub(crate) told: ToldMarks,
    /// Other nodes with whom it agrees on article numbers.
    pub(crate) agreement: Option<Agreement>,
    /// Tells of newsgroups with something new in them.
    pub(crate) announcer: weir_web::Announcer,
    /// What our own server calls itself.
    pub(crate) host: ArcSwap<String>,
}

/// A page of a thread, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadKey {
    pub(crate) newsgroup: Newsgroup,
    pub(crate) root: MessageId,
    pub(crate) version: u64,
    pub(crate) page: usize,
    /// When it was checked, in steps of some minutes.
    pub(crate) checked: i64,
    pub(crate) silent: Vec<Arc<str>>,
    pub(crate) busy: bool,
}

/// Which page of a thread is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadPlace {
    /// This one, counted from 0.
    Page(usize),
    /// The one with this article.
    Article(MessageId),
    /// The one with the newest article.
    Newest,
}

impl Model {
    /// Begins with the configured servers; `file` is where `news.db` is, or shall be. What is posted is remembered in
    /// memory alone.
    ///
    /// # Errors
    /// When the way out is not to be had.
    pub fn start(
        config: &Config,
        outward: Outward,
        roots: &Roots,
        file: Option<PathBuf>,
    ) -> Result<Arc<Self>, Error> {
        Self::start_with(config, outward, roots, file, Outbox::open(None)?)
    }

    /// The same with what was posted before.
    pub(crate) fn start_with(
        config: &Config,
        outward: Outward,
        roots: &Roots,
        file: Option<PathBuf>,
        outbox: Outbox,
    ) -> Result<Arc<Self>, Error> {
        let engine = outward.engine.clone();
        let agreement = outward.node.clone().map(Agreement::new);
        let federation = Federation::start(config, outward, roots)?;
        let (start, _, rules) = split(config);
        let (path, file) = (file.clone(), NewsFile::open(file, start.disk));
        let index = path.and_then(|path| TextIndex::open(&file, &path, start.index));
        let (lifetime, memory) = (Lifetime::default(), start.memory / PARTS);
        let model = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            engine,
            federation,
            rules: ArcSwap::from_pointee(rules),
            catalogue: Catalogue::default(),
            open: Mutex::new(Recent::new(memory * 2)),
            live: Mutex::default(),
            memory: start.memory,
            articles: Articles::new(memory),
            thread_views: Mutex::new(Recent::new(memory)),
            errands: Errands::new(lifetime.clone(), ERRAND),
            article_errands: Errands::new(lifetime.clone(), ERRAND),
            post_errands: Errands::new(lifetime.clone(), POST),
            outbox,
            lifetime,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            file,
            index,
            stats: Mutex::new(Recent::new(STATS)),
            stats_version: AtomicU64::new(0),
            dated: Mutex::default(),
            told: ToldMarks::new(agreement.is_some()),
            agreement,
            announcer: weir_web::Announcer::of_news(),
            host: ArcSwap::from_pointee(HOST.to_owned()),
        });
        model.recall_lists();
        model.recall_marks();
        model.keep_sweeping();
        model.resume_posts();
        model.keep_indexing();
        model.keep_agreeing();
        Ok(model)
    }

    /// Whether something is being brought, for whomever.
    #[cfg(test)]
    pub(crate) fn is_running(&self) -> bool {
        let errands = self.errands.running() + self.post_errands.running();
        errands + self.article_errands.running() > 0
    }

    /// Takes other settings over.
    pub fn apply(&self, config: &Config) {
        let (_, servers, rules) = split(config);
        self.federation.apply(&servers);
        self.rules.store(Arc::new(rules));
        self.forget_servers();
        // Newsgroups of servers that are gone go as well.
        let me = self.me.clone();
        self.lifetime.spawn(async move {
            if let Some(model) = me.upgrade() {
                model.merge_newsgroups().await;
            }
        });
    }

    /// Ends its errands, its calls and its connections.
    pub async fn stop(&self, drain: Duration) {
        self.lifetime.leave();
        self.federation.stop(drain).await;
        self.lifetime.close(drain.max(LAST)).await;
    }

    /// Writes what is not yet written. Blocks.
    pub fn close(&self) {
        // What readers got who were sent away while Weir stopped was noted after the engine had ended.
        self.engine.hand_over();
        self.file.close();
        self.index.iter().for_each(TextIndex::close);
    }

    /// The newsgroups of all servers.
    ///
    /// # Errors
    /// Why there is no list.
    pub async fn newsgroups(&self, asker: Asker) -> Result<Arc<NewsgroupList>, Unread> {
        let merged = self.listed(asker).await?;
        Ok(self.dated(&merged))
    }

    /// An article.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn article(&self, id: &MessageId, asker: Asker) -> Result<Arc<ReadArticle>, Unread> {
        if self.federation.servers.all().is_empty() && self.at_hand(id).is_none() {
            return Err(Unread::NoServers);
        }
        let found = self
            .in_time(self.find_article(id, HIGH, asker), self.deadline())
            .await;
        Ok(found.unwrap_or_else(|| Err(self.not_in_time(id)))?)
    }

    /// All newsgroups: as they are known, if that is new enough, else as the servers say now.
    pub(crate) async fn listed(&self, asker: Asker) -> Result<Arc<MergedList>, Unread> {
        self.first_lists().await;
        let known = self.catalogue.merged();
        if let Some((merged, _)) = &known
            && !self.list_is_old()
        {
            self.count_hit();
            return Ok(merged.clone());
        }
        if self.federation.servers.all().is_empty() {
            return known.map(|(merged, _)| merged).ok_or(Unread::NoServers);
        }
        self.count_miss();
        self.wait_for_list(self.send_for_list(asker)).await;
        let merged = self.catalogue.merged();
        merged.map(|(merged, _)| merged).ok_or_else(|| {
            let mut silents = self.catalogue.silents();
            let late = self.late(&self.federation.under_way(&AskNewsgroups));
            silents.extend(late);
            Unread::Unreachable(silents)
        })
    }

    fn list_is_old(&self) -> bool {
        let checked = self.catalogue.merged().and_then(|(_, at)| at);
        let age = checked.map(|at| at.until(self.now().0));
        age.is_none_or(|age| age >= self.rules.load().cache.groups)
    }

    /// Sends for the lists of all servers.
    fn send_for_list(&self, asker: Asker) -> Errand<()> {
        let me = self.me.clone();
        let wish = (Wish::Newsgroups, NORMAL);
        self.errands.join(wish, || async move {
            if let Some(model) = me.upgrade() {
                model.list_newsgroups(NORMAL, asker).await;
            }
        })
    }

    /// Waits until all servers have sent their lists, or some time after the first has, or until the deadline.
    async fn wait_for_list(&self, errand: Errand<()>) {
        let began = self.now().0;
        let checked = || self.catalogue.merged().and_then(|(_, at)| at);
        let first = self.until_listed(|| checked().is_some_and(|at| at >= began));
        let some = async {
            first.await;
            tokio::time::sleep(GRACE).await;
        };
        let deadline = self.rules.load().deadline;
        tokio::select! {
            _ = errand.done() => {}
            () = some => {}
            () = tokio::time::sleep(deadline) => {}
            () = self.lifetime.left() => {}
        }
    }

    /// Waits while some servers have sent their lists and others are still to send their first, some time at most: what
    /// only they carry would seem not to exist, and a page of what another has would seem to be whole.
    async fn first_lists(&self) {
        let left = || {
            let waited = self.catalogue.partial_since()?.until(self.now().0);
            GRACE.checked_sub(waited)
        };
        let Some(time) = left() else { return };
        let until = Instant::now() + time;
        self.in_time(self.until_listed(|| left().is_none()), until)
            .await;
    }

    /// Waits until lists have come that make this true.
    async fn until_listed(&self, is_so: impl Fn() -> bool) {
        loop {
            let changed = self.catalogue.changed();
            tokio::pin!(changed);
            // Whatever comes between the look and the wait is not missed.
            changed.as_mut().enable();
            if is_so() {
                return;
            }
            changed.await;
        }
    }

    /// Makes one list of what servers have sent.
    pub(crate) async fn merge_newsgroups(&self) {
        let Some(model) = self.me.upgrade() else {
            return;
        };
        let ranked = self.ranked();
        let merge = move |model: &Self| {
            if let Some(merged) = model.catalogue.merge(&ranked) {
                model.note_first_seen(&merged);
            }
        };
        if self.catalogue.bytes() < weir_net::LONG {
            merge(self);
        } else {
            weir_net::aside(move || merge(&model)).await;
        }
    }

    /// The servers by priority, with their numbers.
    pub(crate) fn ranked(&self) -> Vec<Ranked> {
        let servers = self.federation.in_order().into_iter();
        let ranked = servers.map(|server| Ranked {
            server: self.server_id(&server),
            name: Arc::from(server.name()),
        });
        ranked.collect()
    }

    /// What the list says of a newsgroup. Reading does not wait for a list that is only old, nor long for one that has
    /// never come: whoever knows the name may read without it. But as long as a server may still say for the first time
    /// that it carries the newsgroup, it is waited for: the page of another one would look whole, and numbers would be
    /// given without it. One that is stored can be read although no server lists it any more.
    pub(crate) async fn row(&self, name: &Newsgroup, asker: Asker) -> Result<NewsgroupRow, Unread> {
        self.first_lists().await;
        if let Some((merged, _)) = self.catalogue.merged()
            && let Some((row, _)) = merged.find(name)
        {
            if self.list_is_old() {
                drop(self.send_for_list(asker));
            }
            return Ok(row.clone());
        }
        let until = Instant::now() + self.rules.load().deadline / 3;
        let listed = self.in_time(self.listed(asker), until).await;
        let listed = listed.unwrap_or(Err(Unread::Unreachable(Vec::new())));
        match listed {
            Ok(merged) => match merged.find(name) {
                Some((row, _)) => Ok(row.clone()),
                None if self.is_known(name).await => Ok(unlisted(name)),
                None => Err(Unread::NoNewsgroup {
                    near: near(name, &merged.list),
                }),
            },
            Err(Unread::NoServers) if !self.is_known(name).await => Err(Unread::NoServers),
            Err(_) => Ok(unlisted(name)),
        }
    }

    /// A newsgroup, if it is in memory.
    pub(crate) fn held(&self, name: &Newsgroup) -> Option<Arc<OpenNewsgroup>> {
        self.open.lock().get(name)
    }

    /// The same by the deadline of whoever asks.
    pub(crate) async fn open_in_time(
        &self,
        name: &Newsgroup,
        until: Instant,
    ) -> Result<Arc<OpenNewsgroup>, Unread> {
        let open = self.in_time(self.open(name), until).await;
        // No server is asked for this: our own disk is slow, or Weir stops.
        let retry_after = COME_BACK.as_secs();
        open.ok_or(Unread::Busy { retry_after })
    }

    /// A newsgroup in memory.
    pub(crate) async fn open(&self, name: &Newsgroup) -> Arc<OpenNewsgroup> {
        if let Some(open) = self.held(name) {
            return open;
        }
        if self.alive(name).is_none() {
            let recalled = Arc::new(self.recall(name).await);
            let mut live = self.live.lock();
            // Somebody else may have been faster.
            if live.get(name).and_then(Weak::upgrade).is_none() {
                live.retain(|_, open| open.strong_count() > 0);
                live.insert(name.clone(), Arc::downgrade(&recalled));
                drop(live);
                let held = self.hold(recalled);
                for post in self.outbox.shown_in(name) {
                    self.show_own(&post, &held);
                }
                return held;
            }
        }
        match self.alive(name) {
            Some(open) => self.hold(open),
            // Gone in this very moment; the file has all of it.
            None => Box::pin(self.open(name)).await,
        }
    }

    /// A newsgroup that left the memory while somebody still works on it.
    pub(crate) fn alive(&self, name: &Newsgroup) -> Option<Arc<OpenNewsgroup>> {
        self.live.lock().get(name)?.upgrade()
    }

    /// The names of all newsgroups that are in memory.
    pub(crate) fn alive_names(&self) -> Vec<Newsgroup> {
        let live = self.live.lock();
        let held = live.iter().filter(|(_, open)| open.strong_count() > 0);
        held.map(|(name, _)| name.clone()).collect()
    }

    fn hold(&self, open: Arc<OpenNewsgroup>) -> Arc<OpenNewsgroup> {
        let weight = open.with(|state| state.bytes()) + NEWSGROUP;
        self.open
            .lock()
            .put(open.name.clone(), open.clone(), weight);
        open
    }

    /// Takes servers that are no longer configured out of all open newsgroups.
    fn forget_servers(&self) {
        let ranked = self.ranked();
        let live: Vec<_> = self
            .live
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        for open in live {
            open.with(|state| {
                state
                    .servers
                    .retain(|server, _| ranked.iter().any(|one| one.server == *server));
                state.pages.clear();
            });
        }
    }

    /// Lets a newsgroup leave the memory.
    #[cfg(test)]
    pub(crate) fn forget(&self, name: &Newsgroup) {
        self.open.lock().remove(name);
    }

    /// Whether anything is known of a newsgroup that no server lists.
    async fn is_known(&self, name: &Newsgroup) -> bool {
        match self.held(name) {
            Some(open) => open.with(|state| state.table.articles() > 0),
            None => {
                let kept = self
                    .in_time(self.file.newsgroup(name), self.deadline())
                    .await;
                kept.flatten().is_some_and(|kept| kept.lines > 0)
            }
        }
    }

    /// Lines of one newsgroup that are held.
    pub(crate) fn most_lines(&self) -> usize {
        self.memory / PARTS / LINE
    }

    /// A newsgroup has grown: others may have to leave the memory for it.
    pub(crate) fn weigh(&self, open: &OpenNewsgroup) {
        let most = self.most_lines();
        let weight = open.with(|state| {
            state.trim(most);
            state.bytes()
        });
        let weight = weight + NEWSGROUP;
        let mut all = self.open.lock();
        if let Some(held) = all.get(&open.name) {
            all.put(open.name.clone(), held, weight);
        }
    }

    /// What comes of something by this time, or until Weir stops.
    pub(crate) async fn in_time<T>(
        &self,
        work: impl Future<Output = T>,
        until: Instant,
    ) -> Option<T> {
        tokio::select! {
            done = tokio::time::timeout_at(until, work) => done.ok(),
            () = self.lifetime.left() => None,
        }
    }

    /// What is said of servers that did not answer by the deadline.
    pub(crate) fn late(&self, servers: &[Arc<Server>]) -> Vec<SilentServer> {
        let waited = self.rules.load().deadline;
        servers.iter().map(|server| late(server, waited)).collect()
    }

    /// When whoever asks now is to have an answer.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.rules.load().deadline
    }

    /// Now, as a moment and in Unix seconds.
    pub(crate) fn now(&self) -> (Moment, i64) {
        let now = self.engine.timeline().now();
        (now, seconds(&self.engine, now))
    }

    /// The number of a server, by what its article numbers belong to.
    pub(crate) fn server_id(&self, server: &Server) -> ServerId {
        self.file.server(&server.place())
    }

    /// A reader was served from memory or the store.
    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.engine.count_from_memory(1);
    }

    /// A server has to be asked for a reader.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// How many newsgroups a server carries, once it has said so.
    pub(crate) fn carries(&self, server: UpstreamId) -> Option<u64> {
        let server = self.federation.servers.find(server)?;
        let (merged, _) = self.catalogue.merged()?;
        Some(merged.carried_by(self.server_id(&server)) as u64)
    }

    /// Hits and misses.
    pub(crate) fn cache_counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.hits), read(&self.misses))
    }
}

/// What a line of an overview takes in memory, at most; a newsgroup has no more lines than fit into a quarter of it.
const LINE: usize = 300;

/// What an open newsgroup takes beside its table.
const NEWSGROUP: usize = 4096;

/// A newsgroup of which no list says anything.
fn unlisted(name: &Newsgroup) -> NewsgroupRow {
    NewsgroupRow {
        name: name.clone(),
        description: String::new(),
        articles: 0,
        posting: Posting::Closed,
        servers: Vec::new(),
        newest: None,
        high: 0,
    }
}

/// Names that begin like this one, for those who mistyped the rest.
fn near(name: &Newsgroup, list: &NewsgroupList) -> Vec<String> {
    let start = name.as_str().split('.').next().unwrap_or_default();
    let rows = &list.newsgroups;
    let first = rows.partition_point(|row| row.name.as_str() < start);
    let alike = rows[first..].iter().map(|row| row.name.as_str());
    let alike = alike.take_while(|other| other.starts_with(start));
    alike.take(NEAR).map(str::to_owned).collect()
}

/// Names that are compared with one that nobody has.
const NEAR: usize = 500;
