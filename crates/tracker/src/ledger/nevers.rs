//! Trackers that told us never to ask again (BEP 31): about which info hashes.
//!
//! Such a word is about one torrent, until it was said about several with no other answer between: then the tracker
//! means us. A hash is kept in the files of its own group, with its sheet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::sheet::Slot;

/// The hashes of each tracker that said so and has given no other answer since.
#[derive(Debug, Default)]
pub(super) struct Nevers {
    by_slot: Mutex<HashMap<Slot, Vec<[u8; 20]>>>,
    /// Some tracker is among them. Nearly always none is, and no answer has to wait for the lock.
    any: AtomicBool,
}

impl Nevers {
    /// A tracker said so about a hash. Says whether that makes `limit` of them; no more are kept.
    pub(super) fn add(&self, slot: Slot, hash: [u8; 20], limit: usize) -> bool {
        let mut by_slot = self.by_slot.lock();
        let hashes = by_slot.entry(slot).or_default();
        if hashes.len() < limit && !hashes.contains(&hash) {
            hashes.push(hash);
        }
        self.any.store(true, Ordering::Release);
        hashes.len() >= limit
    }

    /// A tracker gave another answer, or is gone: gives the hashes that no longer count.
    pub(super) fn clear(&self, slot: Slot) -> Vec<[u8; 20]> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut by_slot = self.by_slot.lock();
        let hashes = by_slot.remove(&slot).unwrap_or_default();
        self.any.store(!by_slot.is_empty(), Ordering::Release);
        hashes
    }

    /// The hashes of a tracker that `belongs` holds for.
    pub(super) fn of(&self, slot: Slot, belongs: impl Fn(&[u8; 20]) -> bool) -> Vec<[u8; 20]> {
        let by_slot = self.by_slot.lock();
        let hashes = by_slot.get(&slot).into_iter().flatten();
        hashes.filter(|hash| belongs(hash)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_different_hashes_count_and_any_other_answer_begins_anew() {
        let nevers = Nevers::default();
        assert!(nevers.clear(1).is_empty());
        assert!(!nevers.add(1, [1; 20], 3));
        assert!(!nevers.add(1, [1; 20], 3));
        assert!(!nevers.add(1, [2; 20], 3));
        assert!(!nevers.add(2, [3; 20], 3), "another tracker");
        assert_eq!(nevers.clear(1), [[1; 20], [2; 20]]);
        assert!(!nevers.add(1, [3; 20], 3));
        assert!(!nevers.add(1, [4; 20], 3));
        for hash in 5..10 {
            assert!(nevers.add(1, [hash; 20], 3), "also each one after it");
        }
        assert_eq!(nevers.of(1, |_| true).len(), 3);
        assert_eq!(nevers.of(1, |hash| hash[0] == 4), [[4; 20]]);
    }
}
