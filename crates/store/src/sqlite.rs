//! One SQLite file: open, migrate, write, read, back up, close.
//!
//! # Several owners in one file
//!
//! `state.db` holds tables of several crates (keys and sessions of `web`, rows of the engine, history of the
//! fronts), and none may know another. So versions are kept per *owner*, in the table
//! `schema(owner, version)`: each owner has its own [`Migrations`], whose n-th step leads to version n, and its
//! table names start with its name (`web_session`). `PRAGMA user_version` is the version of that bookkeeping
//! itself, and `PRAGMA application_id` marks the file as ours. Steps are only ever appended. A file is refused if an
//! owner's tables are newer than this program; an owner that this program does not know is left alone.
//!
//! # Writing
//!
//! One named thread per file owns the only connection that writes. Closures wait in a bounded queue; the thread
//! takes all that wait, runs each in a savepoint of one transaction and commits once, so a closure that fails or
//! panics rolls back only its own changes. Callers get their answer after the commit. Every commit survives `kill -9`;
//! one made with [`File::write_durable`] survives a power cut too, others only after the next checkpoint.

mod backup;
mod expendable;
mod health;
mod open;
mod schema;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::sync_channel},
    thread::JoinHandle,
};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

pub use self::expendable::{Aside, Expendable, ExpendableFile};
use self::{
    health::Health,
    writer::{Exclusive, Job, Write},
};
use crate::Error;

/// How many writes may wait for the writer thread; beyond that callers get [`Error::Full`] instead of memory growing.
const QUEUE: usize = 4096;
/// More places, kept free for [`File::post`], whose callers have at most one write each in the queue.
const RESERVED: usize = 16;

/// An owner that never has tables; see [`File::try_write`].
const TRIED: &str = "";

/// The tables of one owner: the n-th step leads from version n − 1 to version n.
#[derive(Debug, Clone, Copy)]
pub struct Migrations {
    /// Who owns the tables; their names begin with it.
    pub owner: &'static str,
    /// SQL scripts in order. Never changed once released, only appended to.
    pub steps: &'static [&'static str],
}

/// A handle on one open file; clones share it. The last one dropped closes it.
#[derive(Clone)]
pub struct File(Arc<Inner>);

struct Inner {
    path: PathBuf,
    health: Arc<Health>,
    /// Taken by `close`; without a sender the thread ends.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    reader: Mutex<Option<Connection>>,
}

impl File {
    /// Opens the file; if there is none, it is created, readable only by its owner.
    ///
    /// # Errors
    /// If the path cannot be used, or the file is not ours or newer than this program.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let connection = open::writer(&path)?;
        let reader = open::reader(&path)?;
        let (queue, waiting) = mpsc::channel(QUEUE + RESERVED);
        let health = Arc::new(Health::of(&path));
        let thread = writer::start(&path, connection, waiting, health.clone())?;
        Ok(Self(Arc::new(Inner {
            path,
            health,
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            reader: Mutex::new(Some(reader)),
        })))
    }

    /// Reads a file that another process may have open.
    ///
    /// # Errors
    /// If there is no such file, or the closure's own error.
    pub fn peek<T>(
        path: &Path,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        query(&open::reader(path)?).map_err(|source| open::explain(path, source))
    }

    /// Whether writes are still accepted: not after [`File::close`], nor if the writer thread has ended.
    pub fn is_writable(&self) -> bool {
        let thread = self.0.thread.lock();
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Writes a page that changes nothing, to find out whether the disk still takes it. What is written is only asked for
    /// by [`File::write`] when there is something to write, and a full disk may be noticed long after it became full.
    ///
    /// # Errors
    /// Why the file cannot be written now.
    pub async fn try_write(&self) -> Result<(), Error> {
        // An update to the same value would not reach the disk: SQLite compares.
        self.write(|transaction| {
            transaction.execute("INSERT OR REPLACE INTO schema VALUES (?1, 0)", [TRIED])?;
            let gone = transaction.execute("DELETE FROM schema WHERE owner = ?1", [TRIED])?;
            debug_assert_eq!(gone, 1);
            Ok(())
        })
        .await
    }

    /// Changes one of our files that another process may have open, in one transaction that is on disk when this
    /// returns. Creates no file and migrates no tables.
    ///
    /// # Errors
    /// If there is no such file or it is not ours, or the closure's own error.
    pub fn amend<T>(
        path: &Path,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = open::amender(path)?;
        let explain = |source| open::explain(path, source);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(explain)?;
        let value = work(&transaction).map_err(explain)?;
        transaction.commit().map_err(explain)?;
        Ok(value)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Migrates one owner's tables to the newest version, each step in its own transaction. Blocks.
    ///
    /// # Errors
    /// If the file is newer than these steps, or a step fails; the steps before it stay.
    pub fn migrate(&self, migrations: Migrations) -> Result<(), Error> {
        let path = self.0.path.clone();
        self.exclusive(move |connection| schema::migrate(connection, &path, migrations))?
    }

    /// Runs the closure on the writer thread and returns after the commit.
    ///
    /// # Errors
    /// [`Error::Full`] at once if too many writes wait; otherwise the error of the closure or the commit.
    ///
    /// # Cancel safety
    /// A write that was queued happens even if nobody waits for its answer.
    pub async fn write<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.submit(false, work)?.await.map_err(|_| Error::Closed)?
    }

    /// Like [`File::write`], but the commit is on disk when this returns.
    ///
    /// # Errors
    /// As [`File::write`].
    pub async fn write_durable<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.submit(true, work)?.await.map_err(|_| Error::Closed)?
    }

    /// Like [`File::write_durable`] for callers that are not async. Blocks the calling thread.
    ///
    /// # Errors
    /// As [`File::write`].
    pub fn write_blocking<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        // Not `oneshot::blocking_recv`, which panics on a thread of the runtime, where `main` opens files.
        let (tell, told) = sync_channel(1);
        let write = Write::new(true, work, move |result| {
            let _ = tell.send(result);
        });
        self.enqueue(Job::Write(write))?;
        told.recv().map_err(|_| Error::Closed)?
    }

    /// Queues a write that nobody waits for. Its errors are lost, so it is only for data that may be lost too.
    ///
    /// # Errors
    /// [`Error::Full`] at once if too many writes wait.
    pub fn write_later<F>(&self, work: F) -> Result<(), Error>
    where
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    {
        self.enqueue(Job::Write(Write::new(false, work, |_| {})))
    }

    /// Runs a short query on the calling thread, over a connection that cannot write. It sees every write that has
    /// returned. Readers take turns: a query that may take long belongs on its own thread and connection.
    ///
    /// # Errors
    /// The closure's own error, or [`Error::Closed`].
    pub fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let reader = self.0.reader.lock();
        let connection = reader.as_ref().ok_or(Error::Closed)?;
        query(connection).map_err(|source| self.0.health.heard(source))
    }

    /// Whether a read or write has found damage since the file was opened.
    pub fn is_damaged(&self) -> bool {
        self.0.health.is_damaged()
    }

    /// Copies the file as it is now to a path that does not exist yet, while others read and write. Blocks.
    ///
    /// # Errors
    /// If the copy cannot be made; then nothing is left at the path.
    pub fn backup(&self, to: &Path) -> Result<(), Error> {
        backup::copy(&self.0.path, to)
    }

    /// Like [`File::backup`], for a file that is not open here; another process may have it open.
    ///
    /// # Errors
    /// As [`File::backup`].
    pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
        backup::copy(from, to)
    }

    /// Writes what waits, moves the write-ahead log into the file and ends the thread. Later calls get
    /// [`Error::Closed`]. Blocks.
    pub fn close(&self) {
        self.0.close();
    }

    /// Queues a write that is accepted even if others have filled the queue, for a caller that gathers its changes
    /// itself and has at most one such write waiting. `answer` runs on the writer thread, after the commit.
    pub(crate) fn post<T, F, A>(&self, work: F, answer: A) -> Result<(), Error>
    where
        T: 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        A: FnOnce(Result<T, Error>) + Send + 'static,
    {
        self.enqueue_beyond(0, Job::Write(Write::new(false, work, answer)))
    }

    fn submit<T, F>(
        &self,
        durable: bool,
        work: F,
    ) -> Result<oneshot::Receiver<Result<T, Error>>, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let write = Write::new(durable, work, move |result| {
            let _ = tell.send(result);
        });
        self.enqueue(Job::Write(write))?;
        Ok(told)
    }

    pub(crate) fn exclusive<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> T + Send + 'static,
    {
        let (tell, told) = sync_channel(1);
        let work: Exclusive = Box::new(move |connection| {
            let _ = tell.send(work(connection));
        });
        self.enqueue(Job::Exclusive(work))?;
        told.recv().map_err(|_| Error::Closed)
    }

    fn enqueue(&self, job: Job) -> Result<(), Error> {
        self.enqueue_beyond(RESERVED, job)
    }

    /// Every sender takes this lock, so places that are free here are still free when the job is sent.
    fn enqueue_beyond(&self, reserved: usize, job: Job) -> Result<(), Error> {
        let queue = self.0.queue.lock();
        let queue = queue.as_ref().ok_or(Error::Closed)?;
        if queue.capacity() <= reserved && !queue.is_closed() {
            return Err(Error::Full);
        }
        queue.try_send(job).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Full,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn close(&self) {
        // The lock waits for a running query, whose snapshot would keep the last checkpoint from completing.
        drop(self.reader.lock().take());
        drop(self.queue.lock().take());
        let thread = self.thread.lock().take();
        // The callback of a write may drop the last handle; the writer thread then ends by itself.
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
