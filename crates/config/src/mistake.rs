//! The collector of mistakes: reading continues after one, so that all are reported at once.

use std::error::Error;
use std::fmt;

use crate::Origin;

/// One thing the operator has to fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Where it was written.
    pub origin: Origin,
    /// The key's path, such as `tracker.forwarders[0].uri`; empty when it is about a whole file.
    pub path: String,
    /// What to do about it.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
            write!(f, "{}: ", self.origin)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

/// All mistakes found so far; [`Mistakes::or`] sorts them by file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Adds one.
    pub fn push(&mut self, origin: Origin, path: impl Into<String>, text: impl Into<String>) {
        self.0.push(Mistake {
            origin,
            path: path.into(),
            text: text.into(),
        });
    }

    /// Adds what another reader found.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    /// `value` if there are none, else all of them in order of file and line, each once.
    pub fn or<T>(mut self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort();
        self.0.dedup();
        Err(self)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl Error for Mistakes {}
