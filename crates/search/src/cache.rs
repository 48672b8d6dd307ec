//! Answers that are kept: the latest in memory, all of them in `search.db` (`file`), which may be deleted at any time.
//!
//! What an indexer sent is kept as it came and read again when needed, so nothing depends on how this version of Weir
//! holds a release. A file that cannot be written costs calls, never answers.

mod file;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use rusqlite::{OptionalExtension, Transaction, params};
use weir_engine::Recent;
use weir_net::{LONG, aside};
use weir_search_proto::{Caps, Release, read_feed};
use weir_store::sqlite::ExpendableFile;

use self::file::CACHE_FILE;
use crate::answer::{Digest, IndexerAnswer};

/// Files that are kept in memory until they are surely written: a write is queued, and the next request may be faster.
const RECENT_FILES: usize = 16;
/// Bytes of them.
const RECENT_BYTES: usize = 32 << 20;
/// Writes between two looks at the size of the file.
const LOOK: u64 = 64;
/// The file may grow by one part of so many between two looks, and is shrunk by as much more than it has to be.
const LOOKS: u64 = 16;
/// Feeds are packed to about one byte of so many, which says beforehand whether reading one takes long.
const PACKED: usize = 8;
/// Files may have one byte of so many: a few large ones must not push out all answers.
const FILES: i64 = 4;

/// What was answered before. No lock is held while the file is read, so two who miss at once may both read it: that costs
/// time and never a wrong answer.
pub(crate) struct Cache {
    file: ExpendableFile,
    memory: Mutex<Recent<Digest, Arc<IndexerAnswer>>>,
    /// Key, time and bytes of the files that came last: what is asked for twice at once is not fetched twice.
    files: Mutex<VecDeque<(Digest, i64, Bytes)>>,
    /// Writes and their bytes since somebody last looked at the size of the file.
    writes: Mutex<(u64, u64)>,
    /// Bytes in the file at most.
    limit: i64,
    /// Bytes of one answer when unpacked.
    answer_limit: u64,
    /// How often the cache had a fresh answer, and how often it had not.
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is written of an answer.
pub(crate) struct RawAnswer {
    pub(crate) indexer: Arc<str>,
    pub(crate) at: i64,
    pub(crate) charset: Option<String>,
    pub(crate) body: Bytes,
}

impl Cache {
    /// `path` is where `search.db` is, or shall be; without one, memory is all there is.
    pub(crate) fn open(
        path: Option<PathBuf>,
        limit: u64,
        memory: usize,
        answer_limit: usize,
    ) -> Self {
        Self {
            file: ExpendableFile::open(path, CACHE_FILE),
            memory: Mutex::new(Recent::new(memory)),
            files: Mutex::default(),
            // The first write looks: nobody knows what an earlier run left.
            writes: Mutex::new((LOOK, 0)),
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
            answer_limit: answer_limit as u64,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Bytes of one answer when unpacked, at most.
    pub(crate) fn answer_limit(&self) -> u64 {
        self.answer_limit
    }

    /// A question is answered from here. Only who asks knows whether what is kept is fresh enough.
    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// A question has no fresh answer here.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Hits and misses.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.hits), read(&self.misses))
    }

    /// The answer with this key, however old. `scrub` is for what comes from the file, as an indexer sent it.
    pub(crate) async fn answer(
        &self,
        key: &Digest,
        scrub: impl Fn(&mut Release) + Send + 'static,
    ) -> Option<Arc<IndexerAnswer>> {
        if let Some(answer) = self.memory.lock().get(key) {
            return Some(answer);
        }
        let row = self.file.read(|connection| {
            let sql = "SELECT at, charset, body FROM search_part WHERE key = ?1";
            let row = connection.prepare_cached(sql)?.query_row([key], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?))
            });
            row.optional()
        });
        let (at, charset, body): (i64, Option<String>, Vec<u8>) = row?;
        let limit = self.answer_limit;
        let long = body.len() > LONG / PACKED;
        let read = move || {
            let body = unpacked(&body, limit)?;
            let mut feed = read_feed(&body, charset.as_deref()).ok()?;
            feed.releases.iter_mut().for_each(scrub);
            Some(Arc::new(IndexerAnswer::new(feed.releases, at)))
        };
        let answer = match long {
            true => aside(read).await,
            false => read(),
        }?;
        self.hold(*key, &answer);
        Some(answer)
    }

    /// Keeps an answer.
    pub(crate) fn put(&self, key: Digest, answer: &Arc<IndexerAnswer>, sent: RawAnswer) {
        self.hold(key, answer);
        self.write(sent.body.len(), move |transaction| {
            let body = packed(&sent.body);
            let sql = "INSERT OR REPLACE INTO search_part VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            transaction.prepare_cached(sql)?.execute(params![
                key,
                &*sent.indexer,
                sent.at,
                sent.charset,
                body.len() as i64,
                body
            ])?;
            Ok(())
        });
    }

    /// What an indexer at this place last said it can do, and when.
    pub(crate) fn caps(&self, indexer: &str, place: &str) -> Option<(Caps, i64)> {
        let (at, body) = self.file.read(|connection| {
            let sql = "SELECT at, body FROM search_caps WHERE indexer = ?1 AND place = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row([indexer, place], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
            });
            row.optional()
        })?;
        let caps = Caps::read(&unpacked(&body, self.answer_limit)?, None).ok()?;
        Some((caps, at))
    }

    /// Keeps what an indexer can do.
    pub(crate) fn put_caps(&self, indexer: &str, place: &str, at: i64, caps: &Caps) {
        let (indexer, place, body) = (indexer.to_owned(), place.to_owned(), caps.xml());
        self.write(body.len(), move |transaction| {
            let sql = "INSERT OR REPLACE INTO search_caps VALUES (?1, ?2, ?3, ?4)";
            let body = packed(body.as_bytes());
            transaction.execute(sql, params![indexer, place, at, body])?;
            Ok(())
        });
    }

    /// A downloaded file that is not older than `since`.
    pub(crate) fn file(&self, key: &Digest, since: i64) -> Option<Bytes> {
        let recent = |(other, at, _): &&(Digest, i64, Bytes)| other == key && *at >= since;
        if let Some((_, _, body)) = self.files.lock().iter().find(recent) {
            return Some(body.clone());
        }
        // Not kept in memory again: whoever fetches a file rarely does so twice.
        let body: Vec<u8> = self.file.read(|connection| {
            let sql = "SELECT body FROM search_file WHERE key = ?1 AND at >= ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row(params![key, since], |row| row.get(0));
            row.optional()
        })?;
        unpacked(&body, u64::MAX).map(Bytes::from)
    }

    /// Keeps a downloaded file.
    pub(crate) fn put_file(&self, key: Digest, at: i64, body: Bytes) {
        let mut recent = self.files.lock();
        recent.push_back((key, at, body.clone()));
        let size = |files: &VecDeque<(Digest, i64, Bytes)>| -> usize {
            files.iter().map(|file| file.2.len()).sum()
        };
        while recent.len() > RECENT_FILES || size(&recent) > RECENT_BYTES {
            recent.pop_front();
        }
        drop(recent);
        self.write(body.len(), move |transaction| {
            let body = packed(&body);
            let sql = "INSERT OR REPLACE INTO search_file VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(sql, params![key, at, body.len() as i64, body])?;
            Ok(())
        });
    }

    /// Forgets what is older than `since`.
    pub(crate) fn forget_before(&self, since: i64) {
        self.write(0, move |transaction| {
            transaction.execute("DELETE FROM search_part WHERE at < ?1", [since])?;
            transaction.execute("DELETE FROM search_file WHERE at < ?1", [since])?;
            Ok(())
        });
    }

    /// Holds an answer in memory.
    fn hold(&self, key: Digest, answer: &Arc<IndexerAnswer>) {
        let mut memory = self.memory.lock();
        memory.put(key, answer.clone(), answer.weight);
    }

    /// Answers and bytes in memory.
    pub(crate) fn in_memory(&self) -> (usize, usize) {
        self.memory.lock().held()
    }

    /// Writes what waits and closes the file.
    pub(crate) fn close(&self) {
        self.file.close();
    }

    /// Writes so many bytes, about.
    fn write(
        &self,
        bytes: usize,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) {
        let look = {
            let (writes, written) = &mut *self.writes.lock();
            (*writes, *written) = (*writes + 1, *written + bytes as u64);
            let look = *writes >= LOOK || *written >= self.limit as u64 / LOOKS;
            if look {
                (*writes, *written) = (0, 0);
            }
            look
        };
        let limit = self.limit;
        self.file.write(move |transaction| {
            work(transaction)?;
            match look {
                true => shrink(transaction, limit),
                false => Ok(()),
            }
        });
    }
}

/// Deletes the oldest until what is left fits, with room for what is written before the next look.
fn shrink(transaction: &Transaction<'_>, limit: i64) -> rusqlite::Result<()> {
    let limit = limit - limit / LOOKS as i64;
    let files = shrink_table(transaction, "search_file", limit / FILES)?;
    shrink_table(transaction, "search_part", limit - files)?;
    Ok(())
}

/// Gives the bytes that are left.
fn shrink_table(transaction: &Transaction<'_>, table: &str, limit: i64) -> rusqlite::Result<i64> {
    let sum = format!("SELECT COALESCE(SUM(size), 0) FROM {table}");
    let mut size: i64 = transaction.query_row(&sum, [], |row| row.get(0))?;
    if size <= limit {
        return Ok(size);
    }
    let oldest = format!("SELECT at, size FROM {table} ORDER BY at");
    let mut before = i64::MIN;
    let mut statement = transaction.prepare(&oldest)?;
    let mut rows = statement.query([])?;
    while size > limit / 10 * 9
        && let Some(row) = rows.next()?
    {
        before = row.get(0)?;
        size -= row.get::<_, i64>(1)?;
    }
    transaction.execute(&format!("DELETE FROM {table} WHERE at <= ?1"), [before])?;
    Ok(size.max(0))
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn unpacked(packed: &[u8], limit: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let decoder = GzDecoder::new(packed);
    decoder.take(limit).read_to_end(&mut body).ok()?;
    Some(body)
}

#[cfg(test)]
mod tests;
