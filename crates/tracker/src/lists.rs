//! Which info hashes are served: all, or those of a list, and never those of another.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use weir_tracker_proto::InfoHash;

/// Lists are at most this large; it is room for 25 million hashes.
const MOST: u64 = 1 << 30;

/// The lists, as they were when the files were read.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    allowed: Option<HashList>,
    denied: Option<HashList>,
}

/// Clients choose what is looked up here; the standard hash has a secret key.
type HashList = HashSet<InfoHash>;

/// Why an info hash is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unserved {
    /// It is not in `allow_file`.
    NotAllowed,
    /// It is in `deny_file`.
    Denied,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}. Write the path of a file with one info hash on each line", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line is not an info hash.
    #[error("{}:{line}: write an info hash of 40 hexadecimal digits (or 32 letters of base32), not {text:?}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
}

impl Lists {
    /// Reads the files. A line holds an info hash; what follows it, empty lines and those that begin with # are for
    /// people.
    pub(crate) fn read(allow: Option<&Path>, deny: Option<&Path>) -> Result<Self, ListError> {
        Ok(Self {
            allowed: allow.map(read).transpose()?,
            denied: deny.map(read).transpose()?,
        })
    }

    /// Lists of hashes that consist of one byte each.
    #[cfg(test)]
    pub(crate) fn of(allowed: Option<&[u8]>, denied: &[u8]) -> Self {
        let list = |hashes: &[u8]| hashes.iter().map(|byte| InfoHash([*byte; 20])).collect();
        Self {
            allowed: allowed.map(list),
            denied: Some(list(denied)),
        }
    }

    /// Whether this info hash is served, or why not.
    #[inline]
    pub(crate) fn check(&self, hash: &InfoHash) -> Result<(), Unserved> {
        let holds = |list: &HashList| list.contains(hash);
        if self.denied.as_ref().is_some_and(holds) {
            return Err(Unserved::Denied);
        }
        if !self.allowed.as_ref().is_none_or(holds) {
            return Err(Unserved::NotAllowed);
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<HashList, ListError> {
    let failed = |source| ListError::Read {
        path: path.into(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MOST {
        return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let words = text.lines().enumerate().filter_map(|(line, text)| {
        let word = text.split_whitespace().next()?;
        (!word.starts_with('#')).then_some((line, word))
    });
    words
        .map(|(line, word)| {
            word.parse().map_err(|_| ListError::Line {
                path: path.into(),
                line: line + 1,
                text: word.chars().take(80).collect(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    const ONE: &str = "0101010101010101010101010101010101010101";

    #[test]
    fn only_the_allowed_and_never_the_denied_are_served() {
        let one = InfoHash([1; 20]);
        let two = InfoHash([2; 20]);
        let list = file(&format!("# ours\n\n  {ONE}  a film\n"));
        assert_eq!(Lists::default().check(&one), Ok(()));
        let both_of = |lists: Lists| [one, two].map(|hash| lists.check(&hash));
        let allow = Lists::read(Some(list.path()), None).unwrap();
        assert_eq!(both_of(allow), [Ok(()), Err(Unserved::NotAllowed)]);
        let deny = Lists::read(None, Some(list.path())).unwrap();
        assert_eq!(both_of(deny), [Err(Unserved::Denied), Ok(())]);
        let both = Lists::read(Some(list.path()), Some(list.path())).unwrap();
        let unserved = [Unserved::Denied, Unserved::NotAllowed];
        assert_eq!(both_of(both), unserved.map(Err));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let list = file(&format!("{ONE}\nxyz\n"));
        let error = Lists::read(Some(list.path()), None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(":2: write an info hash") && error.contains("\"xyz\""),
            "{error}"
        );
        let error = Lists::read(None, Some(Path::new("/nowhere/list"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/list"), "{error}");
    }
}
