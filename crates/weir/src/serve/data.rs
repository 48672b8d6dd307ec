//! The data directory, locked by one Weir at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The lock's name in the directory.
const LOCK: &str = "weir.lock";

/// A data directory that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Data {
    path: PathBuf,
    /// The operating system releases the lock with the file, even if the process is killed.
    _lock: File,
}

impl Data {
    /// Creates the directory if there is none, and locks it.
    pub(super) fn lock(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| {
            format!("cannot create the data directory {shown}. Choose one that Weir can write to, with --data DIR or `data:`")
        })?;
        let file = path.join(LOCK);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&file)
            .with_context(|| {
                format!("cannot write to the data directory {shown}. Give Weir permission, or choose another directory with --data DIR")
            })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "the data directory {shown} is in use by another Weir{}. Stop that one, or give this one its own directory with --data DIR",
                holder(&mut lock),
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", file.display()));
            }
        }
        let noted = lock
            .set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        noted.with_context(|| format!("cannot write to {}: is the disk full?", file.display()))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Locks a directory that is there, unless a Weir is running in it. One that may not be opened is left to that Weir.
    pub(crate) fn lock_idle(path: &Path) -> anyhow::Result<Option<Self>> {
        let file = path.join(LOCK);
        let mut open = OpenOptions::new();
        let open = open.read(true).write(true).create(true).truncate(false);
        let lock = match open.mode(0o600).open(&file) {
            Ok(lock) => lock,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot open {}", file.display()));
            }
        };
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self {
                path: path.to_owned(),
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", file.display()))
            }
        }
    }

    /// Whether a Weir is running there.
    pub(crate) fn is_in_use(path: &Path) -> bool {
        let lock = File::open(path.join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The process that holds the lock, if it has written its id yet.
fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    let read = lock
        .rewind()
        .and_then(|()| lock.take(32).read_to_string(&mut text));
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_directory_says_by_whom_and_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let first = Data::lock(directory.path()).unwrap();
        let error = Data::lock(directory.path()).unwrap_err().to_string();
        assert!(
            error.contains(&directory.path().display().to_string()),
            "{error}"
        );
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        assert!(error.contains("--data DIR"), "{error}");
        assert!(Data::is_in_use(directory.path()));
        assert!(Data::lock_idle(directory.path()).unwrap().is_none());
        drop(first);
        assert!(!Data::is_in_use(directory.path()));
        drop(
            Data::lock_idle(directory.path())
                .unwrap()
                .expect("it is free"),
        );
        Data::lock(directory.path()).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Data::lock(&file.join("below")).unwrap_err().to_string();
        assert!(error.contains("--data DIR"), "{error}");
    }
}
