//! What can go wrong with a file of ours, in sentences that say what to do about it.

use std::{path::PathBuf, sync::Arc};

/// Why a file could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused the file.
    #[error("cannot open {}: {source}. Check that the directory exists and that Weir may write to it", path.display())]
    Refused {
        /// The file asked for.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file holds something that SQLite cannot read.
    #[error("{} is damaged or not a database. Restore it from a backup, or move it away and Weir starts with an empty one", path.display())]
    NotADatabase {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file is a database, made by some other program.
    #[error("{} belongs to another program. Choose another data directory, or move the file away", path.display())]
    Foreign {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file was written by a later Weir.
    #[error("{} was written by a newer Weir ({owner} tables of version {found}, this Weir knows {known}). Start that newer Weir, or restore a backup made by this one", path.display())]
    Newer {
        /// The file asked for.
        path: PathBuf,
        /// Whose tables are newer.
        owner: String,
        /// The version found in the file.
        found: u32,
        /// The version this program knows.
        known: u32,
    },
    /// A step of a migration did not run; the file is as it was before that step.
    #[error("cannot bring the {owner} tables of {} to version {version}: {source}", path.display())]
    Migration {
        /// The file asked for.
        path: PathBuf,
        /// Whose tables.
        owner: String,
        /// The step that did not run.
        version: u32,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// More writes are waiting than the queue holds.
    #[error("the store is busy: its write queue is full")]
    Full,
    /// The file has been closed.
    #[error("the store is closed")]
    Closed,
    /// The closure panicked; nothing of it was kept, everything else was.
    #[error("a write to the store panicked: {0}")]
    Panicked(String),
    /// The closure succeeded but its transaction did not reach the file.
    #[error("the store could not commit: {0}")]
    Commit(Arc<rusqlite::Error>),
    /// An earlier write of the same group made SQLite give up the transaction (a full disk does).
    #[error("the store gave up this write together with an earlier one; try again")]
    GivenUp,
    /// The front's part of an agenda entry is longer than an entry may carry.
    #[error("an agenda entry may carry {most} bytes of its front's own, this one has {length}")]
    PayloadTooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// Changes of the state did not reach the file. They are kept and written with the next ones.
    #[error("the state could not be written yet: {0}")]
    Unsaved(String),
    /// What SQLite said to this closure.
    #[error("the store refused: {0}")]
    Sqlite(#[from] rusqlite::Error),
}
