//! Text of strangers made harmless: characters that are removed, text on one line, cuts that never
//! split a character, and ROT13.
//!
//! Escaping for HTML is left to templates.

use std::borrow::Cow;

/// Whether a character is removed wherever text of an article is shown.
///
/// These are control characters, and those that change the direction of the text around them: a
/// name with a right-to-left override could turn the rest of the page around. They are removed and
/// not isolated, since templates cannot isolate text in an attribute or a title. Marks that
/// only give a direction to their neighbours (U+200E, U+200F, U+061C) are kept: Arabic and Hebrew
/// text needs them.
pub(super) fn is_removed(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{202A}'..='\u{202E}'
            | '\u{2066}'..='\u{2069}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{FEFF}')
        || (character as u32) & 0xFFFE == 0xFFFE
}

/// Bytes that [`one_line`] would leave as they are because nothing in them is special: printable ASCII with single spaces.
/// Nearly all headers are.
pub(super) fn plain_line(bytes: &[u8]) -> Option<&str> {
    let mut after_space = true;
    let plain = bytes.iter().all(|byte| match byte {
        b' ' => !std::mem::replace(&mut after_space, true),
        b'!'..=b'~' => {
            after_space = false;
            true
        }
        _ => false,
    });
    std::str::from_utf8(bytes)
        .ok()
        .filter(|_| plain && (bytes.is_empty() || !after_space))
}

/// Text on one line: runs of white space become one space, and there is no white space at the ends.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if is_break(character) {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !is_removed(character) {
            line.push(character);
        }
    }
    line.truncate(line.trim_end_matches(' ').len());
    line
}

/// Text of several lines: each ends with a line feed, tabs are kept.
pub(super) fn many_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}' => lines.push('\n'),
            '\t' => lines.push('\t'),
            _ if is_removed(character) => {}
            _ => lines.push(character),
        }
    }
    lines
}

/// Cuts text after at most this many characters.
#[must_use]
pub fn cut(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Cuts text after at most this many bytes, and never inside a character.
#[must_use]
pub fn cut_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The start of a text on one line, of at most this many characters.
///
/// What is cut ends with `…`, after a whole word unless that would lose more than a third.
#[must_use]
pub fn snippet(text: &str, characters: usize) -> String {
    // Twice as much as the longest characters need; white space that is squeezed out may make the
    // snippet shorter, which is better than reading all of a long text.
    let start = cut_bytes(text, characters.saturating_mul(8));
    let line = one_line(start);
    if start.len() == text.len() && cut(&line, characters).len() == line.len() {
        return line;
    }
    let short = match characters.checked_sub(1) {
        Some(room) => cut(&line, room),
        None => return String::new(),
    };
    let word = short.rfind(' ').filter(|end| *end * 3 >= short.len() * 2);
    let kept = word.map_or(short, |end| &short[..end]);
    format!("{}…", kept.trim_end())
}

/// Text in ROT13, as posters hide the end of a film; applied twice it is the text again.
#[must_use]
pub fn rot13(text: &str) -> String {
    let turn = |character: char, first: u8| (first + (character as u8 - first + 13) % 26) as char;
    let turned = text.chars().map(|character| match character {
        'a'..='z' => turn(character, b'a'),
        'A'..='Z' => turn(character, b'A'),
        _ => character,
    });
    turned.collect()
}

/// A token such as the name of a header or a character set, for a message to people.
pub(super) fn token(text: &[u8]) -> String {
    let text: Cow<'_, str> = String::from_utf8_lossy(&text[..text.len().min(160)]);
    cut(&one_line(&text), 40).to_owned()
}

/// White space that a line of text can do without; wider spaces of other scripts stay.
fn is_break(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_no_controls_and_single_spaces() {
        assert_eq!(one_line(" a\r\n\tb\u{0}c\u{2028}d \u{1}"), "a bc d");
        assert_eq!(
            one_line("\u{202E}live\u{202C}\u{2066}x\u{FEFF}\u{9B}\u{FFFF}"),
            "livex"
        );
        assert_eq!(one_line("א\u{200F}!"), "א\u{200F}!");
        assert_eq!(one_line("a\u{3000}b"), "a\u{3000}b");
    }

    #[test]
    fn only_a_line_that_would_stay_as_it_is_is_plain() {
        for text in [
            "",
            " ",
            "a",
            "a b",
            " a",
            "a ",
            "a  b",
            "a\tb",
            "a\u{7f}",
            "a\u{1b}(B",
            "\u{e9}",
            "~!",
        ] {
            let plain = plain_line(text.as_bytes());
            assert_eq!(
                plain.is_some(),
                text.is_ascii() && one_line(text) == text,
                "{text:?}"
            );
            assert!(plain.is_none_or(|plain| plain == text));
        }
        assert_eq!(plain_line(b"\xff"), None);
    }

    #[test]
    fn lines_end_with_a_line_feed_whatever_they_ended_with() {
        assert_eq!(many_lines("a\r\nb\rc\n\td\u{7}\u{0}"), "a\nb\nc\n\td");
        assert_eq!(many_lines("\r\r\n"), "\n\n");
    }

    #[test]
    fn cuts_are_at_character_borders() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äöü", 9), "äöü");
        assert_eq!(cut_bytes("äöü", 3), "ä");
        assert_eq!(cut_bytes("äöü", 0), "");
    }

    #[test]
    fn snippets_end_after_a_word() {
        assert_eq!(
            snippet("The gauge\nat the old mill", 40),
            "The gauge at the old mill"
        );
        assert_eq!(snippet("The gauge at the old mill", 16), "The gauge at…");
        assert_eq!(snippet("Donaudampfschifffahrt", 10), "Donaudamp…");
        assert_eq!(snippet("", 10), "");
        assert_eq!(snippet("abc", 0), "");
        assert_eq!(snippet(&"\u{1F600}".repeat(100), 3), "\u{1F600}\u{1F600}…");
        assert_eq!(snippet(&format!("a{}b", " ".repeat(1_000)), 10), "a…");
    }

    #[test]
    fn rot13_twice_is_the_text() {
        assert_eq!(rot13("Uryyb, jbeyq! äß"), "Hello, world! äß");
        assert_eq!(rot13(&rot13("AZaz09")), "AZaz09");
    }
}
