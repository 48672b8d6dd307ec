//! The head that nearly every announce has, read in a quarter of the time that reading any head takes.
//!
//! It is `GET /announce?…`, HTTP/1.1 and headers that say nothing to a tracker but `Connection`, in visible ASCII.
//! Whatever else comes is left to [`super::request`], which knows all of HTTP; what is read here is read there the same
//! way.

use std::ops::Range;

const BEGIN: &[u8] = b"GET /announce?";
const VERSION: &[u8] = b" HTTP/1.1\r\n";

/// What a plain head says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// Where in the bytes the query stands.
    pub(super) query: Range<usize>,
    /// Bytes of the head.
    pub(super) length: usize,
    /// Whether the client wants the connection for further requests.
    pub(super) keep: bool,
}

/// Reads a whole plain head with at most so many headers.
#[inline]
pub(super) fn read(bytes: &[u8], headers: usize) -> Option<Plain> {
    let target = bytes.strip_prefix(BEGIN)?;
    let query = run::<b'!'>(target);
    let mut rest = target[query..].strip_prefix(VERSION)?;
    let mut keep = true;
    for _ in 0..=headers {
        if let Some(after) = rest.strip_prefix(b"\r\n") {
            return Some(Plain {
                query: BEGIN.len()..BEGIN.len() + query,
                length: bytes.len() - after.len(),
                keep,
            });
        }
        let value = value(rest)?;
        let length = run::<b' '>(value);
        if rest[0] == b'C' {
            keep = match &value[..length] {
                b" keep-alive" => true,
                b" close" => false,
                _ => return None,
            };
        }
        rest = value[length..].strip_prefix(b"\r\n")?;
    }
    None
}

/// What follows the name of a header that we know.
#[inline]
fn value(header: &[u8]) -> Option<&[u8]> {
    match *header.first()? {
        b'H' => header.strip_prefix(b"Host:"),
        b'U' => header.strip_prefix(b"User-Agent:"),
        b'A' => header
            .strip_prefix(b"Accept-Encoding:")
            .or_else(|| header.strip_prefix(b"Accept:")),
        b'C' => header.strip_prefix(b"Connection:"),
        _ => None,
    }
}

/// How many bytes at the beginning are visible, `FIRST` being the lowest that is.
#[inline]
fn run<const FIRST: u8>(bytes: &[u8]) -> usize {
    let is_other = |byte: &u8| !(FIRST..=b'~').contains(byte);
    let (blocks, _) = bytes.as_chunks::<16>();
    // Without a way out within a block, so that it is looked at in one piece.
    let visible = |block: &&[u8; 16]| !block.iter().fold(false, |any, byte| any | is_other(byte));
    let whole = blocks.iter().take_while(visible).count() * 16;
    let tail = &bytes[whole..];
    whole + first_other::<FIRST>(tail)
}

/// The same, eight bytes at a time.
#[inline]
fn first_other<const FIRST: u8>(bytes: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = EACH << 7;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of bytes below `FIRST` and above `~`. Only such a byte can spoil those behind it, and the
        // first one is what counts.
        let below = word.wrapping_sub(EACH * FIRST as u64) & !word;
        let above = word.wrapping_add(EACH) | word;
        let others = (below | above) & HIGHEST;
        if others != 0 {
            return index * 8 + others.trailing_zeros() as usize / 8;
        }
    }
    let visible = |byte: &&u8| (FIRST..=b'~').contains(*byte);
    words.len() * 8 + tail.iter().take_while(visible).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_before_the_first_byte_that_is_not_visible() {
        for length in 0..40 {
            for other in (0..=b' ').chain(0x7f..=0xff) {
                for behind in [b'x', 0xff, 0, other] {
                    let mut bytes = vec![b'x'; length];
                    bytes.push(other);
                    bytes.extend([behind; 9]);
                    assert_eq!(run::<b'!'>(&bytes), length, "{other} {behind}");
                    let space = usize::from(other == b' ');
                    let more = match behind {
                        b'x' | b' ' => 10,
                        _ => 1,
                    };
                    assert_eq!(
                        run::<b' '>(&bytes),
                        length + space * more,
                        "{other} {behind}"
                    );
                }
            }
            assert_eq!(run::<b'!'>(&vec![b'~'; length]), length);
            assert_eq!(run::<b'!'>(&vec![b'!'; length]), length);
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_others() {
        let length = |text: &str| read(text.as_bytes(), 4).map(|plain| plain.length);
        let whole = "GET /announce?a=b HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(length(whole), Some(whole.len()));
        assert_eq!(length(&format!("{whole}{whole}")), Some(whole.len()));
        for partial in 0..whole.len() {
            assert_eq!(length(&whole[..partial]), None);
        }
        for other in [
            "GET /announce HTTP/1.1\r\n\r\n",
            "GET /announce?\u{e9} HTTP/1.1\r\n\r\n",
            "GET /announce?a HTTP/1.0\r\n\r\n",
            "GET /announce?a HTTP/1.1\n\n",
            "GET /announce?a HTTP/1.1\r\nHost: \u{e9}\r\n\r\n",
            "GET /announce?a HTTP/1.1\r\nHost : x\r\n\r\n",
            "GET /announce?a HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
            "GET /announce?a HTTP/1.1\r\nConnection: close, x\r\n\r\n",
            "GET /announce?a HTTP/1.1\r\nHost: x\r\nHost: x\r\nHost: x\r\nHost: x\r\nHost: x\r\n\r\n",
        ] {
            assert_eq!(length(other), None, "{other}");
        }
    }
}
