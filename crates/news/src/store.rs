//! `news.db`: overview lines, articles, lists of newsgroups and article numbers, so that a restart fetches nothing again and
//! a dead server leaves everything readable. The model asks it; what it decides is kept in memory as well.
//!
//! Nothing here fails for the reader. Without a file that can be used nothing is kept, and everything works from memory. A
//! write is queued (`backlog`) and numbers in it are true at once; reading a newsgroup waits until its writes are done, or
//! have failed. What a full disk refuses is tried again with the next write.
//!
//! The file has a limit. `sweep` says what goes first.

mod arrivals;
mod backlog;
mod kept;
mod load;
mod pack;
mod schema;
mod sweep;
mod text;
mod write;

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::{ErrorCode, Transaction};
use tokio::sync::{Notify, oneshot};
use weir_net::{LONG, aside};
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::Error as StoreError;
use weir_store::sqlite::ExpendableFile;

use self::backlog::{Backlog, Batch, Keep, ListPart};
pub(crate) use self::kept::{
    Kept, KeptArticle, KeptLine, KeptList, KeptMarks, KeptNewsgroup, ListKind, NewsSizes,
    NumberedRow, Reached, ReadLine,
};
pub(crate) use self::pack::hash;
pub use self::text::{Coverage, Hit};
pub(crate) use self::text::{LINE, Looking, MOST as MOST_MATCHES, NotLooked, Stepped, TextIndex};
use crate::numbers::{NumberRows, ServerId};

/// Bytes of one part of a list.
const PART: usize = 512 << 10;
/// Rows that are read at a time, since readers take turns.
const SLICE: usize = 2000;
/// Slices of articles that are looked through for new ones.
const SLICES: usize = 200;
/// So many lines are read on the spot.
const FEW: usize = 200;
/// An article or a list may have one byte of so many: one must not push out everything.
const SHARE: u64 = 4;
/// So often an entry is tried that the file refuses for a reason of its own.
const TRIES: u32 = 3;
/// How long closing waits for what has to be written.
const PATIENCE: Duration = Duration::from_secs(30);

/// A handle on the file; clones share it.
#[derive(Clone)]
pub(crate) struct NewsFile(Arc<Shared>);

struct Shared {
    file: ExpendableFile,
    limit: u64,
    backlog: Mutex<Backlog>,
    /// Told whenever a write has ended: threads here, tasks there.
    idle: Condvar,
    ended: Notify,
    servers: Mutex<HashMap<String, ServerId>>,
    list_version: AtomicI64,
}

impl NewsFile {
    /// `path` is where `news.db` is, or shall be; without one, nothing is kept. Blocks.
    pub(crate) fn open(path: Option<PathBuf>, limit: u64) -> Self {
        let file = ExpendableFile::open(path, schema::NEWS_FILE);
        let servers = file.read(|connection| load::servers(connection).map(Some));
        let version = file.read(load::list_version);
        Self(Arc::new(Shared {
            file,
            limit,
            backlog: Mutex::default(),
            idle: Condvar::new(),
            ended: Notify::new(),
            servers: Mutex::new(servers.unwrap_or_default().into_iter().collect()),
            list_version: AtomicI64::new(version.unwrap_or(0)),
        }))
    }

    /// The number of a server by what its numbers belong to, host and port in lower case. It is written with the first
    /// thing that is kept.
    pub(crate) fn server(&self, place: &str) -> ServerId {
        let mut servers = self.0.servers.lock();
        if let Some(known) = servers.get(place) {
            return *known;
        }
        let highest = servers.values().map(|server| server.0).max();
        let server = ServerId(highest.unwrap_or(0).saturating_add(1));
        servers.insert(place.to_owned(), server);
        server
    }

    /// The lists of newsgroups that the file had when it was last written. Blocks, and is for the start.
    pub(crate) fn lists(&self) -> Vec<KeptList> {
        let lists = self
            .0
            .file
            .read(|connection| load::lists(connection).map(Some));
        lists.unwrap_or_default()
    }

    /// Keeps a list in place of the one before.
    pub(crate) fn keep_list(&self, list: KeptList) {
        if list.block.len() as u64 > self.0.limit / SHARE {
            return;
        }
        let version = self.0.list_version.fetch_add(1, Ordering::Relaxed) + 1;
        let KeptList {
            server,
            kind,
            at,
            block,
        } = list;
        let parts = block.len().div_ceil(PART).max(1);
        let parts = (0..parts).map(|part| ListPart {
            server,
            kind,
            at,
            version,
            part,
            last: part + 1 == parts,
            block: block.slice(part * PART..block.len().min((part + 1) * PART)),
        });
        self.take_in(|backlog| backlog.keep_list(parts));
    }

    /// What is known of a newsgroup.
    pub(crate) async fn newsgroup(&self, name: &Newsgroup) -> Option<KeptNewsgroup> {
        self.settled(name).await;
        let kept = self
            .0
            .file
            .read(|connection| load::kept_newsgroup(connection, name));
        let mut backlog = self.0.backlog.lock();
        backlog.found(name, kept.is_some());
        let mut kept = kept.unwrap_or_default();
        backlog.apply(name, &mut kept.rows, &mut kept.checked);
        (kept.rows.marks.low > 0).then_some(kept)
    }

    /// The newest lines of a newsgroup, by number from the highest down, then those without a number by date.
    pub(crate) async fn lines(&self, name: &Newsgroup, newest: usize) -> Vec<KeptLine> {
        self.settled(name).await;
        let count = self.0.file.read(|connection| load::count(connection, name));
        let wanted = newest.min(count.unwrap_or(0));
        let (file, name) = (self.clone(), name.clone());
        self.at_leisure(wanted, move || {
            let mut lines = Vec::with_capacity(wanted);
            let mut before = (i64::MAX, i64::MAX, i64::MAX);
            while lines.len() < wanted
                && let Some((slice, Some(last))) = file.0.file.read(|connection| {
                    load::newest(connection, &name, before, SLICE.min(wanted + FEW))
                })
            {
                before = last;
                lines.extend(slice);
            }
            lines.truncate(wanted);
            lines
        })
        .await
    }

    /// The lines with these numbers, ascending, at most so many.
    #[cfg(test)]
    pub(crate) async fn lines_between(
        &self,
        name: &Newsgroup,
        numbers: RangeInclusive<u64>,
        most: usize,
    ) -> Vec<KeptLine> {
        self.settled(name).await;
        let (file, name) = (self.clone(), name.clone());
        self.at_leisure(most, move || {
            let (mut lines, mut numbers) = (Vec::new(), numbers);
            while lines.len() < most
                && let Some((slice, Some((last, ..)))) = file
                    .0
                    .file
                    .read(|connection| load::between(connection, &name, &numbers, SLICE))
            {
                lines.extend(slice);
                numbers = last.unsigned_abs().saturating_add(1)..=*numbers.end();
            }
            lines.truncate(most);
            lines
        })
        .await
    }

    /// The articles with these numbers, ascending, of which there must not be many; `None` if the file cannot be read. Does
    /// not wait for writes.
    pub(crate) async fn numbered(
        &self,
        name: &Newsgroup,
        numbers: RangeInclusive<u64>,
    ) -> Option<Vec<NumberedRow>> {
        // Before the file is read: what is written meanwhile is then in both.
        let waiting = self.0.backlog.lock().rows(name, &numbers);
        let (file, name) = (self.clone(), name.clone());
        let most = numbers.end().saturating_sub(*numbers.start());
        let read = move || {
            let most = usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX);
            let rows = file
                .0
                .file
                .read(|connection| load::numbered(connection, &name, &numbers, most))?;
            Some(waiting.over(rows))
        };
        match most < FEW as u64 || !self.0.file.is_usable() {
            true => read(),
            false => aside(read).await,
        }
    }

    /// The nearest number that an article has, from this one on up or down.
    pub(crate) fn nearest(&self, name: &Newsgroup, from: u64, up: bool) -> Option<u64> {
        let range = if up { from..=u64::MAX } else { 1..=from };
        let nearest = |numbers: &mut dyn Iterator<Item = u64>| match up {
            true => numbers.min(),
            false => numbers.max(),
        };
        let waiting = {
            let backlog = self.0.backlog.lock();
            nearest(&mut backlog.numbered(name, &range).map(|(number, _)| number))
        };
        let kept = self
            .0
            .file
            .read(|connection| load::nearest(connection, name, from, up));
        nearest(&mut waiting.into_iter().chain(kept))
    }

    /// The marks of all newsgroups that the file has. Blocks, and is for the start.
    pub(crate) fn marks(&self) -> Vec<KeptMarks> {
        let marks = self
            .0
            .file
            .read(|connection| load::marks(connection).map(Some));
        marks.unwrap_or_default()
    }

    /// Articles that became known since a time, each once, in newsgroups that are wanted; at most so many, and whether those
    /// are all. `None` if nothing is kept. Blocks.
    pub(crate) fn arrived(
        &self,
        since: i64,
        wanted: &dyn Fn(&str) -> bool,
        most: usize,
    ) -> Option<(Vec<MessageId>, bool)> {
        let (mut ids, mut known) = (Vec::new(), HashSet::new());
        let mut take = |name: &str, id: &MessageId| {
            if !name.is_empty() && wanted(name) && !known.contains(id) {
                if ids.len() == most {
                    return false;
                }
                known.insert(id.clone());
                ids.push(id.clone());
            }
            true
        };
        // Before the file is read: what is written meanwhile is then in both.
        let whole = {
            let backlog = self.0.backlog.lock();
            let mut arriving = backlog.arriving(since);
            arriving.all(|(name, id)| take(name.as_str(), id))
        };
        let row = |connection: &_| arrivals::row_since(connection, since).map(Some);
        let Some(mut after) = self.0.file.read(row)? else {
            return Some((ids, whole));
        };
        for _ in 0..SLICES {
            let slice = |connection: &_| arrivals::after(connection, after, since, SLICE);
            let rows = self.0.file.read(slice)?;
            let Some((last, _, _)) = rows.last() else {
                return Some((ids, whole));
            };
            after = *last;
            if !rows.iter().all(|(_, name, id)| take(name, id)) {
                break;
            }
        }
        Some((ids, false))
    }

    /// Keeps that newsgroups were first seen at a time.
    pub(crate) fn keep_seen(&self, names: &[Newsgroup], at: i64) {
        for names in names.chunks(SLICE) {
            let names = names.to_vec();
            self.take_in(|backlog| backlog.keep_seen(names, at));
        }
    }

    /// When newsgroups were first seen. Blocks, and is for the start.
    pub(crate) fn seen(&self) -> Vec<(Newsgroup, i64)> {
        let seen = self
            .0
            .file
            .read(|connection| arrivals::seen(connection).map(Some));
        seen.unwrap_or_default()
    }

    /// Keeps what became known of a newsgroup.
    pub(crate) fn keep(&self, name: &Newsgroup, kept: Kept) {
        if !self.0.file.is_usable() {
            self.0.backlog.lock().lose(name);
            return;
        }
        let keep = Keep::from(kept);
        self.take_in(|backlog| backlog.keep(name, keep));
    }

    /// Whether the file has lost what it had of a newsgroup, because it was damaged or too small. Then nothing that changes
    /// is kept, since it would mean nothing without the rest, until [`Self::keep_rows`] has given that.
    pub(crate) fn has_lost(&self, name: &Newsgroup) -> bool {
        self.0.file.is_usable() && self.0.backlog.lock().has_lost(name)
    }

    /// Keeps all numbers of a newsgroup, in place of what was known.
    pub(crate) fn keep_rows(&self, name: &Newsgroup, rows: NumberRows) {
        self.take_in(|backlog| backlog.keep_rows(name, rows));
    }

    /// Keeps entries of the log of a newsgroup's numbers, from a place on; what stood there goes.
    pub(crate) fn keep_log(&self, name: &Newsgroup, from: u64, entries: Vec<Arc<[u8]>>) {
        if self.0.file.is_usable() {
            self.take_in(|backlog| backlog.keep_log(name, from, entries));
        }
    }

    /// The log of a newsgroup's numbers.
    pub(crate) async fn log(&self, name: &Newsgroup) -> Vec<Arc<[u8]>> {
        self.settled(name).await;
        let (file, name) = (self.clone(), name.clone());
        let read = move || file.0.file.read(|connection| load::log(connection, &name));
        aside(read).await.unwrap_or_default()
    }

    /// The newsgroups that have such a log.
    pub(crate) async fn logged(&self) -> Vec<Newsgroup> {
        let file = self.clone();
        let read = move || file.0.file.read(load::logged);
        aside(read).await.unwrap_or_default()
    }

    /// Takes the numbers of all articles of a newsgroup away.
    pub(crate) fn forget_numbers(&self, name: &Newsgroup) {
        if self.0.file.is_usable() {
            self.take_in(|backlog| backlog.forget_all(name));
        }
    }

    /// The number of an article, even if its line was thrown away.
    pub(crate) fn number_of(&self, name: &Newsgroup, id: &MessageId) -> Option<u64> {
        if let Some(number) = self.0.backlog.lock().number_of(name, id) {
            return number;
        }
        self.0
            .file
            .read(|connection| load::number_of(connection, name, id))
    }

    /// The article that has a number, even if its line was thrown away.
    pub(crate) fn id_of(&self, name: &Newsgroup, number: u64) -> Option<MessageId> {
        if let Some(id) = self.0.backlog.lock().id_of(name, number) {
            return Some(id);
        }
        let id = self
            .0
            .file
            .read(|connection| load::id_of(connection, name, number))?;
        // It may be about to lose it, or have lost it since.
        (self.number_of(name, &id) == Some(number)).then_some(id)
    }

    /// An article.
    pub(crate) async fn article(&self, id: &MessageId) -> Option<KeptArticle> {
        if let Some(article) = self.0.backlog.lock().article(id) {
            return Some(article);
        }
        let packed = self
            .0
            .file
            .read(|connection| load::article(connection, id))?;
        match packed.body.len() > LONG {
            true => aside(move || packed.unpacked()).await,
            false => packed.unpacked(),
        }
    }

    /// Keeps an article in place of what was known.
    pub(crate) fn keep_article(&self, id: &MessageId, article: KeptArticle) {
        if article.raw.len() as u64 <= self.0.limit / SHARE {
            self.take_in(|backlog| backlog.keep_article(id, article));
        }
    }

    /// Notes that an article was read.
    pub(crate) fn read_article(&self, id: &MessageId, now: i64) {
        let due = self.0.backlog.lock().read(|reads| reads.article(id, now));
        if due {
            self.0.write_next();
        }
    }

    /// Notes that a newsgroup was opened.
    pub(crate) fn read_newsgroup(&self, name: &Newsgroup, now: i64) {
        let due = self
            .0
            .backlog
            .lock()
            .read(|reads| reads.newsgroup(name, now));
        if due {
            self.0.write_next();
        }
    }

    /// Brings the file under its limit, slice by slice, and tries again what could not be written. To be called every few
    /// minutes; writes keep to the limit themselves meanwhile.
    pub(crate) async fn sweep(&self, now: i64) {
        self.take_in(|backlog| {
            backlog.take_reads();
        });
        let limit = self.0.limit;
        let mut work: fn(&Transaction<'_>, u64, i64) -> rusqlite::Result<bool> =
            |transaction, limit, now| {
                sweep::pull_to(transaction, now)?;
                sweep::slice(transaction, limit)
            };
        while self
            .swept(move |transaction| work(transaction, limit, now))
            .await
        {
            work = |transaction, limit, _| sweep::slice(transaction, limit);
        }
    }

    /// How much there is.
    pub(crate) fn sizes(&self) -> NewsSizes {
        let sizes = self
            .0
            .file
            .read(|connection| load::sizes(connection).map(Some));
        sizes.unwrap_or_default()
    }

    #[cfg(test)]
    /// Copies the file while it is in use. Blocks.
    ///
    /// # Errors
    /// If the copy cannot be made, or there is no file.
    pub(crate) fn backup(&self, to: &std::path::Path) -> Result<(), StoreError> {
        self.0.file.backup(to)
    }

    /// Waits until all is written, for a bounded time. Blocks.
    pub(crate) fn flush(&self) {
        let mut backlog = self.0.backlog.lock();
        let writing = |backlog: &mut _| Backlog::is_writing(backlog);
        let _ = self.0.idle.wait_while_for(&mut backlog, writing, PATIENCE);
    }

    /// Writes what waits and closes the file. Blocks.
    pub(crate) fn close(&self) {
        let mut backlog = self.0.backlog.lock();
        backlog.take_reads();
        backlog.closing = true;
        drop(backlog);
        self.0.write_next();
        let mut backlog = self.0.backlog.lock();
        while backlog.is_writing() && !self.0.idle.wait_for(&mut backlog, PATIENCE).timed_out() {}
        if !backlog.is_empty() {
            tracing::warn!(
                front = "news",
                "some articles and overviews could not be kept"
            );
        }
        drop(backlog);
        self.0.file.close();
    }

    /// Takes something in to be written.
    fn take_in(&self, put: impl FnOnce(&mut Backlog)) {
        if !self.0.file.is_usable() {
            self.0.backlog.lock().clear();
            return;
        }
        put(&mut self.0.backlog.lock());
        self.0.write_next();
    }

    /// Waits until nothing of a newsgroup waits to be written, or nothing can be written.
    async fn settled(&self, name: &Newsgroup) {
        loop {
            let ended = self.0.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            {
                let backlog = self.0.backlog.lock();
                if !backlog.is_writing() || !backlog.has(name) {
                    return;
                }
            }
            ended.await;
        }
    }

    /// Reads on the spot if that is quick.
    async fn at_leisure(
        &self,
        lines: usize,
        read: impl FnOnce() -> Vec<KeptLine> + Send + 'static,
    ) -> Vec<KeptLine> {
        if lines <= FEW || !self.0.file.is_usable() {
            return read();
        }
        aside(read).await
    }

    /// Runs one slice of sweeping. Says whether there may be more to do.
    async fn swept(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<bool> + Send + 'static,
    ) -> bool {
        let (tell, told) = oneshot::channel();
        let posted = self.0.file.post(work, move |done| {
            let _ = tell.send(done.unwrap_or(false));
        });
        posted.is_ok() && told.await.unwrap_or(false)
    }
}

impl Shared {
    /// Queues what waits, unless something is being written.
    fn write_next(self: &Arc<Self>) {
        let next = self.backlog.lock().begin();
        next.into_iter().for_each(|next| self.post(next));
    }

    fn post(self: &Arc<Self>, (batch, turn): (Batch, u64)) {
        let servers: Vec<_> = self.servers.lock().clone().into_iter().collect();
        let limit = self.limit;
        let work =
            move |transaction: &Transaction<'_>| write::write(transaction, &servers, &batch, limit);
        let mut answer = WriteAnswer(Some((Arc::downgrade(self), turn)));
        let posted = self.file.post(work, move |done| answer.take(done));
        // If it was not queued, dropping the answer has told so.
        drop(posted);
    }

    fn wrote(self: &Arc<Self>, turn: u64, done: Result<Vec<Newsgroup>, StoreError>) {
        let mut backlog = self.backlog.lock();
        if !backlog.is_turn(turn) {
            return;
        }
        match done {
            Ok(lost) => backlog.written(lost),
            Err(error) => {
                if backlog.failures == 0 {
                    tracing::warn!(front = "news", %error, "articles and overviews cannot be kept for now");
                }
                let hopeless = backlog.failures + 1 >= TRIES && !is_passing(&error);
                backlog.failed(hopeless);
            }
        }
        // Before anybody else has the lock: who waits for all to be written must not see a pause. After a failure, the
        // next one who has something to keep tries again.
        let next = match backlog.failures {
            0 => backlog.begin(),
            _ => None,
        };
        drop(backlog);
        next.into_iter().for_each(|next| self.post(next));
        self.ended.notify_waiters();
        self.idle.notify_all();
    }
}

/// The answer to a write, which comes even if the file is given up before.
struct WriteAnswer(Option<(Weak<Shared>, u64)>);

impl WriteAnswer {
    fn take(&mut self, done: Result<Vec<Newsgroup>, StoreError>) {
        if let Some((shared, turn)) = self.0.take()
            && let Some(shared) = shared.upgrade()
        {
            shared.wrote(turn, done);
        }
    }
}

impl Drop for WriteAnswer {
    fn drop(&mut self) {
        self.take(Err(StoreError::Closed));
    }
}

/// Whether the same write may succeed later: the disk is full, or the file is about to be replaced.
fn is_passing(error: &StoreError) -> bool {
    let code = match error {
        StoreError::Sqlite(source) => source.sqlite_error_code(),
        StoreError::Commit(source) => source.sqlite_error_code(),
        StoreError::Panicked(_) => None,
        _ => return true,
    };
    matches!(
        code,
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseBusy
                | ErrorCode::ReadOnly
        )
    )
}

#[cfg(test)]
mod tests;
