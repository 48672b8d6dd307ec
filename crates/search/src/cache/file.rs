//! `search.db` itself: opened, read and written, and given up when it is damaged. Nothing here ever fails: without a file,
//! answers are kept in memory alone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction};
use weir_store::Error;
use weir_store::sqlite::{Aside, File, Migrations};

/// How often a new file is begun while Weir runs. A disk that damages one after the other gets no more of them.
const RENEWALS: u32 = 3;

const MIGRATIONS: Migrations = Migrations {
    owner: "search",
    steps: &["
        CREATE TABLE search_part (
            key BLOB PRIMARY KEY, indexer TEXT NOT NULL, at INTEGER NOT NULL,
            charset TEXT, size INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX search_part_at ON search_part (at);
        CREATE TABLE search_caps (
            indexer TEXT PRIMARY KEY, place TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE search_file (
            key BLOB PRIMARY KEY, at INTEGER NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX search_file_at ON search_file (at);
    "],
};

/// The file, if there is one that can be used.
pub(super) struct CacheFile {
    file: Mutex<Option<File>>,
    renewals: AtomicU32,
}

impl CacheFile {
    /// Opens the file at this path; without one, nothing is kept.
    pub(super) fn open(path: Option<PathBuf>) -> Self {
        let file = path.and_then(|path| {
            let opened = File::open_expendable(&path, MIGRATIONS, look);
            let (file, aside) = opened.inspect_err(no_file).ok()?;
            if let Some(Aside { to, why }) = aside {
                tracing::warn!(
                    front = "search",
                    why = %why,
                    "the cache could not be used: it was set aside as {}, and a new one was begun",
                    to.display()
                );
            }
            Some(file)
        });
        Self {
            file: Mutex::new(file),
            renewals: AtomicU32::new(0),
        }
    }

    /// What a query finds; nothing if there is no file.
    pub(super) fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<T> {
        let file = self.file()?;
        file.read(query).unwrap_or_else(|error| {
            if file.is_damaged() {
                self.renew();
            } else {
                tracing::warn!(front = "search", %error, "the cache cannot be read");
            }
            None
        })
    }

    /// Queues a write. What becomes of it is not told; damage that it meets is seen by whoever comes next.
    pub(super) fn write(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) {
        let Some(file) = self.file() else { return };
        if let Err(error) = file.write_later(work) {
            tracing::debug!(front = "search", %error, "an answer is not kept");
        }
    }

    /// Writes what waits and closes the file; a damaged one is set aside, so that the next start begins with a new one.
    pub(super) fn close(&self) {
        let Some(file) = self.file.lock().take() else {
            return;
        };
        file.close();
        if file.is_damaged() {
            match file.set_aside() {
                Ok(to) => damaged(&to),
                Err(error) => no_file(&error),
            }
        }
    }

    fn file(&self) -> Option<File> {
        let file = self.file.lock().clone()?;
        match file.is_damaged() {
            false => Some(file),
            true => self.renew(),
        }
    }

    /// Sets a damaged file aside and begins a new one. Others find no file meanwhile and go on without.
    fn renew(&self) -> Option<File> {
        let old = self.file.lock().take_if(|file| file.is_damaged())?;
        let path = old.path().to_owned();
        let to = old.set_aside().inspect_err(no_file).ok()?;
        if self.renewals.fetch_add(1, Ordering::Relaxed) >= RENEWALS {
            tracing::error!(
                front = "search",
                "the cache is damaged again and was set aside as {}; answers are kept in memory only until the next start. Check the disk",
                to.display()
            );
            return None;
        }
        damaged(&to);
        let opened = File::open_expendable(&path, MIGRATIONS, look);
        let (new, _) = opened.inspect_err(no_file).ok()?;
        *self.file.lock() = Some(new.clone());
        Some(new)
    }
}

fn damaged(to: &Path) {
    tracing::warn!(
        front = "search",
        "the cache is damaged: it was set aside as {}, and a new one is begun",
        to.display()
    );
}

fn no_file(error: &Error) {
    tracing::error!(front = "search", %error, "answers are kept in memory only");
}

/// Reads both ends of each table and index: a few pages, however large the file is. Damage in between is found when it
/// is met.
fn look(connection: &Connection) -> rusqlite::Result<()> {
    for (table, column) in [
        ("search_part", "key"),
        ("search_part", "at"),
        ("search_caps", "indexer"),
        ("search_file", "key"),
        ("search_file", "at"),
    ] {
        for order in ["ASC", "DESC"] {
            let sql = format!("SELECT at FROM {table} ORDER BY {column} {order} LIMIT 1");
            let row = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
            row.optional()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO search_caps VALUES ('one', 'there', 7, x'00')";
        transaction.execute(sql, []).map(drop)
    }

    fn kept(connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT at FROM search_caps WHERE indexer = 'one'";
        connection.query_row(sql, [], |row| row.get(0)).optional()
    }

    #[test]
    fn a_disk_that_damages_every_file_gets_no_more_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("search.db");
        let shelf = CacheFile::open(Some(path.clone()));
        for round in 0..=RENEWALS {
            let file = shelf.file().unwrap();
            file.write_blocking(keep).unwrap();
            for name in ["search.db", "search.db-wal"] {
                let name = directory.path().join(name);
                let length = std::fs::metadata(&name).unwrap().len();
                std::fs::write(&name, vec![0x5A; length as usize]).unwrap();
            }
            assert_eq!(shelf.read(kept), None, "{round}");
            let bad = directory.path().join("search.db.bad");
            std::fs::remove_file(bad).expect("it was set aside");
            assert_eq!(path.exists(), round < RENEWALS, "{round}");
        }
        assert!(shelf.file().is_none());
        shelf.write(keep);
        assert_eq!(shelf.read(kept), None);
        shelf.close();
    }

    #[test]
    fn damage_that_a_write_meets_is_seen_by_whoever_comes_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("search.db");
        let shelf = CacheFile::open(Some(path.clone()));
        shelf.file().unwrap().write_blocking(keep).unwrap();
        shelf.close();
        let shelf = CacheFile::open(Some(path.clone()));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..].fill(0x5A);
        std::fs::write(&path, &bytes).unwrap();
        let file = shelf.file().unwrap();
        let met = file.write_blocking(|transaction| {
            transaction.execute("DELETE FROM search_file", [])?;
            transaction.execute("DELETE FROM search_part", [])?;
            keep(transaction)
        });
        assert!(met.is_err() && file.is_damaged(), "{met:?}");
        let new = shelf.file().unwrap();
        new.write_blocking(keep).unwrap();
        assert_eq!(shelf.read(kept), Some(7));
        assert!(directory.path().join("search.db.bad").exists());
    }
}
