//! What kind of content a part has: `Content-Type`, `Content-Disposition` and
//! `Content-Transfer-Encoding` with their parameters (RFC 2045, 2183, 2231).

use super::characters;
use super::charset::Choice;
use super::damage::{Damage, Report};
use super::field::Section;
use super::transfer::Transfer;
use super::words::decode_words;

/// The longest boundary that is used; RFC 2046 allows 70 characters.
const BOUNDARY_BYTES: usize = 200;

/// Parameters that are read of one header.
const PARAMETERS: usize = 64;

/// What the headers of a part say about its content.
#[derive(Clone, Debug)]
pub(super) struct Media {
    /// `text`, in lower case.
    pub(super) kind: String,
    /// `plain`, in lower case.
    pub(super) subtype: String,
    pub(super) charset: Option<String>,
    /// What separates the parts of a multipart.
    pub(super) boundary: Option<Vec<u8>>,
    /// Whether lines were folded for `format=flowed`, and whether with `DelSp`.
    pub(super) flowed: Option<DelSp>,
    /// Nothing if the encoding is unknown.
    pub(super) transfer: Option<Transfer>,
    pub(super) is_attachment: bool,
    /// The name of the file as it was sent; not safe to use.
    pub(super) name: Option<String>,
}

/// Whether the space at the end of a flowed line is removed when it is joined to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DelSp(pub(super) bool);

impl Media {
    pub(super) fn of(section: &Section<'_>, report: &mut Report) -> Self {
        let content = Value::read(section.first("Content-Type").unwrap_or(b"text/plain"));
        let disposition = Value::read(section.first("Content-Disposition").unwrap_or_default());
        let (kind, subtype) = content.word.split_once('/').unwrap_or(("", ""));
        // A type that nobody can read is shown as text: RFC 2045 has it so for a missing one.
        let (kind, subtype) = match is_token(kind) && is_token(subtype) {
            true => (kind, subtype),
            false => ("text", "plain"),
        };
        let transfer = Value::read(
            section
                .first("Content-Transfer-Encoding")
                .unwrap_or_default(),
        );
        let known = Transfer::named(&transfer.word);
        if known.is_none() {
            report.add(Damage::UnknownEncoding(characters::token(
                transfer.word.as_bytes(),
            )));
        }
        let is = |name: &str, value: &str| {
            content
                .parameter(name)
                .is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        let boundary = content.raw("boundary").map(<[u8]>::trim_ascii_end);
        Self {
            charset: content.parameter("charset"),
            boundary: boundary
                .filter(|boundary| (1..=BOUNDARY_BYTES).contains(&boundary.len()))
                .map(<[u8]>::to_vec),
            flowed: is("format", "flowed").then(|| DelSp(is("delsp", "yes"))),
            transfer: known,
            is_attachment: disposition.word == "attachment",
            name: disposition
                .parameter("filename")
                .or_else(|| content.parameter("name")),
            kind: kind.to_owned(),
            subtype: subtype.to_owned(),
        }
    }

    pub(super) fn is(&self, kind: &str, subtype: &str) -> bool {
        self.kind == kind && self.subtype == subtype
    }

    /// Text that is shown as it is; the types of source code differ from it in name only.
    pub(super) fn is_plain_text(&self) -> bool {
        self.kind == "text"
            && matches!(
                self.subtype.as_str(),
                "plain" | "x-patch" | "x-diff" | "markdown"
            )
    }
}

/// A header of a word and parameters: `text/plain; charset=utf-8`.
struct Value {
    /// The word in lower case.
    word: String,
    /// Names in lower case, values without quotes.
    parameters: Vec<(String, Vec<u8>)>,
}

impl Value {
    fn read(raw: &[u8]) -> Self {
        let mut pieces = pieces(raw).into_iter();
        let word = pieces.next().unwrap_or_default();
        let parameters = pieces.filter_map(|piece| {
            let equals = piece.iter().position(|byte| *byte == b'=')?;
            let name = String::from_utf8_lossy(piece[..equals].trim_ascii()).to_ascii_lowercase();
            Some((name, piece[equals + 1..].to_vec()))
        });
        Self {
            word: String::from_utf8_lossy(word.trim_ascii()).to_ascii_lowercase(),
            parameters: parameters.take(PARAMETERS).collect(),
        }
    }

    fn raw(&self, name: &str) -> Option<&[u8]> {
        let found = self.parameters.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_slice())
    }

    /// A parameter as text: in one piece, in several (`name*0`), or with a character set
    /// (`name*=utf-8''a%20b`).
    fn parameter(&self, name: &str) -> Option<String> {
        if let Some(encoded) = self.raw(&format!("{name}*")) {
            return Some(with_charset(&percent(encoded)));
        }
        if let Some(plain) = self.raw(name) {
            let text = super::charset::unlabelled(plain, None);
            return Some(characters::one_line(&decode_words(&text)));
        }
        let (mut joined, mut is_encoded) = (Vec::new(), false);
        for number in 0..PARAMETERS {
            if let Some(piece) = self.raw(&format!("{name}*{number}*")) {
                is_encoded |= number == 0;
                joined.extend(percent(piece));
            } else if let Some(piece) = self.raw(&format!("{name}*{number}")) {
                joined.extend_from_slice(piece);
            } else {
                break;
            }
        }
        match (joined.is_empty(), is_encoded) {
            (true, _) => None,
            (_, true) => Some(with_charset(&joined)),
            (_, false) => Some(characters::one_line(&super::charset::unlabelled(
                &joined, None,
            ))),
        }
    }
}

/// The pieces between semicolons, without quotes and comments.
fn pieces(raw: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let (mut quoted, mut comments) = (false, 0_usize);
    // White space before a value and after it is dropped unless it is in quotes.
    let mut space = Vec::new();
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'\\' if quoted => bytes.next().unwrap_or_default(),
            b'"' if comments == 0 => {
                quoted = !quoted;
                continue;
            }
            b'(' if !quoted => {
                comments += 1;
                continue;
            }
            b')' if !quoted && comments > 0 => {
                comments -= 1;
                continue;
            }
            b';' if !quoted && comments == 0 => {
                if pieces.len() > PARAMETERS {
                    break;
                }
                pieces.push(Vec::new());
                space.clear();
                continue;
            }
            b'\r' | b'\n' => continue,
            b' ' | b'\t' if !quoted => {
                space.push(b' ');
                continue;
            }
            _ => byte,
        };
        if comments == 0
            && let Some(piece) = pieces.last_mut()
        {
            if !piece.is_empty() && !piece.ends_with(b"=") && byte != b'=' {
                piece.append(&mut space);
            }
            space.clear();
            piece.push(byte);
        }
    }
    pieces
}

/// `utf-8'en'text`, already without percent signs.
fn with_charset(bytes: &[u8]) -> String {
    let mut parts = bytes.splitn(3, |byte| *byte == b'\'');
    let text = match (parts.next(), parts.next(), parts.next()) {
        (Some(charset), Some(_), Some(text)) => {
            let label = String::from_utf8_lossy(charset);
            Choice::of(text, Some(&label)).decode(text).0
        }
        _ => super::charset::unlabelled(bytes, None),
    };
    characters::one_line(&text)
}

/// Percent-encoding is quoted-printable with another mark.
fn percent(encoded: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) if *byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
    (1..=80).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(headers: &str) -> Media {
        let raw = format!("{headers}\r\n\r\n");
        let mut report = Report::default();
        let section = Section::read(raw.as_bytes(), 0, 20, |_| false, &mut report);
        Media::of(&section, &mut report)
    }

    #[test]
    fn types_and_parameters() {
        let found = media(
            "Content-Type: Text/Plain; CHARSET=\"UTF-8\"; format=Flowed;\r\n\tdelsp=yes (really)",
        );
        assert!(found.is("text", "plain"));
        assert_eq!(found.charset.as_deref(), Some("UTF-8"));
        assert_eq!(found.flowed, Some(DelSp(true)));
        assert_eq!(found.transfer, Some(Transfer::Plain));
        let found = media("Content-Type: multipart/mixed; boundary=\"a;b \\\"c\\\"\"");
        assert_eq!(found.boundary.as_deref(), Some(b"a;b \"c\"".as_slice()));
    }

    #[test]
    fn an_unreadable_type_is_plain_text() {
        for header in [
            "X: y",
            "Content-Type:",
            "Content-Type: text",
            "Content-Type: <script>/x; charset=utf-8",
        ] {
            assert!(media(header).is("text", "plain"), "{header}");
        }
    }

    #[test]
    fn names_of_files_in_every_encoding() {
        for (header, expected) in [
            ("Content-Disposition: attachment; filename=a.txt", "a.txt"),
            (
                "Content-Disposition: attachment; filename=\"a b.txt\"",
                "a b.txt",
            ),
            (
                "Content-Disposition: attachment; filename*=utf-8'de'gr%C3%B6%C3%9Fe.txt",
                "größe.txt",
            ),
            (
                "Content-Disposition: attachment; filename*0=\"long \"; filename*1=name.txt",
                "long name.txt",
            ),
            (
                "Content-Disposition: attachment; filename*0*=utf-8''gr%C3%B6; filename*1=sse.txt",
                "grösse.txt",
            ),
            (
                "Content-Type: image/png; name=\"=?utf-8?Q?gr=C3=B6=C3=9Fe=2Epng?=\"",
                "größe.png",
            ),
            (
                "Content-Disposition: inline; filename*=utf-7''+ADw-x+AD4-",
                "+ADw-x+AD4-",
            ),
        ] {
            assert_eq!(media(header).name.as_deref(), Some(expected), "{header}");
        }
    }
}
