//! Everything that swarms hold, told again in slices.

use weir_tracker_proto::InfoHash;
use weir_tracker_proto::nodes::{LONGEST_EVENT, PeerDid, PeerEvent};

use super::entry::PeerEndpoint;
use super::record::Record;
use super::{SHARDS, Swarms};
use crate::clock::Minute;
use crate::sharing::{Outlet, TakenEvents, compact};

/// Peers and empty places that are looked at under one lock: some ten microseconds.
const SLICE: usize = 512;

/// How far everything was told. Of swarms that take several slices, peers that change places between two of them can be missed.
#[derive(Debug, Default)]
pub(crate) struct ToldUpTo {
    shard: usize,
    record: u32,
    peer: usize,
}

impl Swarms {
    /// Tells of live peers until `to` has `room` bytes. Says whether there are more.
    pub(crate) fn tell_again(
        &self,
        up_to: &mut ToldUpTo,
        outlet: &Outlet,
        (now, room): (Minute, usize),
        to: &mut TakenEvents,
    ) -> bool {
        to.bytes.reserve(room.saturating_sub(to.bytes.len()));
        while up_to.shard < SHARDS {
            if !self.tell_slice(up_to, outlet, (now, room), to) {
                return true;
            }
        }
        false
    }

    /// Tells of the peers of one slice; `false` if there is no room for all of them.
    fn tell_slice(
        &self,
        up_to: &mut ToldUpTo,
        outlet: &Outlet,
        (now, room): (Minute, usize),
        to: &mut TakenEvents,
    ) -> bool {
        let shard = self.shards[up_to.shard].lock();
        for _ in 0..SLICE {
            if to.bytes.len() + LONGEST_EVENT > room {
                return false;
            }
            if up_to.record >= shard.end() {
                *up_to = ToldUpTo {
                    shard: up_to.shard + 1,
                    ..ToldUpTo::default()
                };
                return true;
            }
            let record = shard.at(up_to.record);
            let Some((at, event)) = record.and_then(|record| peer(record, up_to.peer, now)) else {
                up_to.record += 1;
                up_to.peer = 0;
                continue;
            };
            up_to.peer += 1;
            if event.silent > self.rules.age.0 || !outlet.may_tell(&at) {
                continue;
            }
            event.write(&mut to.bytes);
            to.events += 1;
        }
        true
    }
}

/// One of the peers of a swarm, as others are told of it.
fn peer(record: &Record, number: usize, now: Minute) -> Option<(PeerEndpoint, PeerEvent)> {
    let (v4, v6) = record.cuts();
    let in_v4 = v4.len as usize;
    let (wire, tail, seeder) = if number < in_v4 {
        let peer = &record.slots_v4()[number];
        (peer.wire(), peer.entry_tail(), number < v4.seeders as usize)
    } else {
        let number = number - in_v4;
        let peer = record.slots_v6()[..v6.len as usize].get(number)?;
        (peer.wire(), peer.entry_tail(), number < v6.seeders as usize)
    };
    let at = PeerEndpoint::from_wire(wire);
    let event = PeerEvent {
        hash: InfoHash(*record.hash()),
        at: compact(&at),
        did: PeerDid::IsHere,
        seeder,
        paused: tail.is_paused(),
        counted: tail.is_counted(),
        downloads: record.completed(),
        // What happened within the last minute counts as later: the peer may have left elsewhere, and nobody here has read it.
        silent: tail.silent_for(now).max(1),
    };
    Some((at, event))
}

#[cfg(test)]
mod tests {
    use weir_tracker_proto::nodes::{self, CompactPeer};

    use super::*;
    use crate::swarm::tests::RULES;
    use crate::swarm::{Age, SwarmRules, ToldPeer};

    const ROOM: usize = 4000;

    fn here(hash: u32, at: PeerEndpoint, silent: u16) -> PeerEvent {
        let mut long = [9; 20];
        long[..4].copy_from_slice(&hash.to_le_bytes());
        PeerEvent {
            hash: InfoHash(long),
            at: compact(&at),
            did: PeerDid::IsHere,
            seeder: hash.is_multiple_of(3),
            paused: hash.is_multiple_of(5),
            counted: hash.is_multiple_of(7),
            downloads: hash % 4,
            silent,
        }
    }

    #[test]
    fn each_live_peer_is_told_of_once_as_it_is_in_parts_that_find_room() {
        let rules = SwarmRules {
            age: Age(180),
            max_peers: u32::MAX,
            ..RULES
        };
        let swarms = Swarms::new(rules, [1; 16]);
        let now = Minute::START.plus(1000);
        let v4 = |number: u16| PeerEndpoint::new([198, 51, 100, 1].into(), number + 1);
        let v6 = |number: u16| PeerEndpoint::new("2001:db8::1".parse().unwrap(), number + 1);
        let mut all = Vec::new();
        // Small swarms, and one that takes many slices.
        for hash in 0..2000 {
            all.push(here(hash, v4(0), 1 + (hash % 180) as u16));
        }
        for number in 1..3000 {
            all.push(here(4, v4(number), 1 + number % 180));
        }
        for number in 0..700 {
            all.push(here(4, v6(number), 1 + number % 180));
        }
        let private = PeerEndpoint::new([10, 0, 0, 1].into(), 1);
        let hear = |event: &PeerEvent, at, silent, now| {
            swarms.hear(
                &[ToldPeer {
                    event: *event,
                    at,
                    silent,
                }],
                now,
            )
        };
        for event in all.iter().chain([&here(1, private, 1)]) {
            let at = match event.at {
                CompactPeer::V4(wire) => PeerEndpoint::from_wire(&wire),
                CompactPeer::V6(wire) => PeerEndpoint::from_wire(&wire),
            };
            hear(event, at, event.silent.into(), now);
        }
        // Of this minute, and too old by now.
        hear(&here(2, v4(1), 0), v4(1), 0, now);
        all.push(here(2, v4(1), 1));
        hear(&here(2, v4(2), 0), v4(2), 180, now.minus(1));
        let (outlet, mut up_to) = (Outlet::new(Age(180), false), ToldUpTo::default());
        let mut told = Vec::new();
        loop {
            let mut part = TakenEvents::default();
            let more = swarms.tell_again(&mut up_to, &outlet, (now, ROOM), &mut part);
            assert!(part.bytes.len() <= ROOM);
            let events: Result<Vec<_>, _> = nodes::events(&part.bytes).collect();
            let events = events.unwrap();
            assert_eq!(events.len(), part.events as usize);
            assert!(!more || part.bytes.len() > ROOM - 2 * LONGEST_EVENT);
            told.extend(events);
            if !more {
                break;
            }
        }
        let order = |event: &PeerEvent| (event.hash.0, event.at.wire().to_vec());
        told.sort_by_key(order);
        all.sort_by_key(order);
        assert_eq!(told.len(), all.len());
        // Downloads are those of the whole swarm.
        assert!(told == all);
        assert!(!swarms.tell_again(
            &mut up_to,
            &outlet,
            (now, ROOM),
            &mut TakenEvents::default()
        ));
    }
}
