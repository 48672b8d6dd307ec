//! What is in a backup: version, time, and each file with its size and checksum.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The manifest's own name. It is written last, so a directory without it is not a whole backup.
pub(crate) const NAME: &str = "backup.json";
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Files of a backup at most; a data directory has about 130.
const MOST: usize = 1000;

/// Describes a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The Weir that made it.
    pub(crate) version: String,
    /// When, as RFC 3339.
    pub(crate) made: String,
    /// Everything in it but the manifest.
    pub(crate) files: Vec<CopiedFile>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopiedFile {
    /// Its path below the directory, with `/`.
    pub(crate) name: String,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// Its SHA-256 in hexadecimal, as `sha256sum` prints it.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Reads the files of a directory.
    pub(crate) fn of(directory: &Path, names: Vec<String>, made: String) -> io::Result<Self> {
        let files = names.into_iter().map(|name| {
            let mut file = File::open(directory.join(&name))?;
            let mut sum = Checksum::default();
            let mut piece = vec![0; PIECE];
            loop {
                match file.read(&mut piece)? {
                    0 => break,
                    read => sum.add(&piece[..read]),
                }
            }
            let (size, sha256) = sum.end();
            Ok(CopiedFile { name, size, sha256 })
        });
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made,
            files: files.collect::<io::Result<_>>()?,
        })
    }

    /// All bytes together.
    pub(crate) fn size(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// What is wrong with it. It came over the network: no name may lead out of the directory, and none comes twice.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let mut seen = HashSet::new();
        if self.files.len() > MOST {
            return Some("it lists too many files");
        }
        if !self.files.iter().all(|file| is_plain(&file.name)) {
            return Some("it names a file that cannot be part of a backup");
        }
        if !self.files.iter().all(|file| seen.insert(&file.name)) {
            return Some("it names a file twice");
        }
        (!self.files.iter().any(|file| file.name == "state.db")).then_some("it has no state.db")
    }
}

/// Whether this is a name as backups have them: at most one directory, small letters.
fn is_plain(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let part = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
    };
    name.len() <= 64 && parts.len() <= 2 && parts.iter().all(part) && name != NAME
}

/// Size and checksum of what is read or written piece by piece.
#[derive(Default)]
pub(crate) struct Checksum {
    size: u64,
    hash: Sha256,
}

impl Checksum {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.size += piece.len() as u64;
        self.hash.update(piece);
    }

    /// The size, and the sum in hexadecimal.
    pub(crate) fn end(self) -> (u64, String) {
        let sum = self.hash.finalize();
        let sum = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        (self.size, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(names: &[&str]) -> Manifest {
        let files = names.iter().map(|name| CopiedFile {
            name: (*name).to_owned(),
            size: 0,
            sha256: String::new(),
        });
        Manifest {
            version: String::new(),
            made: String::new(),
            files: files.collect(),
        }
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        assert_eq!(
            with(&["swarm/00.swarm", "swarm/key", "state.db"]).fault(),
            None
        );
        for name in [
            "../state.db",
            "/etc/passwd",
            "swarm/../../x",
            "swarm//x",
            "a/b/c",
            "",
            ".",
            ".ssh/config",
            "backup.json",
            "a\\b",
            "a\0b",
        ] {
            assert!(with(&["state.db", name]).fault().is_some(), "{name:?}");
        }
        assert!(with(&["state.db", "state.db"]).fault().is_some());
        assert!(with(&["search.db"]).fault().is_some());
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("state.db"), "abc").unwrap();
        let manifest = Manifest::of(directory.path(), vec!["state.db".into()], "now".into());
        let manifest = manifest.unwrap();
        assert_eq!(
            manifest.files[0].sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(manifest.size(), 3);
    }
}
