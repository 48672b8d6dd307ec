//! Header fields as they are sent: encoded where they are not ASCII (RFC 2047), folded, never with a line end of
//! somebody else's in them.

use data_encoding::BASE64;

/// Octets of the longest line, its end aside (RFC 5536, section 2.2).
pub(super) const LONGEST: usize = 998;

/// Lines are folded at spaces before they get longer than this.
const WIDTH: usize = 78;

/// Octets of an encoded word (RFC 2047, section 2).
const WORD: usize = 75;

/// What stands around the text of an encoded word.
const AROUND: usize = "=?UTF-8?Q??=".len();

/// Appends a field, folded at its spaces. The value has no control characters.
///
/// Gives `false`, and appends nothing, if it cannot be folded into lines that may be sent.
pub(super) fn write(name: &str, value: &[u8], out: &mut Vec<u8>) -> bool {
    let mut line = name.len() + 1;
    let mut folded = Vec::with_capacity(name.len() + value.len() + 8);
    folded.extend_from_slice(name.as_bytes());
    folded.push(b':');
    let mut first = true;
    for word in value
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
    {
        // The value begins on the line of its name, or some programs take it for empty.
        if !first && line + 1 + word.len() > WIDTH {
            folded.extend_from_slice(b"\r\n");
            line = 0;
        }
        folded.push(b' ');
        folded.extend_from_slice(word);
        line += 1 + word.len();
        if line > LONGEST {
            return false;
        }
        first = false;
    }
    folded.extend_from_slice(b"\r\n");
    out.extend_from_slice(&folded);
    true
}

/// Text as a field has it that holds nothing but text, such as `Subject`.
pub(super) fn text(text: &str) -> String {
    let text = one_line(text);
    if is_plain(&text) {
        return text;
    }
    // Spaces between encoded words are not shown, so all from the first word that needs it to the last is encoded as one.
    let words: Vec<&str> = text.split(' ').collect();
    let odd = |word: &&str| !is_plain(word);
    let first = words.iter().position(odd).unwrap_or(0);
    let last = words.iter().rposition(odd).unwrap_or(words.len() - 1);
    let before = words[..first].iter().map(|word| (*word).to_owned());
    let after = words[last + 1..].iter().map(|word| (*word).to_owned());
    let encoded = encoded(&words[first..=last].join(" "));
    let all: Vec<String> = before.chain(encoded).chain(after).collect();
    all.join(" ")
}

/// A name as it stands before an address.
pub(super) fn phrase(name: &str) -> String {
    let name = one_line(name);
    let is_atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~ ".contains(c);
    if !is_plain(&name) {
        return encoded(&name).join(" ");
    }
    match name.chars().all(is_atom) {
        true => name,
        false => format!("\"{}\"", name.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

/// The same text on one line: what would end a line, or is not to be seen, becomes a space.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words: Vec<&str> = clean.split(' ').filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Whether it can be sent as it is: ASCII, and nothing that looks encoded.
fn is_plain(text: &str) -> bool {
    text.is_ascii() && !text.contains("=?") && text.split(' ').all(|word| word.len() < LONGEST / 2)
}

/// Encoded words, none of which ends within a character.
fn encoded(text: &str) -> Vec<String> {
    let asciis = text.bytes().filter(u8::is_ascii).count();
    let quoted = asciis * 2 >= text.len();
    let mut words = Vec::new();
    let mut word = String::new();
    let length = |piece: &str| match quoted {
        true => piece.bytes().map(|byte| quote(byte).len()).sum(),
        false => BASE64.encode_len(piece.len()),
    };
    for c in text.chars() {
        let mut longer = word.clone();
        longer.push(c);
        if length(&longer) > WORD - AROUND {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
    }
    words.push(word);
    let write = |word: String| match quoted {
        true => {
            let text: String = word.bytes().map(quote).collect();
            format!("=?UTF-8?Q?{text}?=")
        }
        false => format!("=?UTF-8?B?{}?=", BASE64.encode(word.as_bytes())),
    };
    words.into_iter().map(write).collect()
}

/// One octet of an encoded word, as it may stand in a name as well (RFC 2047, section 5, rule 3).
fn quote(byte: u8) -> String {
    match byte {
        b' ' => "_".to_owned(),
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'!' | b'*' | b'+' | b'-' | b'/' => {
            char::from(byte).to_string()
        }
        other => format!("={other:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_news_proto::article::{Author, decode_header};

    use super::*;

    fn field(value: &str) -> String {
        let mut out = Vec::new();
        assert!(write("Subject", value.as_bytes(), &mut out));
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn ascii_stays_as_it_is_and_the_rest_is_encoded() {
        assert_eq!(text("Re: What now?"), "Re: What now?");
        assert_eq!(text("Re: für alle da"), "Re: =?UTF-8?Q?f=C3=BCr?= alle da");
        assert_eq!(text("日本"), "=?UTF-8?B?5pel5pys?=");
        assert_ne!(text("=?UTF-8?Q?not_mine?="), "=?UTF-8?Q?not_mine?=");
    }

    #[test]
    fn names_with_dots_are_quoted_and_foreign_ones_encoded() {
        assert_eq!(phrase("Ann Example"), "Ann Example");
        assert_eq!(phrase("Ann B. (x) \"E\""), r#""Ann B. (x) \"E\"""#);
        assert_eq!(phrase("Jörg"), "=?UTF-8?Q?J=C3=B6rg?=");
    }

    #[test]
    fn line_ends_never_survive() {
        for odd in ["a\r\nX: y", "a\nX: y", "a\rX: y", "a\0X: y", "a\u{85}X: y"] {
            let written = field(&text(odd));
            assert_eq!(written, "Subject: a X: y\r\n", "{odd:?}");
            assert!(!phrase(odd).contains(char::is_control), "{odd:?}");
        }
    }

    #[test]
    fn what_cannot_be_folded_is_not_sent() {
        let mut out = Vec::new();
        assert!(!write("Newsgroups", "x".repeat(990).as_bytes(), &mut out));
        assert!(out.is_empty());
        assert!(write("Newsgroups", "x".repeat(980).as_bytes(), &mut out));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(words in ".{0,300}") {
            let written = field(&text(&words));
            prop_assert!(written.lines().all(|line| line.len() <= LONGEST));
            prop_assert!(written.is_ascii());
            let value = written.strip_prefix("Subject:").expect("its name").trim();
            let unfolded = value.replace("\r\n", "");
            prop_assert_eq!(decode_header(unfolded.as_bytes()), decode_header(one_line(&words).replace("=?", "= ?").as_bytes()).replace("= ?", "=?"));
        }

        #[test]
        fn a_name_stays_a_name(name in ".{1,80}") {
            let from = format!("{} <a@b.example>", phrase(&name));
            let mut out = Vec::new();
            prop_assert!(write("From", from.as_bytes(), &mut out));
            let author = Author::parse(&out[5..]);
            prop_assert_eq!(author.address, "a@b.example");
        }
    }
}
