//! A list of peers of any length, in a block of its own.

use super::Seed;
use super::entry::PeerEntry;
use super::index::Index;
use super::peers::{Cut, PeerSlice, SCAN};
use super::record::{Sweep, distinct};
use crate::clock::Minute;

/// Lists up to this length are copied to give room back.
const COPIED: usize = 2048;

/// The peers of one family in a large swarm.
#[derive(Debug)]
pub(super) struct PeerList<const N: usize> {
    slots: Box<[PeerEntry<N>]>,
    cut: Cut,
    index: Option<Index>,
    /// Different addresses among seeders and among leechers, while the list is short.
    addresses: [u8; 2],
    /// Where the search for stale peers goes on.
    swept: u32,
}

impl<const N: usize> Default for PeerList<N> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            cut: Cut::default(),
            index: None,
            addresses: [0; 2],
            swept: 0,
        }
    }
}

impl<const N: usize> PeerList<N> {
    /// A list of these peers, of which the first are seeders.
    pub(super) fn of(peers: Vec<PeerEntry<N>>, seeders: u32, seed: &Seed) -> Self {
        let mut list = Self {
            cut: Cut {
                len: peers.len() as u32,
                seeders,
            },
            slots: peers.into_boxed_slice(),
            ..Self::default()
        };
        list.index = list.new_index(seed);
        list.keep_addresses(None);
        list
    }

    #[inline]
    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    #[inline]
    pub(super) fn slots(&self) -> &[PeerEntry<N>] {
        &self.slots
    }

    pub(super) fn addresses(&self) -> [u8; 2] {
        self.addresses
    }

    #[inline]
    pub(super) fn peers<'a>(&'a mut self, seed: &'a Seed) -> PeerSlice<'a, N> {
        PeerSlice {
            slots: &mut self.slots,
            cut: self.cut,
            addresses: (self.cut.len as usize <= SCAN).then_some(self.addresses),
            index: self.index.as_mut(),
            seed,
        }
    }

    /// The peer there announced.
    pub(super) fn stamp(&mut self, position: usize, now: Minute) {
        self.slots[position].stamp(now);
    }

    /// Runs `act` on the peers and keeps the counts up to date.
    #[inline]
    pub(super) fn with<R>(
        &mut self,
        seed: &Seed,
        act: impl FnOnce(&mut PeerSlice<'_, N>) -> R,
    ) -> R {
        let before = self.cut;
        let mut peers = self.peers(seed);
        let result = act(&mut peers);
        let addresses = peers.addresses;
        self.cut = peers.cut;
        if self.cut != before {
            self.keep_addresses(addresses);
        }
        result
    }

    /// Makes sure that one more peer has a slot, and a place in the index.
    pub(super) fn make_room(&mut self, seed: &Seed) {
        let len = self.cut.len as usize;
        if len == self.slots.len() {
            self.resize(capacity_for(len + 1));
        }
        let tight = match &self.index {
            Some(index) => !index.has_room(len),
            None => len >= SCAN,
        };
        if tight {
            self.index = Some(Index::of(&self.slots[..len], seed));
        }
    }

    /// Gives room back when much is left over. A long list is left as it is: to copy it would keep announces waiting.
    pub(super) fn shrink(&mut self, seed: &Seed) {
        let len = self.cut.len as usize;
        if len > COPIED {
            return;
        }
        if self.slots.len() > 2 * capacity_for(len) {
            self.resize(capacity_for(len));
        }
        let roomy = |index: &Index| index.is_roomy(len) || len < SCAN / 2;
        if self.index.as_ref().is_some_and(roomy) {
            self.index = self.new_index(seed);
        }
    }

    /// Looks through the next part of the list for stale peers; `true` at its end.
    pub(super) fn sweep(&mut self, sweep: &mut Sweep<'_>, seed: &Seed) -> bool {
        let (from, limit) = (self.swept as usize, sweep.left);
        let rest = (self.cut.len as usize).saturating_sub(from);
        let on = self.with(seed, |peers| peers.expire(from, limit, sweep));
        sweep.left -= rest.clamp(1, limit.max(1)).min(limit);
        self.swept = on.unwrap_or(0) as u32;
        on.is_none()
    }

    fn resize(&mut self, capacity: usize) {
        let len = self.cut.len as usize;
        let mut slots = vec![PeerEntry::EMPTY; capacity].into_boxed_slice();
        slots[..len].copy_from_slice(&self.slots[..len]);
        self.slots = slots;
    }

    fn new_index(&self, seed: &Seed) -> Option<Index> {
        let len = self.cut.len as usize;
        (len > SCAN).then(|| Index::of(&self.slots[..len], seed))
    }

    /// Keeps how many addresses there are, or counts them, if they are few.
    fn keep_addresses(&mut self, known: Option<[u8; 2]>) {
        if self.cut.len as usize <= SCAN {
            self.addresses = known.unwrap_or_else(|| distinct(&self.slots, self.cut));
            debug_assert_eq!(self.addresses, distinct(&self.slots, self.cut));
        }
    }
}

/// Slots for at least `len` peers: some room to grow, little to waste.
pub(super) fn capacity_for(len: usize) -> usize {
    match len {
        0..=4 => 4,
        5..=12 => len.next_multiple_of(2),
        13..=24 => len.next_multiple_of(4),
        25..=SCAN => len.next_multiple_of(8),
        _ => (len + len / 8).next_multiple_of(8),
    }
}
