//! What belongs to the state in a data directory, and how each part of it is copied.
//!
//! Databases are copied by SQLite from one snapshot each. Files of swarms are only ever replaced as a whole, so one that was
//! opened or linked stays as it was.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, bail};
use weir_store::sqlite;

/// The databases. The first one is always there.
const DATABASES: [&str; 3] = ["state.db", "search.db", "news.db"];
/// Made anew by the news front if it is missing, so only copied on request.
const TEXT_INDEX: &str = "news-text.db";
/// What was configured from the pages.
const PLAIN: [&str; 1] = ["upstreams.yaml"];
const SWARM: &str = "swarm";

/// How files that need no snapshot get into the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As copies that share nothing with the original.
    Copy,
    /// As further names of the same files, for a copy that is only passed on. Takes no space and no time.
    Link,
}

/// Copies the state in `data` into the directory `to`, which is there and empty. Returns the names of what was copied. `goes_on`
/// is asked before each file.
pub(crate) fn copy(
    data: &Path,
    to: &Path,
    text_index: bool,
    way: Way,
    goes_on: &dyn Fn() -> bool,
) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    let optional = text_index.then_some(TEXT_INDEX);
    for name in DATABASES.into_iter().chain(optional) {
        if data.join(name).exists() {
            still(goes_on)?;
            sqlite::File::copy(&data.join(name), &to.join(name))
                .with_context(|| format!("cannot copy {name}"))?;
            names.push(name.to_owned());
        }
    }
    for name in PLAIN {
        if take(&data.join(name), &to.join(name), way)? {
            names.push(name.to_owned());
        }
    }
    let swarm = data.join(SWARM);
    if swarm.is_dir() {
        make_directory(&to.join(SWARM))?;
        for name in swarm_files(&swarm)? {
            still(goes_on)?;
            let name = format!("{SWARM}/{name}");
            if take(&data.join(&name), &to.join(&name), way)? {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Bytes that copying the databases takes at most.
pub(crate) fn needed(data: &Path, text_index: bool) -> u64 {
    let optional = text_index.then_some(TEXT_INDEX);
    let files = DATABASES.into_iter().chain(optional);
    let sizes = files.flat_map(|name| [data.join(name), data.join(format!("{name}-wal"))]);
    let sizes = sizes.filter_map(|path| Some(fs::metadata(path).ok()?.len()));
    sizes.fold(0, u64::saturating_add)
}

/// Makes a directory for its owner alone.
pub(crate) fn make_directory(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create {}", path.display()))
}

fn still(goes_on: &dyn Fn() -> bool) -> anyhow::Result<()> {
    if !goes_on() {
        bail!("it is no longer wanted");
    }
    Ok(())
}

/// Those that belong to the state, in order; not those that are being written or were set aside.
fn swarm_files(directory: &Path) -> anyhow::Result<Vec<String>> {
    let cannot = || format!("cannot read {}", directory.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).with_context(cannot)? {
        let name = entry.with_context(cannot)?.file_name();
        let Ok(name) = name.into_string() else {
            continue;
        };
        let group = name.strip_suffix(".swarm");
        let group = group.or_else(|| name.strip_suffix(".upstream"));
        let of_group = group.is_some_and(|group| group.bytes().all(|byte| byte.is_ascii_digit()));
        if of_group || name == "key" {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Takes one file along; false if there is none.
fn take(from: &Path, to: &Path, way: Way) -> anyhow::Result<bool> {
    let taken = match way {
        Way::Link => fs::hard_link(from, to).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Err(error),
            // Not every file system has links.
            _ => fs::copy(from, to).map(drop),
        }),
        Way::Copy => fs::copy(from, to)
            .and_then(|_| File::open(to))
            .and_then(|file| file.sync_all()),
    };
    match taken {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot copy {}", from.display())),
    }
}
