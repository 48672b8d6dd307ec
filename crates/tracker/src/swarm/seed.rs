//! The hash behind all tables of swarms: SipHash-1-3 with a secret key.
//!
//! Clients choose info hashes, and addresses to some degree. A fast hash with a secret seed does not help against that: where
//! input meets a constant before it meets the secret, whoever cancels the constant makes collisions for every seed.
//! SipHash was made so that nobody who does not know its key can make any.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Bytes of a key.
pub(crate) const KEY: usize = 16;

/// A keyed hash.
#[derive(Clone)]
pub(crate) struct Seed([u64; 2]);

impl Seed {
    pub(crate) fn new(key: [u8; KEY]) -> Self {
        let (halves, _) = key.as_chunks();
        Self([0, 1].map(|half| u64::from_le_bytes(halves[half])))
    }

    /// The hash of some bytes. Their length is part of it, so what has different lengths needs no mark.
    ///
    /// The hasher begins empty here and takes whole numbers: where the length is known, as of info hashes and peers, nothing is
    /// left of its bookkeeping but the rounds. A prepared hasher that takes bytes costs a fifth more instructions.
    #[inline(always)]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            hasher.write_u64(u64::from_le_bytes(*word));
        }
        let (words, rest) = rest.as_chunks();
        for word in words {
            hasher.write_u32(u32::from_le_bytes(*word));
        }
        let (words, rest) = rest.as_chunks();
        for word in words {
            hasher.write_u16(u16::from_le_bytes(*word));
        }
        for byte in rest {
            hasher.write_u8(*byte);
        }
        hasher.finish()
    }
}

/// The key is secret.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_siphash_of_the_bytes_whatever_their_number() {
        let key = std::array::from_fn(|place| place as u8);
        let (seed, plain) = (Seed::new(key), SipHasher13::new_with_key(&key));
        let bytes: Vec<u8> = (0..64).collect();
        for len in 0..64 {
            assert_eq!(seed.hash(&bytes[..len]), plain.hash(&bytes[..len]), "{len}");
        }
    }
}
