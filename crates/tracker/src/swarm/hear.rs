//! Peers that other nodes tell of.
//!
//! Nearly all that taking one in costs is waiting for memory: its shard, the table there, the swarm's record, its peers, each of
//! which leads to the next. A client's announce has its packet to pay for as well; here there is nothing else. So some are
//! taken in together, and what they need is read ahead for all of them: one waits while others do.

use std::hint;

use parking_lot::MutexGuard;
use smallvec::SmallVec;
use weir_tracker_proto::nodes::{PeerDid, PeerEvent};

use super::entry::{EntryTail, PeerEndpoint};
use super::record::{PeerStanding, Record};
use super::shard::Shard;
use super::{ForwardFlags, Swarms, shard_of};
use crate::clock::Minute;

/// Events that are taken in together: more hold more locks, and the processor does not look further ahead.
pub(crate) const TOGETHER: usize = 16;

/// What another node told of a peer.
#[derive(Clone, Debug)]
pub(crate) struct ToldPeer {
    pub(crate) event: PeerEvent,
    /// Where the peer is reached.
    pub(crate) at: PeerEndpoint,
    /// Minutes since it happened.
    pub(crate) silent: u32,
}

/// What came of something that another node told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToldHere {
    /// The peer was not here before.
    Came,
    /// It was, and what was told of it is known now.
    WasHere,
    /// It was here until now.
    Left {
        /// Nobody takes part any more.
        last: bool,
        /// An announce of this swarm went on to other trackers.
        forwarded: bool,
    },
    /// There was no room, or it is not true any more.
    Ignored,
}

/// What an event is about: its shard, locked, where in it the swarm is, where in that the peer is and what is known of it.
struct Looked<'a> {
    shard: MutexGuard<'a, Shard>,
    hashed: u64,
    swarm: Option<u32>,
    peer: Option<(usize, (EntryTail, bool))>,
}

impl Swarms {
    /// Takes in what happened to the first of some peers at another node, in this order, and says what came of each; of one at
    /// least. What is known of a peer from a later minute stays. Peers of others have the caps of all; what their address may
    /// have was judged where they announced.
    pub(crate) fn hear(&self, told: &[ToldPeer], now: Minute) -> SmallVec<[ToldHere; TOGETHER]> {
        let mut looked = self.lock_some(told);
        self.look(&mut looked, told);
        let mut came = SmallVec::new();
        // Each lock is given back as soon as its event was taken in.
        for (looked, told) in looked.into_iter().zip(told) {
            came.push(self.hear_one(looked, told, now));
        }
        came
    }

    /// Locks the shards of the first events, and stops at the first that is taken, by another thread or for an earlier event; only
    /// the very first is waited for. So nobody who has a lock waits for another, and what is looked up for one event is not
    /// changed by those before it.
    #[inline]
    fn lock_some(&self, told: &[ToldPeer]) -> SmallVec<[Looked<'_>; TOGETHER]> {
        let told = &told[..told.len().min(TOGETHER)];
        let (mut hashes, mut read) = ([0; TOGETHER], false);
        for (hashed, one) in hashes.iter_mut().zip(told) {
            *hashed = self.hash(&one.event.hash.0);
            read ^= self.shards[shard_of(*hashed)].is_locked();
        }
        hint::black_box(read);
        let mut locked = SmallVec::new();
        for hashed in &hashes[..told.len()] {
            let shard = &self.shards[shard_of(*hashed)];
            let guard = match locked.is_empty() {
                true => Some(shard.lock()),
                false => shard.try_lock(),
            };
            let Some(shard) = guard else { break };
            locked.push(Looked {
                shard,
                hashed: *hashed,
                swarm: None,
                peer: None,
            });
        }
        locked
    }

    /// Looks up what the events are about, step by step for all of them: within a step, none waits for another.
    fn look(&self, looked: &mut [Looked<'_>], told: &[ToldPeer]) {
        for one in looked.iter_mut() {
            one.swarm = one.shard.guess(one.hashed);
        }
        for (one, told) in looked.iter_mut().zip(told) {
            let hash = &told.event.hash.0;
            let swarm = one.swarm.and_then(|position| one.shard.at(position));
            if swarm.is_none_or(|record| record.hash() != hash) {
                one.swarm = one.shard.find(one.hashed, hash);
            }
        }
        let swarms = looked.iter().filter_map(|one| one.shard.at(one.swarm?));
        read_all(swarms.map(Record::look_at_peers));
        for (one, told) in looked.iter_mut().zip(told) {
            let record = one.swarm.and_then(|position| one.shard.at_mut(position));
            one.peer = record.and_then(|record| {
                let place = record.find(&told.at, &self.seed)?;
                Some((place, record.known(&told.at, place)))
            });
        }
        let moves = looked.iter().zip(told);
        let moves = moves.filter(|(one, told)| {
            // Who comes and who goes is counted for its address.
            one.peer.is_some() == (told.event.did == PeerDid::Left)
        });
        read_all(moves.map(|(_, told)| self.sketch.count(&told.at)));
    }

    fn hear_one(&self, looked: Looked<'_>, told: &ToldPeer, now: Minute) -> ToldHere {
        let Looked {
            mut shard,
            hashed,
            swarm: found,
            peer: known,
        } = looked;
        let ToldPeer { event, at, silent } = told;
        let (hash, silent) = (&event.hash.0, *silent);
        let is_later =
            |(_, (tail, _)): (_, (EntryTail, _))| u32::from(tail.silent_for(now)) < silent;
        let later = known.is_some_and(is_later);
        if event.did == PeerDid::Left {
            let (Some(position), Some((place, _)), false) = (found, known, later) else {
                return ToldHere::Ignored;
            };
            shard.changed = true;
            let Some(record) = shard.at_mut(position) else {
                return ToldHere::Ignored;
            };
            let before = record.cuts();
            self.take_out(record, at, place);
            self.census.changed(before, record.cuts());
            record.hear_downloads(event.downloads);
            let forwarded = record.flags().has(ForwardFlags::FORWARDED);
            let last = record.len() == 0;
            if last {
                shard.remove(hashed, position);
                self.census.swarm_went();
            }
            return ToldHere::Left { last, forwarded };
        }
        if silent > self.rules.age.0.into() {
            return ToldHere::Ignored;
        }
        let full = known.is_none() && self.census.peers() >= self.rules.max_peers
            || found.is_none() && self.census.swarms() >= self.rules.max_swarms;
        if full {
            return ToldHere::Ignored;
        }
        let position = found.unwrap_or_else(|| {
            self.census.swarm_came();
            let record = Record::new(*hash, now);
            shard.insert(hashed, record, |hash| self.hash(hash))
        });
        shard.changed = true;
        let Some(record) = shard.at_mut(position) else {
            return ToldHere::Ignored;
        };
        let before = record.cuts();
        let completed = event.did == PeerDid::Completed;
        let how = match known {
            // Only that it finished is news.
            Some((_, (tail, seeder))) if later => PeerStanding {
                seeder: seeder || completed,
                completed: completed || event.counted,
                paused: tail.is_paused(),
                now: now.minus(tail.silent_for(now).into()),
            },
            _ => PeerStanding {
                seeder: event.seeder,
                completed: completed || event.counted,
                paused: event.paused,
                now: now.minus(silent),
            },
        };
        let place = known.map(|(place, _)| place);
        let arrived = self.take_in(record, (at, place), how);
        if arrived.finished && completed {
            record.count_download();
        }
        record.hear_downloads(event.downloads);
        self.census.changed(before, record.cuts());
        match arrived.new {
            true => ToldHere::Came,
            false => ToldHere::WasHere,
        }
    }
}

/// Nobody needs what is read; it is near afterwards.
fn read_all(read: impl Iterator<Item = u32>) {
    hint::black_box(read.fold(0, |all, one| all ^ one));
}

#[cfg(test)]
mod tests {
    use weir_tracker_proto::InfoHash;
    use weir_tracker_proto::nodes::CompactPeer;

    use super::*;
    use crate::clock::FileTime;
    use crate::swarm::SwarmRules;
    use crate::swarm::snapshot::GROUPS;
    use crate::swarm::tests::RULES;

    const HASH: [u8; 20] = [7; 20];

    fn event(did: PeerDid, seeder: bool) -> PeerEvent {
        PeerEvent {
            hash: InfoHash(HASH),
            at: CompactPeer::V4([0; 6]), // is not looked at
            did,
            seeder,
            paused: false,
            counted: false,
            downloads: 0,
            silent: 0,
        }
    }

    fn peer(last: u8) -> PeerEndpoint {
        PeerEndpoint::new([198, 51, 100, 1].into(), 1000 + u16::from(last))
    }

    #[test]
    fn what_is_known_from_a_later_minute_stays() {
        let swarms = Swarms::new(RULES, [1; 16]);
        let now = Minute::START.plus(100);
        for at in [
            peer(1),
            PeerEndpoint::new("2001:db8::1".parse().unwrap(), 1),
        ] {
            let hear = |did, seeder, silent| {
                let event = event(did, seeder);
                let told = ToldPeer { event, at, silent };
                swarms.hear(&[told], now)[0]
            };
            let seeders = || swarms.totals().seeders;
            assert_eq!(hear(PeerDid::Left, false, 0), ToldHere::Ignored);
            assert_eq!(hear(PeerDid::IsHere, true, 3), ToldHere::Came);
            assert_eq!(hear(PeerDid::Left, false, 4), ToldHere::Ignored);
            assert_eq!(hear(PeerDid::IsHere, false, 4), ToldHere::WasHere);
            assert_eq!(seeders(), 1, "it was a leecher before");
            assert_eq!(hear(PeerDid::IsHere, false, 3), ToldHere::WasHere);
            assert_eq!(seeders(), 0);
            assert_eq!(hear(PeerDid::Completed, true, 9), ToldHere::WasHere);
            assert_eq!(seeders(), 1, "who finished has finished");
            assert_eq!(hear(PeerDid::IsHere, true, 0), ToldHere::WasHere);
            assert_eq!(hear(PeerDid::Left, false, 1), ToldHere::Ignored);
            let gone = ToldHere::Left {
                last: true,
                forwarded: false,
            };
            assert_eq!(hear(PeerDid::Left, false, 0), gone);
            let old = u32::from(RULES.age.0) + 1;
            assert_eq!(hear(PeerDid::IsHere, true, old), ToldHere::Ignored);
            assert_eq!(swarms.totals().swarms, 0);
        }
    }

    #[test]
    fn peers_of_others_have_the_caps_of_all_and_none_of_their_address() {
        let rules = SwarmRules {
            max_peers: 3,
            max_peers_per_ip: Some(1),
            ..RULES
        };
        let swarms = Swarms::new(rules, [1; 16]);
        let now = Minute::START;
        let here = event(PeerDid::IsHere, false);
        let told = |last| ToldPeer {
            event: here,
            at: peer(last),
            silent: 0,
        };
        let hear = |last| swarms.hear(&[told(last)], now)[0];
        assert_eq!([1, 2, 3].map(hear), [ToldHere::Came; 3]);
        assert_eq!(hear(4), ToldHere::Ignored);
        assert_eq!(hear(3), ToldHere::WasHere);
        assert_eq!(swarms.totals().peers(), 3);
    }

    /// However many are taken in together.
    #[test]
    fn events_taken_in_together_come_out_as_one_by_one() {
        let now = Minute::START.plus(500);
        let mut random = fastrand::Rng::with_seed(7);
        let at = |number: u16| match number % 5 {
            0 => PeerEndpoint::new("2001:db8::7".parse().unwrap(), 1 + number),
            _ => PeerEndpoint::new([198, 51, 100, number as u8].into(), 1 + number),
        };
        // From a few swarms, in which nearly all events meet, to so many that each has a shard of its own.
        for (hashes, peers) in [(1, 200), (3, 12), (40, 5), (5000, 2)] {
            let told: Vec<_> = (0..5000)
                .map(|_| {
                    let dids = [PeerDid::IsHere, PeerDid::Left, PeerDid::Completed];
                    let mut told = ToldPeer {
                        event: event(dids[random.usize(..8).min(4) % 3], random.bool()),
                        at: at(random.u16(..peers)),
                        silent: random.u32(..4),
                    };
                    let hash = random.u32(..hashes).to_be_bytes();
                    told.event.hash.0[..4].copy_from_slice(&hash);
                    told.event.paused = random.u8(..4) == 0;
                    told.event.counted = random.u8(..4) == 0;
                    told.event.downloads = random.u32(..9);
                    told
                })
                .collect();
            let [one_by_one, together] = [(); 2].map(|()| Swarms::new(RULES, [1; 16]));
            let expected: Vec<_> = told
                .iter()
                .flat_map(|one| one_by_one.hear(std::slice::from_ref(one), now))
                .collect();
            let (mut came, mut largest) = (Vec::new(), 0);
            while came.len() < told.len() {
                let some = together.hear(&told[came.len()..], now);
                largest = largest.max(some.len());
                came.extend(some);
            }
            assert_eq!(came, expected);
            assert_eq!(together.totals(), one_by_one.totals());
            let time = FileTime {
                seconds: 500 * 60,
                wall: 0,
            };
            let file = |swarms: &Swarms, group| swarms.capture(group, time);
            for group in 0..GROUPS {
                assert_eq!(file(&together, group), file(&one_by_one, group));
            }
            match hashes {
                1 => assert_eq!(largest, 1, "all have one shard"),
                5000 => assert_eq!(largest, TOGETHER),
                _ => {}
            }
        }
    }

    #[test]
    fn who_is_still_there_is_fresh_in_swarms_of_any_size() {
        let now = Minute::START.plus(500);
        for peers in [2, 10, 100] {
            let swarms = Swarms::new(RULES, [1; 16]);
            let hear = |did, last, silent| {
                let told = ToldPeer {
                    event: event(did, last % 2 == 0),
                    at: peer(last),
                    silent,
                };
                swarms.hear(&[told], now)[0]
            };
            for last in 0..peers {
                assert_eq!(hear(PeerDid::IsHere, last, 9), ToldHere::Came);
            }
            for last in 0..peers {
                assert_eq!(hear(PeerDid::IsHere, last, 3), ToldHere::WasHere);
                assert_eq!(hear(PeerDid::Left, last, 4), ToldHere::Ignored);
            }
            assert_eq!(swarms.totals().peers(), u32::from(peers));
            assert_eq!(swarms.totals().seeders, u32::from(peers).div_ceil(2));
        }
    }

    #[test]
    fn who_pauses_completes_or_goes_on_is_known_to() {
        let (swarms, now) = (Swarms::new(RULES, [1; 16]), Minute::START);
        let known = |seeder, paused, counted| {
            let event = PeerEvent {
                paused,
                counted,
                ..event(PeerDid::IsHere, seeder)
            };
            let told = ToldPeer {
                event,
                at: peer(1),
                silent: 0,
            };
            swarms.hear(&[told], now);
            let known = swarms.at(&HASH, |record, _| {
                let place = record.find(&peer(1), &swarms.seed).unwrap();
                let (tail, seeder) = record.known(&peer(1), place);
                (seeder, tail.is_paused(), tail.is_counted())
            });
            known.unwrap()
        };
        assert_eq!(known(false, false, false), (false, false, false));
        for paused in [true, true, false, true] {
            assert_eq!(known(false, paused, false), (false, paused, false));
        }
        assert_eq!(known(true, true, false), (true, true, false));
        assert_eq!(known(true, true, true), (true, true, true));
        assert_eq!(known(true, true, false), (true, true, true));
        assert_eq!(known(false, false, false), (false, false, true));
    }

    /// Where a swarm is likely to be, another may be.
    #[test]
    fn each_peer_comes_to_its_own_swarm() {
        let (swarms, now) = (Swarms::new(RULES, [1; 16]), Minute::START);
        let told: Vec<_> = (0..10_000_u32)
            .map(|number| {
                let mut event = event(PeerDid::IsHere, false);
                event.hash.0[..4].copy_from_slice(&number.to_be_bytes());
                ToldPeer {
                    event,
                    at: peer(number as u8),
                    silent: 0,
                }
            })
            .collect();
        for expected in [ToldHere::Came, ToldHere::WasHere] {
            let mut rest = &told[..];
            while !rest.is_empty() {
                let came = swarms.hear(rest, now);
                assert!(came.iter().all(|came| *came == expected));
                rest = &rest[came.len()..];
            }
        }
        assert_eq!(swarms.totals().swarms, 10_000);
        let has = |told: &ToldPeer| swarms.has_peer(&told.event.hash.0, &told.at);
        assert!(told.iter().all(has));
    }
}
