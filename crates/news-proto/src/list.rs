//! Lines of LIST and its variants (RFC 3977 §7.6, RFC 6048), borrowed: a full list has a hundred
//! thousand of them. LIST OVERVIEW.FMT is in [`crate::overview`].
//!
//! Each type reads and writes one line without its end. Lines come with blanks in any number and
//! with padded numbers; those that lack a name or a number are refused, and the caller goes on with
//! the next one.

use std::ops::RangeInclusive;

use crate::error::Error;
use crate::newsgroup::Newsgroup;
use crate::number::{self, number};
use crate::text::{clean, text_word, word};

mod headers;

pub use headers::ListedHeaders;

/// What the last column of LIST ACTIVE and LIST COUNTS says about posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostingStatus<'a> {
    /// `y`: posting is allowed.
    Allowed,
    /// `n`: no posting, but articles from elsewhere.
    Refused,
    /// `m`: the server mails what is posted to a moderator.
    Moderated,
    /// `x`: no posting and no articles from elsewhere.
    Closed,
    /// `j`: articles are accepted and not filed here.
    Junked,
    /// `=name`: articles are filed in another newsgroup.
    Alias(&'a str),
    /// Something else; nobody should post on such a word.
    Unknown(&'a str),
}

/// A line of LIST ACTIVE: `name high low status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Active<'a> {
    /// A name that [`Newsgroup`] accepts.
    pub newsgroup: &'a str,
    /// The highest number in use.
    pub high: u64,
    /// The lowest one; above `high` in an empty newsgroup.
    pub low: u64,
    /// Whether it can be posted to.
    pub status: PostingStatus<'a>,
}

/// A line of LIST COUNTS: `name high low count status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<'a> {
    /// What LIST ACTIVE has as well.
    pub active: Active<'a>,
    /// The number of articles, which may be an estimate.
    pub count: u64,
}

/// A line of LIST ACTIVE.TIMES: `name seconds creator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created<'a> {
    /// A name that [`Newsgroup`] accepts.
    pub newsgroup: &'a str,
    /// When it came to this server, in Unix seconds.
    pub at: u64,
    /// Who made it, often an address; may be empty.
    pub creator: &'a [u8],
}

/// A line of LIST NEWSGROUPS: `name<tab>text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described<'a> {
    /// A name that [`Newsgroup`] accepts.
    pub newsgroup: &'a str,
    /// What it is about, in whatever charset; may be empty.
    pub text: &'a [u8],
}

impl<'a> PostingStatus<'a> {
    fn parse(word: &'a str) -> Self {
        match word {
            "y" => Self::Allowed,
            "n" => Self::Refused,
            "m" => Self::Moderated,
            "x" => Self::Closed,
            "j" => Self::Junked,
            other => match other.strip_prefix('=') {
                Some(name) if Newsgroup::is_name(name) => Self::Alias(name),
                _ => Self::Unknown(other),
            },
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        let word = match self {
            Self::Allowed => "y",
            Self::Refused => "n",
            Self::Moderated => "m",
            Self::Closed => "x",
            Self::Junked => "j",
            Self::Alias(name) => {
                out.push(b'=');
                name
            }
            Self::Unknown(word) => word,
        };
        clean(word.as_bytes(), out);
    }
}

impl<'a> Active<'a> {
    /// Reads a line. A line without a status allows posting, as the oldest servers have it.
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let (newsgroup, high, low, rest) = head(line)?;
        Ok(Self {
            newsgroup,
            high,
            low,
            status: status(rest)?,
        })
    }

    /// The numbers that may be in use; nothing if the newsgroup is empty.
    pub fn numbers(&self) -> Option<RangeInclusive<u64>> {
        // A first number of zero is how some say that there never was an article.
        (self.low <= self.high && self.high > 0).then_some(self.low..=self.high)
    }

    /// Appends the line, its numbers padded as INN does.
    pub fn write(&self, out: &mut Vec<u8>) {
        clean(self.newsgroup.as_bytes(), out);
        for value in [self.high, self.low] {
            out.extend_from_slice(format!(" {value:010}").as_bytes());
        }
        out.push(b' ');
        self.status.write(out);
    }
}

impl<'a> Counted<'a> {
    /// Reads a line; see [`Active::parse`].
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let (newsgroup, high, low, rest) = head(line)?;
        let (count, rest) = word(rest);
        Ok(Self {
            active: Active {
                newsgroup,
                high,
                low,
                status: status(rest)?,
            },
            count: number(count).ok_or(Error::Number)?,
        })
    }

    /// Appends the line, its numbers not padded: LIST COUNTS is younger than the programs that want that.
    pub fn write(&self, out: &mut Vec<u8>) {
        clean(self.active.newsgroup.as_bytes(), out);
        for value in [self.active.high, self.active.low, self.count] {
            out.push(b' ');
            number::write(value, out);
        }
        out.push(b' ');
        self.active.status.write(out);
    }
}

impl<'a> Created<'a> {
    /// Reads a line.
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let (newsgroup, rest) = name(line)?;
        let (at, creator) = word(rest);
        Ok(Self {
            newsgroup,
            at: number(at).ok_or(Error::Number)?,
            creator,
        })
    }

    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        clean(self.newsgroup.as_bytes(), out);
        out.push(b' ');
        number::write(self.at, out);
        out.push(b' ');
        clean(self.creator, out);
    }
}

impl<'a> Described<'a> {
    /// Reads a line; spaces do for the tab.
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let (newsgroup, text) = name(line)?;
        Ok(Self { newsgroup, text })
    }

    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        clean(self.newsgroup.as_bytes(), out);
        out.push(b'\t');
        clean(self.text, out);
    }
}

/// Reads a line of LISTGROUP: an article number.
pub fn parse_number(line: &[u8]) -> Result<u64, Error> {
    number(word(line).0).ok_or(Error::Number)
}

fn name(line: &[u8]) -> Result<(&str, &[u8]), Error> {
    let (name, rest) = text_word(line).ok_or(Error::Newsgroup)?;
    if Newsgroup::is_name(name) {
        Ok((name, rest))
    } else {
        Err(Error::Newsgroup)
    }
}

fn head(line: &[u8]) -> Result<(&str, u64, u64, &[u8]), Error> {
    let (name, rest) = name(line)?;
    let (high, rest) = word(rest);
    let (low, rest) = word(rest);
    let read = |digits| number(digits).ok_or(Error::Number);
    Ok((name, read(high)?, read(low)?, rest))
}

fn status(rest: &[u8]) -> Result<PostingStatus<'_>, Error> {
    match text_word(rest) {
        Some(("", _)) => Ok(PostingStatus::Allowed),
        Some((word, _)) if !word.contains(char::is_control) => Ok(PostingStatus::parse(word)),
        _ => Err(Error::ListLine),
    }
}

#[cfg(test)]
mod tests;
