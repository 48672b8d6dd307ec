//! Which peers a client is given: from swarms of any size in the time of what it gets.
//!
//! From a list longer than what is wanted, windows at random places are taken: one of the seeders and one of the
//! leechers, or two of the leechers. Their places are such that no peer is in both and each is as likely as any other.

use std::ops::Range;

use super::entry::PeerEntry;
use super::peers::Cut;
use crate::clock::{Age, Minute, Past};

/// From so many on, peers are looked at all at once before they are copied.
const AT_ONCE: usize = 16;

/// What a client wants of one family.
pub(super) struct PickWish {
    pub(super) number: usize,
    /// Where it stands itself, if it is in this list.
    pub(super) asker: Option<usize>,
    /// Whether it has all it wants.
    pub(super) seeds: bool,
    pub(super) now: Minute,
    pub(super) age: Age,
}

impl PickWish {
    /// Appends peers in their wire form to `out`, at most as many as wished for; says how many.
    #[inline]
    pub(super) fn pick<const N: usize>(
        &self,
        slots: &[PeerEntry<N>],
        cut: Cut,
        random: &mut fastrand::Rng,
        out: &mut Vec<u8>,
    ) -> usize {
        let (border, len) = (cut.seeders as usize, cut.len as usize);
        let number = self.number.min(len);
        let (seeders, leechers) = (0..border, border..len);
        // A seeder is of use to leechers; a leecher is helped by both, by seeders the most.
        let asks_here = self.asker.is_some_and(|asker| leechers.contains(&asker));
        let rest = number.saturating_sub(leechers.len() - usize::from(asks_here));
        let half = number.div_ceil(2);
        let seeders_first = if self.seeds { rest } else { rest.max(half) };
        let start = out.len();
        out.resize(start + number * PeerEntry::<N>::WIRE, 0);
        let mut page = PickPage {
            wish: self,
            past: self.now.past(self.age),
            out: &mut out[start..],
            taken: 0,
        };
        // Each window is another place in memory: two of them are spread enough.
        let windows = if seeders_first > 0 { 1 } else { 2 };
        page.windows(slots, seeders, (seeders_first, windows), random);
        page.windows(slots, leechers, (number, windows), random);
        let taken = page.taken;
        out.truncate(start + taken * PeerEntry::<N>::WIRE);
        taken
    }
}

/// The part of a reply that is being filled.
struct PickPage<'a> {
    wish: &'a PickWish,
    /// Who announced then is not given any more.
    past: Past,
    out: &'a mut [u8],
    taken: usize,
}

impl PickPage<'_> {
    /// Takes peers of one range, from one place or two, until the page holds `until` of them.
    #[inline]
    fn windows<const N: usize>(
        &mut self,
        slots: &[PeerEntry<N>],
        range: Range<usize>,
        (until, windows): (usize, usize),
        random: &mut fastrand::Rng,
    ) {
        let Some(mut wanted) = until.checked_sub(self.taken).filter(|wanted| *wanted > 0) else {
            return;
        };
        // One more makes up for the asker.
        if self.wish.asker.is_some_and(|asker| range.contains(&asker)) {
            wanted += 1;
        }
        let len = range.len();
        if len <= wanted {
            return self.take(slots, range, until);
        }
        let first = if windows == 1 { 0 } else { wanted / 2 };
        let one = random.usize(..len);
        let other = one + first + random.usize(..=len - wanted);
        for (start, number) in [(one, first), (other, wanted - first)] {
            let start = range.start + start % len;
            let end = start + number;
            self.take(slots, start..end.min(range.end), until);
            if end > range.end {
                self.take(slots, range.start..range.start + end - range.end, until);
            }
        }
    }

    /// Takes what is fresh in a range, without the asker, until the page holds `until` peers.
    #[inline]
    fn take<const N: usize>(&mut self, slots: &[PeerEntry<N>], range: Range<usize>, until: usize) {
        match self.wish.asker {
            Some(asker) if range.contains(&asker) => {
                self.copy(&slots[range.start..asker], until);
                self.copy(&slots[asker + 1..range.end], until);
            }
            _ => self.copy(&slots[range], until),
        }
    }

    #[inline]
    fn copy<const N: usize>(&mut self, peers: &[PeerEntry<N>], until: usize) {
        let wire = PeerEntry::<N>::WIRE;
        let room = &mut self.out[self.taken * wire..until * wire];
        let mut places = room.chunks_exact_mut(wire);
        if peers.len() >= AT_ONCE && all_fresh(peers, self.past) {
            self.taken += places.len().min(peers.len());
            for (place, entry) in places.zip(peers) {
                place.copy_from_slice(entry.wire());
            }
            return;
        }
        for entry in peers {
            if entry.is_past(self.past) {
                continue;
            }
            let Some(place) = places.next() else {
                break;
            };
            place.copy_from_slice(entry.wire());
        }
        self.taken = until - places.len();
    }
}

/// Whether all are fresh, as nearly always: the sweep leaves hardly any that are not. Without a branch for each, and copied
/// without another, many cost half of what they cost one by one.
fn all_fresh<const N: usize>(peers: &[PeerEntry<N>], past: Past) -> bool {
    let any = peers
        .iter()
        .fold(false, |any, peer| any | peer.is_past(past));
    !any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::entry::{self, V4};

    fn list(seeders: u16, leechers: u16) -> (Vec<PeerEntry<V4>>, Cut) {
        let all = seeders + leechers;
        let peer = |who: u16| {
            let [high, low] = who.to_be_bytes();
            entry::v4([10, 0, 0, 0, high, low], Minute(0))
        };
        let cut = Cut {
            len: all.into(),
            seeders: seeders.into(),
        };
        ((0..all).map(peer).collect(), cut)
    }

    fn picked(wish: &PickWish, (slots, cut): &(Vec<PeerEntry<V4>>, Cut), seed: u64) -> Vec<u16> {
        let mut out = b"head".to_vec();
        let taken = wish.pick(slots, *cut, &mut fastrand::Rng::with_seed(seed), &mut out);
        assert_eq!(out.len(), 4 + taken * 6);
        assert_eq!(&out[..4], b"head");
        let ports = out[4..].chunks(6);
        let mut ports: Vec<_> = ports
            .map(|peer| u16::from_be_bytes([peer[4], peer[5]]))
            .collect();
        ports.sort_unstable();
        let all = ports.len();
        ports.dedup();
        assert_eq!(ports.len(), all, "nobody is given twice");
        ports
    }

    fn wish(number: usize, asker: Option<usize>, seeds: bool) -> PickWish {
        PickWish {
            number,
            asker,
            seeds,
            now: Minute(0),
            age: Age(10),
        }
    }

    #[test]
    fn everyone_but_the_asker_is_given_when_there_are_few() {
        let list = list(3, 4);
        for asker in 0..7 {
            let all = picked(&wish(50, Some(asker), false), &list, 1);
            assert_eq!(all.len(), 6);
            assert!(!all.contains(&(asker as u16)));
        }
    }

    #[test]
    fn no_more_are_given_than_wanted_and_nobody_twice() {
        let list = list(300, 700);
        for seed in 0..500 {
            for (number, seeds) in [(0, false), (1, false), (1, true), (49, false), (50, true)] {
                let asker = if seeds { 17 } else { 900 };
                let given = picked(&wish(number, Some(asker), seeds), &list, seed);
                assert_eq!(given.len(), number);
                assert!(!given.contains(&(asker as u16)));
            }
        }
    }

    #[test]
    fn a_seeder_is_given_leechers_first() {
        let given = picked(&wish(50, Some(0), true), &list(100, 60), 3);
        assert!(given.iter().all(|port| *port >= 100));
        let given = picked(&wish(50, Some(0), true), &list(100, 20), 3);
        assert_eq!(given.iter().filter(|port| **port >= 100).count(), 20);
        assert_eq!(given.len(), 50, "the rest are seeders");
    }

    #[test]
    fn a_leecher_is_given_seeders_however_few_they_are() {
        let given = picked(&wish(50, Some(500), false), &list(3, 5000), 4);
        assert_eq!(given[..3], [0, 1, 2]);
        assert_eq!(given.len(), 50);
        let given = picked(&wish(50, None, false), &list(5000, 3), 4);
        assert_eq!(given[47..], [5000, 5001, 5002]);
    }

    #[test]
    fn every_peer_is_as_likely_as_any_other() {
        const ROUNDS: u64 = 20_000;
        let list = list(0, 500);
        let mut times = [0u32; 500];
        for seed in 0..ROUNDS {
            for port in picked(&wish(50, Some(250), false), &list, seed) {
                times[usize::from(port)] += 1;
            }
        }
        assert_eq!(times[250], 0);
        // 20,000 × 50 of 499: 2,004 each, give or take six standard deviations.
        let odd = times
            .iter()
            .enumerate()
            .filter(|(who, times)| *who != 250 && !(1_740..=2_270).contains(*times));
        assert_eq!(odd.collect::<Vec<_>>(), []);
    }

    #[test]
    fn stale_peers_are_not_given() {
        let (mut slots, cut) = list(0, 10);
        for entry in &mut slots[..5] {
            entry.stamp(Minute(100));
        }
        let wish = PickWish {
            now: Minute(100),
            ..wish(50, None, false)
        };
        assert_eq!(picked(&wish, &(slots, cut), 1), [0, 1, 2, 3, 4]);
    }
}
