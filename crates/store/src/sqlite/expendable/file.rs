//! A file that may be lost, for owners who go on without it: opened, read and written, and given up when it is damaged.
//! Nothing here ever fails.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction};

use super::{
    super::{File, Migrations},
    Aside,
};
use crate::Error;

/// How often a new file is begun while Weir runs. A disk that damages one after the other gets no more of them.
const RENEWALS: u32 = 3;

/// Whose file it is, what is in it, and the words for the log.
#[derive(Debug, Clone, Copy)]
pub struct Expendable {
    /// The front that the log names.
    pub front: &'static str,
    /// What the log calls the file, as in "the cache".
    pub noun: &'static str,
    /// What happens without it, as in "answers are kept in memory only".
    pub otherwise: &'static str,
    /// The tables of its only owner.
    pub migrations: Migrations,
    /// Reads what must be readable; it runs at each start, so it must not read everything.
    pub check: fn(&Connection) -> rusqlite::Result<()>,
}

/// The file, if there is one that can be used.
#[derive(Debug)]
pub struct ExpendableFile {
    about: Expendable,
    file: Mutex<Option<File>>,
    renewals: AtomicU32,
}

impl ExpendableFile {
    /// Opens the file at this path; without one, nothing is kept.
    pub fn open(path: Option<PathBuf>, about: Expendable) -> Self {
        let file = path.and_then(|path| {
            let opened = File::open_expendable(&path, about.migrations, about.check);
            let (file, aside) = opened.inspect_err(|error| about.no_file(error)).ok()?;
            if let Some(Aside { to, why }) = aside {
                let Expendable { front, noun, .. } = about;
                tracing::warn!(
                    front,
                    why = %why,
                    "{noun} could not be used: it was set aside as {}, and a new one was begun",
                    to.display()
                );
            }
            Some(file)
        });
        Self {
            about,
            file: Mutex::new(file),
            renewals: AtomicU32::new(0),
        }
    }

    /// What a query finds; nothing if there is no file.
    pub fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<Option<T>>,
    ) -> Option<T> {
        let file = self.file()?;
        file.read(query).unwrap_or_else(|error| {
            let Expendable { front, noun, .. } = self.about;
            if file.is_damaged() {
                self.renew();
            } else {
                tracing::warn!(front, %error, "{noun} cannot be read");
            }
            None
        })
    }

    /// Queues a write. What becomes of it is not told; damage that it meets is seen by whoever comes next.
    pub fn write(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) {
        let Some(file) = self.file() else { return };
        if let Err(error) = file.write_later(work) {
            let Expendable { front, noun, .. } = self.about;
            tracing::debug!(front, %error, "{noun} takes no more writes for now");
        }
    }

    /// Queues a write whose caller gathers its changes itself and has at most one such write waiting: it is accepted even
    /// if others have filled the queue. `answer` runs on the writer thread, after the commit, and may post the next one;
    /// it is dropped unanswered if the file is given up before.
    ///
    /// Begins no new file, since that cannot be done on the writer thread: ask [`Self::is_usable`] first elsewhere.
    ///
    /// # Errors
    /// If it was not queued; [`Error::Closed`] if there is no file that can be used.
    pub fn post<T: 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        answer: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let file = self.file.lock().clone().ok_or(Error::Closed)?;
        if file.is_damaged() {
            return Err(Error::Closed);
        }
        file.post(work, answer)
    }

    /// Whether there is a file that can be used; a damaged one is replaced first.
    pub fn is_usable(&self) -> bool {
        self.file().is_some()
    }

    /// Copies the file as [`File::backup`] does. Blocks.
    ///
    /// # Errors
    /// If the copy cannot be made, or there is no file.
    pub fn backup(&self, to: &Path) -> Result<(), Error> {
        self.file().ok_or(Error::Closed)?.backup(to)
    }

    /// Writes what waits and closes the file; a damaged one is set aside, so that the next start begins with a new one.
    pub fn close(&self) {
        let Some(file) = self.file.lock().take() else {
            return;
        };
        file.close();
        if file.is_damaged() {
            match file.set_aside() {
                Ok(to) => self.about.damaged(&to),
                Err(error) => self.about.no_file(&error),
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
        let about = self.about;
        let no_file = |error: &Error| about.no_file(error);
        let old = self.file.lock().take_if(|file| file.is_damaged())?;
        let path = old.path().to_owned();
        let to = old.set_aside().inspect_err(no_file).ok()?;
        if self.renewals.fetch_add(1, Ordering::Relaxed) >= RENEWALS {
            let Expendable {
                front,
                noun,
                otherwise,
                ..
            } = about;
            tracing::error!(
                front,
                "{noun} is damaged again and was set aside as {}; {otherwise} until the next start. Check the disk",
                to.display()
            );
            return None;
        }
        about.damaged(&to);
        let opened = File::open_expendable(&path, about.migrations, about.check);
        let (new, _) = opened.inspect_err(no_file).ok()?;
        *self.file.lock() = Some(new.clone());
        Some(new)
    }
}

impl Expendable {
    fn damaged(&self, to: &Path) {
        let Self { front, noun, .. } = self;
        tracing::warn!(
            front,
            "{noun} is damaged: it was set aside as {}, and a new one is begun",
            to.display()
        );
    }

    fn no_file(&self, error: &Error) {
        let Self {
            front, otherwise, ..
        } = self;
        tracing::error!(front, %error, "{otherwise}");
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::OptionalExtension;

    use super::*;

    const CACHE: Expendable = Expendable {
        front: "test",
        noun: "the cache",
        otherwise: "answers are kept in memory only",
        migrations: Migrations {
            owner: "test",
            steps: &["
                CREATE TABLE test_one (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
                CREATE TABLE test_two (name TEXT PRIMARY KEY) WITHOUT ROWID;
            "],
        },
        check: |connection| kept(connection).map(drop),
    };

    fn keep(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO test_one VALUES ('one', 7)";
        transaction.execute(sql, []).map(drop)
    }

    fn kept(connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT at FROM test_one WHERE name = 'one'";
        connection.query_row(sql, [], |row| row.get(0)).optional()
    }

    #[test]
    fn a_disk_that_damages_every_file_gets_no_more_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.db");
        let shelf = ExpendableFile::open(Some(path.clone()), CACHE);
        for round in 0..=RENEWALS {
            let file = shelf.file().unwrap();
            file.write_blocking(keep).unwrap();
            for name in ["cache.db", "cache.db-wal"] {
                let name = directory.path().join(name);
                let length = std::fs::metadata(&name).unwrap().len();
                std::fs::write(&name, vec![0x5A; length as usize]).unwrap();
            }
            assert_eq!(shelf.read(kept), None, "{round}");
            let bad = directory.path().join("cache.db.bad");
            std::fs::remove_file(bad).expect("it was set aside");
            assert_eq!(path.exists(), round < RENEWALS, "{round}");
        }
        assert!(!shelf.is_usable());
        shelf.write(keep);
        assert_eq!(shelf.read(kept), None);
        let refused = shelf.post(keep, |_| panic!("nobody answers"));
        assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
        shelf.close();
    }

    #[test]
    fn damage_that_a_write_meets_is_seen_by_whoever_comes_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.db");
        let shelf = ExpendableFile::open(Some(path.clone()), CACHE);
        shelf.file().unwrap().write_blocking(keep).unwrap();
        shelf.close();
        let shelf = ExpendableFile::open(Some(path.clone()), CACHE);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..].fill(0x5A);
        std::fs::write(&path, &bytes).unwrap();
        let file = shelf.file().unwrap();
        let met = file.write_blocking(|transaction| {
            transaction.execute("DELETE FROM test_two", [])?;
            keep(transaction)
        });
        assert!(met.is_err() && file.is_damaged(), "{met:?}");
        let new = shelf.file().unwrap();
        new.write_blocking(keep).unwrap();
        assert_eq!(shelf.read(kept), Some(7));
        assert!(directory.path().join("cache.db.bad").exists());
    }

    #[test]
    fn a_posted_write_is_answered_after_its_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.db");
        let shelf = ExpendableFile::open(Some(path), CACHE);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let answer = move |result: Result<(), Error>| tell.send(result.is_ok()).unwrap();
        shelf.post(keep, answer).unwrap();
        assert!(told.recv().unwrap());
        assert_eq!(shelf.read(kept), Some(7));
    }

    #[test]
    fn the_last_handle_may_be_dropped_by_an_answer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.db");
        let shelf = std::sync::Arc::new(ExpendableFile::open(Some(path.clone()), CACHE));
        let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let last = shelf.clone();
        let answer = move |result: Result<(), Error>| {
            gone.recv().unwrap();
            drop(last);
            tell.send(result.is_ok()).unwrap();
        };
        shelf.post(keep, answer).unwrap();
        drop(shelf);
        go.send(()).unwrap();
        assert!(told.recv().unwrap(), "the thread did not wait for itself");
        let kept = File::peek(&path, kept).unwrap();
        assert_eq!(kept, Some(7));
    }
}
