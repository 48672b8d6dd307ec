//! Info hashes and peers as somebody makes them who wants to fill one bucket.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::swarm::entry::PeerEntry;
use crate::swarm::index::Index;

/// A constant of foldhash. Input that equals it is multiplied by zero, whatever the seed is: all 2^32 info hashes that
/// differ only before it were the same to the tables that Weir once had.
const CONSTANT: [u8; 8] = 0xc0ac_29b7_c97c_50dd_u64.to_le_bytes();
const MANY: u32 = 10_000;

fn hash(number: u32) -> [u8; 20] {
    let mut hash = [0; 20];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    hash[4..12].copy_from_slice(&CONSTANT);
    hash[12..].copy_from_slice(&CONSTANT);
    hash
}

/// IPv6 addresses and ports of the same kind.
fn wire(number: u16) -> [u8; 18] {
    let mut wire = [0; 18];
    wire[..2].copy_from_slice(&number.to_be_bytes());
    wire[2..10].copy_from_slice(&CONSTANT);
    wire[10..].copy_from_slice(&CONSTANT);
    wire
}

/// How many stand in the fullest place.
fn fullest(places: impl Iterator<Item = usize>) -> usize {
    let mut counts = BTreeMap::new();
    places.for_each(|place| *counts.entry(place).or_insert(0) += 1);
    counts.into_values().max().unwrap_or(0)
}

#[test]
fn info_hashes_made_to_collide_are_spread_like_any_others() {
    let swarms = Tracker::new(RULES).swarms;
    let hashed: BTreeSet<u64> = (0..MANY).map(|number| swarms.hash(&hash(number))).collect();
    assert_eq!(hashed.len(), MANY as usize, "each is another");
    // About ten in each of 1,024 places; forty in one would be an accident that does not happen.
    let shards = hashed.iter().map(|hashed| shard_of(*hashed));
    assert!(fullest(shards) < 40);
    let buckets = hashed.iter().map(|hashed| (hashed % 1024) as usize);
    assert!(fullest(buckets) < 40);
    let tags = hashed.iter().map(|hashed| (hashed >> 57) as usize);
    assert!(fullest(tags) < 160, "about 78 in each of 128");
}

#[test]
fn peers_made_to_collide_are_found_with_few_looks() {
    let peers: Vec<PeerEntry<20>> = (0..MANY as u16)
        .map(|number| entry::v6(wire(number), START))
        .collect();
    let seed = &Tracker::new(RULES).swarms.seed;
    let index = Index::of(&peers, seed);
    let looks: usize = peers
        .iter()
        .map(|peer| index.looks(&peers, peer, seed))
        .sum();
    // At most four of five buckets are taken, so a run of them is a few long.
    assert!(looks < 8 * peers.len(), "{looks}");
}
