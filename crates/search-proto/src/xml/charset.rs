//! Bytes to text: which encoding an answer is in, whatever it says about itself.

use std::borrow::Cow;
use std::str;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};

use crate::error::Unreadable;

/// How far into the bytes a declaration is looked for.
const HEAD: usize = 256;

/// The text of an answer.
///
/// A byte order mark decides. Else bytes that are UTF-8 are that if any label says so or none says
/// anything; else the first label that can be true holds, that of the header before that of the
/// declaration. A UTF-8 answer with broken bytes is read with replacement characters, since one bad
/// title must not cost all releases.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    charset: Option<&str>,
) -> Result<Cow<'a, str>, Unreadable> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return Ok(encoding.decode_without_bom_handling(&body[mark..]).0);
    }
    if let Some(wide) = unmarked_wide(body) {
        return Ok(wide.decode_without_bom_handling(body).0);
    }
    let labels = [charset.and_then(charset_label), declared(body)];
    let known = labels
        .iter()
        .flatten()
        .map(|label| Encoding::for_label(label.as_bytes()));
    let known: Vec<Option<&'static Encoding>> = known.collect();
    let utf8 = str::from_utf8(body).ok();
    if let Some(text) = utf8
        && (known.is_empty() || known.contains(&Some(UTF_8)))
    {
        return Ok(Cow::Borrowed(text));
    }
    // Two bytes for each character would have shown; programs that say so write UTF-8.
    let possible = known.iter().flatten().map(|encoding| match *encoding {
        wide if wide == UTF_16LE || wide == UTF_16BE => UTF_8,
        other => other,
    });
    let mut possible = possible.filter(|encoding| *encoding != REPLACEMENT);
    match possible.next() {
        Some(encoding) => Ok(encoding.decode_without_bom_handling(body).0),
        None if utf8.is_some() || known.is_empty() => Ok(String::from_utf8_lossy(body)),
        None => Err(Unreadable::Encoding),
    }
}

/// UTF-16 without a mark: every document begins with an ASCII character.
fn unmarked_wide(body: &[u8]) -> Option<&'static Encoding> {
    match body {
        [0, first, 0, ..] if first.is_ascii() && *first != 0 => Some(UTF_16BE),
        [first, 0, second, ..] if first.is_ascii() && *first != 0 && *second != 0 => Some(UTF_16LE),
        _ => None,
    }
}

/// The label in a header's value; both `iso-8859-1` and `text/xml; charset=iso-8859-1` will do.
fn charset_label(value: &str) -> Option<&str> {
    let value = match value.to_ascii_lowercase().find("charset=") {
        Some(at) => &value[at + "charset=".len()..],
        None if value.contains('/') => return None,
        None => value,
    };
    let value = value.split(';').next().unwrap_or_default();
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then_some(value)
}

/// The label in the XML declaration.
fn declared(body: &[u8]) -> Option<&str> {
    let head = &body[..body.len().min(HEAD)];
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    let head = &head[..end];
    let start = head.windows(5).position(|five| five == b"<?xml")?;
    let head = str::from_utf8(&head[start..]).ok()?;
    let (_, rest) = head.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let label = rest[1..].split(quote).next()?.trim();
    (!label.is_empty()).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &[u8], charset: Option<&str>) -> String {
        decode(body, charset).unwrap().into_owned()
    }

    fn wide(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn a_mark_decides() {
        assert_eq!(text(b"\xEF\xBB\xBFna\xC3\xAFf", Some("iso-8859-1")), "naïf");
        assert_eq!(text(&wide("\u{FEFF}naïf", u16::to_le_bytes), None), "naïf");
        assert_eq!(text(&wide("\u{FEFF}naïf", u16::to_be_bytes), None), "naïf");
    }

    #[test]
    fn wide_text_is_known_without_a_mark() {
        assert_eq!(text(&wide("<é/>", u16::to_le_bytes), Some("utf-8")), "<é/>");
        assert_eq!(text(&wide("<é/>", u16::to_be_bytes), None), "<é/>");
    }

    #[test]
    fn header_or_declaration_names_the_encoding() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>";
        assert!(text(latin, None).ends_with("<a>é</a>"));
        // A header that is sent for everything does not make Latin-1 broken UTF-8.
        assert!(text(latin, Some("bogus")).ends_with("<a>é</a>"));
        assert_eq!(text(b"<a>\xE9\x80</a>", Some("windows-1252")), "<a>é€</a>");
        let header = Some("text/xml; charset=\"ISO-8859-1\"; q=1");
        assert_eq!(text(b"<a>\xE9</a>", header), "<a>é</a>");
        assert_eq!(text(b"<a>\xC3\xA9</a>", Some("text/xml")), "<a>é</a>");
    }

    #[test]
    fn valid_utf_8_is_that_when_anything_says_so() {
        let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><a>é</a>";
        assert_eq!(text(body.as_bytes(), Some("iso-8859-1")), body);
        assert_eq!(text("<a>é</a>".as_bytes(), None), "<a>é</a>");
    }

    #[test]
    fn utf_16_that_is_not_is_read_as_utf_8() {
        let body = "<?xml version=\"1.0\" encoding=\"utf-16\"?><a>é</a>";
        assert_eq!(text(body.as_bytes(), None), body);
    }

    #[test]
    fn broken_bytes_cost_characters_and_not_the_answer() {
        assert_eq!(text(b"<a>\xE9</a>", Some("utf-8")), "<a>\u{FFFD}</a>");
        assert_eq!(text(b"<a>\xE9</a>", None), "<a>\u{FFFD}</a>");
    }

    #[test]
    fn unknown_encoding_is_refused_unless_it_is_utf_8() {
        let odd = Some("x-klingon");
        assert_eq!(decode(b"<a>\xE9</a>", odd), Err(Unreadable::Encoding));
        assert_eq!(
            decode(b"<a>\xE9</a>", Some("iso-2022-kr")),
            Err(Unreadable::Encoding)
        );
        assert_eq!(text("<a>é</a>".as_bytes(), odd), "<a>é</a>");
    }
}
