//! The two names of 20 bytes: of a swarm and of a peer.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;

/// What a swarm is known by: the SHA-1 of a torrent's `info` dictionary, or the first 20 bytes of
/// its SHA-256 (BEP 52). Displays as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InfoHash(pub [u8; 20]);

/// What a peer calls itself; the first bytes usually tell its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub [u8; 20]);

/// Text that is no info hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an info hash is 40 hexadecimal digits or 32 digits in base 32")]
pub struct NotAnInfoHash;

impl FromStr for InfoHash {
    type Err = NotAnInfoHash;

    /// Reads hexadecimal, or base 32 as old magnet links have it.
    fn from_str(text: &str) -> Result<Self, NotAnInfoHash> {
        match text.len() {
            40 => from_digits(text, 4, |byte| (byte as char).to_digit(16)),
            32 => from_digits(text, 5, base32_digit),
            _ => None,
        }
        .map(Self)
        .ok_or(NotAnInfoHash)
    }
}

impl Display for InfoHash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for InfoHash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "InfoHash({self})")
    }
}

impl Debug for PeerId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({})", self.0.escape_ascii())
    }
}

/// Puts digits of `bits` bits each together; both of our lengths come out at 20 bytes exactly.
fn from_digits(text: &str, bits: u32, digit: impl Fn(u8) -> Option<u32>) -> Option<[u8; 20]> {
    let mut bytes = [0; 20];
    let mut filled = bytes.iter_mut();
    let (mut pending, mut held) = (0, 0);
    for byte in text.bytes() {
        pending = pending << bits | digit(byte)?;
        held += bits;
        if held >= 8 {
            held -= 8;
            *filled.next()? = (pending >> held) as u8;
            pending &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

fn base32_digit(byte: u8) -> Option<u32> {
    match byte.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => Some(u32::from(letter - b'A')),
        digit @ b'2'..=b'7' => Some(u32::from(digit - b'2') + 26),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "aabbccddeeff00112233445566778899a0b1c2d3";

    #[test]
    fn hexadecimal_in_either_case_reads_back() {
        let hash: InfoHash = HEX.parse().unwrap();
        assert_eq!(hash.to_string(), HEX);
        assert_eq!(HEX.to_uppercase().parse(), Ok(hash));
        assert_eq!(hash.0[..3], [0xaa, 0xbb, 0xcc]);
    }

    #[test]
    fn base_32_is_the_same_hash() {
        // From Python: base64.b32encode(bytes.fromhex(HEX)).
        let hash: InfoHash = "VK54ZXPO74ABCIRTIRKWM54ITGQLDQWT".parse().unwrap();
        assert_eq!(hash.to_string(), HEX);
        assert_eq!("vk54zxpo74abcirtirkwm54itgqldqwt".parse(), Ok(hash));
    }

    #[test]
    fn other_text_is_refused() {
        let odd = ["", "aa", &HEX[1..], &HEX.replace('a', "g"), &"1".repeat(32)];
        for text in odd.into_iter().chain(["ä".repeat(20).as_str()]) {
            assert_eq!(text.parse::<InfoHash>(), Err(NotAnInfoHash), "{text}");
        }
    }
}
