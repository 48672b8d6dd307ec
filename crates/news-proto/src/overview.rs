//! Overview: one line per article with the fields that lists and threads need (RFC 3977 §8.3).
//!
//! [`OverviewLine`] is a line, borrowed; [`OverviewFormat`] knows what a server adds after the seven
//! fields that every line has. Values are raw: encoded words and charsets are left to
//! [`crate::article`], IDs to [`crate::id`], dates to [`crate::date`].

use crate::error::Error;
use crate::id::MessageId;
use crate::number::{self, number};
use crate::text::{clean, word};

mod format;

pub use format::OverviewFormat;

/// Fields after the number that every line has.
const FIXED: usize = 7;

/// Where the Message-ID is among them.
const ID: usize = 3;

/// One line. A field that is absent is empty; a server's rows may be missing, repeated or out of
/// order, so an article is known by its ID and not by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverviewLine<'a> {
    /// The article's number on this server; 0 if it was asked for by its ID.
    pub number: u64,
    /// Raw: with encoded words, or in any charset.
    pub subject: &'a [u8],
    /// Likewise.
    pub from: &'a [u8],
    /// For [`crate::date::parse`].
    pub date: &'a [u8],
    /// For [`Self::id`].
    pub message_id: &'a [u8],
    /// For [`crate::id::references`].
    pub references: &'a [u8],
    /// Size of the article in octets, if it is given as a number.
    pub bytes: Option<u64>,
    /// Lines of its body, likewise.
    pub lines: Option<u64>,
    /// What follows, fields separated by tabs; for [`OverviewFormat::value`].
    pub extra: &'a [u8],
}

impl<'a> OverviewLine<'a> {
    /// Reads a line without its end. Missing fields are empty and fields that are no numbers absent;
    /// only a line without a number in front is no overview.
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        let mut rest = line;
        let number = number(field(&mut rest).trim_ascii()).ok_or(Error::Number)?;
        let fields = rest;
        let mut fixed = [&[][..]; FIXED];
        for slot in &mut fixed {
            *slot = field(&mut rest);
        }
        if !looks_like_id(fixed[ID])
            && let Some(subject) = misplaced(fields)
        {
            rest = &fields[subject..];
            fixed[0] = &fields[..subject];
            field(&mut rest);
            for slot in &mut fixed[1..] {
                *slot = field(&mut rest);
            }
        }
        let [subject, from, date, message_id, references, bytes, lines] = fixed;
        Ok(Self {
            number,
            subject,
            from,
            date,
            message_id: message_id.trim_ascii(),
            references,
            bytes: self::number(bytes.trim_ascii()),
            lines: self::number(lines.trim_ascii()),
            extra: rest,
        })
    }

    /// The article's ID, if it is a valid one.
    pub fn id(&self) -> Option<MessageId> {
        MessageId::from_bytes(self.message_id).ok()
    }

    /// Appends the line without its end. What would break it becomes spaces.
    pub fn write(&self, out: &mut Vec<u8>) {
        number::write(self.number, out);
        for value in [
            self.subject,
            self.from,
            self.date,
            self.message_id,
            self.references,
        ] {
            out.push(b'\t');
            clean(value, out);
        }
        for value in [self.bytes, self.lines] {
            out.push(b'\t');
            if let Some(value) = value {
                number::write(value, out);
            }
        }
        if !self.extra.is_empty() {
            for value in self.extra.split(|byte| *byte == b'\t') {
                out.push(b'\t');
                clean(value, out);
            }
        }
    }
}

/// Reads a line that HDR, XHDR or XPAT answered: a number and the rest. The number is 0 where a
/// server repeats the ID that it was asked for.
pub fn parse_value_line(line: &[u8]) -> Result<(u64, &[u8]), Error> {
    let (first, value) = word(line);
    if first.starts_with(b"<") {
        return Ok((0, value));
    }
    Ok((number(first).ok_or(Error::Number)?, value))
}

/// Appends a line that answers HDR, without its end.
pub fn write_value_line(article: u64, value: &[u8], out: &mut Vec<u8>) {
    number::write(article, out);
    out.push(b' ');
    clean(value, out);
}

/// Splits off the next field.
fn field<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    match memchr::memchr(b'\t', rest) {
        Some(tab) => {
            let field = &rest[..tab];
            *rest = &rest[tab + 1..];
            field
        }
        None => std::mem::take(rest),
    }
}

fn looks_like_id(field: &[u8]) -> bool {
    matches!(field.trim_ascii(), [b'<', .., b'>'])
}

/// Where the subject ends in a line whose Message-ID comes later than it should, because a server let
/// tabs into the subject. Nothing if no later field is an ID followed by what follows an ID.
fn misplaced(fields: &[u8]) -> Option<usize> {
    // Where the two fields before the one in question begin: From and Date, if that is the ID.
    let mut starts = [0_usize; 2];
    let mut rest = fields;
    for position in 0.. {
        let start = fields.len() - rest.len();
        let candidate = field(&mut rest);
        if position > ID && looks_like_id(candidate) && continues_as_after_id(rest) {
            // The tab before From.
            return starts[0].checked_sub(1);
        }
        if rest.is_empty() {
            return None;
        }
        starts = [starts[1], start];
    }
    None
}

/// References or nothing, then two numbers; the second is often left out.
fn continues_as_after_id(mut rest: &[u8]) -> bool {
    let references = field(&mut rest).trim_ascii();
    let (bytes, lines) = (field(&mut rest), field(&mut rest));
    (references.is_empty() || references.starts_with(b"<"))
        && number(bytes.trim_ascii()).is_some()
        && lines.trim_ascii().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;
