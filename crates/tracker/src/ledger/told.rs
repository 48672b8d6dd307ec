//! Our peers that other trackers were told of, and which trackers that were.

use std::num::{NonZeroU16, NonZeroU32};

use smallvec::SmallVec;
use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

use super::sheet::Slot;
use crate::swarm::PeerEndpoint;

/// One of our peers, and who was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToldPeer {
    pub(super) at: PeerEndpoint,
    pub(super) peer_id: PeerId,
    pub(super) port: u16,
    pub(super) key: u32,
    /// Bytes uploaded, downloaded and left, as it said last.
    pub(super) bytes: [u64; 3],
    pub(crate) slots: Slots,
}

/// A set of slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots(SmallVec<[u64; 2]>);

impl Slots {
    pub(super) fn insert(&mut self, slot: Slot) {
        let word = usize::from(slot / 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(usize::from(slot / 64)) {
            *word &= !(1 << (slot % 64));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        let word = self.0.get(usize::from(slot / 64));
        word.is_some_and(|word| word & (1 << (slot % 64)) != 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let words = self.0.iter().zip(0..);
        words.flat_map(|(word, index): (&u64, Slot)| {
            let set = (0..64).filter(move |bit| word & (1 << bit) != 0);
            set.map(move |bit| index * 64 + bit)
        })
    }
}

impl ToldPeer {
    pub(super) fn new(at: PeerEndpoint, announce: &Announce) -> Self {
        Self {
            at,
            peer_id: announce.peer_id,
            port: announce.port.get(),
            key: announce.key.map_or(0, Into::into),
            bytes: [announce.uploaded, announce.downloaded, announce.left],
            slots: Slots::default(),
        }
    }
    /// The announce by which it leaves, if it did not send one itself.
    pub(crate) fn farewell(&self, hash: [u8; 20]) -> Option<Announce> {
        let port = NonZeroU16::new(self.port)?;
        let [uploaded, downloaded, left] = self.bytes;
        Some(Announce {
            event: Event::Stopped,
            uploaded,
            downloaded,
            left,
            key: NonZeroU32::new(self.key),
            ..Announce::new(InfoHash(hash), self.peer_id, port)
        })
    }
}
