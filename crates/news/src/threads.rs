//! Lists of threads and single threads, as readers get them: what is known at once, else after the first server has
//! answered, and by the deadline at the latest.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use weir_engine::dispatch::{Asker, Class};
use weir_news_proto::{MessageId, Newsgroup, Xref};

use crate::articles::{ArticleRead, NotRead, STOPPING, TIMES};
use crate::bring::Wish;
use crate::errand::Errand;
use crate::lines::{Dates, SentLine};
use crate::model::{Model, ThreadKey, ThreadPlace};
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup};
use crate::policy::{HIGH, LOW, NORMAL};
use crate::reading::{
    Absence, Content, Message, NewsgroupRow, OutlineRow, ReadArticle, Rendered, ThreadPage,
    ThreadRow, ThreadView, Unread,
};
use crate::server::Server;
use crate::thread::{KnownThread, ThreadTree};

/// Pages beyond those that are known that can be asked for. Readers go back page by page; whoever does not makes servers send
/// what nobody reads.
const AHEAD: usize = 100;

/// Missing articles of a thread's page that are looked for by their IDs.
const GHOSTS: usize = 20;

impl Model {
    /// A page of a newsgroup's threads, counted from 0.
    ///
    /// # Errors
    /// Why there is nothing to read.
    pub async fn threads(
        &self,
        newsgroup: &Newsgroup,
        page: usize,
        asker: Asker,
    ) -> Result<Arc<ThreadPage>, Unread> {
        let until = self.deadline();
        let row = self.row(newsgroup, asker).await?;
        let open = self.open_in_time(newsgroup, until).await?;
        self.bring_up_to_date(&open, until, asker).await;
        if page >= known_pages(&open) + AHEAD {
            return Err(Unread::NoPage {
                pages: known_pages(&open),
            });
        }
        self.go_back(&open, page, until, asker).await;
        let seen = open.with(|state| self.thread_page(state, &row, page));
        let seen = seen.ok_or_else(|| nothing(&open, page))?;
        self.look_ahead(&open, page, asker);
        Ok(seen)
    }

    /// Makes sure that what is known of a newsgroup is new enough: waits if it is not, and if it soon will not be, has it
    /// brought up to date meanwhile.
    pub(crate) async fn bring_up_to_date(
        &self,
        open: &Arc<OpenNewsgroup>,
        until: Instant,
        asker: Asker,
    ) {
        let rules = self.rules.load();
        let checked = open.with(|state| state.checked.map(|(at, _)| at));
        let age = checked.map(|at| at.until(self.now().0));
        match age {
            Some(age) if age < rules.cache.threads => {
                self.count_hit();
                if age >= rules.refresh_after {
                    // Nobody waits for this one.
                    drop(self.look_for_new(open, LOW, asker));
                }
            }
            _ => {
                self.count_miss();
                let errand = self.look_for_new(open, NORMAL, asker);
                self.wait_for(open, errand, until).await;
            }
        }
    }

    /// Waits for what is fetched of a newsgroup. Servers that have not answered by the deadline are named on the page.
    async fn wait_for(&self, open: &OpenNewsgroup, errand: Errand<()>, until: Instant) {
        if self.in_time(errand.done(), until).await.is_none() {
            let mut servers = self.federation.in_order();
            servers.retain(|server| open.is_asked(self.server_id(server)));
            for (server, late) in servers.iter().zip(self.late(&servers)) {
                open.hear(self.server_id(server), Some(late));
            }
        }
    }

    /// Has a newsgroup looked at of which something new is known to be there.
    pub(crate) fn look_for_new_soon(&self, open: &Arc<OpenNewsgroup>, asker: Asker) {
        drop(self.look_for_new(open, LOW, asker));
    }

    /// Sends for what is new, and then for what the other servers have.
    fn look_for_new(&self, open: &Arc<OpenNewsgroup>, class: Class, asker: Asker) -> Errand<()> {
        let (open, me) = (open.clone(), self.me.clone());
        self.errands
            .join((Wish::New(open.name.clone()), class), move || async move {
                let Some(model) = me.upgrade() else { return };
                model.bring_new(&open, class, asker).await;
                let wish = (Wish::Others(open.name.clone()), LOW);
                drop(model.errands.join(wish, || async move {
                    if let Some(model) = me.upgrade() {
                        model.bring_others(&open, asker).await;
                    }
                }));
            })
    }

    /// Makes sure that a page's threads are known, as far as there are so many.
    async fn go_back(&self, open: &Arc<OpenNewsgroup>, page: usize, until: Instant, asker: Asker) {
        let wanted = (page + 1) * ThreadPage::SIZE;
        if !is_known(open, wanted) {
            let errand = self.look_for_older(open, wanted, NORMAL, asker);
            self.wait_for(open, errand, until).await;
        }
    }

    /// Has the next page fetched while this one is read.
    fn look_ahead(&self, open: &Arc<OpenNewsgroup>, page: usize, asker: Asker) {
        let wanted = (page + 2) * ThreadPage::SIZE;
        if !is_known(open, wanted) {
            drop(self.look_for_older(open, wanted, LOW, asker));
        }
    }

    fn look_for_older(
        &self,
        open: &Arc<OpenNewsgroup>,
        wanted: usize,
        class: Class,
        asker: Asker,
    ) -> Errand<()> {
        let (open, me) = (open.clone(), self.me.clone());
        let wish = Wish::Threads(open.name.clone(), wanted);
        self.errands.join((wish, class), move || async move {
            if let Some(model) = me.upgrade() {
                model.bring_threads(&open, wanted, class, asker).await;
            }
        })
    }

    /// A page as it was made before, or as it is now.
    fn thread_page(
        &self,
        state: &mut HeldNewsgroup,
        row: &NewsgroupRow,
        page: usize,
    ) -> Option<Arc<ThreadPage>> {
        let currency = state.currency();
        if let Some(made) = state.pages.get(&page) {
            // Nothing has changed since. When it was checked is told in steps, or every check would make all pages anew.
            let lag = currency.checked.unwrap_or(0) - made.currency.checked.unwrap_or(0);
            let step = self.rules.load().cache.threads.as_secs().cast_signed();
            let told =
                made.currency.silent == currency.silent && made.currency.busy == currency.busy;
            let told = told && made.complete == state.is_complete();
            if told && lag < step.max(1) && *row == made.newsgroup {
                return Some(made.clone());
            }
        }
        let known = state.table.thread_count();
        let (complete, has_more) = (state.is_complete(), state.has_more());
        let first = page * ThreadPage::SIZE;
        // An empty newsgroup has one page, which says so; a newsgroup that nobody could be asked about has none.
        let empty = known == 0 && page == 0 && state.checked.is_some();
        if first >= known && !empty {
            return None;
        }
        let threads = state.table.threads(first).take(ThreadPage::SIZE);
        let made = Arc::new(ThreadPage {
            newsgroup: row.clone(),
            threads: threads.map(thread_row).collect(),
            page,
            known,
            complete,
            has_more,
            currency,
            rendered: Rendered::default(),
        });
        if state.pages.len() >= MADE_PAGES {
            state.pages.clear();
        }
        state.pages.insert(page, made.clone());
        Some(made)
    }

    /// A page of the thread in which an article is.
    ///
    /// # Errors
    /// Why there is nothing to read.
    pub async fn thread(
        &self,
        newsgroup: &Newsgroup,
        root: &MessageId,
        place: ThreadPlace,
        asker: Asker,
    ) -> Result<Arc<ThreadView>, Unread> {
        let until = self.deadline();
        let row = self.row(newsgroup, asker).await?;
        let open = self.open_in_time(newsgroup, until).await?;
        self.bring_up_to_date(&open, until, asker).await;
        if !open.with(|state| state.table.thread(root).is_some()) {
            self.reach(&open, root, until, asker).await?;
        }
        let place = match place {
            ThreadPlace::Page(page) => page,
            ThreadPlace::Article(id) => page_of(&open, root, &id),
            ThreadPlace::Newest => {
                let last = |thread: KnownThread<'_>| id_of(thread.last().id());
                let newest = open.with(|state| state.table.thread(root).map(last));
                newest.map_or(0, |id| page_of(&open, root, &id))
            }
        };
        let key = |open: &OpenNewsgroup| self.thread_key(open, root, place);
        if let Some(made) = self.thread_views.lock().get(&key(&open)) {
            self.count_hit();
            return Ok(made);
        }
        let mut wanted = wanted_ids(&open, root, place).ok_or_else(|| nothing(&open, 0))?;
        if wanted.is_empty() {
            let pages = open.with(|state| state.table.tree(root).map_or(0, |tree| tree.pages()));
            return Err(Unread::NoPage { pages });
        }
        let mut found = self.find_all(&wanted, until, asker).await;
        // Missing ones that were found take their places.
        for (id, read) in wanted.iter().zip(&found) {
            if let Ok(read) = read {
                self.fill_ghost(&open, id, read);
            }
        }
        let late = new_ids(&open, root, place, &wanted);
        found.extend(self.find_all(&late, until, asker).await);
        wanted.extend(late);
        let view = open.with(|state| thread_view(state, &row, root, place, &wanted, &found));
        let view = Arc::new(view.ok_or_else(|| nothing(&open, 0))?);
        // One in which something is still to come is made again for the next reader.
        let lasts = |message: &Message| !matches!(message.content, Content::Unreachable(_));
        if view.messages.iter().all(lasts) {
            let key = key(&open);
            self.thread_views
                .lock()
                .put(key, view.clone(), weight(&view));
        }
        if place + 1 < view.pages {
            self.read_ahead(&open, root, place + 1, asker);
        }
        Ok(view)
    }

    /// What a thread's page depends on: the thread, and what is said about how current it is.
    fn thread_key(&self, open: &OpenNewsgroup, root: &MessageId, page: usize) -> ThreadKey {
        let step = self
            .rules
            .load()
            .cache
            .thread
            .as_secs()
            .max(1)
            .cast_signed();
        open.with(|state| {
            let currency = state.currency();
            ThreadKey {
                newsgroup: open.name.clone(),
                root: root.clone(),
                version: version(state, root),
                page,
                busy: currency.busy.is_some(),
                checked: currency.checked.unwrap_or(0) / step,
                silent: currency
                    .silent
                    .into_iter()
                    .map(|silent| silent.name)
                    .collect(),
            }
        })
    }

    /// Finds articles at once, by the deadline at the latest.
    async fn find_all(&self, ids: &[MessageId], until: Instant, asker: Asker) -> Vec<ArticleRead> {
        let finds = ids.iter().map(|id| async move {
            let found = self
                .in_time(self.find_article(id, HIGH, asker), until)
                .await;
            found.unwrap_or_else(|| Err(self.not_in_time(id)))
        });
        join_all(finds).await
    }

    /// Has the articles of a thread's next page fetched.
    fn read_ahead(&self, open: &Arc<OpenNewsgroup>, root: &MessageId, page: usize, asker: Asker) {
        let Some(ids) = wanted_ids(open, root, page) else {
            return;
        };
        for id in ids {
            if self.at_hand(&id).is_some() {
                continue;
            }
            let me = self.me.clone();
            drop(self.article_errands.join((id.clone(), LOW), || async move {
                let Some(model) = me.upgrade() else {
                    return Err(STOPPING);
                };
                model.fetch_article(&id, LOW, asker).await
            }));
        }
    }

    /// Takes an article in that no list has brought, and what it says about those before it.
    fn fill_ghost(&self, open: &OpenNewsgroup, id: &MessageId, read: &ReadArticle) {
        let known = open.with(|state| state.table.article(id).is_some());
        if known {
            return;
        }
        let now = self.now().1;
        let head = &read.article.head;
        let line = SentLine::of_article(id, head, read.raw.len());
        if let Some(line) = line {
            let date = Dates::after(read.fetched, now).next(&line);
            open.with(|state| {
                state.table.insert(&line.headline(None, date));
                state.pages.clear();
            });
        }
    }

    /// Looks for a thread of which nothing is known: its article, by its ID, and what stands near it in the newsgroup.
    async fn reach(
        &self,
        open: &Arc<OpenNewsgroup>,
        id: &MessageId,
        until: Instant,
        asker: Asker,
    ) -> Result<(), Unread> {
        let found = self
            .in_time(self.find_article(id, HIGH, asker), until)
            .await;
        let read = found.unwrap_or_else(|| Err(self.not_in_time(id)))?;
        // Whoever names a newsgroup does not file articles there.
        if !is_in(&read, &open.name) {
            let servers = self.carriers(&open.name);
            return Err(Unread::NoArticle(Arc::new(Absence {
                servers: servers
                    .iter()
                    .map(|server| Arc::from(server.name()))
                    .collect(),
                at: self.now().1,
            })));
        }
        self.fill_ghost(open, id, &read);
        self.weigh(open);
        // Its replies follow it, and most of them soon.
        let servers = self.federation.in_order();
        let sender = servers
            .iter()
            .find(|server| server.name() == read.server.as_ref());
        if let Some(number) = number_in(&read, &open.name)
            && let Some(server) = sender
        {
            let near = self.bring_near(open, server, (number, 0), HIGH, asker);
            self.in_time(near, until).await;
            self.look_further(open, server, number, asker);
        }
        Ok(())
    }

    /// Has what was posted after that fetched as well: some replies come late, and the next reader finds them.
    fn look_further(
        &self,
        open: &Arc<OpenNewsgroup>,
        server: &Arc<Server>,
        number: u64,
        asker: Asker,
    ) {
        let (open, server, me) = (open.clone(), server.clone(), self.me.clone());
        let wish = Wish::After(open.name.clone(), number);
        drop(self.errands.join((wish, LOW), move || async move {
            if let Some(model) = me.upgrade() {
                model
                    .bring_near(&open, &server, (number, 1), LOW, asker)
                    .await;
                model.weigh(&open);
            }
        }));
    }
}

/// Whether an article says that it was posted to a newsgroup.
fn is_in(read: &ReadArticle, newsgroup: &Newsgroup) -> bool {
    let named = read.article.head.header("Newsgroups").unwrap_or_default();
    named
        .split(',')
        .any(|name| name.trim() == newsgroup.as_str())
}

/// The number that its server has for an article.
fn number_in(read: &ReadArticle, newsgroup: &Newsgroup) -> Option<u64> {
    let xref = Xref::parse(read.article.head.header("Xref")?.as_bytes())?;
    let mut places = xref
        .places()
        .filter(|(_, number)| *number <= i64::MAX.unsigned_abs());
    places
        .find(|(name, _)| *name == newsgroup.as_str())
        .map(|(_, number)| number)
}

/// Pages of a newsgroup that are held as they were made. Most readers look at the first.
const MADE_PAGES: usize = 64;

fn is_known(open: &OpenNewsgroup, wanted: usize) -> bool {
    open.with(|state| state.table.thread_count() >= wanted || !state.has_more())
}

fn known_pages(open: &OpenNewsgroup) -> usize {
    let threads = open.with(|state| state.table.thread_count());
    threads.div_ceil(ThreadPage::SIZE)
}

/// The page of a thread on which an article is; the first if it is not in the thread.
fn page_of(open: &OpenNewsgroup, root: &MessageId, id: &MessageId) -> usize {
    let page = open.with(|state| {
        let tree = state.table.tree(root)?;
        Some(tree.page_of(tree.position(id)?))
    });
    page.unwrap_or(0)
}

/// Why there is no such page.
fn nothing(open: &OpenNewsgroup, page: usize) -> Unread {
    let (known, currency, complete) = open.with(|state| {
        let known = state.table.thread_count();
        (known, state.currency(), state.is_complete())
    });
    match (known, currency.busy) {
        (0, Some(retry_after)) => Unread::Busy { retry_after },
        (0, None) if !currency.silent.is_empty() || currency.checked.is_none() => {
            Unread::Unreachable(currency.silent)
        }
        (0, None) if page == 0 => Unread::NoNewsgroup { near: Vec::new() },
        // There may be more, and whoever has it does not say.
        _ if !complete && !currency.silent.is_empty() => Unread::Unreachable(currency.silent),
        _ => Unread::NoPage {
            pages: known_pages(open),
        },
    }
}

fn version(state: &HeldNewsgroup, root: &MessageId) -> u64 {
    let thread = state.table.thread(root);
    thread.map_or(0, KnownThread::version)
}

fn id_of(text: &str) -> MessageId {
    text.parse()
        .expect("the table holds IDs that were read as such")
}

fn thread_row(thread: KnownThread<'_>) -> ThreadRow {
    let (opening, first, last) = (thread.opening(), thread.first(), thread.last());
    ThreadRow {
        root: id_of(thread.root()),
        subject: opening.subject().to_owned(),
        author: opening.author().to_owned(),
        articles: thread.articles(),
        first: first.date(),
        last: last.date(),
        last_author: last.author().to_owned(),
        last_id: id_of(last.id()),
    }
}

/// The articles of a thread's page, and the missing ones that are worth a look.
fn wanted_ids(open: &OpenNewsgroup, root: &MessageId, page: usize) -> Option<Vec<MessageId>> {
    open.with(|state| {
        let tree = state.table.tree(root)?;
        let mut ghosts = 0;
        let rows = tree.page(page).filter(|row| {
            ghosts += usize::from(row.article.is_none());
            row.article.is_some() || ghosts <= GHOSTS
        });
        Some(rows.map(|row| id_of(row.id)).collect())
    })
}

/// The articles of a thread's page whose lines have come since these were asked for.
fn new_ids(
    open: &OpenNewsgroup,
    root: &MessageId,
    page: usize,
    asked: &[MessageId],
) -> Vec<MessageId> {
    let ids = open.with(|state| {
        let tree = state.table.tree(root)?;
        let rows = tree.page(page).filter(|row| row.article.is_some());
        Some(rows.map(|row| id_of(row.id)).collect::<Vec<_>>())
    });
    let mut ids = ids.unwrap_or_default();
    ids.retain(|id| !asked.contains(id));
    ids
}

fn thread_view(
    state: &HeldNewsgroup,
    row: &NewsgroupRow,
    root: &MessageId,
    page: usize,
    wanted: &[MessageId],
    found: &[ArticleRead],
) -> Option<ThreadView> {
    let tree = state.table.tree(root)?;
    let thread = state.table.thread(root)?;
    let outline: Vec<OutlineRow> = (0..tree.len())
        .map_while(|row| outline_row(&tree, row))
        .collect();
    let content = |id: &MessageId, is_known: bool| {
        let place = wanted.iter().position(|one| one == id);
        match place.map(|place| &found[place]) {
            Some(Ok(read)) => Content::Read(read.clone()),
            Some(Err(NotRead::Nowhere(absence))) => Content::Nowhere(absence.clone()),
            Some(Err(NotRead::Unreachable(silent))) => Content::Unreachable(silent.clone()),
            Some(Err(NotRead::Busy(_))) => Content::Unreachable(Vec::new()),
            // Its line came in the last moment.
            None if is_known => Content::Unreachable(Vec::new()),
            // One of too many gaps: nobody was asked for it.
            None => Content::Nowhere(Arc::new(Absence {
                servers: Vec::new(),
                at: 0,
            })),
        }
    };
    let messages = outline
        .iter()
        .enumerate()
        .filter(|(_, row)| row.page == page);
    let messages = messages.map(|(row, line)| Message {
        row,
        content: content(&line.id, line.missing == 0),
    });
    Some(ThreadView {
        newsgroup: row.clone(),
        root: id_of(thread.root()),
        subject: thread.opening().subject().to_owned(),
        page,
        pages: tree.pages(),
        messages: messages.collect(),
        currency: state.currency(),
        rendered: Rendered::default(),
        outline,
    })
}

fn outline_row(tree: &ThreadTree<'_>, row: usize) -> Option<OutlineRow> {
    let shown = tree.row(row)?;
    let article = shown.article;
    Some(OutlineRow {
        id: id_of(shown.id),
        author: article.map_or_else(String::new, |article| article.author().to_owned()),
        subject: article.map_or_else(String::new, |article| article.subject().to_owned()),
        date: article.map_or(0, |article| article.date()),
        depth: shown.depth,
        parent: shown.parent,
        missing: shown.missing,
        page: tree.page_of(row),
    })
}

/// What a thread's page takes in memory, its articles aside: they are held for themselves.
fn weight(view: &ThreadView) -> usize {
    let read = view.messages.iter().map(|message| match &message.content {
        // It holds the article, even if that has left the articles in memory.
        Content::Read(read) => read.raw.len() * TIMES,
        _ => 256,
    });
    view.outline.len() * 200 + read.sum::<usize>() + 1024
}
