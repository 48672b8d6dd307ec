//! Names of header fields and metadata items, as HDR, LIST HEADERS and OVERVIEW.FMT have them.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;

/// The name of a header field, or of a metadata item such as `:bytes`; case does not matter.
#[derive(Clone)]
pub struct FieldName(Arc<str>);

impl FieldName {
    /// Octets of the longest name; RFC 5322 has none over a line, and real ones are short.
    pub const MAX: usize = 128;

    /// The name in the case in which it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names something about an article instead of a header field.
    pub fn is_metadata(&self) -> bool {
        self.0.starts_with(':')
    }

    /// Whether these bytes are the same name, in any case.
    pub fn is(&self, name: impl AsRef<[u8]>) -> bool {
        self.0.as_bytes().eq_ignore_ascii_case(name.as_ref())
    }
}

impl FromStr for FieldName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let name = text.strip_prefix(':').unwrap_or(text).as_bytes();
        let graphic = name
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b':');
        if name.is_empty() || !graphic || text.len() > Self::MAX {
            return Err(Error::FieldName);
        }
        Ok(Self(text.into()))
    }
}

impl PartialEq for FieldName {
    fn eq(&self, other: &Self) -> bool {
        self.is(&*other.0)
    }
}

impl Eq for FieldName {}

impl Display for FieldName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Debug for FieldName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FieldName({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter_but_is_kept() {
        let name: FieldName = "Message-ID".parse().unwrap();
        assert_eq!(Ok(name.clone()), "message-id".parse());
        assert!(name.is("MESSAGE-ID") && !name.is("Message"));
        assert_eq!(name.to_string(), "Message-ID");
        assert!(!name.is_metadata());
        assert!(":bytes".parse::<FieldName>().unwrap().is_metadata());
    }

    #[test]
    fn what_no_header_is_called_is_refused() {
        let long = "a".repeat(129);
        for text in ["", ":", "a:", "::a", "a b", "Subject\r\n", "é", &long] {
            assert_eq!(text.parse::<FieldName>(), Err(Error::FieldName), "{text:?}");
        }
    }
}
