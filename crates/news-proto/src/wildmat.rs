//! Wildmats: the patterns of RFC 3977 §4 that choose newsgroups, and the single ones of XPAT.
//!
//! Matching goes back to the last `*` only, so its cost is at most the product of both lengths,
//! whatever the pattern. INN's bracket sets and backslashes are understood as well, although
//! RFC 3977 has neither, because people write them in configurations and newsreaders in XPAT.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::{Chars, FromStr};
use std::sync::Arc;

use crate::error::Error;

/// One pattern: `*` is any text, `?` any character, `[a-z]` or `[^a-z]` one of a set. `,` and `!`
/// mean themselves. A copy costs no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Arc<str>,
    items: Arc<[Item]>,
}

/// A comma-separated list of patterns, of which the last that matches decides; `!` before a pattern
/// makes it refuse. A copy costs no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Wildmat {
    text: Arc<str>,
    parts: Arc<[(Box<[Item]>, bool)]>,
}

#[derive(Clone, PartialEq, Eq)]
enum Item {
    /// `*`; never two in a row.
    Any,
    /// `?`
    One,
    Char(char),
    Set {
        wanted: bool,
        ranges: Box<[(char, char)]>,
    },
}

impl Pattern {
    /// Whether the pattern matches the whole of a text. Bytes that are not UTF-8 count as one odd
    /// character each, which only `*`, `?` and negated sets match.
    pub fn matches(&self, text: impl AsRef<[u8]>) -> bool {
        matches(&self.items, text.as_ref())
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.contains(char::is_control) {
            return Err(Error::Wildmat);
        }
        Ok(Self {
            items: items(text)?.into(),
            text: text.into(),
        })
    }
}

impl Wildmat {
    /// Whether the last pattern that matches this name is one that accepts.
    pub fn matches(&self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        let mut parts = self.parts.iter().rev();
        let deciding = parts.find(|(items, _)| matches(items, name));
        deciding.is_some_and(|(_, accepts)| *accepts)
    }

    /// The list as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Wildmat {
    type Err = Error;

    /// Reads a list; a comma separates even within brackets.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Error::Wildmat);
        }
        let parts = text.split(',').map(|part| {
            let refused = part.strip_prefix('!');
            let items = items(refused.unwrap_or(part))?;
            Ok((items.into(), refused.is_none()))
        });
        Ok(Self {
            parts: parts.collect::<Result<_, Error>>()?,
            text: text.into(),
        })
    }
}

fn matches(pattern: &[Item], text: &[u8]) -> bool {
    let (mut items, mut rest) = (pattern, text);
    // Where to go on after a mismatch: the items after the last `*`, and the text it began at.
    let mut retry: Option<(&[Item], &[u8])> = None;
    loop {
        match items {
            [] if rest.is_empty() => return true,
            [Item::Any] => return true,
            [Item::Any, after @ ..] => {
                retry = Some((after, rest));
                items = after;
                continue;
            }
            [item, after @ ..] => {
                if let Some((c, left)) = first(rest)
                    && item.accepts(c)
                {
                    (items, rest) = (after, left);
                    continue;
                }
            }
            [] => {}
        }
        // The last `*` takes one character more. Earlier ones never need to: what follows them
        // was found as early as it could be.
        let Some((after, from)) = retry else {
            return false;
        };
        let Some((_, left)) = first(from) else {
            return false;
        };
        (items, rest) = (after, left);
        retry = Some((after, left));
    }
}

fn items(pattern: &str) -> Result<Vec<Item>, Error> {
    let mut rest = pattern.chars();
    let mut items = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            '*' if items.last() == Some(&Item::Any) => {}
            '*' => items.push(Item::Any),
            '?' => items.push(Item::One),
            '[' => items.push(set(&mut rest)?),
            '\\' => items.push(Item::Char(rest.next().ok_or(Error::Wildmat)?)),
            c => items.push(Item::Char(c)),
        }
    }
    if items.is_empty() {
        return Err(Error::Wildmat);
    }
    Ok(items)
}

impl Item {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Char(own) => *own == c,
            Self::Set { wanted, ranges } => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                inside == *wanted
            }
        }
    }
}

/// Reads a set up to its bracket; `]` stands for itself as the first member, `-` at either end.
fn set(rest: &mut Chars<'_>) -> Result<Item, Error> {
    let wanted = !rest.as_str().starts_with('^');
    if !wanted {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match rest.next().ok_or(Error::Wildmat)? {
            ']' if !ranges.is_empty() => break,
            low => low,
        };
        let mut ahead = rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                *rest = ahead;
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
    let ranges = ranges.into();
    Ok(Item::Set { wanted, ranges })
}

/// Splits off the first character.
fn first(text: &[u8]) -> Option<(char, &[u8])> {
    let (byte, rest) = text.split_first()?;
    if byte.is_ascii() {
        return Some((char::from(*byte), rest));
    }
    let ahead = &text[..text.len().min(4)];
    let c = ahead.utf8_chunks().next()?.valid().chars().next();
    match c {
        Some(c) => Some((c, &text[c.len_utf8()..])),
        None => Some((char::REPLACEMENT_CHARACTER, rest)),
    }
}

impl Display for Wildmat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Debug for Wildmat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Wildmat({})", self.text)
    }
}

impl Debug for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({})", self.text)
    }
}

#[cfg(test)]
mod tests;
