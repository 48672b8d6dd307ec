//! Header text for people: encoded words (RFC 2047), raw bytes above ASCII, and no control
//! characters.

use std::borrow::Cow;

use super::charset::{self, Choice};
use super::{characters, limits, transfer};

/// The longest name of a character set, with the language that RFC 2231 allows after it.
const CHARSET_BYTES: usize = 64;

/// Decodes a header such as `Subject`, from an article or from an overview.
///
/// Bytes above ASCII are read as UTF-8 if they are, else by a guess. An encoded word in a character
/// set that is unknown or never used (UTF-7) stays as it is. Line ends, other white space and
/// control characters, encoded or not, come out as single spaces or not at all.
#[must_use]
pub fn decode_header(raw: &[u8]) -> String {
    decode_hinted(raw, None)
}

/// As [`decode_header`], with the character set of the article's text for raw bytes above ASCII:
/// who does not label headers has mostly written them in the same one.
pub(super) fn decode_hinted(raw: &[u8], hint: Option<&str>) -> String {
    let raw = &raw[..raw.len().min(limits::HEADER_BYTES)];
    if let Some(plain) = characters::plain_line(raw).filter(|plain| !plain.contains("=?")) {
        return plain.to_owned();
    }
    let text = charset::unlabelled(raw, hint);
    characters::one_line(&decode_words(&text))
}

/// Replaces encoded words by what they mean, wherever they are: programs put them in places where
/// the RFC does not allow them, such as quoted strings and file names.
pub(super) fn decode_words(text: &str) -> Cow<'_, str> {
    if !text.contains("=?") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut run: Option<Run<'_>> = None;
    let mut rest = text;
    while let Some(at) = rest.find("=?") {
        let (between, candidate) = rest.split_at(at);
        let Some((word, after)) = Word::read(candidate) else {
            Run::flush(run.take(), &mut out);
            out.push_str(between);
            out.push_str("=?");
            rest = &candidate[2..];
            continue;
        };
        // White space between two encoded words is not part of the text.
        let is_next = run.is_some() && between.trim_ascii().is_empty();
        if !is_next {
            Run::flush(run.take(), &mut out);
            out.push_str(between);
        }
        match &mut run {
            // A character of several bytes may begin in one word and end in the next.
            Some(run) if run.charset.eq_ignore_ascii_case(word.charset) => {
                word.decode(&mut run.bytes)
            }
            _ => {
                Run::flush(run.take(), &mut out);
                let mut bytes = Vec::new();
                word.decode(&mut bytes);
                run = Some(Run {
                    charset: word.charset,
                    bytes,
                });
            }
        }
        rest = after;
    }
    Run::flush(run, &mut out);
    out.push_str(rest);
    Cow::Owned(out)
}

/// Words in a row that have the same character set.
struct Run<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
}

impl Run<'_> {
    fn flush(run: Option<Self>, out: &mut String) {
        if let Some(run) = run {
            let choice = Choice::of(&run.bytes, Some(run.charset));
            out.push_str(&choice.decode(&run.bytes).0);
        }
    }
}

/// `=?charset?encoding?text?=`
struct Word<'a> {
    charset: &'a str,
    is_base64: bool,
    text: &'a str,
}

impl<'a> Word<'a> {
    /// The word at the start of this text, and what follows it.
    ///
    /// Nothing is searched beyond the next question marks, so that a text full of beginnings costs
    /// no more than its length.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let (charset, rest) = text.strip_prefix("=?")?.split_once('?')?;
        if charset.len() > CHARSET_BYTES || !charset.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let charset = charset.split('*').next().unwrap_or_default();
        let (is_base64, rest) = match rest.as_bytes() {
            [b'b' | b'B', b'?', ..] => (true, &rest[2..]),
            [b'q' | b'Q', b'?', ..] => (false, &rest[2..]),
            _ => return None,
        };
        let (text, rest) = rest.split_once('?')?;
        let rest = rest.strip_prefix('=')?;
        let is_readable = text.is_ascii() || charset.eq_ignore_ascii_case("utf-8");
        let word = Self {
            charset,
            is_base64,
            text,
        };
        (is_readable && charset::is_known(charset)).then_some((word, rest))
    }

    fn decode(&self, bytes: &mut Vec<u8>) {
        let put = |byte| bytes.push(byte);
        // What is broken comes out as far as it can; there is nowhere to report it.
        let _ = match self.is_base64 {
            true => transfer::base64(self.text.as_bytes(), put),
            false => transfer::quoted(self.text.as_bytes(), true, put),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_encodings_and_several_charsets() {
        for (raw, expected) in [
            ("=?utf-8?Q?Gr=C3=B6=C3=9Fe_am_Wehr?=", "Größe am Wehr"),
            ("=?UTF-8?B?R3LDtsOfZQ==?=", "Größe"),
            ("=?iso-8859-1?q?Gr=F6=DFe?=", "Größe"),
            ("=?koi8-r?B?8NLJ18XU?=", "Привет"),
            ("=?windows-1251?B?z/Do4uXy?=", "Привет"),
            ("=?ISO-2022-JP?B?GyRCJUYlOSVIGyhC?=", "テスト"),
            ("=?gb2312?B?xOO6ww==?=", "你好"),
            ("=?big5?B?p0Gmbg==?=", "你好"),
            ("=?utf-8*de?Q?Wehr?=", "Wehr"),
            ("Re: =?utf-8?q?a?= b", "Re: a b"),
            ("\"=?utf-8?q?M=C3=BCller?=\" <x>", "\"Müller\" <x>"),
        ] {
            assert_eq!(decode_header(raw.as_bytes()), expected, "{raw}");
        }
    }

    #[test]
    fn white_space_between_words_is_not_text() {
        let folded = b"=?utf-8?q?a?=\r\n =?utf-8?q?b?= c =?utf-8?q?d?=";
        assert_eq!(decode_header(folded), "ab c d");
    }

    #[test]
    fn a_character_may_be_split_over_two_words() {
        assert_eq!(decode_header(b"=?utf-8?q?=C3?= =?UTF-8?q?=B6?="), "ö");
        assert_eq!(decode_header(b"=?utf-8?b?w7Y=?= =?utf-8?b?w58=?="), "öß");
    }

    #[test]
    fn what_is_no_word_stays() {
        for raw in [
            "=?",
            "=?utf-8?",
            "=?utf-8?x?a?=",
            "=?utf-8?q?a",
            "=?utf-8?q?a?b",
            "=?no-such?q?a?=",
            "=?utf-7?q?+ADw-?=",
            "a =?= b",
            "=?utf-8?q?=?utf-8?q?",
        ] {
            assert_eq!(decode_header(raw.as_bytes()), raw);
        }
    }

    #[test]
    fn raw_bytes_are_utf8_or_guessed() {
        assert_eq!(decode_header("Größe".as_bytes()), "Größe");
        assert_eq!(
            decode_header(b"Gr\xF6\xDFe am M\xFChlwehr"),
            "Größe am Mühlwehr"
        );
        assert_eq!(
            decode_header(b"\xF0\xD2\xC9\xD7\xC5\xD4, \xCB\xC1\xCB \xC4\xC5\xCC\xC1"),
            "Привет, как дела"
        );
    }

    #[test]
    fn encoded_control_characters_do_not_survive() {
        let raw = b"=?utf-8?q?a=0D=0ABcc:_x=00=E2=80=AEy?=\r\n z";
        assert_eq!(decode_header(raw), "a Bcc: xy z");
    }
}
