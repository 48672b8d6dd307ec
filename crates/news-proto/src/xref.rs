//! Xref: an article's number in each newsgroup of one server.

use crate::newsgroup::Newsgroup;
use crate::number::{number, write};
use crate::text::{clean, word};

/// The value of an Xref header, borrowed. Its numbers are the server's own and mean nothing on
/// another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xref<'a> {
    /// The server's name for itself.
    pub server: &'a [u8],
    places: &'a [u8],
}

impl<'a> Xref<'a> {
    /// Reads a value, without the header's name; nothing if there is no place in it.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (server, places) = word(value);
        (!places.is_empty()).then_some(Self { server, places })
    }

    /// Newsgroups and the article's number in each; entries that are none are skipped.
    pub fn places(&self) -> impl Iterator<Item = (&'a str, u64)> + use<'a> {
        let words = self.places.split(u8::is_ascii_whitespace);
        words.filter_map(|word| {
            // The last colon: INN allows others in names.
            let colon = memchr::memrchr(b':', word)?;
            let name = std::str::from_utf8(&word[..colon]).ok()?;
            let number = number(&word[colon + 1..])?;
            Newsgroup::is_name(name).then_some((name, number))
        })
    }
}

/// Appends a value, without the header's name.
pub fn write_xref<'n>(
    server: &str,
    places: impl IntoIterator<Item = (&'n Newsgroup, u64)>,
    out: &mut Vec<u8>,
) {
    clean(server.as_bytes(), out);
    for (newsgroup, number) in places {
        out.push(b' ');
        out.extend_from_slice(newsgroup.as_str().as_bytes());
        out.push(b':');
        write(number, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_newsgroups_with_numbers() {
        let xref = Xref::parse(b"news.example comp.lang.c:12  alt.test:0007\r\n\tmisc:3").unwrap();
        assert_eq!(xref.server, b"news.example");
        let places: Vec<_> = xref.places().collect();
        assert_eq!(places, [("comp.lang.c", 12), ("alt.test", 7), ("misc", 3)]);
    }

    #[test]
    fn broken_entries_are_skipped() {
        let xref =
            Xref::parse(b"host a b: :1 c:x d:-1 e:1:2 f:99999999999999999999 \xff:1 ok:5").unwrap();
        let places: Vec<_> = xref.places().collect();
        assert_eq!(places, [("e:1", 2), ("ok", 5)]);
        assert_eq!(Xref::parse(b"host "), None);
        assert_eq!(Xref::parse(b""), None);
    }

    #[test]
    fn written_value_reads_back() {
        let (a, b): (Newsgroup, Newsgroup) = ("a.b".parse().unwrap(), "c".parse().unwrap());
        let mut out = Vec::new();
        write_xref("weir.example", [(&a, 1), (&b, u64::MAX)], &mut out);
        assert_eq!(out, b"weir.example a.b:1 c:18446744073709551615");
        let xref = Xref::parse(&out).unwrap();
        assert!(xref.places().eq([("a.b", 1), ("c", u64::MAX)]));
    }
}
