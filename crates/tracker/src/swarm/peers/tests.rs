use proptest::prelude::*;

use super::*;
use crate::clock::{Age, Minute};
use crate::swarm::entry::{self, PeerEndpoint, V4};
use crate::swarm::record::distinct;
use crate::swarm::sketch::Sketch;

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, bool),
    Remove(u8),
    Role(u8, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<u8>(), any::<bool>()).prop_map(|(who, seeder)| Step::Insert(who, seeder)),
        1 => any::<u8>().prop_map(Step::Remove),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(who, seeder)| Step::Role(who, seeder)),
    ]
}

fn peer(who: u8) -> PeerEntry<V4> {
    entry::v4([10, 0, 0, who / 3, 0, who], Minute(0))
}

/// Runs steps on a list with or without an index and on a plain map.
fn agrees_with_a_map(steps: Vec<Step>, indexed: bool) {
    let seed = Seed::new([0; 16]);
    let mut slots = vec![PeerEntry::<V4>::EMPTY; 256];
    let mut index = indexed.then(|| Index::of::<V4>(&[], &seed));
    let mut cut = Cut::default();
    let mut addresses = Some([0; 2]);
    let mut map = std::collections::BTreeMap::new();
    for step in steps {
        if let Some(index) = &mut index
            && !index.has_room(cut.len())
        {
            *index = Index::of(&slots[..cut.len()], &seed);
        }
        let mut peers = PeerSlice {
            slots: &mut slots,
            cut,
            addresses,
            index: index.as_mut(),
            seed: &seed,
        };
        let (Step::Insert(who, _) | Step::Remove(who) | Step::Role(who, _)) = step;
        let found = peers.find(&peer(who));
        assert_eq!(found.is_some(), map.contains_key(&who), "{step:?}");
        match (step, found) {
            (Step::Insert(who, seeder), None) => {
                let position = peers.insert(peer(who), seeder);
                assert!(peers.slots[position].is_at(&peer(who)));
                map.insert(who, seeder);
            }
            (Step::Remove(who), Some(position)) => {
                peers.remove(position);
                map.remove(&who);
            }
            (Step::Role(who, seeder), Some(position)) => {
                let position = peers.set_seeder(position, seeder);
                assert!(peers.slots[position].is_at(&peer(who)));
                map.insert(who, seeder);
            }
            _ => {}
        }
        for (&who, &seeder) in &map {
            let position = peers.find(&peer(who)).expect("it was put in");
            assert_eq!(peers.is_seeder(position), seeder);
        }
        cut = peers.cut;
        if cut.len() <= SCAN {
            let counted = distinct(peers.slots, cut);
            assert_eq!(peers.addresses.unwrap_or(counted), counted);
            addresses = Some(counted);
        } else {
            assert_eq!(peers.addresses, None);
            addresses = None;
        }
        assert_eq!(cut.len(), map.len());
        assert_eq!(cut.border(), map.values().filter(|seeder| **seeder).count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_scanned_list_holds_what_was_put_in(steps in prop::collection::vec(step(), 0..200)) {
        agrees_with_a_map(steps, false);
    }

    #[test]
    fn an_indexed_list_holds_what_was_put_in(steps in prop::collection::vec(step(), 0..400)) {
        agrees_with_a_map(steps, true);
    }
}

#[test]
fn stale_peers_go_in_slices_and_fresh_ones_stay() {
    let seed = Seed::new([0; 16]);
    let sketch = Sketch::coarse(seed.clone());
    let mut slots = vec![PeerEntry::<V4>::EMPTY; 100];
    let mut peers = PeerSlice {
        slots: &mut slots,
        cut: Cut::default(),
        addresses: None,
        index: None,
        seed: &seed,
    };
    for who in 0..100 {
        let seen = Minute(if who % 3 == 0 { 50 } else { 0 });
        let peer = entry::v4([10, 0, 0, who, 0, 1], seen);
        peers.insert(peer, who % 2 == 0);
        sketch.add(peer.wire());
    }
    let sweep = Sweep {
        left: 16,
        now: Minute(60),
        age: Age(50),
        sketch: &sketch,
    };
    let (mut from, mut slices) = (Some(0), 0);
    while let Some(position) = from {
        from = peers.expire(position, 16, &sweep);
        slices += 1;
    }
    assert_eq!(slices, 7, "sixteen are looked at each time");
    assert_eq!((peers.cut.len, peers.cut.seeders), (34, 17));
    let counted = |who| sketch.count(&PeerEndpoint::V4([10, 0, 0, who, 0, 1]));
    assert_eq!([counted(0), counted(1), counted(3)], [1, 0, 1]);
}

#[test]
fn addresses_are_counted_once() {
    let peers = [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1)];
    let peers = peers.map(|(host, port)| entry::v4([10, 0, 0, host, 0, port], Minute(0)));
    assert_eq!(addresses(&peers), 3);
    assert_eq!(addresses::<V4>(&[]), 0);
}
