//! What happened to peers within the last ten seconds, and when: streams of several nodes are not read in the order of
//! what they tell. Of two events of one peer the later one counts, also if it was read first.
//!
//! Every event of every node passes here, so a note has to cost little: it is 16 bytes in one of eight places, which one
//! keyed hash chooses, and is written over when eight later ones want these places. Nothing is looked for to be removed.

use weir_tracker_proto::nodes::{Batch, PeerEvent};

use super::outlet::{Outlet, endpoint};
use crate::clock::Minute;
use crate::swarm::{PeerEndpoint, Seed, Swarms, ToldHere};

/// How long an event is remembered, in milliseconds of the store.
const LASTS: u64 = 10_000;
/// With eight notes each, two megabytes: what six thousand peers do in each second is remembered, but for one in a hundred.
const SETS: usize = 1 << 14;
const WAYS: usize = 8;

/// When something happened to a peer. None has happened at 0.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    /// The hash of swarm and peer; two peers that have the same are as good as one here.
    who: u64,
    /// In milliseconds of the store.
    then: u64,
}

/// A bounded memory of what happened when.
#[derive(Debug)]
pub(crate) struct Lately {
    seed: Seed,
    sets: Box<[[Noted; WAYS]]>,
}

impl Lately {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            seed,
            sets: vec![[Noted::default(); WAYS]; SETS].into(),
        }
    }

    /// Something happened to a peer at `then`, and is heard of at `now`. Says whether it is the latest as far as is known;
    /// else it is not true any more.
    pub(crate) fn note(&mut self, hash: &[u8; 20], at: &PeerEndpoint, then: u64, now: u64) -> bool {
        let who = self.who(hash, at);
        let ways = &mut self.sets[who as usize % SETS];
        let lasts = |noted: &Noted| now.saturating_sub(noted.then) < LASTS;
        let place = match ways.iter().position(|noted| noted.who == who) {
            Some(place) if ways[place].then > then && lasts(&ways[place]) => return false,
            Some(place) => place,
            None => {
                let oldest = (0..WAYS).min_by_key(|place| ways[*place].then);
                oldest.unwrap_or_default()
            }
        };
        let noted = Noted { who, then };
        if lasts(&noted) {
            ways[place] = noted;
        }
        true
    }

    /// Takes in what another node told of a peer, unless something later is known, it is nobody, or of a kind that is not
    /// believed. It happened at `then`, which is `silent` minutes ago.
    pub(crate) fn hear(
        &mut self,
        (outlet, swarms): (&Outlet, &Swarms),
        event: &PeerEvent,
        (then, now): (u64, u64),
        (silent, minute): (u32, Minute),
    ) -> Option<(PeerEndpoint, ToldHere)> {
        let at = endpoint(&event.at).filter(|at| outlet.may_tell(at))?;
        if !self.note(&event.hash.0, &at, then, now) {
            return None;
        }
        Some((at, swarms.hear(event, at, silent, minute)))
    }

    /// Notes what is in a batch of our own, which happened just now.
    pub(crate) fn note_own(&mut self, batch: &[u8], now: u64) {
        let Ok(batch) = Batch::open(batch) else {
            return;
        };
        for event in batch.events().flatten() {
            if let Some(at) = endpoint(&event.at) {
                self.note(&event.hash.0, &at, now, now);
            }
        }
    }

    fn who(&self, hash: &[u8; 20], at: &PeerEndpoint) -> u64 {
        let mut bytes = [0; 38];
        bytes[..20].copy_from_slice(hash);
        match at {
            PeerEndpoint::V4(wire) => {
                bytes[20..26].copy_from_slice(wire);
                self.seed.hash(&bytes[..26])
            }
            PeerEndpoint::V6(wire) => {
                bytes[20..].copy_from_slice(wire);
                self.seed.hash(&bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PeerEndpoint = PeerEndpoint::V4([8, 8, 8, 8, 0, 1]);

    #[test]
    fn what_is_older_than_the_latest_is_ignored_for_ten_seconds() {
        let mut lately = Lately::new(Seed::new([1; 16]));
        let six = PeerEndpoint::new("2001:db8::1".parse().unwrap(), 1);
        for at in [PEER, six] {
            assert!(lately.note(&[1; 20], &at, 5_000, 5_100));
            assert!(!lately.note(&[1; 20], &at, 4_999, 6_000));
            assert!(lately.note(&[2; 20], &at, 4_999, 6_000), "another swarm");
            assert!(lately.note(&[1; 20], &at, 5_000, 6_000), "of the same time");
            assert!(lately.note(&[1; 20], &at, 6_000, 6_000));
            assert!(!lately.note(&[1; 20], &at, 5_999, 15_999));
            assert!(lately.note(&[1; 20], &at, 5_999, 16_000), "forgotten");
            assert!(
                lately.note(&[1; 20], &at, 5_000, 16_000),
                "and too old to be noted"
            );
        }
    }

    #[test]
    fn later_ones_take_the_places_of_those_before() {
        let mut lately = Lately::new(Seed::new([1; 16]));
        let hash = |number: u64| {
            let mut hash = [0; 20];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            hash
        };
        let all = 4 * (SETS * WAYS) as u64;
        for number in 0..all {
            assert!(lately.note(&hash(number), &PEER, 1000 + number / 100, 7000));
        }
        // Half of what there is room for is as good as always there.
        let last = (all - (SETS * WAYS) as u64 / 2..all).filter(|number| {
            let then = 999 + number / 100;
            !lately.note(&hash(*number), &PEER, then, 7000)
        });
        let remembered = last.count();
        assert!(remembered > SETS * WAYS / 2 * 98 / 100, "{remembered}");
    }
}
