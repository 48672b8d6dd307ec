//! What is known at each tracker of one hash, for people.

use super::sheet::Slot;
use super::{Ledger, lock_of};

/// One tracker and one hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedTracker {
    /// The second from which it may be asked again; 0 if it was never asked.
    pub(crate) due: u32,
    /// A regular call to it is queued, under way or scheduled.
    pub(crate) is_asked: bool,
    /// Peers of its last answer that are still known.
    pub(crate) peers: u16,
}

impl AskedTracker {
    /// Whether it was ever asked, or is now.
    pub(crate) fn was_asked(&self) -> bool {
        self.due > 0 || self.is_asked
    }
}

impl Ledger {
    /// What is known of a hash at the trackers in these slots, under one lock.
    pub(crate) fn asked(
        &self,
        hash: &[u8; 20],
        slots: impl Iterator<Item = Slot>,
    ) -> Vec<AskedTracker> {
        let spot = self.spot(hash);
        let table = self.tables[lock_of(spot)].lock();
        let sheet = table.get(spot);
        let of = |slot| {
            let Some(sheet) = sheet else {
                return AskedTracker::default();
            };
            let line = sheet.line(slot);
            AskedTracker {
                due: line.due,
                is_asked: sheet.is_asked(slot),
                peers: u16::from(line.v4) + u16::from(line.v6),
            }
        };
        slots.map(of).collect()
    }
}
