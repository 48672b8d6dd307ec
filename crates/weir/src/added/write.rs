//! Replaces the file: the new one is written whole before it takes the place of the old one, so that a full disk or a
//! power cut leaves either the old or the new.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A new file that is on the disk and not yet in its place. Dropping it leaves everything as it was.
pub(crate) struct Prepared {
    path: PathBuf,
    temporary: PathBuf,
}

impl Prepared {
    /// Writes the text beside the file.
    pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<Self> {
        let prepared = Self {
            path: path.to_owned(),
            temporary: path.with_extension("yaml.new"),
        };
        let written = prepared.put(text);
        written.with_context(|| {
            format!(
                "{} cannot be written. Is the disk full? The file is as it was",
                path.display()
            )
        })?;
        Ok(prepared)
    }

    fn put(&self, text: &str) -> io::Result<()> {
        // Whatever is there under this name was left by a Weir that was cut off, or leads elsewhere.
        match fs::remove_file(&self.temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut open = OpenOptions::new();
        let open = open.write(true).create_new(true).mode(0o600);
        let mut file = open.open(&self.temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Puts it in its place.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        fs::rename(&self.temporary, &self.path).with_context(|| {
            format!(
                "{} cannot be replaced; the file is as it was",
                self.path.display()
            )
        })?;
        // The file is there; what may be lost with the power is only that.
        let directory = self.path.parent().map(File::open);
        if let Some(Err(error)) = directory.map(|opened| opened.and_then(|it| it.sync_all())) {
            tracing::warn!(path = %self.path.display(), %error, "the directory cannot be synced");
        }
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // After a commit there is nothing under this name.
        drop(fs::remove_file(&self.temporary));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("upstreams.yaml");
        let left = directory.path().join("upstreams.yaml.new");
        fs::write(&path, "old").unwrap();
        fs::write(&left, "cut off by a crash").unwrap();
        let prepared = Prepared::write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(prepared);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert!(!left.exists());
        Prepared::write(&path, "new").unwrap().commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!left.exists());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds secrets");
    }

    #[test]
    fn a_file_that_cannot_be_written_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone").join("upstreams.yaml");
        let why = Prepared::write(&path, "new").err().unwrap();
        assert!(why.to_string().contains("Is the disk full?"), "{why}");
    }
}
