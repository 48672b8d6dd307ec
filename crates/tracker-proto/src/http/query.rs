//! The raw query: pairs between `&`, percent escapes, numbers. No meaning yet.
//!
//! An announce is read in less than the time a system call takes, so this goes by words, not bytes.
//!
//! `+` is a plus, for the raw bytes of an info hash may well contain one that a client did not
//! escape; likewise any other byte stands for itself.

use crate::error::RequestError;

/// The pairs of a query, taken one after the other: a key, then its value as what the key says it is, which finds the
/// value's end on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    pub(super) fn new(query: &'a [u8]) -> Self {
        Self { rest: query }
    }

    /// The key of the next pair; its value is to be taken next.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Option<Key> {
        if self.rest.is_empty() {
            return None;
        }
        let (key, rest) = Key::begin(self.rest).unwrap_or((Key::Other, self.rest));
        self.rest = rest;
        Some(key)
    }

    /// The value, whatever it is.
    #[inline]
    pub(super) fn value(&mut self) -> &'a [u8] {
        let end = find_ampersand(self.rest);
        let value = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        value
    }

    /// The value if it is nothing but a few digits; else it is still to be taken.
    #[inline]
    pub(super) fn count(&mut self) -> Option<u64> {
        // So many fit into 64 bits.
        const MOST: usize = 19;
        let mut number = 0_u64;
        for (index, byte) in self.rest.iter().enumerate().take(MOST + 1) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                let is_whole = *byte == b'&' && index > 0;
                return is_whole.then(|| {
                    self.rest = &self.rest[index + 1..];
                    number
                });
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        let is_whole = !self.rest.is_empty() && self.rest.len() <= MOST;
        is_whole.then(|| {
            self.rest = &[];
            number
        })
    }

    /// The value decoded, which must have 20 bytes; `wrong_length` is said if it does not.
    #[inline]
    pub(super) fn twenty(&mut self, wrong_length: RequestError) -> Result<[u8; 20], RequestError> {
        // Clients that escape every byte and those that escape none are most of them.
        let (bytes, rest) = match (self.ends_after::<60>(), self.ends_after::<20>()) {
            (Some((value, rest)), _) if let Some(bytes) = all_escaped(value) => (bytes, rest),
            (_, Some((value, rest))) if is_plain(value) => (*value, rest),
            _ => some_escaped(self.rest, wrong_length)?,
        };
        self.rest = match rest {
            [] => &[],
            [b'&', rest @ ..] => rest,
            _ => return Err(wrong_length),
        };
        Ok(bytes)
    }

    /// The next `N` bytes and the rest, which begins with `&` if there is one.
    #[inline]
    fn ends_after<const N: usize>(&self) -> Option<(&'a [u8; N], &'a [u8])> {
        let (value, rest) = self.rest.split_first_chunk()?;
        matches!(rest, [] | [b'&', ..]).then_some((value, rest))
    }
}

/// The keys that mean something to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    InfoHash,
    Ip,
    Ipv4,
    Ipv6,
    PeerId,
    Port,
    Uploaded,
    Downloaded,
    Left,
    Event,
    Numwant,
    NoPeerId,
    /// `key`.
    Secret,
    Compact,
    /// Any other; what is given as its value is the whole pair.
    Other,
}

impl Key {
    /// The key that a pair begins with, and what follows its `=`. The first byte narrows the choice
    /// to a few comparisons of whole words.
    #[inline(always)]
    fn begin(pair: &[u8]) -> Option<(Self, &[u8])> {
        match *pair.first()? {
            b'i' => named(pair, "info_hash=", Self::InfoHash)
                .or_else(|| named(pair, "ip=", Self::Ip))
                .or_else(|| named(pair, "ipv4=", Self::Ipv4))
                .or_else(|| named(pair, "ipv6=", Self::Ipv6)),
            b'p' => {
                named(pair, "peer_id=", Self::PeerId).or_else(|| named(pair, "port=", Self::Port))
            }
            b'u' => named(pair, "uploaded=", Self::Uploaded),
            b'd' => named(pair, "downloaded=", Self::Downloaded),
            b'l' => named(pair, "left=", Self::Left),
            b'e' => named(pair, "event=", Self::Event),
            b'n' => named(pair, "numwant=", Self::Numwant)
                .or_else(|| named(pair, "no_peer_id=", Self::NoPeerId)),
            b'k' => named(pair, "key=", Self::Secret),
            b'c' => named(pair, "compact=", Self::Compact),
            _ => None,
        }
    }
}

/// The rest of a pair that begins like this.
#[inline(always)]
fn named<'a>(pair: &'a [u8], name: &'static str, key: Key) -> Option<(Key, &'a [u8])> {
    Some((key, pair.strip_prefix(name.as_bytes())?))
}

/// Where the first `&` is, or the end. Eight bytes at a time: half of a query is two long values.
#[inline]
fn find_ampersand(bytes: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        // Zero bytes, which were ampersands, get their highest bit; the lowest such bit is certain.
        let word = u64::from_le_bytes(*word) ^ (LOW * b'&' as u64);
        let zeros = word.wrapping_sub(LOW) & !word & (LOW << 7);
        if zeros != 0 {
            return index * 8 + zeros.trailing_zeros() as usize / 8;
        }
    }
    let found = tail.iter().position(|&byte| byte == b'&');
    words.len() * 8 + found.unwrap_or(tail.len())
}

/// Twenty escapes.
#[inline]
fn all_escaped(value: &[u8; 60]) -> Option<[u8; 20]> {
    let (escapes, _) = value.as_chunks::<3>();
    let mut bytes = [0; 20];
    let (mut others, mut digits) = (0, 0);
    for (byte, [percent, high, low]) in bytes.iter_mut().zip(escapes) {
        let (high, low) = (HEX[usize::from(*high)], HEX[usize::from(*low)]);
        others |= percent ^ b'%';
        digits |= high | low;
        *byte = high << 4 | low;
    }
    (others == 0 && digits <= 15).then_some(bytes)
}

/// Twenty bytes that stand for themselves.
#[inline]
fn is_plain(value: &[u8; 20]) -> bool {
    let special = |byte: &u8| matches!(byte, b'%' | b'&');
    !value.iter().fold(false, |any, byte| any | special(byte))
}

/// Twenty bytes, escaped or not, and what follows them.
fn some_escaped(
    value: &[u8],
    wrong_length: RequestError,
) -> Result<([u8; 20], &[u8]), RequestError> {
    let mut bytes = [0; 20];
    let mut rest = value;
    for byte in &mut bytes {
        (*byte, rest) = match *rest {
            [] | [b'&', ..] => return Err(wrong_length),
            [b'%', high, low, ref rest @ ..] => (escaped(high, low)?, rest),
            [b'%', ..] => return Err(RequestError::Escape),
            [plain, ref rest @ ..] => (plain, rest),
        };
    }
    Ok((bytes, rest))
}

/// Room for a decoded value; the longest of ours is an IPv6 address with its port.
pub(super) type Room = [u8; 64];

/// Decodes a short value. One too long for the room stays as it is, which is no value of ours.
pub(super) fn decoded<'a>(value: &'a [u8], room: &'a mut Room) -> Result<&'a [u8], RequestError> {
    if !value.contains(&b'%') {
        return Ok(value);
    }
    let mut rest = value;
    let mut length = 0;
    while !rest.is_empty() {
        let Some(slot) = room.get_mut(length) else {
            return Ok(value);
        };
        (*slot, rest) = match *rest {
            [b'%', high, low, ref rest @ ..] => (escaped(high, low)?, rest),
            [b'%', ..] => return Err(RequestError::Escape),
            [plain, ref rest @ ..] => (plain, rest),
            [] => break,
        };
        length += 1;
    }
    Ok(&room[..length])
}

fn escaped(high: u8, low: u8) -> Result<u8, RequestError> {
    let (high, low) = (HEX[usize::from(high)], HEX[usize::from(low)]);
    if high | low > 15 {
        return Err(RequestError::Escape);
    }
    Ok(high << 4 | low)
}

/// What a byte is as a hexadecimal digit.
pub(super) fn hex_digit(byte: u8) -> Option<u8> {
    let digit = HEX[usize::from(byte)];
    (digit < 16).then_some(digit)
}

/// What each byte is as a hexadecimal digit; 255 is none.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

/// A number as clients write it.
pub(super) enum Number {
    /// Below zero, by which some clients say "unknown" or "you choose".
    Negative,
    /// A count; one beyond 64 bits is the largest.
    Count(u64),
}

/// Reads a number, escaped or not.
#[inline]
pub(super) fn number(value: &[u8]) -> Result<Option<Number>, RequestError> {
    match plain_number(value) {
        None if value.contains(&b'%') => escaped_number(value),
        number => Ok(number),
    }
}

/// Apart, for nobody sends such.
#[cold]
fn escaped_number(value: &[u8]) -> Result<Option<Number>, RequestError> {
    let mut room = [0; 64];
    Ok(plain_number(decoded(value, &mut room)?))
}

#[inline]
fn plain_number(text: &[u8]) -> Option<Number> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.saturating_mul(10).saturating_add(u64::from(digit));
    }
    Some(match number {
        0 => Number::Count(0),
        _ if negative => Number::Negative,
        count => Number::Count(count),
    })
}
