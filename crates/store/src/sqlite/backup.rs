//! A copy of a file while it is in use.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::open;
use crate::Error;

/// `VACUUM INTO` reads one snapshot, however much is written meanwhile; SQLite's online backup would start over on
/// each write. The copy gets its final name when it is complete.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let refused = |source| Error::Refused {
        path: to.to_owned(),
        source,
    };
    if to.exists() {
        return Err(refused(io::ErrorKind::AlreadyExists.into()));
    }
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    // SQLite takes paths as text; a lossy conversion would name another file.
    let name = part.to_str().ok_or_else(|| {
        refused(io::Error::new(
            io::ErrorKind::InvalidFilename,
            "its name is not UTF-8",
        ))
    })?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(part)
        .map_err(refused)?;
    let copied = open::reader(from)
        .and_then(|connection| Ok(connection.execute("VACUUM INTO ?1", [name])?))
        .and_then(|_| {
            file.sync_all()
                .and_then(|()| fs::rename(part, to))
                .map_err(refused)
        });
    if copied.is_err() {
        let _ = fs::remove_file(part);
    }
    copied
}
