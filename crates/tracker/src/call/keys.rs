//! Keys by which the engine tells jobs at one tracker apart.

use std::num::NonZeroU64;

use smallvec::SmallVec;
use weir_engine::dispatch::JobKey;
use weir_tracker_proto::Event;

use super::kept::event_number;
use crate::ledger::sheet::Slot;
use crate::swarm::{PeerEndpoint, Seed};

/// Keys of jobs at one tracker.
pub(crate) struct Keys<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) slot: Slot,
}

impl Keys<'_> {
    pub(crate) fn hash(&self, hash: &[u8; 20]) -> JobKey {
        self.key(0, &[hash])
    }

    pub(crate) fn peer(&self, hash: &[u8; 20], at: &PeerEndpoint) -> JobKey {
        self.key(1, &[hash, at.wire()])
    }

    pub(super) fn event(&self, hash: &[u8; 20], at: &PeerEndpoint, event: Event) -> JobKey {
        self.key(2, &[hash, at.wire(), &[event_number(event)]])
    }

    /// The keyed hash of all of it. Parts need no marks between them: of one kind, only the address has two lengths.
    fn key(&self, kind: u8, parts: &[&[u8]]) -> JobKey {
        let mut bytes: SmallVec<[u8; 48]> = SmallVec::new();
        bytes.extend_from_slice(&self.slot.to_le_bytes());
        bytes.push(kind);
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let hashed = self.seed.hash(&bytes);
        JobKey(NonZeroU64::new(hashed).unwrap_or(NonZeroU64::MAX))
    }
}
