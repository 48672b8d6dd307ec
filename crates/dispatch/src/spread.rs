//! The hash of the dispatcher's tables, whose keys are numbers that nobody outside can choose.
//!
//! A [`JobKey`](crate::JobKey) is a keyed hash already: its maker has a secret, so its bits are as good as random and collisions
//! cannot be made. To hash it once more with a secret would cost time at every submission and protect nothing.
//! The one multiplication stays because tests, benches and simulations count their keys 1, 2, 3.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by keys that are hashes already.
pub(crate) type KeyTable<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// 2^64 divided by the golden ratio, made odd: numbers that follow one another end up far apart.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies by an odd number: that permutes the numbers of any count of low bits, so no two keys that differ
/// there fall into one bucket because of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(FACTOR);
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are keys here");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_in_a_row_get_buckets_and_tags_of_their_own() {
        let hash = |number: u64| {
            let mut spread = Spread::default();
            spread.write_u64(number);
            spread.finish()
        };
        // A table looks at the lowest bits for the bucket and at the highest seven for the tag.
        let buckets: BTreeSet<u64> = (0..1024).map(|number| hash(number) % 1024).collect();
        assert_eq!(buckets.len(), 1024);
        let tags: BTreeSet<u64> = (0..1024).map(|number| hash(number) >> 57).collect();
        assert_eq!(tags.len(), 128);
    }

    #[test]
    #[should_panic(expected = "only numbers are keys")]
    fn what_is_no_number_is_no_key() {
        Spread::default().write(b"7");
    }
}
