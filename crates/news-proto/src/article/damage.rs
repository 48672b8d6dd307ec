//! What could not be read of an article, in sentences that people understand.

use std::fmt::{self, Display, Formatter};

use super::limits;

/// Something that could not be read. It displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A line among the headers is no header; what follows is shown as text.
    BrokenHeader,
    /// More headers, or more bytes of headers, than are read.
    TooManyHeaders,
    /// A header that is longer than what is read of one.
    LongHeader(String),
    /// More references or newsgroups than are kept.
    LongList(String),
    /// The article says that it has several parts, but not how they are separated.
    NoBoundary,
    /// The mark that ends the last part is missing.
    MissingEnd,
    /// More parts than are read.
    TooManyParts,
    /// Parts within parts, deeper than they are read.
    TooDeep,
    /// Base64 with characters that do not belong there, or that stops in the middle.
    Base64,
    /// Quoted-printable with an `=` that means nothing.
    QuotedPrintable,
    /// A transfer encoding that we do not know.
    UnknownEncoding(String),
    /// A character set that we do not know, or that we never use, such as UTF-7.
    UnknownCharset(String),
    /// Bytes that mean nothing in this character set.
    Characters(&'static str),
    /// More text than is shown.
    LongText,
    /// More HTML than is shown.
    LongHtml,
    /// An encoded file in the text that ends too early.
    IncompleteFile(String),
}

impl Display for Damage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenHeader => f.write_str("A header line is malformed."),
            Self::TooManyHeaders => {
                f.write_str("The article has too many headers; some are not shown.")
            }
            Self::LongHeader(name) => {
                write!(f, "The header {name} is too long; only its start is shown.")
            }
            Self::LongList(name) => write!(
                f,
                "The header {name} has too many entries; some are not shown."
            ),
            Self::NoBoundary => {
                f.write_str("The article should have several parts, but they cannot be told apart.")
            }
            Self::MissingEnd => f.write_str("The end of the article is missing."),
            Self::TooManyParts => {
                f.write_str("The article has too many parts; some are not shown.")
            }
            Self::TooDeep => f.write_str(
                "The parts of the article are nested too deeply to be shown one by one.",
            ),
            Self::Base64 => f.write_str("A part has invalid Base64 encoding."),
            Self::QuotedPrintable => f.write_str("A part has invalid quoted-printable encoding."),
            Self::UnknownEncoding(name) => {
                write!(f, "The transfer encoding \"{name}\" is not supported.")
            }
            Self::UnknownCharset(name) => {
                write!(
                    f,
                    "The character set \"{name}\" is not supported; another one was guessed."
                )
            }
            Self::Characters(name) => write!(f, "Some characters are not valid {name}."),
            Self::LongText => f.write_str("The text is too long; only its start is shown."),
            Self::LongHtml => f.write_str("The HTML text is too long; only its start is shown."),
            Self::IncompleteFile(name) => {
                write!(f, "The file \"{name}\" in the text is incomplete.")
            }
        }
    }
}

/// Collects damage: each kind once, and not without end.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<Damage>);

impl Report {
    pub(super) fn add(&mut self, damage: Damage) {
        if self.0.len() < limits::DAMAGES && !self.0.contains(&damage) {
            self.0.push(damage);
        }
    }

    pub(super) fn into_list(self) -> Vec<Damage> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_reported_once_and_not_without_end() {
        let mut report = Report::default();
        report.add(Damage::Base64);
        report.add(Damage::Base64);
        for number in 0..100 {
            report.add(Damage::UnknownCharset(number.to_string()));
        }
        let list = report.into_list();
        assert_eq!(list.len(), limits::DAMAGES);
        assert_eq!(list[0].to_string(), "A part has invalid Base64 encoding.");
    }
}
