//! Where a backup is written: under another name until it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::contents::make_directory;
use super::manifest::{Manifest, NAME};
use crate::cli::Usage;

/// The directory of a backup, in the making; removed when dropped before [`Self::finish`].
pub(crate) struct NewBackup {
    directory: PathBuf,
    /// Its name until then.
    part: PathBuf,
    finished: bool,
}

impl NewBackup {
    /// Begins one. The directory must not exist yet, or be empty.
    ///
    /// # Errors
    /// If it cannot be used.
    pub(crate) fn begin(directory: &Path) -> anyhow::Result<Self> {
        let shown = directory.display();
        let taken = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                return Err(Usage(format!("cannot use {shown}: {error}")).into());
            }
        };
        if taken {
            let text = format!("{shown} is not empty; give a directory that does not exist yet");
            return Err(Usage(text).into());
        }
        let directory = match directory.canonicalize() {
            Ok(there) => there,
            Err(_) => std::path::absolute(directory).context("cannot use this directory")?,
        };
        let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
            return Err(Usage(format!(
                "{shown} cannot be replaced; give a directory below it"
            ))
            .into());
        };
        if !parent.is_dir() {
            let text = format!(
                "there is no directory {}; create it first",
                parent.display()
            );
            return Err(Usage(text).into());
        }
        let name = name.to_string_lossy();
        let part = parent.join(format!(".{name}.part-{}", std::process::id()));
        make_directory(&part)?;
        Ok(Self {
            directory,
            part,
            finished: false,
        })
    }

    /// Where to write meanwhile.
    pub(crate) fn path(&self) -> &Path {
        &self.part
    }

    /// Creates a file, for its owner alone.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<File> {
        let path = self.part.join(name);
        if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
            make_directory(parent)?;
        }
        let mut open = OpenOptions::new();
        open.write(true).create_new(true).mode(0o600);
        let file = open.open(&path);
        file.with_context(|| format!("cannot create {}", path.display()))
    }

    /// Adds the manifest and gives the directory its name. Everything is on the disk when this returns.
    pub(crate) fn finish(mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", self.directory.display());
        let mut text = serde_json::to_string_pretty(manifest)?;
        text.push('\n');
        let mut file = self.create(NAME)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .with_context(cannot)?;
        for entry in fs::read_dir(&self.part).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            if path.is_dir() {
                sync(&path).with_context(cannot)?;
            }
        }
        sync(&self.part).with_context(cannot)?;
        fs::rename(&self.part, &self.directory).with_context(|| {
            let shown = self.directory.display();
            format!("cannot give the backup its name {shown}; if that is a mount point, give a directory below it")
        })?;
        self.finished = true;
        if let Some(parent) = self.directory.parent() {
            sync(parent).with_context(cannot)?;
        }
        Ok(())
    }
}

impl Drop for NewBackup {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Manifest {
        Manifest {
            version: "1".into(),
            made: "now".into(),
            files: Vec::new(),
        }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_backup_has_its_name_only_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one");
        let begun = NewBackup::begin(&path).unwrap();
        begun.create("swarm/key").unwrap();
        assert!(!path.exists());
        begun.finish(&empty()).unwrap();
        assert_eq!(names(&path), ["backup.json", "swarm"]);
        assert_eq!(names(directory.path()), ["one"]);
        let given_up = NewBackup::begin(&directory.path().join("two")).unwrap();
        given_up.create("state.db").unwrap();
        drop(given_up);
        assert_eq!(names(directory.path()), ["one"]);
    }

    #[test]
    fn only_an_empty_directory_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one");
        fs::create_dir(&path).unwrap();
        NewBackup::begin(&path).unwrap().finish(&empty()).unwrap();
        let again = NewBackup::begin(&path).err().unwrap();
        assert!(again.is::<Usage>() && again.to_string().contains("is not empty"));
        let file = path.join("backup.json");
        assert!(NewBackup::begin(&file).err().unwrap().is::<Usage>());
        let nowhere = NewBackup::begin(&path.join("no/such")).err().unwrap();
        assert!(nowhere.to_string().contains("create it first"), "{nowhere}");
        assert_eq!(names(&path), ["backup.json"]);
    }
}
