use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::read_key;
use super::*;
use crate::swarm::tests::RULES;
use crate::swarm::{Doing, Minute, PeerEndpoint, SwarmAnnounce, Want};

/// In the fixture, and far away, so that no clock makes its peers older.
const WALL: u64 = 4_000_000_000;
const OLD_KEY: [u8; 8] = [1; 8];

/// The peers of each swarm, and when its one tracker may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    swarms: BTreeMap<u8, BTreeSet<u8>>,
    sheets: BTreeMap<u8, u32>,
}

fn hash(swarm: u8) -> [u8; 20] {
    [swarm; 20]
}

fn peer(who: u8) -> PeerEndpoint {
    match who % 3 {
        0 => {
            let mut wire = [0; 18];
            (wire[0], wire[1], wire[7], wire[15]) = (0x20, 1, who, 1);
            wire[16..].copy_from_slice(&6881_u16.to_be_bytes());
            PeerEndpoint::V6(wire)
        }
        _ => PeerEndpoint::V4([192, 0, 2, who, 0x1a, 0xe1]),
    }
}

fn now() -> FileTime {
    FileTime {
        seconds: 0,
        wall: WALL,
    }
}

/// Writes a directory as an earlier version did: swarms spread by another key, of eight bytes.
fn write_old(path: &Path, content: &Content) {
    let old = Directory {
        path: path.into(),
        key: [9; 16],
    };
    let (swarms, ledger) = (Swarms::new(RULES, old.key), Ledger::new(NO_LIMITS, old.key));
    for (swarm, peers) in &content.swarms {
        for who in peers {
            let arrival = SwarmAnnounce {
                hash: hash(*swarm),
                at: peer(*who),
                also: None,
                doing: Doing::TakesPart {
                    seeder: who % 2 == 0,
                    completed: false,
                    paused: false,
                },
                want: Want::V4(0),
            };
            let (mut v4, mut v6) = (Vec::new(), Vec::new());
            let random = &mut fastrand::Rng::with_seed(1);
            let out = [&mut v4, &mut v6];
            swarms
                .announce(&arrival, (Minute::START, |_| true), random, out)
                .expect("there is room");
        }
    }
    assert_eq!(ledger.slot_of("one", |_| true), 0);
    for (swarm, due) in &content.sheets {
        assert!(ledger.begin(&hash(*swarm), None));
        ledger.set_due(&hash(*swarm), 0, *due);
    }
    for group in 0..GROUPS {
        old.write_group(&swarms, group, now()).unwrap();
        old.write_sheets(&ledger, group, now()).unwrap();
    }
    old.write("key", &OLD_KEY).unwrap();
}

/// What a start finds.
fn content(directory: &Directory, whom: impl Iterator<Item = u8>) -> Content {
    let swarms = Swarms::new(RULES, directory.key());
    let ledger = Ledger::new(NO_LIMITS, directory.key());
    assert_eq!(directory.restore(&swarms, now()).unwrap().bad, 0);
    directory.restore_sheets(&ledger, now()).unwrap();
    let mut found = Content::default();
    for swarm in whom {
        let peers = (0..=u8::MAX).filter(|who| swarms.has_peer(&hash(swarm), &peer(*who)));
        let peers: BTreeSet<u8> = peers.collect();
        if !peers.is_empty() {
            found.swarms.insert(swarm, peers);
        }
        match ledger.state(&hash(swarm), [0].into_iter()).dues[0] {
            0 => {}
            due => drop(found.sheets.insert(swarm, due)),
        }
    }
    let peers: usize = found.swarms.values().map(BTreeSet::len).sum();
    assert_eq!(swarms.totals().peers() as usize, peers, "nobody else");
    assert_eq!(swarms.totals().swarms as usize, found.swarms.len());
    assert_eq!(ledger.totals().0, found.sheets.len());
    found
}

/// Every file holds what belongs there under the key, and nothing waits or was left behind.
fn assert_settled(directory: &Directory) {
    for entry in fs::read_dir(&directory.path).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let kind = path.extension().map(|kind| kind.to_str().unwrap());
        let swarms = Swarms::new(RULES, directory.key());
        let ledger = Ledger::new(NO_LIMITS, directory.key());
        match kind {
            None => {
                assert_eq!(stem, "key");
                assert_eq!(read_key(&path).unwrap(), Some(directory.key));
                continue;
            }
            Some("swarm") => {
                swarms.restore(&bytes, now()).unwrap();
            }
            Some("upstream") => {
                ledger.restore(&bytes, now()).unwrap();
            }
            _ => panic!("{} was left behind", path.display()),
        }
        let own: usize = stem.parse().unwrap();
        for group in (0..GROUPS).filter(|group| *group != own) {
            assert!(swarms.capture(group, now()).is_none(), "{own} {group}");
            assert!(ledger.capture(group, now()).is_none(), "{own} {group}");
        }
    }
}

/// Opens a directory and dies after so many changes; says whether it did.
fn killed(path: &Path, after: usize) -> bool {
    let mut left = after;
    let mut goes = || {
        left = left.checked_sub(1).ok_or(io::ErrorKind::Interrupted)?;
        Ok(())
    };
    Directory::open_with(path, WALL, &mut goes).is_err()
}

fn some() -> impl Strategy<Value = Content> {
    let peers = prop::collection::btree_set(1..40u8, 1..4);
    let swarms = prop::collection::btree_map(0..60u8, peers, 0..12);
    let sheets = prop::collection::btree_map(0..60u8, 100..5000u32, 0..8);
    (swarms, sheets).prop_map(|(swarms, sheets)| Content { swarms, sheets })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_kill_at_any_moment_of_a_move_loses_nothing_and_doubles_nothing(
        before in some(),
        kills in prop::collection::vec(0..60usize, 0..4),
    ) {
        let path = tempfile::tempdir().unwrap();
        write_old(path.path(), &before);
        for after in kills {
            killed(path.path(), after);
        }
        let directory = Directory::open_with(path.path(), WALL, &mut || Ok(())).unwrap();
        prop_assert_eq!(content(&directory, 0..60), before);
        assert_settled(&directory);
    }
}

#[test]
fn every_single_step_of_a_move_can_be_the_last() {
    let before = Content {
        swarms: (0..9)
            .map(|swarm| (swarm, (1..=swarm + 1).collect()))
            .collect(),
        sheets: (0..5)
            .map(|swarm| (swarm, 1000 + u32::from(swarm)))
            .collect(),
    };
    let mut steps = 0;
    loop {
        let path = tempfile::tempdir().unwrap();
        write_old(path.path(), &before);
        let died = killed(path.path(), steps);
        let key = read_key(&path.path().join("key")).unwrap();
        let directory = Directory::open_with(path.path(), WALL, &mut || Ok(())).unwrap();
        if let Some(key) = key {
            assert_eq!(key, directory.key, "once it is there, it stays");
        }
        assert_eq!(content(&directory, 0..60), before, "{steps}");
        assert_settled(&directory);
        if !died {
            break;
        }
        steps += 1;
    }
    assert!(steps > 20, "{steps}: files, key, places");
}

#[test]
fn what_an_earlier_version_wrote_is_read_and_every_file_holds_its_own() {
    let path = tempfile::tempdir().unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foldhash");
    for entry in fs::read_dir(recorded).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), path.path().join(entry.file_name())).unwrap();
    }
    let directory = Directory::open_with(path.path(), WALL, &mut || Ok(())).unwrap();
    assert_ne!(directory.key, [0; 16]);
    let expected = Content {
        swarms: (1..=12)
            .map(|swarm| (swarm, (1..=swarm).collect()))
            .collect(),
        sheets: (1..=6)
            .map(|swarm| (swarm, 700 + u32::from(swarm)))
            .collect(),
    };
    assert_eq!(content(&directory, 0..60), expected);
    assert_settled(&directory);
    let again = Directory::open(path.path()).unwrap();
    assert_eq!(again.key, directory.key);
    assert_eq!(content(&again, 0..60), expected);
}

#[test]
fn a_lost_key_loses_nothing_else() {
    let path = tempfile::tempdir().unwrap();
    let before = Content {
        swarms: (0..9)
            .map(|swarm| (swarm, BTreeSet::from([1, 2, 3])))
            .collect(),
        sheets: (0..5).map(|swarm| (swarm, 1000)).collect(),
    };
    write_old(path.path(), &before);
    for damage in [None, Some("16 bytes, no key")] {
        match damage {
            None => fs::remove_file(path.path().join("key")).unwrap(),
            Some(text) => fs::write(path.path().join("key"), text).unwrap(),
        }
        let directory = Directory::open_with(path.path(), WALL, &mut || Ok(())).unwrap();
        assert_eq!(content(&directory, 0..60), before);
        assert_settled(&directory);
    }
}
