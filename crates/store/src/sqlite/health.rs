//! Whether a file can still be read, as its connections find out.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{ErrorCode, ffi};

use crate::Error;

/// What is known of one open file; its reader and its writer thread share it.
pub(super) struct Health {
    path: PathBuf,
    damaged: AtomicBool,
    abandoned: AtomicBool,
}

impl Health {
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            damaged: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Takes note of what SQLite said to a caller, and says it in our words.
    pub(super) fn heard(&self, source: rusqlite::Error) -> Error {
        self.note(&source);
        in_words(&self.path, source)
    }

    /// The same for a transaction whose writes all hear of it.
    pub(super) fn not_committed(&self, source: &Arc<rusqlite::Error>) -> Error {
        self.note(source);
        if is_damage(source) {
            return Error::NotADatabase {
                path: self.path.clone(),
            };
        }
        Error::Commit(Arc::clone(source))
    }

    fn note(&self, error: &rusqlite::Error) {
        if is_unreadable(error) {
            self.damaged.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Nothing of the file is wanted any more: what waits to be written is not, and nothing is put in order.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// A damaged file is named, whoever met it first.
pub(super) fn in_words(path: &Path, source: rusqlite::Error) -> Error {
    if is_damage(&source) {
        return Error::NotADatabase {
            path: path.to_owned(),
        };
    }
    Error::Sqlite(source)
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}

/// Damage, or a place on the disk that cannot be read.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    let io = matches!(
        code,
        Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS)
    );
    io || is_damage(error)
}
