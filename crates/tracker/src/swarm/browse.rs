//! Looking at swarms without getting in the way: a walk that takes a slice under each lock, and one swarm from near.
//!
//! What is seen is copied out and looked at after unlocking, so no visitor can hold up an announce.

use super::entry::{PeerEndpoint, PeerEntry};
use super::record::{Record, SwarmCounts};
use super::{SLICE, Swarms};
use crate::clock::Minute;

/// One swarm, as it was when the walk came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSwarm {
    /// Which.
    pub hash: [u8; 20],
    /// Peers of both families.
    pub peers: u32,
    /// Who takes part, without the peers that other trackers named.
    pub counts: SwarmCounts,
    /// Minutes since it began.
    pub age: u16,
}

/// One swarm with some of its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// The swarm.
    pub seen: SeenSwarm,
    /// Peers in IPv4.
    pub v4: u32,
    /// Peers in IPv6.
    pub v6: u32,
    /// Some peers, seeders and leechers of both families.
    pub peers: Vec<Peer>,
}

/// One peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it is reached.
    pub at: PeerEndpoint,
    /// It has all of it.
    pub seeder: bool,
    /// Minutes since its last announce.
    pub silent: u16,
}

/// A walk through all swarms. Those that are there from its beginning to its end are seen once.
pub struct Walk<'a> {
    swarms: &'a Swarms,
    now: Minute,
    shard: usize,
    position: u32,
    slice: Vec<SeenSwarm>,
}

impl Walk<'_> {
    /// The next swarms, at most a slice of them and perhaps none; `None` at the end.
    pub fn next_slice(&mut self) -> Option<&[SeenSwarm]> {
        self.slice.clear();
        let shard = self.swarms.shards.get(self.shard)?.lock();
        let end = shard.end().min(self.position + SLICE as u32);
        for position in self.position..end {
            if let Some(record) = shard.at(position) {
                self.slice.push(self.swarms.see(record, self.now));
            }
        }
        self.position = end;
        if end >= shard.end() {
            self.shard += 1;
            self.position = 0;
        }
        Some(&self.slice)
    }
}

impl Swarms {
    /// Begins a walk.
    pub fn walk(&self, now: Minute) -> Walk<'_> {
        Walk {
            swarms: self,
            now,
            shard: 0,
            position: 0,
            slice: Vec::with_capacity(SLICE),
        }
    }

    /// Whether there is such a swarm.
    pub fn holds(&self, hash: &[u8; 20]) -> bool {
        let hashed = self.hash(hash);
        self.shard(hashed).find(hashed, hash).is_some()
    }

    /// A swarm with at most `most` of its peers; of each kind a fair part.
    pub fn close(&self, hash: &[u8; 20], most: usize, now: Minute) -> Option<Close> {
        let hashed = self.hash(hash);
        let shard = self.shard(hashed);
        let record = shard.at(shard.find(hashed, hash)?)?;
        let (v4, v6) = record.cuts();
        let parts = [v4.seeders, v4.leechers(), v6.seeders, v6.leechers()];
        let take = fair(parts.map(|part| part as usize), most);
        // A few kilobytes at most are copied here; they are translated after unlocking.
        let kept_v4 = ends(record.slots_v4(), v4.seeders as usize, [take[0], take[1]]);
        let kept_v6 = ends(record.slots_v6(), v6.seeders as usize, [take[2], take[3]]);
        let seen = self.see(record, now);
        drop(shard);
        let mut peers = Vec::with_capacity(take.iter().sum());
        told(&kept_v4, take[0], now, &mut peers);
        told(&kept_v6, take[2], now, &mut peers);
        peers.sort_by_key(|peer| (!peer.seeder, peer.silent));
        Some(Close {
            seen,
            v4: v4.len,
            v6: v6.len,
            peers,
        })
    }

    fn see(&self, record: &Record, now: Minute) -> SeenSwarm {
        SeenSwarm {
            hash: *record.hash(),
            peers: record.len(),
            counts: record.counts(self.rules.count_by),
            age: record.age(now),
        }
    }
}

/// The first seeders and the first leechers; seeders stand before the border.
fn ends<const N: usize>(
    slots: &[PeerEntry<N>],
    border: usize,
    [seeders, leechers]: [usize; 2],
) -> Vec<PeerEntry<N>> {
    [&slots[..seeders], &slots[border..border + leechers]].concat()
}

fn told<const N: usize>(
    entries: &[PeerEntry<N>],
    seeders: usize,
    now: Minute,
    out: &mut Vec<Peer>,
) {
    let peers = entries.iter().enumerate().map(|(place, entry)| Peer {
        at: PeerEndpoint::from_wire(entry.wire()),
        seeder: place < seeders,
        silent: entry.silent_for(now),
    });
    out.extend(peers);
}

/// How many to take of each part so that `most` are taken in all, small parts whole.
fn fair(parts: [usize; 4], most: usize) -> [usize; 4] {
    let mut order = [0, 1, 2, 3];
    order.sort_by_key(|part| parts[*part]);
    let mut taken = [0; 4];
    let mut left = most;
    for (done, part) in order.into_iter().enumerate() {
        taken[part] = parts[part].min(left / (order.len() - done));
        left -= taken[part];
    }
    taken
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{Age, Doing, PeerCounting, SwarmAnnounce, SwarmRules, Want};
    use super::*;

    fn swarms() -> Swarms {
        let rules = SwarmRules {
            age: Age(180),
            count_by: PeerCounting::Endpoint,
            max_swarms: u32::MAX,
            max_peers: u32::MAX,
            max_peers_per_ip: None,
            forwards: false,
        };
        Swarms::new(rules, [1; 16])
    }

    fn hash(number: u32) -> [u8; 20] {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        hash
    }

    fn announce(swarms: &Swarms, hash: [u8; 20], at: &str, seeder: bool, now: Minute) {
        let at: std::net::SocketAddr = at.parse().unwrap();
        let doing = Doing::TakesPart {
            seeder,
            completed: false,
            paused: false,
        };
        let arrival = SwarmAnnounce {
            hash,
            at: PeerEndpoint::new(at.ip(), at.port()),
            also: None,
            doing,
            want: Want::V4(0),
        };
        let out = [&mut Vec::new(), &mut Vec::new()];
        let mut random = fastrand::Rng::with_seed(1);
        swarms
            .announce(&arrival, (now, |_| true), &mut random, out)
            .unwrap();
    }

    #[test]
    fn a_walk_sees_each_of_a_million_swarms_once_and_holds_a_lock_for_a_slice() {
        const ALL: u32 = 1_000_000;
        let swarms = swarms();
        for number in 0..ALL {
            announce(&swarms, hash(number), "10.0.0.1:6881", true, Minute::START);
        }
        let mut seen = vec![false; ALL as usize];
        let (mut locks, mut longest) = (0, 0);
        let mut walk = swarms.walk(Minute::START);
        while let Some(slice) = walk.next_slice() {
            locks += 1;
            longest = longest.max(slice.len());
            for swarm in slice {
                let number = u32::from_be_bytes(swarm.hash[..4].try_into().unwrap());
                assert!(!seen[number as usize], "{number} twice");
                seen[number as usize] = true;
                assert_eq!((swarm.peers, swarm.counts.seeders), (1, 1));
            }
        }
        assert!(seen.iter().all(|seen| *seen));
        assert!(longest <= SLICE, "{longest} under one lock");
        assert!(locks >= ALL as usize / SLICE, "{locks} locks");
    }

    #[test]
    fn swarms_that_come_and_go_do_not_upset_a_walk() {
        let swarms = swarms();
        for number in 0..10_000 {
            announce(&swarms, hash(number), "10.0.0.1:6881", true, Minute::START);
        }
        let mut seen = HashSet::new();
        let mut walk = swarms.walk(Minute::START);
        let mut next = 10_000;
        while let Some(slice) = walk.next_slice() {
            for swarm in slice {
                assert!(seen.insert(swarm.hash));
            }
            announce(&swarms, hash(next), "10.0.0.1:6881", true, Minute::START);
            next += 1;
        }
        assert!((0..10_000).all(|number| seen.contains(&hash(number))));
    }

    #[test]
    fn a_swarm_from_near_shows_some_of_every_kind() {
        let swarms = swarms();
        let (of, now) = (hash(1), Minute::START);
        for port in 1..=300 {
            announce(&swarms, of, &format!("10.0.0.1:{port}"), true, now);
        }
        announce(&swarms, of, "10.0.0.2:1", false, now);
        announce(&swarms, of, "[2001:db8::1]:6881", false, now);
        let close = swarms.close(&of, 200, now.plus(7)).unwrap();
        assert_eq!((close.v4, close.v6, close.seen.peers), (301, 1, 302));
        assert_eq!(close.peers.len(), 200);
        let leechers: Vec<String> = close
            .peers
            .iter()
            .filter(|peer| !peer.seeder)
            .map(|peer| peer.at.socket().to_string())
            .collect();
        assert_eq!(leechers, ["10.0.0.2:1", "[2001:db8::1]:6881"]);
        assert!(close.peers.iter().all(|peer| peer.silent == 7));
        let all: HashSet<String> = close
            .peers
            .iter()
            .map(|peer| peer.at.socket().to_string())
            .collect();
        assert_eq!(all.len(), 200, "nobody twice");
        assert_eq!(swarms.close(&hash(2), 200, now), None);
    }

    #[test]
    fn parts_are_fair() {
        assert_eq!(fair([300, 1, 0, 1], 200), [198, 1, 0, 1]);
        assert_eq!(fair([300, 300, 300, 300], 200), [50; 4]);
        assert_eq!(fair([3, 2, 1, 0], 200), [3, 2, 1, 0]);
        assert_eq!(fair([10, 500, 0, 0], 20), [10, 10, 0, 0]);
    }
}
