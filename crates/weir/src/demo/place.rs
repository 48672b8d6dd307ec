//! Where the demo keeps its state: in memory if the system has a directory for that, and gone when it ends.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::process::{Pid, getuid, test_kill_process};

/// What the directories of demos are called, before the number of their process.
const NAME: &str = "weir-demo-";

/// Memory that looks like a disk, on Linux.
const MEMORY: &str = "/dev/shm";

/// A directory that is removed with this value.
pub(super) struct Place(PathBuf);

impl Place {
    /// Makes it, and removes those of demos that were killed.
    pub(super) fn make() -> anyhow::Result<Self> {
        let own = format!("{NAME}{}", std::process::id());
        let candidates = [PathBuf::from(MEMORY), std::env::temp_dir()];
        let mut failed = None;
        for base in candidates {
            sweep(&base);
            match Self::at(&base.join(&own)) {
                Ok(place) => return Ok(place),
                Err(error) => failed = Some((base, error)),
            }
        }
        let (base, error) = failed.context("there is no temporary directory")?;
        let told = format!("cannot make a directory in {}", base.display());
        Err(error).context(told)
    }

    fn at(path: &Path) -> std::io::Result<Self> {
        // Not one that was there before: somebody else might have made it.
        DirBuilder::new().mode(0o700).create(path)?;
        Ok(Self(path.to_owned()))
    }

    /// The data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Writes the configuration; returns where.
    pub(super) fn write(&self, config: &str) -> anyhow::Result<PathBuf> {
        let file = self.0.join("weir.yaml");
        fs::write(&file, config).context("cannot write the configuration of the demo")?;
        Ok(file)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(directory = %self.0.display(), %error, "the demo's directory is still there");
        }
    }
}

/// Removes what demos that could not clean up have left: directories of ours whose process is gone.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let pid = pid.and_then(|digits| digits.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        let is_ours = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == getuid().as_raw());
        if is_ours && test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
            // If it cannot be removed, it harms nobody.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_ended_demos_go_and_all_else_stays() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        // No process has this number: the kernel gives none above 4,194,304.
        let gone = at("weir-demo-99999999");
        let running = at(&format!("weir-demo-{}", std::process::id()));
        let others = [
            running,
            at("weir-demo-"),
            at("weir-demo-x"),
            at("weir-data"),
        ];
        for directory in others.iter().chain([&gone]) {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("file"), "x").unwrap();
        }
        sweep(base.path());
        assert!(!gone.exists());
        for directory in others {
            assert!(directory.join("file").exists(), "{}", directory.display());
        }
    }

    #[test]
    fn it_goes_with_all_that_is_in_it() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("demo");
        let place = Place::at(&path).unwrap();
        fs::create_dir(place.data()).unwrap();
        let file = place.write("{}\n").unwrap();
        assert!(file.exists());
        assert!(Place::at(&path).is_err(), "it is taken");
        drop(place);
        assert!(!path.exists());
    }
}
