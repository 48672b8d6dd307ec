//! The first line of every answer: a code of three digits, and words.
//!
//! Which codes are followed by a block depends on the command: see
//! [`Verb::carries_block`](crate::command::Verb::carries_block).

use std::ops::RangeInclusive;

use crate::date;
use crate::error::Error;
use crate::id::MessageId;
use crate::newsgroup::Newsgroup;
use crate::number::{self, number};
use crate::text::{clean, text_word, word};

pub mod code;

/// Octets of the longest line that is written, its end included (RFC 3977 §3.1).
pub const MAX_WRITTEN: usize = 512;

/// Octets of the longest line that is read: servers put whole sentences of policy into theirs.
pub const MAX_READ: usize = 4_096;

/// The first line of a server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// From 100 to 599; [`code`] has names.
    pub code: u16,
    /// What follows the code, in whatever charset.
    pub text: &'a [u8],
}

/// What 211 says about a newsgroup that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected<'a> {
    /// The number of articles, which may be an estimate.
    pub count: u64,
    /// The lowest number.
    pub low: u64,
    /// The highest number; below `low` if the newsgroup is empty.
    pub high: u64,
    /// The name, if the server repeats it.
    pub newsgroup: Option<&'a str>,
}

/// What 220 to 223 say about an article that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its number in the newsgroup; 0 if it was asked for by its ID.
    pub number: u64,
    /// Its ID, unless the server left it out or has an invalid one.
    pub id: Option<MessageId>,
}

impl<'a> Reply<'a> {
    /// Reads a line, with or without its end.
    pub fn parse(line: &'a [u8]) -> Result<Self, Error> {
        if line.len() > MAX_READ {
            return Err(Error::LineTooLong);
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (digits, rest) = line.split_at_checked(3).ok_or(Error::NotAReply)?;
        let code = number(digits).filter(|code| (100..600).contains(code));
        let code = code.ok_or(Error::NotAReply)?;
        let text = match rest {
            [] => rest,
            [b' ' | b'\t', text @ ..] => text,
            _ => return Err(Error::NotAReply),
        };
        Ok(Self {
            code: code as u16,
            text,
        })
    }

    /// The words for people: control characters and broken bytes become `�`, so that no server can
    /// forge a line of our log.
    pub fn message(&self) -> String {
        let text = String::from_utf8_lossy(self.text.trim_ascii());
        text.replace(char::is_control, "\u{fffd}")
    }

    /// For the greeting and MODE READER: whether posting is allowed.
    pub fn posting(&self) -> Result<bool, Error> {
        match self.code {
            code::POSTING_ALLOWED => Ok(true),
            code::POSTING_REFUSED => Ok(false),
            other => Err(Error::UnexpectedReply(other)),
        }
    }

    /// For GROUP and LISTGROUP: what 211 says.
    pub fn selected(&self) -> Result<Selected<'a>, Error> {
        self.expect(code::GROUP_SELECTED..=code::GROUP_SELECTED)?;
        let (count, rest) = word(self.text);
        let (low, rest) = word(rest);
        let (high, rest) = word(rest);
        let read = |digits| number(digits).ok_or(Error::UnexpectedReply(self.code));
        let name = text_word(rest).map(|(name, _)| name);
        Ok(Selected {
            count: read(count)?,
            low: read(low)?,
            high: read(high)?,
            newsgroup: name.filter(|name| Newsgroup::is_name(name)),
        })
    }

    /// For ARTICLE, HEAD, BODY, STAT, NEXT and LAST: what 220 to 223 say.
    pub fn located(&self) -> Result<Located, Error> {
        self.expect(code::ARTICLE..=code::ARTICLE_EXISTS)?;
        let (first, rest) = word(self.text);
        let (second, _) = word(rest);
        Ok(Located {
            number: number(first).ok_or(Error::UnexpectedReply(self.code))?,
            id: MessageId::from_bytes(second).ok(),
        })
    }

    /// For DATE: the server's time in Unix seconds.
    pub fn date(&self) -> Result<i64, Error> {
        self.expect(code::DATE..=code::DATE)?;
        let (digits, _) = word(self.text);
        date::parse_compact(digits)
    }

    /// Appends the line with its end. What would break it becomes spaces, and it is cut to
    /// [`MAX_WRITTEN`] octets between characters.
    pub fn write(&self, out: &mut Vec<u8>) {
        number::write(u64::from(self.code), out);
        out.push(b' ');
        clean(cut(self.text, MAX_WRITTEN - "200 \r\n".len()), out);
        out.extend_from_slice(b"\r\n");
    }

    fn expect(&self, codes: RangeInclusive<u16>) -> Result<(), Error> {
        if codes.contains(&self.code) {
            Ok(())
        } else {
            Err(Error::UnexpectedReply(self.code))
        }
    }
}

impl Selected<'_> {
    /// The numbers that may be in use; nothing if the newsgroup is empty, in any of the ways in
    /// which servers say so (RFC 3977 §6.1.1.2).
    pub fn numbers(&self) -> Option<RangeInclusive<u64>> {
        (self.count > 0 && self.low <= self.high).then_some(self.low..=self.high)
    }

    /// Appends the line with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Self {
            count,
            low,
            high,
            newsgroup,
        } = self;
        let text = format!("{count} {low} {high} {}", newsgroup.unwrap_or_default());
        write(code::GROUP_SELECTED, &text, out);
    }
}

impl Located {
    /// Appends the line with its end; `code` is 220, 221, 222 or 223, by what follows.
    pub fn write(&self, code: u16, out: &mut Vec<u8>) {
        // RFC 3977 has no form without an ID; `<0>` is what old servers send then.
        let id = self.id.as_ref().map_or("<0>", MessageId::as_str);
        write(code, &format!("{} {id}", self.number), out);
    }
}

/// Appends a line with its end; see [`Reply::write`].
pub fn write(code: u16, text: &str, out: &mut Vec<u8>) {
    let text = text.as_bytes();
    Reply { code, text }.write(out);
}

/// The start of a text, at most this many bytes, without half a character at its end.
fn cut(text: &[u8], most: usize) -> &[u8] {
    if text.len() <= most {
        return text;
    }
    let inside = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    // A character has at most three bytes after its first, so broken text is cut as well.
    let end = (most - 3..=most).rev().find(|end| !inside(text[*end]));
    &text[..end.unwrap_or(most)]
}

#[cfg(test)]
mod tests;
