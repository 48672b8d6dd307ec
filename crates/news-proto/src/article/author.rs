//! Who wrote an article: name and address in the forms that `From` has.

use super::words::decode_hinted;
use super::{characters, limits};

/// An author as `From` names one. The first is taken where there are several.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Author {
    /// The name, decoded and on one line; empty if there is none.
    pub name: String,
    /// The address as it was written, often a made-up one; empty if there is none.
    pub address: String,
}

impl Author {
    /// Reads `Name <address>`, `address (Name)` or a bare address.
    ///
    /// The structure is read before encoded words are: a name that decodes to `<a@b.example>` is no
    /// address.
    #[must_use]
    pub fn parse(raw: &[u8]) -> Self {
        Self::parse_hinted(raw, None)
    }

    pub(super) fn parse_hinted(raw: &[u8], hint: Option<&str>) -> Self {
        let Mailbox {
            phrase,
            comment,
            angle,
        } = Mailbox::read(&raw[..raw.len().min(limits::HEADER_BYTES)]);
        let decode = |bytes: &[u8]| decode_hinted(bytes, hint);
        let (name, address) = match angle {
            Some(address) => (decode(&phrase), decode(&address)),
            None if phrase.contains(&b'@') => (String::new(), decode(&phrase)),
            None => (decode(&phrase), String::new()),
        };
        let name = if name.is_empty() {
            decode(&comment)
        } else {
            name
        };
        let around = ['"', '\'', ' '];
        let name = match name.starts_with(around) || name.ends_with(around) {
            true => name.trim_matches(around).to_owned(),
            false => name,
        };
        let address = match address.contains(' ') {
            true => address.replace(' ', ""),
            false => address,
        };
        Self { name, address }
    }

    /// What to call the author: the name, else the address, else nothing.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self.name.as_str() {
            "" => &self.address,
            name => name,
        }
    }

    /// Whether there is neither a name nor an address.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.address.is_empty()
    }

    /// The name for a place with little room, at most this many characters.
    #[must_use]
    pub fn short(&self, characters: usize) -> &str {
        characters::cut(self.shown(), characters)
    }
}

/// The pieces of one mailbox, without quotes and brackets.
#[derive(Default)]
struct Mailbox {
    phrase: Vec<u8>,
    comment: Vec<u8>,
    angle: Option<Vec<u8>>,
}

impl Mailbox {
    fn read(raw: &[u8]) -> Self {
        let mut mailbox = Self {
            phrase: Vec::with_capacity(raw.len()),
            ..Self::default()
        };
        let (mut quoted, mut comments, mut bracket, mut address) = (false, 0_usize, false, false);
        let mut bytes = raw.iter().copied();
        while let Some(byte) = bytes.next() {
            let byte = match byte {
                b'\\' if quoted || comments > 0 => match bytes.next() {
                    Some(escaped) => escaped,
                    None => break,
                },
                b'"' if comments == 0 => {
                    quoted = !quoted;
                    continue;
                }
                b'(' if !quoted && !bracket => {
                    comments += 1;
                    if comments == 1 {
                        continue;
                    }
                    byte
                }
                b')' if comments > 0 => {
                    comments -= 1;
                    if comments == 0 {
                        continue;
                    }
                    byte
                }
                b'<' if !quoted && comments == 0 && mailbox.angle.is_none() => {
                    bracket = true;
                    mailbox.angle = Some(Vec::with_capacity(bytes.len()));
                    continue;
                }
                b'>' if bracket && !quoted => {
                    bracket = false;
                    continue;
                }
                // A comma before any address is part of a name that should have been quoted.
                b',' if !quoted && comments == 0 && address => break,
                _ => byte,
            };
            address |= byte == b'@' && comments == 0;
            match &mut mailbox.angle {
                _ if comments > 0 => mailbox.comment.push(byte),
                Some(angle) if bracket => angle.push(byte),
                // Words after the address belong to nothing.
                Some(_) => {}
                None => mailbox.phrase.push(byte),
            }
        }
        mailbox
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> (String, String) {
        let author = Author::parse(raw.as_bytes());
        (author.name, author.address)
    }

    #[test]
    fn every_form_of_from() {
        for (raw, name, address) in [
            (
                "Mira Holt <mira@river.example>",
                "Mira Holt",
                "mira@river.example",
            ),
            (
                "\"Holt, Mira\" <mira@river.example>",
                "Holt, Mira",
                "mira@river.example",
            ),
            (
                "Holt, Mira <mira@river.example>",
                "Holt, Mira",
                "mira@river.example",
            ),
            (
                "mira@river.example (Mira Holt)",
                "Mira Holt",
                "mira@river.example",
            ),
            (
                "mira@river.example (Mira (at work) Holt)",
                "Mira (at work) Holt",
                "mira@river.example",
            ),
            ("mira@river.example", "", "mira@river.example"),
            ("<mira@river.example>", "", "mira@river.example"),
            ("Mira", "Mira", ""),
            (
                "=?utf-8?Q?J=C3=B6rg?= M. <j@r.example>",
                "Jörg M.",
                "j@r.example",
            ),
            (
                "=?utf-8?Q?Holt=2C_Mira?= <m@r.example>",
                "Holt, Mira",
                "m@r.example",
            ),
            ("j@r.example (=?utf-8?Q?J=C3=B6rg?=)", "Jörg", "j@r.example"),
            (
                "\"Mira \\\"M\\\" Holt\" <m@r.example>",
                "Mira \"M\" Holt",
                "m@r.example",
            ),
            ("a@r.example, b@r.example", "", "a@r.example"),
            ("A <a@r.example>, B <b@r.example>", "A", "a@r.example"),
            ("", "", ""),
            ("<", "", ""),
            ("((((", "(((", ""),
        ] {
            assert_eq!(parsed(raw), (name.into(), address.into()), "{raw}");
        }
    }

    #[test]
    fn a_name_cannot_forge_an_address_or_turn_the_page_around() {
        let raw = "=?utf-8?Q?=3Croot=40bank.example=3E?= <evil@r.example>";
        assert_eq!(
            parsed(raw),
            ("<root@bank.example>".into(), "evil@r.example".into())
        );
        let raw = "=?utf-8?B?4oCubW9jLmxpdmU=?= <x@r.example>";
        assert_eq!(parsed(raw).0, "moc.live");
    }

    #[test]
    fn someone_without_a_name_is_shown_by_address() {
        assert_eq!(Author::parse(b"a@r.example").shown(), "a@r.example");
        assert_eq!(
            Author::parse("Jörg <a@r.example>".as_bytes()).short(2),
            "Jö"
        );
        assert!(Author::parse(b"\x00 ").is_empty());
    }
}
