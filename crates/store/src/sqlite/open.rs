//! Connections: how a file is created, recognised and set up. What is in its tables is up to others.

use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{health, schema};
use crate::Error;

/// "Weir" in ASCII, by which `file(1)` and Weir itself recognise our databases.
const APPLICATION_ID: i32 = 0x5765_6972;
/// How long to wait for another program that has locked the file (a backup tool, `sqlite3`).
const BUSY: Duration = Duration::from_secs(5);

/// The one connection that writes.
pub(super) fn writer(path: &Path) -> Result<Connection, Error> {
    create(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    recognise(&connection, path)?;
    prepare(&connection).map_err(|source| explain(path, source))?;
    schema::begin(&connection, path)?;
    Ok(connection)
}

/// A connection that cannot write.
pub(super) fn reader(path: &Path) -> Result<Connection, Error> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// A connection that writes to an existing file, which another process may write to as well.
pub(super) fn amender(path: &Path) -> Result<Connection, Error> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    recognise(&connection, path)?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(|source| explain(path, source))?;
    Ok(connection)
}

/// Creates the file readable by its owner only; SQLite would use the umask, and its log files copy the file's mode.
fn create(path: &Path) -> Result<(), Error> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(Error::Refused {
            path: path.to_owned(),
            source,
        }),
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, Error> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|source| explain(path, source))?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

fn recognise(connection: &Connection, path: &Path) -> Result<(), Error> {
    let found: rusqlite::Result<(i32, i64)> = connection.query_row(
        "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    match found.map_err(|source| explain(path, source))? {
        (APPLICATION_ID, _) | (0, 0) => Ok(()),
        _ => Err(Error::Foreign {
            path: path.to_owned(),
        }),
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", "ON")
}

/// Translates an error of SQLite. Garbage is noticed at the first statement, not when opening, so all of them come here.
pub(super) fn explain(path: &Path, source: rusqlite::Error) -> Error {
    match source.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            let source = refusal(path).unwrap_or_else(|| io::Error::other(source));
            Error::Refused {
                path: path.to_owned(),
                source,
            }
        }
        _ => health::in_words(path, source),
    }
}

/// The operating system's reason why a file cannot be opened, which SQLite does not tell. No connection to the file may
/// be open here: closing a second descriptor would drop that connection's POSIX locks.
fn refusal(path: &Path) -> Option<io::Error> {
    OpenOptions::new().read(true).write(true).open(path).err()
}
