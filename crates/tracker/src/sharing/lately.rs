//! What happened to peers within the last ten seconds, and when: streams of several nodes are not read in the order of
//! what they tell. Of two events of one peer the later one counts, also if it was read first.

use std::collections::{HashMap, VecDeque};

use crate::swarm::PeerEndpoint;

/// How long an event is remembered, in milliseconds of the store.
const LASTS: u64 = 10_000;
/// So many events at most; the oldest go first.
const MOST: usize = 1 << 16;

type Key = ([u8; 20], PeerEndpoint);

/// A bounded memory of what happened when.
#[derive(Debug, Default)]
pub(super) struct Lately {
    latest: HashMap<Key, u64>,
    /// In the order in which they were noted.
    order: VecDeque<(Key, u64)>,
}

impl Lately {
    /// Something happened to a peer at `then`, and is heard of at `now`. Says whether it is the latest as far as is known;
    /// else it is not true any more.
    pub(super) fn note(&mut self, hash: &[u8; 20], at: &PeerEndpoint, then: u64, now: u64) -> bool {
        self.forget(now);
        let key = (*hash, *at);
        if self.latest.get(&key).is_some_and(|latest| *latest > then) {
            return false;
        }
        if now.saturating_sub(then) < LASTS {
            if self.order.len() >= MOST {
                self.drop_first();
            }
            self.latest.insert(key, then);
            self.order.push_back((key, then));
        }
        true
    }

    fn forget(&mut self, now: u64) {
        let is_over = |(_, then): &(Key, u64)| now.saturating_sub(*then) >= LASTS;
        while self.order.front().is_some_and(is_over) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some((key, then)) = self.order.pop_front()
            && self.latest.get(&key) == Some(&then)
        {
            self.latest.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PeerEndpoint = PeerEndpoint::V4([8, 8, 8, 8, 0, 1]);

    #[test]
    fn what_is_older_than_the_latest_is_ignored_for_ten_seconds() {
        let mut lately = Lately::default();
        assert!(lately.note(&[1; 20], &PEER, 5_000, 5_100));
        assert!(!lately.note(&[1; 20], &PEER, 4_999, 6_000));
        assert!(lately.note(&[2; 20], &PEER, 4_999, 6_000), "another swarm");
        assert!(
            lately.note(&[1; 20], &PEER, 5_000, 6_000),
            "of the same time"
        );
        assert!(lately.note(&[1; 20], &PEER, 6_000, 6_000));
        assert!(!lately.note(&[1; 20], &PEER, 5_999, 15_999));
        assert!(lately.note(&[1; 20], &PEER, 5_999, 16_000), "forgotten");
        assert_eq!(lately.order.len(), 0);
        assert_eq!(lately.latest.len(), 0);
    }

    #[test]
    fn it_has_an_end() {
        let mut lately = Lately::default();
        for number in 0..MOST as u64 + 100 {
            let mut hash = [0; 20];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            assert!(lately.note(&hash, &PEER, 1000 + number / 100, 2000));
        }
        assert_eq!(lately.order.len(), MOST);
        assert_eq!(lately.latest.len(), MOST);
    }
}
