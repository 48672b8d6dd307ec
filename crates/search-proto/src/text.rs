//! Text of others on one line: without control characters and without space around it.

use std::borrow::Cow;

/// Makes text fit for one line: trimmed, line ends as spaces, control characters gone.
pub(crate) fn clean(text: &str) -> String {
    cleaned(text).into_owned()
}

/// As [`clean`], without a copy of what is clean already.
pub(crate) fn cleaned(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if all(text, plain) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|character| match character {
        '\t' | '\n' | '\r' => Some(' '),
        _ if allowed(character) => Some(character),
        _ => None,
    });
    Cow::Owned(kept.collect::<String>().trim().to_owned())
}

/// Whether this is true of all bytes; it looks at all of them, which compilers do many at a time.
pub(crate) fn all(text: &str, of: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(true, |all, byte| all & of(byte))
}

/// Makes text of a request comparable: as [`clean`], and any white space is a single space.
pub(crate) fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_whitespace() {
            if !squeezed.is_empty() && !squeezed.ends_with(' ') {
                squeezed.push(' ');
            }
        } else if allowed(character) {
            squeezed.push(character);
        }
    }
    squeezed.truncate(squeezed.trim_end().len());
    squeezed
}

/// Cuts text to at most this many characters.
pub(crate) fn cut(text: &str, characters: usize) -> &str {
    // A character has one byte at least, so most texts need no counting.
    if text.len() <= characters {
        return text;
    }
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Whether a character may stand in XML and is no control character.
pub(crate) fn allowed(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{FFFE}' | '\u{FFFF}')
}

/// Whether a byte cannot be part of a character that is not [`allowed`].
pub(crate) fn plain(byte: u8) -> bool {
    // C2 leads the control characters above ASCII, EF leads U+FFFE and U+FFFF.
    byte >= b' ' && !matches!(byte, 0x7F | 0xC2 | 0xEF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_one_line_without_control_characters() {
        assert_eq!(clean("  a b  "), "a b");
        assert_eq!(clean("\u{1}a\u{0}b\u{85}\u{FFFF}c\u{7F}\n"), "abc");
        assert_eq!(clean("a\r\nb\tc"), "a  b c");
        assert_eq!(clean("é ｅ \u{A0}é"), "é ｅ \u{A0}é");
        assert_eq!(clean("\u{1} x \u{2}"), "x");
    }

    #[test]
    fn squeezed_text_has_single_spaces() {
        assert_eq!(squeeze(" \u{1} a \t\n\u{3000} b\u{0}c "), "a bc");
        assert_eq!(squeeze("\u{1}"), "");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("abc", 9), "abc");
    }
}
