//! Whether a file is known to be damaged, as its connections notice.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{ErrorCode, ffi};

use crate::Error;

/// What is known about one open file; shared by its reader and its writer thread.
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

    /// Notes an error of SQLite if it means damage, and translates it.
    pub(super) fn heard(&self, source: rusqlite::Error) -> Error {
        self.note(&source);
        in_words(&self.path, source)
    }

    /// The same for a failed commit, whose error every write of the transaction gets.
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

    /// Gives the file up: waiting writes are dropped, and the log is not moved into the file.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// Translates an error of SQLite; one that means damage names the file.
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

/// Damage, or a part of the disk that cannot be read.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    let io = matches!(
        code,
        Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS)
    );
    io || is_damage(error)
}
