//! What the files of swarms bring back, and what they refuse.

use super::*;
use crate::clock::FileTime;
use crate::sealed::BadFile;
use crate::swarm::snapshot::GROUPS;

fn at(minute: Minute, wall: u64) -> FileTime {
    let seconds = 60 * (minute.0 - START.0);
    FileTime { seconds, wall }
}

fn files(tracker: &Tracker, wall: u64) -> Vec<Vec<u8>> {
    let now = at(tracker.now, wall);
    (0..GROUPS)
        .filter_map(|group| tracker.swarms.capture(group, now))
        .collect()
}

fn read_back(files: &[Vec<u8>], rules: SwarmRules, wall: u64) -> Tracker {
    let tracker = Tracker::new(rules);
    for file in files {
        let read = tracker.swarms.restore(file, at(tracker.now, wall));
        assert!(read.is_ok(), "{read:?}");
    }
    tracker
}

/// Who is in a swarm, as one more peer of each family is told.
fn members(tracker: &mut Tracker, swarm: u8) -> Vec<PeerEndpoint> {
    let mut all = Vec::new();
    for stranger in [60_000, 60_001] {
        let known = tracker.announce(swarm, peer(stranger), part(false), Want::V4(200));
        assert!(known.is_ok());
        all.extend(tracker.given());
        let known = tracker.announce(swarm, peer(stranger), part(false), Want::V6(200));
        assert!(known.is_ok());
        all.extend(tracker.given());
        let left = tracker.announce(swarm, peer(stranger), Doing::Leaves, Want::V4(0));
        assert!(left.is_ok());
    }
    let mut all = sorted(all.into_iter());
    all.dedup();
    all
}

fn sorted(peers: impl Iterator<Item = PeerEndpoint>) -> Vec<PeerEndpoint> {
    let mut peers: Vec<_> = peers.collect();
    peers.sort_by_key(PeerEndpoint::socket);
    peers
}

#[test]
fn a_restart_forgets_nobody() {
    let mut before = Tracker::new(RULES);
    for swarm in 0..200u8 {
        for who in 0..u16::from(swarm) % 120 + 1 {
            before.comes(swarm, peer(who), who % 3 == 0);
        }
    }
    before.announce(3, v4(2), COMPLETED, Want::V4(0)).unwrap();
    let mut after = read_back(&files(&before, 1000), RULES, 1000);
    assert_eq!(after.swarms.totals(), before.swarms.totals());
    for swarm in 0..200 {
        let counts = |tracker: &Tracker| tracker.counts(swarm);
        assert_eq!(counts(&after), counts(&before), "{swarm}");
        assert_eq!(members(&mut after, swarm), members(&mut before, swarm));
    }
    let known = after.announce(3, v4(2), COMPLETED, Want::V4(0)).unwrap();
    assert_eq!(known.counts.completed, 1, "that it was counted is kept too");
}

#[test]
fn time_goes_on_while_nobody_runs() {
    let mut before = Tracker::new(RULES);
    before.comes(1, v4(1), false);
    before.now = before.now.plus(100);
    before.comes(1, v4(2), false);
    let files = files(&before, 50_000);
    let silent = |minutes_away: u64| {
        let mut after = read_back(&files, RULES, 50_000 + minutes_away * 60);
        members(&mut after, 1)
    };
    assert_eq!(silent(0), [v4(1), v4(2)]);
    assert_eq!(silent(80), [v4(1), v4(2)]);
    assert_eq!(silent(81), [v4(2)]);
    assert_eq!(silent(181), []);
    let mut earlier = read_back(&files, RULES, 0);
    assert_eq!(
        members(&mut earlier, 1),
        [v4(1), v4(2)],
        "a clock set back makes nobody older"
    );
    earlier.now = earlier.now.plus(81);
    assert_eq!(members(&mut earlier, 1), [v4(2)]);
}

#[test]
fn a_restart_forwards_nothing_early() {
    let mut before = Tracker::new(RULES);
    before.comes(1, v4(1), false);
    before.mirror(1, false, START.plus(30));
    let files = files(&before, 0);
    for (away, later, expected) in [
        (0, 29, Forward::NotDue),
        (0, 30, Forward::Due),
        (20, 9, Forward::NotDue),
        (20, 10, Forward::Due),
        (50, 0, Forward::Due),
    ] {
        let mut after = read_back(&files, RULES, away * 60);
        after.now = START.plus(later);
        assert_eq!(
            after.comes(1, v4(1), false).forward,
            expected,
            "{away} {later}"
        );
    }
    let mut never = Tracker::new(RULES);
    never.comes(2, v4(1), false);
    never.swarms.not_forwarded(&[2; 20]);
    let mut after = read_back(&super::files::files(&never, 0), RULES, 0);
    assert_eq!(after.comes(2, v4(1), false).forward, Forward::First);
}

#[test]
fn what_did_not_change_is_not_written_again() {
    let mut tracker = Tracker::new(RULES);
    tracker.comes(1, v4(1), false);
    assert_eq!(files(&tracker, 0).len(), 1);
    assert_eq!(files(&tracker, 0).len(), 0);
    tracker.comes(1, v4(1), false);
    assert_eq!(files(&tracker, 0).len(), 1, "it announced again");
    tracker
        .announce(1, v4(1), Doing::Leaves, Want::V4(0))
        .unwrap();
    let empty = files(&tracker, 0);
    assert_eq!(empty.len(), 1, "nobody is there any more");
    assert_eq!(
        read_back(&empty, RULES, 0).swarms.totals(),
        Totals::default()
    );
}

#[test]
fn a_damaged_file_is_refused() {
    let mut tracker = Tracker::new(RULES);
    for who in 0..200 {
        tracker.comes(1, peer(who), false);
    }
    let file = files(&tracker, 0).remove(0);
    let read = |file: &[u8]| Tracker::new(RULES).swarms.restore(file, at(START, 0));
    assert_eq!(read(&file), Ok(200));
    for cut in [0, 5, 31, 32, 40, 100, file.len() - 1] {
        assert!(read(&file[..cut]).is_err(), "{cut}");
    }
    for place in [0, 8, 30, 500, file.len() - 1] {
        let mut changed = file.clone();
        changed[place] ^= 1;
        assert!(read(&changed).is_err(), "{place}");
    }
    let mut lying = file[..file.len() - 32].to_vec();
    lying[48] = 0xff; // so many peers are not there
    let checksum = blake3::hash(&lying);
    lying.extend_from_slice(checksum.as_bytes());
    assert_eq!(read(&lying), Err(BadFile::Content));
}

#[test]
fn a_large_swarm_is_copied_in_slices() {
    let mut tracker = Tracker::new(RULES);
    for who in 0..30_000u16 {
        tracker.comes(1, v4(who), who % 2 == 0);
    }
    for who in 0..5_000u16 {
        tracker.comes(1, peer(who * 2 + 1), false);
    }
    let after = read_back(&files(&tracker, 0), RULES, 0);
    assert_eq!(after.swarms.totals(), tracker.swarms.totals());
}

#[test]
fn a_swarm_in_two_files_has_the_peers_of_both_each_as_last_heard() {
    let mut early = Tracker::new(RULES);
    let mut late = Tracker::new(RULES);
    late.now = START.plus(100);
    for who in 0..100 {
        early.comes(1, peer(who), false);
    }
    for who in 50..200 {
        late.comes(1, peer(who), true);
    }
    let (early, late) = (files(&early, 0).remove(0), files(&late, 100 * 60).remove(0));
    for order in [[&early, &late], [&late, &early]] {
        let order: Vec<_> = order.into_iter().cloned().collect();
        let mut after = read_back(&order, RULES, 100 * 60);
        assert_eq!(after.swarms.totals().peers(), 200);
        assert_eq!(after.swarms.totals().swarms, 1);
        assert_eq!(after.counts(1), counts(150, 50));
        assert_eq!(members(&mut after, 1), sorted((0..200).map(peer)));
        after.now = after.now.plus(81);
        after.sweep();
        let left = after.counts(1);
        assert_eq!(left, counts(150, 0), "who was in the early file alone");
        let mut counting = read_back(
            &order,
            SwarmRules {
                max_peers_per_ip: Some(2),
                ..RULES
            },
            100 * 60,
        );
        counting.comes(2, v4(50), false);
        let third = counting.announce(3, v4(50), part(false), Want::V4(0));
        assert_eq!(third, Err(Full::Address), "it was counted once, not twice");
    }
}

#[test]
fn addresses_are_counted_on_after_a_restart() {
    let rules = SwarmRules {
        max_peers_per_ip: Some(2),
        ..RULES
    };
    let mut tracker = Tracker::new(rules);
    tracker.comes(1, v4(1), false);
    tracker.comes(2, v4(1), false);
    let mut after = read_back(&files(&tracker, 0), rules, 0);
    let third = after.announce(3, v4(1), part(false), Want::V4(0));
    assert_eq!(third, Err(Full::Address));
}
