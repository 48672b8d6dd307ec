//! The peers of one family in one swarm: seeders first, then leechers, in no other order.
//!
//! The border between the two makes both counts free and lets a seeder be given leechers without
//! a search. Taking a peer out or moving it across the border moves at most two others.

use super::Seed;
use super::entry::PeerEntry;
use super::index::Index;
use super::record::Sweep;

/// Up to so many peers are searched one by one; longer lists have an index.
pub(super) const SCAN: usize = 64;

/// A list of peers, wherever it is kept.
pub(super) struct PeerSlice<'a, const N: usize> {
    pub(super) slots: &'a mut [PeerEntry<N>],
    pub(super) cut: Cut,
    /// Different addresses among seeders and among leechers, where they are kept; not of more than [`SCAN`] peers.
    pub(super) addresses: Option<[u8; 2]>,
    pub(super) index: Option<&'a mut Index>,
    pub(super) seed: &'a Seed,
}

/// How many of the slots are taken, and where the border lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) len: u32,
    pub(super) seeders: u32,
}

impl Cut {
    pub(super) fn leechers(self) -> u32 {
        self.len - self.seeders
    }

    fn len(self) -> usize {
        self.len as usize
    }

    fn border(self) -> usize {
        self.seeders as usize
    }
}

impl<const N: usize> PeerSlice<'_, N> {
    #[inline]
    pub(super) fn find(&self, wanted: &PeerEntry<N>) -> Option<usize> {
        let taken = &self.slots[..self.cut.len()];
        match &self.index {
            None => taken.iter().position(|entry| entry.is_at(wanted)),
            Some(index) => index.find(taken, wanted, self.seed),
        }
    }

    pub(super) fn is_seeder(&self, position: usize) -> bool {
        position < self.cut.border()
    }

    /// Puts a peer in that is not there; there must be a free slot and room in the index.
    pub(super) fn insert(&mut self, entry: PeerEntry<N>, seeder: bool) -> usize {
        let mut position = self.cut.len();
        self.addresses = self.addresses.filter(|_| position < SCAN);
        self.address_came(&entry, seeder);
        if seeder {
            let border = self.cut.border();
            self.shift(border, position);
            position = border;
            self.cut.seeders += 1;
        }
        self.slots[position] = entry;
        self.cut.len += 1;
        if let Some(index) = &mut self.index {
            index.insert(&entry, position, self.seed);
        }
        position
    }

    pub(super) fn remove(&mut self, position: usize) {
        let taken = self.cut.len();
        self.address_goes(position);
        if let Some(index) = &mut self.index {
            index.remove(&self.slots[..taken], position, self.seed);
        }
        let mut hole = position;
        if self.is_seeder(position) {
            let last_seeder = self.cut.border() - 1;
            self.shift(last_seeder, hole);
            hole = last_seeder;
            self.cut.seeders -= 1;
        }
        self.shift(taken - 1, hole);
        self.cut.len -= 1;
    }

    /// Makes a peer a seeder or a leecher; says where it stands then.
    pub(super) fn set_seeder(&mut self, position: usize, seeder: bool) -> usize {
        if self.is_seeder(position) == seeder {
            return position;
        }
        self.address_goes(position);
        let entry = self.slots[position];
        self.address_came(&entry, seeder);
        let other = if seeder {
            self.cut.seeders += 1;
            self.cut.border() - 1
        } else {
            self.cut.seeders -= 1;
            self.cut.border()
        };
        self.swap(position, other);
        other
    }

    /// Takes out what is stale among the slots from `from` on, at most `limit` of them looked at.
    /// Says where to go on, `None` at the end.
    pub(super) fn expire(&mut self, from: usize, limit: usize, sweep: &Sweep<'_>) -> Option<usize> {
        let mut position = from;
        for _ in 0..limit {
            if position >= self.cut.len() {
                return None;
            }
            let peer = &self.slots[position];
            if peer.is_stale(sweep.now, sweep.age) {
                sweep.sketch.remove(peer.wire());
                self.remove(position); // another stands there now
            } else {
                position += 1;
            }
        }
        (position < self.cut.len()).then_some(position)
    }

    /// A peer comes to the seeders or to the leechers, and is not among them yet.
    fn address_came(&mut self, entry: &PeerEntry<N>, seeder: bool) {
        if let Some(mut addresses) = self.addresses {
            addresses[usize::from(!seeder)] += u8::from(self.with_address(entry, seeder) == 0);
            self.addresses = Some(addresses);
        }
    }

    /// The peer at `position` goes from among the seeders or the leechers, and is still there.
    fn address_goes(&mut self, position: usize) {
        if let Some(mut addresses) = self.addresses {
            let (entry, seeder) = (&self.slots[position], self.is_seeder(position));
            addresses[usize::from(!seeder)] -= u8::from(self.with_address(entry, seeder) == 1);
            self.addresses = Some(addresses);
        }
    }

    /// How many of the seeders or of the leechers have the address of a peer.
    fn with_address(&self, entry: &PeerEntry<N>, seeder: bool) -> usize {
        let (seeders, leechers) = self.slots[..self.cut.len()].split_at(self.cut.border());
        let among = if seeder { seeders } else { leechers };
        let same = |other: &&PeerEntry<N>| other.address() == entry.address();
        among.iter().filter(same).count()
    }

    fn swap(&mut self, one: usize, other: usize) {
        if one == other {
            return;
        }
        self.slots.swap(one, other);
        if let Some(index) = &mut self.index {
            let standing = [(one, &self.slots[one]), (other, &self.slots[other])];
            index.swapped(standing, self.seed);
        }
    }

    fn shift(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        self.slots[to] = self.slots[from];
        if let Some(index) = &mut self.index {
            index.moved(&self.slots[to], from, to, self.seed);
        }
    }
}

/// How many different addresses there are among a few peers.
pub(super) fn addresses<const N: usize>(entries: &[PeerEntry<N>]) -> u8 {
    let first_of_its_address = |(position, entry): &(usize, &PeerEntry<N>)| {
        let before = &entries[..*position];
        before
            .iter()
            .all(|other| other.address() != entry.address())
    };
    let count = entries.iter().enumerate().filter(first_of_its_address);
    count.count() as u8
}

#[cfg(test)]
mod tests;
