//! Names of newsgroups, checked once so that they can be sent, compared and used as keys.

use std::borrow::Borrow;
use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;

/// The name of a newsgroup: case matters, and a copy costs no allocation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Newsgroup(Arc<str>);

impl Newsgroup {
    /// Octets that fit into a command line as its only argument.
    pub const MAX: usize = 497;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a newsgroup can have this name: no white space, no control characters, none of
    /// the characters that mean something in a wildmat, and no brackets or quotes, which stand around
    /// names and never in them.
    pub fn is_name(text: &str) -> bool {
        let odd = |c: char| {
            c.is_control()
                || c.is_whitespace()
                || matches!(
                    c,
                    '!' | '"' | '*' | ',' | '<' | '>' | '?' | '[' | '\\' | ']'
                )
        };
        (1..=Self::MAX).contains(&text.len()) && !text.contains(odd)
    }
}

impl FromStr for Newsgroup {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if Self::is_name(text) {
            Ok(Self(text.into()))
        } else {
            Err(Error::Newsgroup)
        }
    }
}

impl Display for Newsgroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Debug for Newsgroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Newsgroup({})", self.0)
    }
}

impl Borrow<str> for Newsgroup {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_script_are_kept_as_they_are() {
        for name in ["comp.lang.c++", "a", "de.Test_1-2", "пример.новости"] {
            assert_eq!(name.parse::<Newsgroup>().unwrap().as_str(), name);
        }
        assert!(Newsgroup::is_name(&"a".repeat(497)));
    }

    #[test]
    fn names_that_would_mean_something_else_are_refused() {
        let long = "a".repeat(498);
        for name in [
            "",
            "a b",
            "a\tb",
            "a\r\nQUIT",
            "a\0",
            "a*",
            "a,b",
            "!a",
            "a?",
            "[a",
            "a]",
            "\\a",
            "<a>",
            "\"a\"",
            "a\u{a0}b",
            &long,
        ] {
            assert_eq!(name.parse::<Newsgroup>(), Err(Error::Newsgroup), "{name:?}");
        }
    }
}
