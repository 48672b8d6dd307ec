//! The files of the swarms and of what other trackers said, in a directory of their own.
//!
//! Each group of shards has one of both, written under another name and renamed when it is whole.

mod moving;
mod thread;

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::clock::{FileTime, TrackerClock, wall_seconds};
use crate::ledger::Ledger;
use crate::sealed;
use crate::sharing::{self, Places};
use crate::swarm::snapshot::GROUPS;
use crate::swarm::{Swarms, seed};

pub(crate) use self::thread::{FilesThread, Unwritten};

/// The file of the key. It is sealed like the others: a damaged one would spread swarms over the wrong files unnoticed.
const KEY: &str = "key";
const KEY_KIND: &[u8; 8] = b"weirkey2";
/// Bytes of a key of earlier versions, whose hash could be flooded.
const OLD_KEY: usize = 8;

/// The file that notes how far the streams of other nodes were read.
const PLACES: &str = "places";

/// The directory and its files are for their owner alone: they say who shares what.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The directory of the files.
#[derive(Clone)]
pub(crate) struct Directory {
    path: PathBuf,
    key: [u8; seed::KEY],
}

/// What was read at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RestoredSwarms {
    pub(crate) peers: usize,
    /// Files that could not be used, and were set aside.
    pub(crate) bad: usize,
}

impl Directory {
    /// Makes the directory if need be, and moves its files to a new key where they have none or an old one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, wall_seconds(), &mut || Ok(()))
    }

    fn open_with(path: &Path, wall: u64, goes: moving::Goes<'_>) -> io::Result<Self> {
        make(path)?;
        let path: PathBuf = path.into();
        if let Some(key) = read_key(&path.join(KEY))? {
            let directory = Self { path, key };
            directory.end_move(goes)?;
            return Ok(directory);
        }
        let mut key = [0; seed::KEY];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let directory = Self { path, key };
        directory.move_all(wall, goes)?;
        Ok(directory)
    }

    /// The secret by which swarms are spread over shards, made at the first start.
    pub(crate) fn key(&self) -> [u8; seed::KEY] {
        self.key
    }

    fn write_key(&self) -> io::Result<()> {
        let file = [&KEY_KIND[..], &self.key].concat();
        self.write(KEY, &sealed::seal(file))
    }

    /// Reads all files at the start.
    pub(crate) fn restore_all(
        &self,
        swarms: &Swarms,
        ledger: &Ledger,
        clock: TrackerClock,
    ) -> io::Result<()> {
        let now = clock.file_time();
        let RestoredSwarms { peers, bad } = self.restore(swarms, now)?;
        if peers > 0 || bad > 0 {
            let swarms = swarms.totals().swarms;
            tracing::info!(swarms, peers, bad, "swarms are back");
        }
        self.restore_sheets(ledger, now)
    }

    /// Reads the files of swarms. One that cannot be used is set aside; the others count.
    pub(crate) fn restore(&self, swarms: &Swarms, now: FileTime) -> io::Result<RestoredSwarms> {
        let mut restored = RestoredSwarms::default();
        for name in (0..GROUPS).map(name) {
            let path = self.path.join(name);
            let Some(file) = read(&path)? else { continue };
            match swarms.restore(&file, now) {
                Ok(peers) => restored.peers += peers,
                Err(error) => {
                    let aside = path.with_extension("bad");
                    tracing::warn!(path = %path.display(), aside = %aside.display(), %error, "a file of swarms cannot be read and was set aside; its peers will announce again");
                    restored.bad += 1;
                    fs::rename(&path, aside)?;
                }
            }
        }
        Ok(restored)
    }

    /// Writes one group, if anything changed there.
    pub(crate) fn write_group(
        &self,
        swarms: &Swarms,
        group: usize,
        now: FileTime,
    ) -> io::Result<()> {
        let Some(file) = swarms.capture(group, now) else {
            return Ok(());
        };
        self.write(&name(group), &file)
            .inspect_err(|_| swarms.not_written(group))
    }

    /// Reads what other trackers said. A file that cannot be used is set aside.
    fn restore_sheets(&self, ledger: &Ledger, now: FileTime) -> io::Result<()> {
        for name in (0..GROUPS).map(sheets_name) {
            let path = self.path.join(name);
            let Some(file) = read(&path)? else { continue };
            if let Err(error) = ledger.restore(&file, now) {
                let aside = path.with_extension("bad");
                tracing::warn!(path = %path.display(), aside = %aside.display(), %error, "a file of what other trackers said cannot be read and was set aside; they will be asked again");
                fs::rename(&path, aside)?;
            }
        }
        Ok(())
    }

    /// Writes what other trackers said of one group, if anything changed there.
    pub(crate) fn write_sheets(
        &self,
        ledger: &Ledger,
        group: usize,
        now: FileTime,
    ) -> io::Result<()> {
        let Some(file) = ledger.capture(group, now) else {
            return Ok(());
        };
        self.write(&sheets_name(group), &file)
            .inspect_err(|_| ledger.not_written(group))
    }

    /// How far streams of other nodes had been read when the files were written. If that cannot be told, they are read from
    /// their beginning.
    pub(crate) fn read_places(&self) -> io::Result<Places> {
        let path = self.path.join(PLACES);
        let Some(file) = read(&path)? else {
            return Ok(Places::default());
        };
        let places = sharing::read_places(&file).inspect_err(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot tell how far other nodes' streams were read; reads them from their beginning");
        });
        Ok(places.unwrap_or_default())
    }

    /// Notes them; to be called with what was true before the first group was written.
    pub(crate) fn write_places(&self, places: &[u8]) -> io::Result<()> {
        self.write(PLACES, places)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let unfinished = path.with_extension("tmp");
        // One that a kill left behind would keep the mode it has. Not made anew by changing its mode: on some mounts only
        // their owner may do that.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut open = OpenOptions::new();
        open.write(true).create_new(true).mode(FILE_MODE);
        let mut file = open.open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(unfinished, path)
    }
}

/// Makes the directory, or closes one to others that was open to them.
fn make(path: &Path) -> io::Result<()> {
    let mut make = DirBuilder::new();
    make.recursive(true).mode(DIRECTORY_MODE).create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & !DIRECTORY_MODE & 0o777 == 0 {
        return Ok(());
    }
    let closed = fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE));
    if let Err(error) = closed {
        // Of another owner. What is written there is closed to others in any case.
        tracing::warn!(path = %path.display(), %error, "the directory of swarms stays open to others");
    }
    Ok(())
}

/// The key, if it is one; an earlier version wrote eight bytes.
fn read_key(path: &Path) -> io::Result<Option<[u8; seed::KEY]>> {
    let Some(bytes) = read(path)? else {
        return Ok(None);
    };
    let key = sealed::open(&bytes, KEY_KIND).ok();
    let key = key.and_then(|key| key.0.try_into().ok());
    if key.is_none() && bytes.len() != OLD_KEY {
        tracing::warn!(path = %path.display(), "not a key of swarms; made a new one");
    }
    Ok(key)
}

fn name(group: usize) -> String {
    format!("{group:02}.swarm")
}

fn sheets_name(group: usize) -> String {
    format!("{group:02}.upstream")
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            Directory::open(&directory.path().join("swarm"))
                .unwrap()
                .key()
        };
        let first = open();
        assert_eq!(open(), first);
        fs::write(directory.path().join("swarm/key"), "x").unwrap();
        assert_ne!(open(), first);
    }

    #[test]
    fn files_are_for_their_owner_alone_also_where_the_directory_was_open_to_others() {
        let path = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let path = path.path().join(name);
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        fs::set_permissions(path.path(), Permissions::from_mode(0o755)).unwrap();
        // What a kill left behind, and what an earlier version wrote.
        for name in ["07.tmp", "07.swarm", "key"] {
            let path = path.path().join(name);
            fs::write(&path, "12345678").unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        }
        let directory = Directory::open(path.path()).unwrap();
        assert_eq!(mode(""), 0o700);
        assert_eq!(mode("key"), 0o600);
        let swarms = Swarms::new(crate::swarm::tests::RULES, directory.key());
        swarms.not_written(7);
        let now = FileTime {
            seconds: 0,
            wall: 0,
        };
        directory.write_group(&swarms, 7, now).unwrap();
        assert_eq!(mode("07.swarm"), 0o600);
        let fresh = path.path().join("below/swarm");
        Directory::open(&fresh).unwrap();
        assert_eq!(
            (mode("below/swarm"), mode("below/swarm/key")),
            (0o700, 0o600)
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_set_aside() {
        let path = tempfile::tempdir().unwrap();
        let directory = Directory::open(path.path()).unwrap();
        fs::write(path.path().join("07.swarm"), "weirswm1 but no more").unwrap();
        let swarms = Swarms::new(crate::swarm::tests::RULES, [1; 16]);
        let now = FileTime {
            seconds: 0,
            wall: 0,
        };
        let restored = directory.restore(&swarms, now).unwrap();
        assert_eq!(restored, RestoredSwarms { peers: 0, bad: 1 });
        assert!(path.path().join("07.bad").exists());
        assert!(!path.path().join("07.swarm").exists());
    }
}
