//! Finds a peer in a long list: an open-addressing table of positions, with a few bits of the
//! hash beside each, so that a look at the list is nearly always the right one.

use super::Seed;
use super::entry::PeerEntry;

/// Lists up to this length have positions of sixteen bits.
const SHORT_BITS: u32 = 12;

/// Where the peers of a list are.
#[derive(Debug)]
pub(super) struct Index {
    /// Positions have so many bits; what is left of a bucket is its tag.
    bits: u32,
    buckets: Buckets,
}

#[derive(Debug)]
enum Buckets {
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

impl Index {
    /// An index of `entries` with room for at least one more.
    pub(super) fn of<const N: usize>(entries: &[PeerEntry<N>], seed: &Seed) -> Self {
        // A position is stored plus one: zero is an empty bucket.
        let bits = usize::BITS - (entries.len() + 2).leading_zeros();
        let positions = 1usize << bits;
        let buckets = if bits <= SHORT_BITS {
            Buckets::Short(vec![0; positions + positions / 8].into_boxed_slice())
        } else {
            Buckets::Long(vec![0; positions + positions / 4].into_boxed_slice())
        };
        let mut index = Self { bits, buckets };
        for (position, entry) in entries.iter().enumerate() {
            index.insert(entry, position, seed);
        }
        index
    }

    /// Whether a list of `len` peers can get one more.
    pub(super) fn has_room(&self, len: usize) -> bool {
        len + 1 < (1 << self.bits)
    }

    /// Whether a list of `len` peers would do with a much smaller one.
    pub(super) fn is_roomy(&self, len: usize) -> bool {
        len < (1 << self.bits) / 4
    }

    #[inline]
    pub(super) fn find<const N: usize>(
        &self,
        entries: &[PeerEntry<N>],
        wanted: &PeerEntry<N>,
        seed: &Seed,
    ) -> Option<usize> {
        let place = self.place(wanted, seed);
        let mut bucket = place.home;
        loop {
            let value = self.value(bucket);
            if value == 0 {
                return None;
            }
            if value >> self.bits == place.tag {
                let position = self.position(value);
                if entries[position].is_at(wanted) {
                    return Some(position);
                }
            }
            bucket = self.after(bucket);
        }
    }

    pub(super) fn insert<const N: usize>(
        &mut self,
        entry: &PeerEntry<N>,
        position: usize,
        seed: &Seed,
    ) {
        let place = self.place(entry, seed);
        let mut bucket = place.home;
        while self.value(bucket) != 0 {
            bucket = self.after(bucket);
        }
        self.set(bucket, place.tag << self.bits | (position as u32 + 1));
    }

    /// The peer `entry` stands at `to` now, and stood at `from`.
    pub(super) fn moved<const N: usize>(
        &mut self,
        entry: &PeerEntry<N>,
        from: usize,
        to: usize,
        seed: &Seed,
    ) {
        let (bucket, place) = self.bucket(entry, from, seed);
        self.set(bucket, place.tag << self.bits | (to as u32 + 1));
    }

    /// Two peers have changed places, and stand as said.
    pub(super) fn swapped<const N: usize>(
        &mut self,
        [(at, one), (there, other)]: [(usize, &PeerEntry<N>); 2],
        seed: &Seed,
    ) {
        // Both are found before either is written: a position tells them apart.
        let (bucket, place) = self.bucket(one, there, seed);
        let (other_bucket, other_place) = self.bucket(other, at, seed);
        self.set(bucket, place.tag << self.bits | (at as u32 + 1));
        self.set(
            other_bucket,
            other_place.tag << self.bits | (there as u32 + 1),
        );
    }

    /// Takes out the peer at `position`. `entries` still holds every peer where the index says.
    pub(super) fn remove<const N: usize>(
        &mut self,
        entries: &[PeerEntry<N>],
        position: usize,
        seed: &Seed,
    ) {
        let (mut hole, _) = self.bucket(&entries[position], position, seed);
        let mut bucket = hole;
        loop {
            bucket = self.after(bucket);
            let value = self.value(bucket);
            if value == 0 {
                break;
            }
            let home = self.place(&entries[self.position(value)], seed).home;
            // It may close the hole if its home does not lie behind the hole.
            if self.distance(home, bucket) >= self.distance(hole, bucket) {
                self.set(hole, value);
                hole = bucket;
            }
        }
        self.set(hole, 0);
    }

    fn bucket<const N: usize>(
        &self,
        entry: &PeerEntry<N>,
        at: usize,
        seed: &Seed,
    ) -> (usize, IndexPlace) {
        let place = self.place(entry, seed);
        let value = place.tag << self.bits | (at as u32 + 1);
        let mut bucket = place.home;
        while self.value(bucket) != value {
            debug_assert!(self.value(bucket) != 0, "every peer is in the index");
            bucket = self.after(bucket);
        }
        (bucket, place)
    }

    #[inline]
    fn place<const N: usize>(&self, entry: &PeerEntry<N>, seed: &Seed) -> IndexPlace {
        let hash = seed.hash(entry.wire());
        let tag_bits = match self.buckets {
            Buckets::Short(_) => 16 - self.bits,
            Buckets::Long(_) => 32 - self.bits,
        };
        let home = ((hash >> 32) * self.len() as u64) >> 32;
        IndexPlace {
            home: home as usize,
            tag: hash as u32 & ((1 << tag_bits) - 1),
        }
    }

    fn position(&self, value: u32) -> usize {
        (value & ((1 << self.bits) - 1)) as usize - 1
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from {
            to - from
        } else {
            to + self.len() - from
        }
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.len() {
            0
        } else {
            bucket + 1
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match &self.buckets {
            Buckets::Short(buckets) => buckets.len(),
            Buckets::Long(buckets) => buckets.len(),
        }
    }

    #[inline]
    fn value(&self, bucket: usize) -> u32 {
        match &self.buckets {
            Buckets::Short(buckets) => u32::from(buckets[bucket]),
            Buckets::Long(buckets) => buckets[bucket],
        }
    }

    fn set(&mut self, bucket: usize, value: u32) {
        match &mut self.buckets {
            Buckets::Short(buckets) => buckets[bucket] = value as u16,
            Buckets::Long(buckets) => buckets[bucket] = value,
        }
    }
}

/// Where a peer is looked for first, and what marks its bucket.
struct IndexPlace {
    home: usize,
    tag: u32,
}

#[cfg(test)]
impl Index {
    /// Buckets that are looked at to find a peer.
    pub(super) fn looks<const N: usize>(
        &self,
        entries: &[PeerEntry<N>],
        wanted: &PeerEntry<N>,
        seed: &Seed,
    ) -> usize {
        let position = self.find(entries, wanted, seed).expect("it is there");
        let (bucket, place) = self.bucket(wanted, position, seed);
        self.distance(place.home, bucket) + 1
    }
}
