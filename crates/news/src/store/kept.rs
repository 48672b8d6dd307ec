//! What is handed to `news.db` and what comes out of it.

use std::sync::Arc;

use bytes::Bytes;
use weir_news_proto::{MessageId, Newsgroup};

use crate::numbers::{NumberChanges, NumberMarks, NumberRows, ServerId};

/// A list of newsgroups as a server sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptList {
    /// Who sent it.
    pub(crate) server: ServerId,
    /// What is in it.
    pub(crate) kind: ListKind,
    /// When it came.
    pub(crate) at: i64,
    /// The block.
    pub(crate) block: Bytes,
}

/// What is in a list of newsgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ListKind {
    /// Numbers and flags, with counts.
    Counts,
    /// Numbers and flags.
    Active,
    /// What newsgroups are about.
    Descriptions,
}

impl ListKind {
    pub(super) const ALL: [Self; 3] = [Self::Counts, Self::Active, Self::Descriptions];
}

/// What is known of a newsgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptNewsgroup {
    /// Its numbers, with everything that still waits to be written.
    pub(crate) rows: NumberRows,
    /// When each server last confirmed what is kept.
    pub(crate) checked: Vec<(ServerId, Reached)>,
    /// How many lines are in the file.
    pub(crate) lines: u64,
    /// How many articles it knows, those whose lines were thrown away among them.
    pub(crate) articles: u64,
}

/// How far a server has been read in a newsgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// When it last confirmed what is kept.
    pub(crate) at: i64,
    /// First and last of each stretch of its numbers that has been fetched.
    pub(crate) covered: Vec<(u64, u64)>,
}

impl Reached {
    /// Stretches that are written; those beyond are fetched again.
    const STRETCHES: usize = 1024;

    /// The newest stretches as bytes.
    pub(super) fn write(&self) -> Vec<u8> {
        let skip = self.covered.len().saturating_sub(Self::STRETCHES);
        let numbers = self.covered[skip..]
            .iter()
            .flat_map(|&(first, last)| [first, last]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// Reads what [`Self::write`] wrote.
    pub(super) fn read(at: i64, bytes: &[u8]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let (stretches, _) = numbers.as_chunks::<2>();
        let stretch =
            |&[first, last]: &[[u8; 8]; 2]| (u64::from_le_bytes(first), u64::from_le_bytes(last));
        Self {
            at,
            covered: stretches.iter().map(stretch).collect(),
        }
    }
}

/// A line of a newsgroup's overview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptLine {
    /// Our own number.
    pub(crate) number: Option<u64>,
    /// As [`weir_news_proto::OverviewLine::write`] writes it, without the number and the tab in front.
    pub(crate) line: Bytes,
}

/// A line that is to be kept, with what of it was read.
#[derive(Clone, Debug)]
pub(crate) struct ReadLine {
    pub(crate) id: MessageId,
    /// Our own number; 0 is none, too.
    pub(crate) number: Option<u64>,
    /// When it was written; 0 if that is not known.
    pub(crate) date: i64,
    /// As in [`KeptLine`].
    pub(crate) line: Bytes,
}

#[cfg(test)]
impl ReadLine {
    /// Reads a line, if it names an article.
    pub(crate) fn of(kept: KeptLine) -> Option<Self> {
        let numbered = [b"0\t", &kept.line[..]].concat();
        let line = weir_news_proto::OverviewLine::parse(&numbered).ok()?;
        Some(Self {
            id: line.id()?,
            number: kept.number,
            date: weir_news_proto::date::parse(line.date).unwrap_or(0),
            line: kept.line,
        })
    }
}

/// An article of a newsgroup under its own number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedRow {
    pub(crate) number: u64,
    pub(crate) id: MessageId,
    /// As in [`KeptLine`]; `None` if it was thrown away.
    pub(crate) line: Option<Vec<u8>>,
}

/// The marks of a newsgroup, and what they are counted from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptMarks {
    pub(crate) name: Newsgroup,
    pub(crate) marks: NumberMarks,
    /// Numbers promised to the first server, and how many articles it claims.
    pub(crate) lead: Option<(u64, u64)>,
    /// Up to which of its numbers each server has been dealt with.
    pub(crate) reached: Vec<(ServerId, u64)>,
}

/// What became known of a newsgroup; written as a whole or not at all. One of these holds a window or two: the writer is
/// busy with it for as long as its lines take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// New lines. Of an article that is known, the line stays as it was; a number that it did not have is noted.
    pub(crate) lines: Vec<ReadLine>,
    /// Articles that got a number, or lost theirs, without a line; before the lines.
    pub(crate) renumbered: Vec<(MessageId, Option<u64>)>,
    /// What changed in the numbers; none at all if its low mark is 0, which no newsgroup has.
    pub(crate) changes: NumberChanges,
    /// Who confirmed what is kept, and when.
    pub(crate) checked: Vec<(ServerId, Reached)>,
    /// When the lines became known. That is not when they were confirmed: older lines are fetched long after a check, and new
    /// ones before it has ended.
    pub(crate) arrived: Option<i64>,
}

/// An article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptArticle {
    /// As the server sent it.
    pub(crate) raw: Bytes,
    /// The server's name.
    pub(crate) server: Arc<str>,
    /// When it came.
    pub(crate) fetched: i64,
}

/// Bytes in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewsSizes {
    /// Of articles, packed.
    pub(crate) articles: u64,
    /// Of overview lines.
    pub(crate) lines: u64,
    /// Of the file itself, pages that are free to be used again among them.
    pub(crate) file: u64,
}
