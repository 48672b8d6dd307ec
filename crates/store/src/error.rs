//! What can go wrong with one of our files, in sentences that say what to do about it.

use std::{path::PathBuf, sync::Arc};

/// Why a file could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused to open the file.
    #[error("cannot open {}: {source}. Check that the directory exists and that Weir may write to it", path.display())]
    Refused {
        /// Its path.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// SQLite cannot read the file.
    #[error("{} is damaged or not a database. Restore it from a backup, or move it away, and Weir will start with an empty one", path.display())]
    NotADatabase {
        /// Its path.
        path: PathBuf,
    },
    /// The file is the database of another program.
    #[error("{} belongs to another program. Choose another data directory, or move the file away", path.display())]
    Foreign {
        /// Its path.
        path: PathBuf,
    },
    /// The file was written by a later Weir.
    #[error("{} was written by a newer Weir ({owner} tables have version {found}; this Weir knows version {known}). Start the newer Weir, or restore a backup made by this one", path.display())]
    Newer {
        /// Its path.
        path: PathBuf,
        /// Whose tables are newer.
        owner: String,
        /// The version found in the file.
        found: u32,
        /// The version this program knows.
        known: u32,
    },
    /// A step of a migration failed; the file is as it was before that step.
    #[error("cannot migrate the {owner} tables of {} to version {version}: {source}", path.display())]
    Migration {
        /// Its path.
        path: PathBuf,
        /// Whose tables.
        owner: String,
        /// The step that failed.
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
    /// The closure panicked; its own changes were rolled back, those of other writes were not.
    #[error("a write to the store panicked: {0}")]
    Panicked(String),
    /// The closure succeeded but its transaction did not reach the file.
    #[error("the store could not commit: {0}")]
    Commit(Arc<rusqlite::Error>),
    /// An earlier write of the same group made SQLite roll back the transaction, as a full disk does.
    #[error("this write was rolled back together with an earlier one; try again")]
    GivenUp,
    /// The front's part of an agenda entry is too long.
    #[error("the payload of an agenda entry has {length} bytes; at most {most} are allowed")]
    PayloadTooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// Changes of the state did not reach the file. They are kept, and written with the next ones.
    #[error("the state has not been written yet: {0}")]
    Unsaved(String),
    /// SQLite's error for this closure.
    #[error("the store refused: {0}")]
    Sqlite(#[from] rusqlite::Error),
}
