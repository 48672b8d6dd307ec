//! Transfer encodings: how bytes travel as lines of ASCII, and back.
//!
//! What is wrong is skipped and reported, never refused: half a text is better than none. Bytes
//! are handed out one by one, so that counting them needs no memory.

use std::borrow::Cow;

use super::damage::Damage;

/// How the bytes of a part were encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// Sent as they are.
    Plain,
    Base64,
    QuotedPrintable,
}

impl Transfer {
    /// The encoding that a header names, if we know it.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "" | "7bit" | "8bit" | "binary" => Some(Self::Plain),
            "base64" => Some(Self::Base64),
            "quoted-printable" => Some(Self::QuotedPrintable),
            _ => None,
        }
    }

    /// The bytes that were sent, at most `most` of them.
    pub(super) fn decode(self, body: &[u8], most: usize) -> (Cow<'_, [u8]>, Option<Damage>) {
        if self == Self::Plain {
            return (Cow::Borrowed(&body[..body.len().min(most)]), None);
        }
        let mut bytes = Vec::with_capacity(body.len().min(most));
        let damage = self.each(body, |byte| {
            if bytes.len() < most {
                bytes.push(byte);
            }
        });
        (Cow::Owned(bytes), damage)
    }

    /// How many bytes were sent.
    pub(super) fn count(self, body: &[u8]) -> (usize, Option<Damage>) {
        let mut count = 0;
        match self {
            Self::Plain => (body.len(), None),
            _ => {
                let damage = self.each(body, |_| count += 1);
                (count, damage)
            }
        }
    }

    fn each(self, body: &[u8], put: impl FnMut(u8)) -> Option<Damage> {
        let (is_good, damage) = match self {
            Self::Plain => return None,
            Self::Base64 => (base64(body, put), Damage::Base64),
            Self::QuotedPrintable => (quoted(body, false, put), Damage::QuotedPrintable),
        };
        (!is_good).then_some(damage)
    }
}

/// Decodes Base64; says whether there was nothing but Base64.
pub(super) fn base64(input: &[u8], mut put: impl FnMut(u8)) -> bool {
    let (mut bits, mut filled, mut padded, mut is_good) = (0_u32, 0_u8, false, true);
    for byte in input {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                // A group of one character has too few bits for a byte.
                is_good &= filled != 1;
                (filled, padded) = (0, true);
                continue;
            }
            byte if byte.is_ascii_whitespace() => continue,
            _ => {
                is_good = false;
                continue;
            }
        };
        // Something after the padding: two texts in one, or a line that a list added.
        is_good &= !padded;
        bits = bits << 6 | u32::from(six);
        filled += 1;
        if filled > 1 {
            let spare = 8 - 2 * filled;
            put((bits >> spare) as u8);
        }
        filled %= 4;
    }
    is_good && filled != 1
}

/// Decodes quoted-printable, or the Q encoding of words in headers, where `_` is a space; says
/// whether every `=` meant something.
pub(super) fn quoted(input: &[u8], in_word: bool, mut put: impl FnMut(u8)) -> bool {
    let mut is_good = true;
    let mut rest = input;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'_', _) if in_word => put(b' '),
            (b'=', [high, low, ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                put(digit(*high) << 4 | digit(*low));
                rest = &after[2..];
            }
            (b'=', _) => match soft_break(after) {
                Some(next) if !in_word => rest = next,
                _ => {
                    is_good = false;
                    put(b'=');
                }
            },
            _ => put(*byte),
        }
    }
    is_good
}

/// What follows a line end that is only there to keep lines short; white space before it is padding
/// that was added on the way.
fn soft_break(after: &[u8]) -> Option<&[u8]> {
    let padding = after
        .iter()
        .take(80)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    match &after[padding..] {
        [] => Some(&[]),
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some(rest),
        _ => None,
    }
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(transfer: Transfer, text: &str) -> (String, bool) {
        let (bytes, damage) = transfer.decode(text.as_bytes(), 1_000);
        assert_eq!(
            transfer.count(text.as_bytes()),
            (bytes.len(), damage.clone())
        );
        (
            String::from_utf8_lossy(&bytes).into_owned(),
            damage.is_none(),
        )
    }

    #[test]
    fn base64_of_each_length() {
        for (text, expected) in [
            ("", ""),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("YWJj", "abc"),
            ("YW\r\nJjZA", "abcd"),
        ] {
            assert_eq!(
                decoded(Transfer::Base64, text),
                (expected.into(), true),
                "{text}"
            );
        }
    }

    #[test]
    fn broken_base64_gives_what_it_can_and_says_so() {
        assert_eq!(
            decoded(Transfer::Base64, "YWJj!ZGVm"),
            ("abcdef".into(), false)
        );
        assert_eq!(decoded(Transfer::Base64, "YWJjZ"), ("abc".into(), false));
        assert_eq!(decoded(Transfer::Base64, "YQ==YQ=="), ("aa".into(), false));
    }

    #[test]
    fn quoted_printable_with_soft_breaks() {
        let text = "gr=C3=B6=c3=9Fe=\r\n!=  \n=3D\r\nx=";
        assert_eq!(
            decoded(Transfer::QuotedPrintable, text),
            ("größe!=\r\nx".into(), true)
        );
        assert_eq!(
            decoded(Transfer::QuotedPrintable, "a=b=Zq"),
            ("a=b=Zq".into(), false)
        );
    }

    #[test]
    fn no_more_is_decoded_than_wanted() {
        assert_eq!(Transfer::Base64.decode(b"YWJjZGVm", 4).0.as_ref(), b"abcd");
        assert_eq!(Transfer::Plain.decode(b"abcdef", 4).0.as_ref(), b"abcd");
    }
}
