//! Files that may be lost: one that cannot be used is set aside, and a new one is created.

mod file;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode};

pub use self::file::{Expendable, ExpendableFile};
use super::{File, Migrations};
use crate::Error;

/// The files that SQLite keeps next to a database. They are moved before the database itself: a log left behind would be
/// taken for that of the next database with this name.
const BESIDE: [&str; 4] = ["-wal", "-shm", "-journal", ""];

/// A file that was set aside.
#[derive(Debug)]
pub struct Aside {
    /// Where it is now.
    pub to: PathBuf,
    /// Why it could not be used.
    pub why: Error,
}

impl File {
    /// Opens a file that may be lost, with the tables of its only owner. If it is damaged, not ours, or this program cannot
    /// use its tables, it is set aside as by [`File::set_aside`] and a new one is created. `check` reads what must be
    /// readable; it runs at each start, so it must not read everything.
    ///
    /// # Errors
    /// If the path cannot be used at all: it is a directory, or we may not write to it.
    pub fn open_expendable(
        path: &Path,
        migrations: Migrations,
        check: fn(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(Self, Option<Aside>), Error> {
        let why = match open(path, migrations, check) {
            Ok(file) => return Ok((file, None)),
            Err(error) if is_unusable(&error) => error,
            Err(error) => return Err(error),
        };
        let to = set_aside(path)?;
        let file = open(path, migrations, check)?;
        Ok((file, Some(Aside { to, why })))
    }

    /// Closes a file that may be lost, without writing what waits, and moves it away: `search.db` becomes `search.db.bad`,
    /// replacing the one that was set aside before.
    ///
    /// # Errors
    /// If it cannot be moved; it is closed even then.
    pub fn set_aside(&self) -> Result<PathBuf, Error> {
        self.abandon();
        set_aside(self.path())
    }

    fn abandon(&self) {
        self.0.health.abandon();
        self.close();
    }
}

fn open(
    path: &Path,
    migrations: Migrations,
    check: fn(&Connection) -> rusqlite::Result<()>,
) -> Result<File, Error> {
    let file = File::open(path)?;
    match file.migrate(migrations).and_then(|()| file.read(check)) {
        Ok(()) => Ok(file),
        Err(error) => {
            file.abandon();
            Err(error)
        }
    }
}

fn is_unusable(error: &Error) -> bool {
    match error {
        // A file with a damaged header may look like that of another program.
        Error::NotADatabase { .. } | Error::Foreign { .. } | Error::Newer { .. } => true,
        // A statement that does not match the tables; a full disk, for one, has a code of its own.
        Error::Migration { source, .. } => source.sqlite_error_code() == Some(ErrorCode::Unknown),
        _ => false,
    }
}

fn set_aside(path: &Path) -> Result<PathBuf, Error> {
    let refused = |source| Error::Refused {
        path: path.to_owned(),
        source,
    };
    for end in BESIDE {
        let (from, to) = (with(path, &[end]), with(path, &[".bad", end]));
        unless_missing(fs::remove_file(&to)).map_err(refused)?;
        unless_missing(fs::rename(from, to)).map_err(refused)?;
    }
    Ok(with(path, &[".bad"]).into())
}

fn with(path: &Path, ends: &[&str]) -> OsString {
    let mut name = path.as_os_str().to_owned();
    ends.iter().for_each(|end| name.push(end));
    name
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
