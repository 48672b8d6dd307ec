//! The state in an SQLite file. Saved changes gather in a [`Batch`]; one write in the file's queue takes all of it.
//!
//! That write is queued by the first change after the last one began, so there is never more than one, it never finds
//! the queue full, and whatever gathers during a commit shares the next. The batch is kept until its commit is
//! answered: if that fails it goes back below what came since.

use std::sync::{
    Arc,
    mpsc::{SyncSender, sync_channel},
};

use parking_lot::Mutex;
use rusqlite::Transaction;

use super::{
    State,
    batch::Batch,
    load,
    row::{Change, Kept},
    value::Wall,
    write,
};
use crate::{
    Error,
    sqlite::{File, Migrations},
};

/// The engine's tables.
pub const MIGRATIONS: Migrations = Migrations {
    owner: "engine",
    steps: &[include_str!("engine-1.sql"), include_str!("engine-2.sql")],
};

/// Upstreams that one transaction forgets at most.
const FORGET: u32 = 64;

/// Keeps rows in a file that others use too. Dropping the last handle of the file writes what waits.
#[derive(Debug)]
pub struct SqliteState {
    file: File,
    /// Shared with the write in the queue, which must not own the file: the thread that ends with the file runs it.
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    batch: Batch,
    /// Who waits in `flush` for this batch.
    flushing: Vec<Flusher>,
    /// Whether a write that will take the batch is queued.
    queued: bool,
    /// Set from the moment the writer took a batch until its commit is answered.
    taken: Option<(Arc<Batch>, Vec<Flusher>)>,
    /// Whether the last commit failed, so that a full disk is told once.
    failing: bool,
}

type Flusher = SyncSender<Result<(), String>>;

impl SqliteState {
    /// Brings the engine's tables in the file to their newest version. Blocks.
    ///
    /// # Errors
    /// As [`File::migrate`].
    pub fn open(file: File) -> Result<Self, Error> {
        file.migrate(MIGRATIONS)?;
        Ok(Self {
            file,
            waiting: Arc::default(),
        })
    }

    /// Sees to it that a write is queued which takes the batch.
    fn queue(&self, waiting: &mut Waiting) -> Result<(), Error> {
        if waiting.queued {
            return Ok(());
        }
        let (work, answer) = (Arc::clone(&self.waiting), Arc::clone(&self.waiting));
        self.file.post(
            move |transaction| drain(&work, transaction),
            move |result| answer.lock().answered(result),
        )?;
        waiting.queued = true;
        Ok(())
    }
}

impl State for SqliteState {
    fn load(&self, front: &str, now: Wall) -> Result<Kept, Error> {
        // On the writer thread: it comes after everything that was saved before.
        let front = front.to_owned();
        self.file.write_blocking(move |transaction| {
            write::settle(transaction, &front, now)?;
            load::kept(transaction, &front, now)
        })
    }

    fn save(&self, front: &str, changes: Vec<Change>) -> Result<(), Error> {
        let mut waiting = self.waiting.lock();
        let taken_in = waiting.batch.absorb(front, changes);
        self.queue(&mut waiting)?;
        taken_in
    }

    fn flush(&self) -> Result<(), Error> {
        let (tell, told) = sync_channel(1);
        let mut waiting = self.waiting.lock();
        self.queue(&mut waiting)?;
        waiting.flushing.push(tell);
        drop(waiting);
        told.recv()
            .map_err(|_| Error::Closed)?
            .map_err(Error::Unsaved)
    }

    fn forget(&self, before: Wall) -> Result<usize, Error> {
        let mut forgotten = 0;
        loop {
            let some = self
                .file
                .write_blocking(move |transaction| write::forget(transaction, before, FORGET))?;
            forgotten += some;
            if some < FORGET as usize {
                return Ok(forgotten);
            }
        }
    }
}

impl Drop for SqliteState {
    /// What a failed commit left behind gets a last try.
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        if !waiting.batch.0.is_empty() {
            let _ = self.queue(&mut waiting);
        }
    }
}

/// On the writer thread, inside its transaction.
fn drain(waiting: &Mutex<Waiting>, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let batch = waiting.lock().take();
    // Not under the lock: callers go on saving meanwhile.
    write::apply(transaction, &batch)
}

impl Waiting {
    /// Begins a commit.
    fn take(&mut self) -> Arc<Batch> {
        self.queued = false;
        let batch = Arc::new(std::mem::take(&mut self.batch));
        self.taken = Some((Arc::clone(&batch), std::mem::take(&mut self.flushing)));
        batch
    }

    /// Ends a commit, on the writer thread.
    fn answered(&mut self, result: Result<(), Error>) {
        if self.taken.is_none() {
            // There was not even a transaction to begin with.
            self.take();
        }
        let Some((batch, flushing)) = self.taken.take() else {
            return;
        };
        let told = result.map_err(|error| error.to_string());
        match &told {
            Ok(()) if self.failing => tracing::info!("the state is written again"),
            Err(error) if !self.failing => {
                tracing::error!(
                    error,
                    "the state cannot be written; it is kept in memory until it can"
                );
            }
            _ => {}
        }
        self.failing = told.is_err();
        if let (Err(_), Some(batch)) = (&told, Arc::into_inner(batch)) {
            self.batch.put_back(batch);
        }
        for flusher in flushing {
            let _ = flusher.send(told.clone());
        }
    }
}
