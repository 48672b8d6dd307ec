//! References in text and attributes: those of XML, those of HTML, and lone `&`s.

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

use crate::text::all;

/// What a reference stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A character by name.
    Text(&'static str),
    /// A character by number.
    Character(char),
    /// Nothing that we know: it stays as it is.
    Unknown,
}

/// Looks up what stands between `&` and `;`.
pub(crate) fn resolve(name: &str) -> Meaning {
    match name {
        "amp" => return Meaning::Text("&"),
        "lt" => return Meaning::Text("<"),
        "gt" => return Meaning::Text(">"),
        "quot" => return Meaning::Text("\""),
        "apos" => return Meaning::Text("'"),
        _ => {}
    }
    let Some(number) = name.strip_prefix('#') else {
        // The longest name of HTML has 31 letters.
        let short = name.len() < 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let found = short.then(|| resolve_html5_entity(name)).flatten();
        return found.map_or(Meaning::Unknown, Meaning::Text);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => number_of(digits, 16),
        None => number_of(number, 10),
    };
    // Numbers of no character, among them halves of surrogate pairs, are left out by whoever
    // cleans the text.
    code.map_or(Meaning::Unknown, |code| {
        Meaning::Character(char::from_u32(code).unwrap_or('\u{0}'))
    })
}

/// An attribute's value with its references resolved and its line ends as spaces.
pub(crate) fn unescape(raw: &str) -> Cow<'_, str> {
    if all(raw, |byte| !matches!(byte, b'&' | b'\t' | b'\n' | b'\r')) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['&', '\t', '\n', '\r']) {
        out.push_str(&rest[..at]);
        if rest.as_bytes()[at] != b'&' {
            out.push(' ');
            rest = &rest[at + 1..];
            continue;
        }
        let after = &rest[at + 1..];
        // Stopping at the next `&` keeps this linear.
        let end = after
            .find([';', '&'])
            .filter(|end| after.as_bytes()[*end] == b';');
        let meaning = end.map(|end| resolve(&after[..end]));
        match meaning.unwrap_or(Meaning::Unknown) {
            Meaning::Unknown => {
                out.push('&');
                rest = after;
                continue;
            }
            Meaning::Text(text) => out.push_str(text),
            Meaning::Character(character) => out.push(character),
        }
        rest = &after[end.map_or(0, |end| end + 1)..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn number_of(digits: &str, radix: u32) -> Option<u32> {
    let digit = |byte: u8| (byte as char).is_digit(radix);
    if digits.is_empty() || !digits.bytes().all(digit) {
        return None;
    }
    Some(u32::from_str_radix(digits, radix).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_resolved() {
        assert_eq!(resolve("amp"), Meaning::Text("&"));
        assert_eq!(resolve("nbsp"), Meaning::Text("\u{A0}"));
        assert_eq!(resolve("eacute"), Meaning::Text("é"));
        assert_eq!(resolve("#233"), Meaning::Character('é'));
        assert_eq!(resolve("#xE9"), Meaning::Character('é'));
        assert_eq!(resolve("#xD800"), Meaning::Character('\u{0}'));
        assert_eq!(resolve("#99999999999"), Meaning::Character('\u{0}'));
        for odd in ["", "#", "#x", "#+1", "lol9", "a b", "T rocks"] {
            assert_eq!(resolve(odd), Meaning::Unknown, "{odd}");
        }
    }

    #[test]
    fn attributes_are_unescaped_and_lone_ampersands_stay() {
        assert_eq!(unescape("a&amp;b"), "a&b");
        assert_eq!(unescape("?a=1&b=2&amp;c=3"), "?a=1&b=2&c=3");
        assert_eq!(unescape("AT&T; &eacute;&#233; &"), "AT&T; éé &");
        assert_eq!(unescape("a\r\nb\tc"), "a  b c");
        assert_eq!(unescape("&amp;lt;"), "&lt;");
        assert!(matches!(unescape("plain é"), Cow::Borrowed(_)));
    }
}
