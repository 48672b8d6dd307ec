//! One SQLite file: open, migrate, write, read, back up, close.
//!
//! # Several owners in one file
//!
//! `state.db` holds tables of several crates (keys and sessions of `web`, rows of the engine, history of the
//! fronts), and none may know another. So the version of a file is kept per *owner*, in the table
//! `schema(owner, version)`: each owner brings its own [`Migrations`], whose n-th step leads to version n, and its
//! table names start with its name (`web_session`). `PRAGMA user_version` numbers the layout of that bookkeeping
//! itself and `PRAGMA application_id` says that the file is ours. Steps are only ever appended. A file whose owner
//! is ahead of this program is refused; an owner that this program does not know is left alone.
//!
//! # Writing
//!
//! One named thread per file owns the only connection that writes. Closures wait in a bounded queue; the thread
//! takes all that wait, runs each in a savepoint of one transaction and commits once, so a closure that fails or
//! panics undoes itself alone. Callers hear back after the commit. Commits survive `kill -9` at once; they survive
//! a power cut when written with [`File::write_durable`], others after the next checkpoint.

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

pub use self::expendable::Aside;
use self::{
    health::Health,
    writer::{Exclusive, Job, Write},
};
use crate::Error;

/// How many writes may wait for the writer thread.
const QUEUE: usize = 4096;
/// Places beyond those for [`File::post`]: its callers keep at most one write each in the queue.
const RESERVED: usize = 16;

/// The tables of one owner and how they came to be: the n-th step leads from version n − 1 to version n.
#[derive(Debug, Clone, Copy)]
pub struct Migrations {
    /// Who owns the tables; also the beginning of their names.
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
    /// Taken by `close`, which is what ends the thread.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    reader: Mutex<Option<Connection>>,
}

impl File {
    /// Opens the file, making it (readable by its owner alone) when there is none.
    ///
    /// # Errors
    /// When the path cannot be used, or holds something that is not ours or newer than this program.
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

    /// Looks into a file that another process has open. Changes nothing.
    ///
    /// # Errors
    /// When there is no such file, or what the closure said.
    pub fn peek<T>(
        path: &Path,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        query(&open::reader(path)?).map_err(|source| open::explain(path, source))
    }

    /// Whether writes are still taken: not after [`File::close`], nor should the thread that makes them be gone.
    pub fn is_writable(&self) -> bool {
        let thread = self.0.thread.lock();
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Changes a file of ours that another process may have open, in one transaction that is on the disk afterwards.
    /// Makes and migrates nothing.
    ///
    /// # Errors
    /// When there is no such file, it is not ours, or what the closure said.
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

    /// Brings one owner's tables to the newest version, each step in a transaction of its own. Blocks until done.
    ///
    /// # Errors
    /// When the file is newer than these steps, or a step does not run; steps before it stay.
    pub fn migrate(&self, migrations: Migrations) -> Result<(), Error> {
        let path = self.0.path.clone();
        self.exclusive(move |connection| schema::migrate(connection, &path, migrations))?
    }

    /// Runs the closure on the writer thread; its answer comes after the commit.
    ///
    /// # Errors
    /// [`Error::Full`] at once when too many writes wait; otherwise what the closure or the commit said.
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

    /// Like [`File::write`], and the commit is on the disk itself before the answer comes.
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
        // Not `oneshot::blocking_recv`: that panics on a thread of the runtime, and `main` opens files there.
        let (tell, told) = sync_channel(1);
        let write = Write::new(true, work, move |result| {
            let _ = tell.send(result);
        });
        self.enqueue(Job::Write(write))?;
        told.recv().map_err(|_| Error::Closed)?
    }

    /// Queues a write that nobody waits for. What becomes of it is not told: it is for what may be lost.
    ///
    /// # Errors
    /// [`Error::Full`] at once when too many writes wait.
    pub fn write_later<F>(&self, work: F) -> Result<(), Error>
    where
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    {
        self.enqueue(Job::Write(Write::new(false, work, |_| {})))
    }

    /// Runs a short query on the calling thread, over a connection that cannot write. It sees everything that was
    /// answered before. Readers take turns: a query that may take long belongs on a thread and connection of its own.
    ///
    /// # Errors
    /// What the closure said, or [`Error::Closed`].
    pub fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let reader = self.0.reader.lock();
        let connection = reader.as_ref().ok_or(Error::Closed)?;
        query(connection).map_err(|source| self.0.health.heard(source))
    }

    /// Whether a read or write has found the file to be damaged since it was opened.
    pub fn is_damaged(&self) -> bool {
        self.0.health.is_damaged()
    }

    /// Copies the file as it is now to a path that does not exist yet, while others read and write. Blocks.
    ///
    /// # Errors
    /// When the copy cannot be made; nothing is left at the path then.
    pub fn backup(&self, to: &Path) -> Result<(), Error> {
        backup::copy(&self.0.path, to)
    }

    /// Writes what waits, folds the log into the file and ends the thread. Later calls get [`Error::Closed`]. Blocks.
    pub fn close(&self) {
        self.0.close();
    }

    /// Queues a write that is not refused when others have filled the queue, for a caller that gathers its changes
    /// itself and has at most one such write waiting. The answer is given on the writer thread, after the commit.
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

    /// Every sender passes this lock, so the places that were free stay free until this job is in.
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
        drop(self.reader.lock().take());
        drop(self.queue.lock().take());
        if let Some(thread) = self.thread.lock().take() {
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
