//! The hash behind all tables of swarms: SipHash-1-3 with a secret key.
//!
//! Clients choose info hashes, and addresses to some degree. A fast hash with a secret seed does not help against that: where
//! input meets a constant before it meets the secret, whoever cancels the constant makes collisions for every seed.
//! SipHash was made so that nobody who does not know its key can make any.

use std::fmt;

use siphasher::sip::SipHasher13;

/// Bytes of a key.
pub(crate) const KEY: usize = 16;

/// A keyed hash.
#[derive(Clone)]
pub(crate) struct Seed(SipHasher13);

impl Seed {
    pub(crate) fn new(key: [u8; KEY]) -> Self {
        Self(SipHasher13::new_with_key(&key))
    }

    /// The hash of some bytes. Their length is part of it, so what has different lengths needs no mark.
    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        self.0.hash(bytes)
    }
}

/// The key is secret.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}
