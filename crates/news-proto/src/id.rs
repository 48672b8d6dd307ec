//! Message IDs, and the lists of them in References and In-Reply-To.
//!
//! One form for what we send and keep, checked as RFC 3977 §3.6 has it, since one bad octet in a
//! command line would cost the connection. Headers of others are searched for such IDs tolerantly.

use std::borrow::Borrow;
use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;

/// IDs taken from one References header; threads have been seen with hundreds, attacks with more.
pub const MAX_REFERENCES: usize = 1_000;

/// What an article is known by everywhere; a copy costs no allocation. Displays with its brackets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// Octets of the longest ID, brackets included.
    pub const MAX: usize = 250;

    /// Reads an ID in its brackets, from bytes that need not be text.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) if is_id(bytes) => Ok(Self(text.into())),
            _ => Err(Error::MessageId),
        }
    }

    /// Reads an ID without its brackets, as URLs have it.
    pub fn from_bare(bare: &str) -> Result<Self, Error> {
        format!("<{bare}>").parse()
    }

    /// The ID with its brackets.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ID without its brackets, for a URL, where the caller still has to escape it.
    pub fn bare(&self) -> &str {
        &self.0[1..self.0.len() - 1]
    }
}

/// The IDs in a References header, oldest first: anything in angle brackets that is a valid ID.
///
/// Of more than [`MAX_REFERENCES`], the first is kept, since it is the thread's, and the last ones,
/// since they are the nearest. Text between IDs, comments and invalid IDs are skipped.
pub fn references(header: &[u8]) -> Vec<MessageId> {
    let valid = candidates(header).filter_map(|id| MessageId::from_bytes(id).ok());
    let mut found: Vec<MessageId> = valid.collect();
    let more = found.len().saturating_sub(MAX_REFERENCES);
    if more > 0 {
        found.drain(1..=more);
    }
    found
}

/// The first ID in an In-Reply-To header, which may hold words and addresses as well.
pub fn in_reply_to(header: &[u8]) -> Option<MessageId> {
    MessageId::from_bytes(candidates(header).next()?).ok()
}

/// Everything in a header that is a valid ID, still as bytes.
pub(crate) fn candidates(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = header;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[memchr::memchr(b'<', rest)?..];
            // An ID without its end runs into the next one, so each `<` begins anew.
            let end = 1 + memchr::memchr2(b'<', b'>', &rest[1..])?;
            let length = if rest[end] == b'>' { end + 1 } else { end };
            let (piece, after) = rest.split_at(length);
            rest = after;
            if is_id(piece) {
                return Some(piece);
            }
        }
    })
}

/// RFC 3977: `<`, printable ASCII without `>`, `>`.
fn is_id(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', inside @ .., b'>'] => {
            (1..=MessageId::MAX - 2).contains(&inside.len())
                && inside
                    .iter()
                    .all(|byte| byte.is_ascii_graphic() && *byte != b'>')
        }
        _ => false,
    }
}

impl FromStr for MessageId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::from_bytes(text.as_bytes())
    }
}

impl Display for MessageId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Debug for MessageId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({})", self.0)
    }
}

impl Borrow<str> for MessageId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(header: &str) -> Vec<String> {
        let ids = references(header.as_bytes()).into_iter();
        ids.map(|id| id.to_string()).collect()
    }

    #[test]
    fn brackets_come_off_for_urls_and_go_on_again() {
        let id: MessageId = "<a/b?c@d.example>".parse().unwrap();
        assert_eq!(
            (id.as_str(), id.bare()),
            ("<a/b?c@d.example>", "a/b?c@d.example")
        );
        assert_eq!(MessageId::from_bare(id.bare()), Ok(id));
    }

    #[test]
    fn ids_are_3_to_250_printable_octets() {
        let of = |octets: usize| format!("<{}>", "x".repeat(octets - 2));
        assert!(of(3).parse::<MessageId>().is_ok() && of(250).parse::<MessageId>().is_ok());
        let long = of(251);
        for text in [
            "", "<", "<>", ">", "a@b", "<a@b", "a@b>", "<a b@c>", "<a>b@c>", "<a\r\n>", "<a\0>",
            "<ä@b>", " <a@b>", "<a\x7f>", &long,
        ] {
            assert_eq!(text.parse::<MessageId>(), Err(Error::MessageId), "{text:?}");
        }
        assert_eq!(MessageId::from_bytes(b"<\xff>"), Err(Error::MessageId));
        assert_eq!(MessageId::from_bare("a>\r\nQUIT"), Err(Error::MessageId));
    }

    #[test]
    fn references_skip_what_is_no_id() {
        assert_eq!(texts("<a@b> <c@d>\r\n\t<e@f>"), ["<a@b>", "<c@d>", "<e@f>"]);
        assert_eq!(
            texts("<a@b><c@d>,(was: <e@f>)"),
            ["<a@b>", "<c@d>", "<e@f>"]
        );
        let bytes = references(b"Monday <a@b> <bad id@x> (see <c@d>) <\xFF@x> <e");
        assert_eq!(bytes.len(), 2);
        assert_eq!(texts("<cut@off <a b@c> <> > <ok@ok> <never"), ["<ok@ok>"]);
        assert_eq!(texts("<run@into<a@b>"), ["<a@b>"]);
        assert_eq!(texts(""), [""; 0]);
        let long = format!("<{}> <ok@ok>", "x".repeat(300));
        assert_eq!(texts(&long), ["<ok@ok>"]);
    }

    #[test]
    fn of_too_many_references_the_first_and_the_last_are_kept() {
        let header: String = (0..3_000).map(|n| format!("<{n}@x> ")).collect();
        let ids = texts(&header);
        assert_eq!(ids.len(), 1_000);
        assert_eq!((ids[0].as_str(), ids[1].as_str()), ("<0@x>", "<2001@x>"));
        assert_eq!(ids[999], "<2999@x>");
        let whole: String = (0..1_000).map(|n| format!("<{n}@x> ")).collect();
        assert_eq!(texts(&whole)[1], "<1@x>");
    }

    #[test]
    fn in_reply_to_is_the_first_id_among_words() {
        let header = b"Your message of \"Mon, 2 Nov\" <1@a> from <2@b>";
        assert_eq!(in_reply_to(header).unwrap().as_str(), "<1@a>");
        assert_eq!(in_reply_to(b"Your message of Monday"), None);
    }
}
