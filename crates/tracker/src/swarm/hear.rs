//! Peers that other nodes tell of.

use weir_tracker_proto::nodes::{PeerDid, PeerEvent};

use super::entry::{EntryTail, PeerEndpoint};
use super::record::{PeerStanding, Record};
use super::{ForwardFlags, Swarms};
use crate::clock::Minute;

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

impl Swarms {
    /// Takes in what happened to a peer at another node, `silent` minutes ago. What is known of it from a later minute
    /// stays. Peers of others have the caps of all; what their address may have was judged where they announced.
    pub(crate) fn hear(
        &self,
        event: &PeerEvent,
        at: PeerEndpoint,
        silent: u32,
        now: Minute,
    ) -> ToldHere {
        let hash = &event.hash.0;
        let hashed = self.hash(hash);
        let mut shard = self.shard(hashed);
        let found = shard.find(hashed, hash);
        let record = found.and_then(|position| shard.at_mut(position));
        let known = record.and_then(|record| {
            let place = record.find(&at, &self.seed)?;
            Some((place, record.known(&at, place)))
        });
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
            self.take_out(record, &at, place);
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
        let arrived = self.take_in(record, (&at, place), how);
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

#[cfg(test)]
mod tests {
    use weir_tracker_proto::InfoHash;
    use weir_tracker_proto::nodes::CompactPeer;

    use super::*;
    use crate::swarm::SwarmRules;
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
            let hear = |did, seeder, silent| swarms.hear(&event(did, seeder), at, silent, now);
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
        let hear = |last| swarms.hear(&event(PeerDid::IsHere, false), peer(last), 0, now);
        assert_eq!([1, 2, 3].map(hear), [ToldHere::Came; 3]);
        assert_eq!(hear(4), ToldHere::Ignored);
        assert_eq!(hear(3), ToldHere::WasHere);
        assert_eq!(swarms.totals().peers(), 3);
    }
}
