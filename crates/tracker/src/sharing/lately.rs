//! What happened to peers lately, and when: streams of several nodes are not read in the order of what they tell, least of all
//! after an outage. Of two events of one peer the later one counts, also if it was read first.
//!
//! Every event of every node passes here, so a note has to cost little: it is 8 bytes in one of eight places that fill a
//! line of the cache, which one keyed hash chooses, and is written over when eight later ones want these places. Nothing
//! is looked for to be removed.

use std::fmt;
use std::hint;

use smallvec::SmallVec;
use weir_tracker_proto::nodes::{self, PeerEvent};

use super::outlet::{Outlet, endpoint};
use crate::clock::Minute;
use crate::swarm::{PeerEndpoint, Seed, Swarms, TOGETHER, ToldHere, ToldPeer};

/// How long an event is remembered, in milliseconds of the store, if no others want its place.
const LASTS: u32 = 60 * 60 * 1000;
/// What lies further ahead than this was noted by another clock, of a store that was replaced, and says nothing.
const AHEAD: u32 = 10_000;
/// With eight notes each, a megabyte: what sixty thousand peers did last is remembered, but for one in a hundred.
const SETS: usize = 1 << 14;
const WAYS: usize = 8;

/// When something happened to some peers, the latest first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Noted {
    /// What the hashes of swarm and peer have beside the number of the set; two peers that have the same are as good as
    /// one here.
    who: [u32; WAYS],
    /// The low bits of the store's milliseconds. What is seven weeks old looks new again, for an hour, and costs its peer one
    /// event at the worst.
    then: [u32; WAYS],
}

impl Noted {
    /// Where a peer is, if it is here.
    #[inline]
    fn find(&self, who: u32) -> Option<usize> {
        // All of them at once: the compiler makes two comparisons of it.
        let found = self.who.map(|noted| noted == who);
        found.iter().position(|found| *found)
    }

    /// Puts a peer in; the one that was put in first of all has to go.
    #[inline]
    fn put(&mut self, who: u32, then: u32) {
        self.who.copy_within(..WAYS - 1, 1);
        self.then.copy_within(..WAYS - 1, 1);
        self.who[0] = who;
        self.then[0] = then;
    }
}

/// A bounded memory of what happened when.
#[derive(Debug)]
pub(crate) struct Lately {
    keys: Keys,
    sets: Box<[Noted]>,
}

impl Lately {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self {
            keys: Keys::new(seed),
            sets: vec![Noted::default(); SETS].into(),
        }
    }

    /// Where what happens to a peer is noted.
    #[inline]
    fn spot(&self, hash: &[u8; 20], at: &PeerEndpoint) -> Spot {
        let hash = self.keys.hash(hash, at);
        Spot {
            set: hash as usize % SETS,
            who: (hash >> 32) as u32,
        }
    }

    /// Fetches the notes of some peers, all at once: no read waits for another.
    #[inline]
    fn fetch(&self, spots: &[Spot]) {
        let read = spots.iter();
        let read = read.fold(0, |read, spot| read ^ self.sets[spot.set].who[0]);
        // Nobody needs what was read; without this, it would not be.
        hint::black_box(read);
    }

    /// Something happened to a peer at `then`, and is heard of at `now`. Says whether it is the latest as far as is known;
    /// else it is not true any more. It is remembered if it is `news`, and not something that is told again.
    #[inline]
    fn note(&mut self, spot: Spot, then: u64, now: u64, news: bool) -> bool {
        let Spot { set, who } = spot;
        let set = &mut self.sets[set];
        // How old something is, and a little more: a clock may be ahead of ours by that.
        let ago = |then: u32| (now as u32).wrapping_add(AHEAD).wrapping_sub(then);
        let age = (now + u64::from(AHEAD)).saturating_sub(then);
        let age = u32::try_from(age).unwrap_or(u32::MAX).min(LASTS + AHEAD);
        let place = set.find(who);
        if place.is_some_and(|place| ago(set.then[place]) < age) {
            return false;
        }
        if news && age < LASTS + AHEAD {
            match place {
                Some(place) => set.then[place] = then as u32,
                None => set.put(who, then as u32),
            }
        }
        true
    }

    /// Takes in what another node told of peers, and hands on what came of each: `None` if something later is known, it is
    /// nobody, or of a kind that is not believed; those come before others that were told together with them. It happened at
    /// `then`, which is `silent` minutes ago, or so much earlier as it says itself.
    pub(crate) fn hear(
        &mut self,
        (outlet, swarms): (&Outlet, &Swarms),
        mut events: impl Iterator<Item = PeerEvent>,
        (then, now): (u64, u64),
        (silent, minute): (u32, Minute),
        mut heard: impl FnMut(&PeerEvent, Option<(PeerEndpoint, ToldHere)>),
    ) {
        let (mut told, mut more) = (SmallVec::<[ToldPeer; TOGETHER]>::new(), true);
        while more {
            told.clear();
            let mut spots: SmallVec<[Spot; TOGETHER]> = SmallVec::new();
            while told.len() < TOGETHER {
                let Some(event) = events.next() else {
                    more = false;
                    break;
                };
                match endpoint(&event.at).filter(|at| outlet.may_tell(at)) {
                    Some(at) => {
                        spots.push(self.spot(&event.hash.0, &at));
                        let silent = silent.saturating_add(event.silent.into());
                        told.push(ToldPeer { event, at, silent });
                    }
                    None => heard(&event, None),
                }
            }
            self.fetch(&spots);
            let mut spots = spots.iter();
            told.retain(|one| {
                let earlier = one.event.silent;
                let then = then.saturating_sub(60_000 * u64::from(earlier));
                let latest = spots
                    .next()
                    .is_some_and(|spot| self.note(*spot, then, now, earlier == 0));
                if !latest {
                    heard(&one.event, None);
                }
                latest
            });
            let mut rest = &told[..];
            while !rest.is_empty() {
                let came = swarms.hear(rest, minute);
                let (taken, others) = rest.split_at(came.len());
                for (one, came) in taken.iter().zip(came) {
                    heard(&one.event, Some((one.at, came)));
                }
                rest = others;
            }
        }
    }

    /// Notes what is in the body of a batch of our own, which happened just now.
    pub(crate) fn note_own(&mut self, body: &[u8], now: u64) {
        let mut events = nodes::events(body).flatten();
        loop {
            let spots: SmallVec<[_; TOGETHER]> = (events.by_ref())
                .filter_map(|event| Some(self.spot(&event.hash.0, &endpoint(&event.at)?)))
                .take(TOGETHER)
                .collect();
            if spots.is_empty() {
                return;
            }
            self.fetch(&spots);
            for spot in spots {
                self.note(spot, now, now, true);
            }
        }
    }
}

/// Where what happens to a peer is noted.
#[derive(Clone, Copy, Debug)]
struct Spot {
    set: usize,
    who: u32,
}

/// What chooses a place: sums and products of what comes and of secret numbers, which take a tenth of the time of the
/// keyed hash of the swarms. That is enough here: nobody can see where something is noted, each word meets a secret before
/// anything else, and who could crowd a place would gain no more than that ten seconds are forgotten there.
#[derive(Clone)]
struct Keys([u64; WORDS]);

/// Words of a swarm and a peer: 20 bytes, and at most 18.
const WORDS: usize = 6;

impl Keys {
    fn new(seed: &Seed) -> Self {
        Self(std::array::from_fn(|word| seed.hash(&[b'k', word as u8])))
    }

    #[inline]
    fn hash(&self, hash: &[u8; 20], at: &PeerEndpoint) -> u64 {
        let mut bytes = [0; WORDS * 8];
        bytes[..20].copy_from_slice(hash);
        // Each with a length that is known: copying is then a move or two.
        match at {
            PeerEndpoint::V4(wire) => bytes[20..26].copy_from_slice(wire),
            PeerEndpoint::V6(wire) => bytes[20..38].copy_from_slice(wire),
        }
        let (words, _) = bytes.as_chunks();
        let mut sum = 0_u128;
        for pair in 0..WORDS / 2 {
            let [one, other] = [2 * pair, 2 * pair + 1]
                .map(|word| u64::from_le_bytes(words[word]).wrapping_add(self.0[word]));
            sum = sum.wrapping_add(u128::from(one) * u128::from(other));
        }
        (sum >> 64) as u64 ^ sum as u64
    }
}

/// They are secret.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

#[cfg(test)]
mod tests {
    use weir_tracker_proto::InfoHash;
    use weir_tracker_proto::nodes::{CompactPeer, PeerDid};

    use super::*;
    use crate::swarm::tests::RULES;

    const PEER: PeerEndpoint = PeerEndpoint::V4([8, 8, 8, 8, 0, 1]);

    fn note(lately: &mut Lately, hash: &[u8; 20], at: &PeerEndpoint, then: u64, now: u64) -> bool {
        lately.note(lately.spot(hash, at), then, now, true)
    }

    #[test]
    fn what_is_older_than_the_latest_is_ignored_for_an_hour() {
        let mut lately = Lately::new(&Seed::new([1; 16]));
        let six = PeerEndpoint::new("2001:db8::1".parse().unwrap(), 1);
        for at in [PEER, six] {
            assert!(note(&mut lately, &[1; 20], &at, 5_000, 5_100));
            assert!(!note(&mut lately, &[1; 20], &at, 4_999, 6_000));
            assert!(
                note(&mut lately, &[2; 20], &at, 4_999, 6_000),
                "another swarm"
            );
            assert!(
                note(&mut lately, &[1; 20], &at, 5_000, 6_000),
                "of the same time"
            );
            assert!(note(&mut lately, &[1; 20], &at, 6_000, 6_000));
            let hour = u64::from(LASTS);
            assert!(!note(&mut lately, &[1; 20], &at, 5_999, hour + 5_999));
            assert!(
                note(&mut lately, &[1; 20], &at, 5_999, hour + 6_000),
                "forgotten"
            );
            assert!(
                note(&mut lately, &[1; 20], &at, 5_000, hour + 6_000),
                "and too old to be noted"
            );
            // A store was replaced whose clock was ahead.
            assert!(note(&mut lately, &[1; 20], &at, 90_000, 90_000));
            assert!(!note(&mut lately, &[1; 20], &at, 81_000, 81_000));
            assert!(note(&mut lately, &[1; 20], &at, 70_000, 70_000));
        }
    }

    #[test]
    fn later_ones_take_the_places_of_those_before() {
        let mut lately = Lately::new(&Seed::new([1; 16]));
        let hash = |number: u64| {
            let mut hash = [0; 20];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            hash
        };
        let all = 4 * (SETS * WAYS) as u64;
        for number in 0..all {
            assert!(note(
                &mut lately,
                &hash(number),
                &PEER,
                1000 + number / 100,
                7000
            ));
        }
        // Half of what there is room for is as good as always there. The latest are asked for first: what is missed is noted
        // again, in the place of one that is older still.
        let last = (all - (SETS * WAYS) as u64 / 2..all)
            .rev()
            .filter(|number| {
                let then = 999 + number / 100;
                !note(&mut lately, &hash(*number), &PEER, then, 7000)
            });
        let remembered = last.count();
        assert!(remembered > SETS * WAYS / 2 * 98 / 100, "{remembered}");
    }

    /// Who tells everything again may not have read yet that one of them left within the last minute.
    #[test]
    fn what_is_told_again_is_older_than_a_goodbye_and_is_not_remembered() {
        let swarms = Swarms::new(RULES, [1; 16]);
        let outlet = Outlet::new(RULES.age, false);
        let mut lately = Lately::new(&Seed::new([1; 16]));
        let (now, minute) = (900_000, Minute::START.plus(15));
        let mut hear = |did, silent, then| {
            let event = PeerEvent {
                hash: InfoHash([7; 20]),
                at: CompactPeer::V4([8, 8, 8, 8, 1, 1]),
                did,
                seeder: false,
                paused: false,
                counted: false,
                downloads: 0,
                silent,
            };
            let mut told = None;
            let heard = |_: &PeerEvent, came: Option<(PeerEndpoint, ToldHere)>| {
                told = came.map(|(_, came)| came);
            };
            let (of, events) = ((&outlet, &swarms), std::iter::once(event));
            let ago = u32::try_from((now - then) / 60_000).unwrap();
            lately.hear(of, events, (then, now), (ago, minute), heard);
            told
        };
        assert_eq!(hear(PeerDid::IsHere, 2, now), Some(ToldHere::Came));
        let gone = hear(PeerDid::Left, 0, now - 200_000);
        assert_eq!(gone, Some(ToldHere::Ignored), "it announced since");
        let gone = hear(PeerDid::Left, 0, now - 200);
        assert!(matches!(gone, Some(ToldHere::Left { .. })), "{gone:?}");
        assert_eq!(hear(PeerDid::IsHere, 1, now), None);
        assert_eq!(hear(PeerDid::IsHere, 0, now), Some(ToldHere::Came));
    }

    /// Some are looked at together; what comes of each is the same as one after the other.
    #[test]
    fn what_is_told_of_many_peers_at_once_is_heard_of_each_in_its_order() {
        let swarms = Swarms::new(RULES, [1; 16]);
        let outlet = Outlet::new(RULES.age, false);
        let mut lately = Lately::new(&Seed::new([1; 16]));
        let event = |number: u8, did| PeerEvent {
            hash: InfoHash([7; 20]),
            at: CompactPeer::V4([8, 8, 8, 8, 1, number]),
            did,
            seeder: false,
            paused: false,
            counted: false,
            downloads: 0,
            silent: 0,
        };
        let private = PeerEvent {
            at: CompactPeer::V4([10, 0, 0, 1, 1, 1]),
            ..event(0, PeerDid::IsHere)
        };
        let mut events = vec![private];
        for number in 0..2 * TOGETHER as u8 + 3 {
            // It came, left and came within one batch.
            let dids = [PeerDid::IsHere, PeerDid::Left, PeerDid::IsHere];
            events.extend(dids.map(|did| event(number, did)));
        }
        let mut told = Vec::new();
        let heard = |event: &PeerEvent, came: Option<(PeerEndpoint, ToldHere)>| {
            told.push((*event, came.map(|(_, came)| came)));
        };
        let of = (&outlet, &swarms);
        let all = events.iter().copied();
        lately.hear(of, all, (5000, 5000), (0, Minute::START), heard);
        let handed: Vec<_> = told.iter().map(|(event, _)| *event).collect();
        assert_eq!(handed, events);
        assert_eq!(told[0].1, None, "private");
        for three in told[1..].chunks(3) {
            let came = |place: usize| three[place].1.unwrap();
            assert_eq!([came(0), came(2)], [ToldHere::Came; 2]);
            assert!(matches!(came(1), ToldHere::Left { .. }));
        }
        assert_eq!(swarms.totals().peers(), 2 * TOGETHER as u32 + 3);
        // All of it once more, from a second earlier, is not true any more.
        let mut late = 0;
        let heard = |_: &PeerEvent, came: Option<_>| late += usize::from(came.is_none());
        let all = events.iter().copied();
        lately.hear(of, all, (4000, 5000), (0, Minute::START), heard);
        assert_eq!(late, events.len());
    }
}
