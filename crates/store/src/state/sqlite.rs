//! The state in an SQLite file. Saved changes gather in a [`Batch`]; a single write in the file's queue takes all of it.
//!
//! That write is queued by the first change after the previous one began. So there is never more than one, it never finds
//! the queue full, and whatever gathers during a commit shares the next one. The batch is kept until its commit has
//! succeeded: if it fails, the batch is put back, and changes made since then override it.

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
    steps: &[
        include_str!("engine-1.sql"),
        include_str!("engine-2.sql"),
        include_str!("engine-3.sql"),
        include_str!("engine-4.sql"),
        include_str!("engine-5.sql"),
    ],
};

/// Maximum upstreams deleted per transaction, so that other writes do not wait long.
const FORGET: u32 = 64;

/// Keeps rows in a file that others use too. Dropping the file's last handle writes what still waits.
#[derive(Debug)]
pub struct SqliteState {
    file: File,
    /// Shared with the write in the queue. That write must not own the file: it runs on the writer thread, and dropping
    /// the last handle there would make the thread wait for itself.
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
    /// Whether the last commit failed, so that a full disk is logged only once.
    failing: bool,
}

type Flusher = SyncSender<Result<(), String>>;

impl SqliteState {
    /// Migrates the engine's tables in the file. Blocks.
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

    /// Makes sure that a write which takes the batch is queued. Called with `waiting` locked, so that only one is; lock
    /// order: `waiting`, then the file's queue.
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
        // On the writer thread, so that it comes after everything saved before.
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
    /// Tries once more to write what a failed commit left behind.
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        if !waiting.batch.0.is_empty() {
            let _ = self.queue(&mut waiting);
        }
    }
}

/// Writes the batch; runs on the writer thread, inside its transaction.
fn drain(waiting: &Mutex<Waiting>, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let batch = waiting.lock().take();
    // Not under the lock, so that callers can go on saving meanwhile.
    write::apply(transaction, &batch)
}

impl Waiting {
    /// Takes the batch for a commit.
    fn take(&mut self) -> Arc<Batch> {
        self.queued = false;
        let batch = Arc::new(std::mem::take(&mut self.batch));
        self.taken = Some((Arc::clone(&batch), std::mem::take(&mut self.flushing)));
        batch
    }

    /// Ends a commit, on the writer thread.
    fn answered(&mut self, result: Result<(), Error>) {
        if self.taken.is_none() {
            // No transaction could be started, so `drain` never ran.
            self.take();
        }
        let Some((batch, flushing)) = self.taken.take() else {
            return;
        };
        let told = result.map_err(|error| error.to_string());
        match &told {
            Ok(()) if self.failing => tracing::info!("the state can be written again"),
            Err(error) if !self.failing => {
                tracing::error!(
                    error,
                    "the state cannot be written; it is kept in memory until it can be"
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
