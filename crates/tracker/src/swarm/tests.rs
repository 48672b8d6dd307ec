use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

pub(crate) const RULES: Rules = Rules {
    age: Age(180),
    count_by: CountBy::Endpoint,
    max_swarms: 1_000_000,
    max_peers: 1_000_000,
    max_peers_per_ip: None,
    forwards: true,
};

const START: Minute = Minute::START;

/// A peer by a number; odd ones are of IPv6.
fn peer(who: u16) -> Endpoint {
    let [high, low] = who.to_be_bytes();
    if who.is_multiple_of(2) {
        Endpoint::V4([10, 0, high, low, 0x1a, 0xe1])
    } else {
        let mut wire = [0; 18];
        wire[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        wire[14..].copy_from_slice(&[high, low, 0x1a, 0xe1]);
        Endpoint::V6(wire)
    }
}

fn v4(who: u16) -> Endpoint {
    let [high, low] = who.to_be_bytes();
    Endpoint::V4([10, 0, high, low, 0x1a, 0xe1])
}

struct Tracker {
    swarms: Swarms,
    random: fastrand::Rng,
    now: Minute,
    v4: Vec<u8>,
    v6: Vec<u8>,
}

impl Tracker {
    fn new(rules: Rules) -> Self {
        Self {
            swarms: Swarms::new(rules, [7; 16]),
            random: fastrand::Rng::with_seed(7),
            now: START,
            v4: Vec::new(),
            v6: Vec::new(),
        }
    }

    fn announce(
        &mut self,
        swarm: u8,
        at: Endpoint,
        doing: Doing,
        want: Want,
    ) -> Result<Known, Full> {
        let arrival = Arrival {
            hash: [swarm; 20],
            at,
            also: None,
            doing,
            want,
        };
        self.say(&arrival)
    }

    fn say(&mut self, arrival: &Arrival) -> Result<Known, Full> {
        self.v4.clear();
        self.v6.clear();
        let out = [&mut self.v4, &mut self.v6];
        self.swarms
            .announce(arrival, (self.now, |_| true), &mut self.random, out)
    }

    fn comes(&mut self, swarm: u8, at: Endpoint, seeder: bool) -> Known {
        self.announce(swarm, at, part(seeder), Want::OwnFirst(200))
            .expect("there is room")
    }

    fn sweep(&self) {
        for shard in 0..SHARDS {
            self.swarms.sweep(shard, self.now);
        }
    }

    /// Who was given in the last reply.
    fn given(&self) -> Vec<Endpoint> {
        let v4 = self
            .v4
            .chunks(6)
            .map(|wire| Endpoint::V4(wire.try_into().expect("peers are given whole")));
        let v6 = self
            .v6
            .chunks(18)
            .map(|wire| Endpoint::V6(wire.try_into().expect("peers are given whole")));
        v4.chain(v6).collect()
    }
}

fn part(seeder: bool) -> Doing {
    Doing::TakesPart {
        seeder,
        completed: false,
        paused: false,
    }
}

const COMPLETED: Doing = Doing::TakesPart {
    seeder: true,
    completed: true,
    paused: false,
};

fn counts(seeders: u32, leechers: u32) -> Counts {
    Counts {
        seeders,
        leechers,
        completed: 0,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Comes(u8, u16, bool),
    Leaves(u8, u16),
    Time(u16),
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    let swarm = 0..3u8;
    let who = 0..150u16;
    prop_oneof![
        12 => (swarm.clone(), who.clone(), any::<bool>()).prop_map(|(swarm, who, seeder)| Step::Comes(swarm, who, seeder)),
        3 => (swarm, who).prop_map(|(swarm, who)| Step::Leaves(swarm, who)),
        1 => (0..100u16).prop_map(Step::Time),
        1 => Just(Step::Sweep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same history in swarms and in plain maps, through every form a record can have.
    #[test]
    fn swarms_hold_who_announced(steps in prop::collection::vec(step(), 0..1200)) {
        let mut tracker = Tracker::new(RULES);
        let mut model: BTreeMap<(u8, u16), (bool, Minute)> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Comes(swarm, who, seeder) => {
                    let now = tracker.now;
                    let fresh = |seen: Minute| now.0 - seen.0 <= 180;
                    let before = model.insert((swarm, who), (seeder, now));
                    let known = tracker.comes(swarm, peer(who), seeder);
                    // One who was forgotten may have been taken out or not yet.
                    if before.is_none_or(|(_, seen)| fresh(seen)) {
                        prop_assert_eq!(known.new, before.is_none());
                    }
                    let given = tracker.given();
                    let others = model.iter().filter(|((of, other), (_, seen))| {
                        *of == swarm && *other != who && fresh(*seen)
                    });
                    let others: Vec<_> = others.map(|((_, other), _)| peer(*other)).collect();
                    prop_assert!(given.iter().all(|peer| others.contains(peer)));
                    prop_assert_eq!(given.len(), others.len().min(200));
                }
                Step::Leaves(swarm, who) => {
                    model.remove(&(swarm, who));
                    let known = tracker.announce(swarm, peer(who), Doing::Leaves, Want::Both(50));
                    prop_assert!(known.is_ok());
                    prop_assert_eq!(tracker.given(), []);
                }
                Step::Time(minutes) => tracker.now = tracker.now.plus(minutes.into()),
                Step::Sweep => {
                    let now = tracker.now;
                    model.retain(|_, (_, seen)| now.0 - seen.0 <= 180);
                    // Announces look through large swarms too, a slice a minute, and a sweep goes on where they came to: what
                    // they saw when it was still fresh is seen again by the second one.
                    tracker.sweep();
                    tracker.sweep();
                    for swarm in 0..3 {
                        let of = model.iter().filter(|((of, _), _)| *of == swarm);
                        let (mut seeders, mut leechers) = (0, 0);
                        of.for_each(|(_, (seeder, _))| if *seeder { seeders += 1 } else { leechers += 1 });
                        prop_assert_eq!(tracker.swarms.scrape(&[swarm; 20]).0, counts(seeders, leechers));
                    }
                    let totals = tracker.swarms.totals();
                    prop_assert_eq!(totals.peers() as usize, model.len());
                    prop_assert_eq!(totals.seeders as usize, model.values().filter(|(seeder, _)| *seeder).count());
                    let swarms: std::collections::BTreeSet<_> = model.keys().map(|(swarm, _)| swarm).collect();
                    prop_assert_eq!(totals.swarms as usize, swarms.len());
                }
            }
        }
    }
}

#[test]
fn a_download_is_counted_once_per_peer() {
    let mut tracker = Tracker::new(RULES);
    tracker.comes(1, v4(1), false);
    for _ in 0..3 {
        let known = tracker.announce(1, v4(1), COMPLETED, Want::V4(0));
        assert_eq!(known.unwrap().counts.completed, 1);
    }
    let known = tracker.announce(1, v4(2), COMPLETED, Want::V4(0));
    assert_eq!(known.unwrap().counts.completed, 2, "also of one just met");
    assert_eq!(
        tracker.comes(1, v4(3), true).counts.completed,
        2,
        "a seeder from the start did not download here"
    );
}

#[test]
fn one_per_address_is_counted_in_small_swarms() {
    let by_address = Rules {
        count_by: CountBy::Address(64),
        ..RULES
    };
    let mut tracker = Tracker::new(by_address);
    let port = |port: u8| Endpoint::V4([10, 0, 0, 1, 0, port]);
    for number in 1..=64 {
        let known = tracker.comes(1, port(number), number <= 10);
        let expected = if number <= 10 {
            counts(1, 0)
        } else {
            counts(1, 1)
        };
        assert_eq!(known.counts, expected, "{number}");
    }
    let known = tracker.comes(1, port(65), false);
    assert_eq!(known.counts, counts(10, 55), "a large one counts endpoints");
    let known = tracker.comes(2, port(1), true);
    assert_eq!(known.counts, counts(1, 0));
    let known = tracker.comes(2, peer(1), true);
    assert_eq!(
        known.counts,
        counts(2, 0),
        "families have addresses of their own"
    );
    let mut endpoints = Tracker::new(RULES);
    endpoints.comes(1, port(1), true);
    assert_eq!(endpoints.comes(1, port(2), true).counts, counts(2, 0));
}

#[test]
fn a_client_of_both_families_gets_half_of_each() {
    let mut tracker = Tracker::new(RULES);
    for who in 0..200 {
        tracker.comes(1, peer(who), false);
    }
    let mut families = |want| {
        let known = tracker.announce(1, v4(0), part(false), want);
        assert!(known.is_ok());
        (tracker.v4.len() / 6, tracker.v6.len() / 18)
    };
    assert_eq!(families(Want::Both(50)), (25, 25));
    assert_eq!(families(Want::OwnFirst(50)), (50, 0));
    assert_eq!(
        families(Want::OwnFirst(150)),
        (99, 51),
        "the rest of the other"
    );
    assert_eq!(families(Want::V4(150)), (99, 0));
    assert_eq!(families(Want::Both(0)), (0, 0));
}

#[test]
fn a_second_address_is_kept_with_the_first_and_leaves_with_it() {
    let mut tracker = Tracker::new(RULES);
    let mut arrival = Arrival {
        hash: [1; 20],
        at: v4(1),
        also: Some(peer(1)),
        doing: part(false),
        want: Want::V4(0),
    };
    tracker.say(&arrival).unwrap();
    let totals = tracker.swarms.totals();
    assert_eq!((totals.swarms, totals.v4, totals.v6), (1, 1, 1));
    arrival.doing = Doing::Leaves;
    tracker.say(&arrival).unwrap();
    assert_eq!(tracker.swarms.totals(), Totals::default());
}

#[test]
fn a_client_with_two_addresses_counts_once_and_is_not_given_itself() {
    let mut tracker = Tracker::new(RULES);
    let arrival = Arrival {
        hash: [1; 20],
        at: v4(1),
        also: Some(peer(1)),
        doing: COMPLETED,
        want: Want::Both(50),
    };
    let known = tracker.say(&arrival).unwrap();
    assert_eq!(known.counts.completed, 1);
    assert_eq!(tracker.given(), []);
    let turned = Arrival {
        at: peer(1),
        also: Some(v4(1)),
        ..arrival
    };
    tracker.say(&turned).unwrap();
    assert_eq!(tracker.given(), []);
}

#[test]
fn many_addresses_do_not_fill_the_count_of_one() {
    let mut tracker = Tracker::new(Rules {
        max_peers_per_ip: Some(3),
        ..RULES
    });
    for who in 0..60_000 {
        let come = tracker.announce(1, v4(who), part(false), Want::V4(0));
        assert!(come.is_ok(), "{who}");
    }
}

#[test]
fn a_full_tracker_takes_nobody_new_and_keeps_who_is_there() {
    let mut tracker = Tracker::new(Rules {
        max_swarms: 2,
        max_peers: 3,
        ..RULES
    });
    tracker.comes(1, v4(1), false);
    tracker.comes(2, v4(1), false);
    let third = tracker.announce(3, v4(1), part(false), Want::V4(50));
    assert_eq!(third, Err(Full::Tracker), "no third swarm");
    tracker.comes(1, v4(2), false);
    let fourth = tracker.announce(1, v4(3), part(false), Want::V4(50));
    assert_eq!(fourth, Err(Full::Tracker), "no fourth peer");
    assert_eq!(
        tracker.comes(1, v4(2), true).counts,
        counts(1, 1),
        "it was there"
    );
    tracker
        .announce(1, v4(1), Doing::Leaves, Want::V4(0))
        .unwrap();
    tracker.comes(1, v4(3), false);
}

#[test]
fn one_address_has_only_so_many_peers() {
    let mut tracker = Tracker::new(Rules {
        max_peers_per_ip: Some(3),
        ..RULES
    });
    for swarm in 1..=3 {
        tracker.comes(swarm, v4(1), false);
    }
    let fourth = |tracker: &mut Tracker| tracker.announce(4, v4(1), part(false), Want::V4(0));
    assert_eq!(fourth(&mut tracker), Err(Full::Address));
    assert!(!tracker.comes(3, v4(1), true).new, "who is there may stay");
    tracker.comes(4, v4(2), false);
    tracker
        .announce(3, v4(1), Doing::Leaves, Want::V4(0))
        .unwrap();
    assert!(fourth(&mut tracker).is_ok(), "one left");
    tracker.now = tracker.now.plus(181);
    tracker.sweep();
    for swarm in 1..=3 {
        tracker.comes(swarm, v4(1), false);
    }
}

mod share {
    use super::*;

    const CAPS: Rules = Rules {
        max_peers: 10_000,
        max_swarms: 20_000,
        ..RULES
    };

    /// The same address on every port; then the next.
    fn port(number: u16) -> Endpoint {
        let [high, low] = number.to_be_bytes();
        Endpoint::V4([198, 51, 100, 7, high, low])
    }

    fn greedy(tracker: &mut Tracker, ports: std::ops::Range<u16>) -> usize {
        let come = ports.map(|number| tracker.announce(1, port(number), part(false), Want::V4(0)));
        let come: Vec<_> = come.collect();
        let refused = come.iter().filter(|come| come.is_err());
        refused.for_each(|come| assert_eq!(*come, Err(Full::Address)));
        let new = come.iter().filter(|come| come.is_ok_and(|known| known.new));
        new.count()
    }

    #[test]
    fn one_address_cannot_take_the_second_half() {
        let mut tracker = Tracker::new(CAPS);
        let taken = greedy(&mut tracker, 1..20_000);
        assert_eq!(taken, 5_000, "half of the peers");
        for who in 0..1_000 {
            tracker.comes(2, v4(who), false);
        }
        let known = tracker.comes(1, port(1), true);
        assert!(!known.new, "who is there may stay");
    }

    #[test]
    fn an_address_that_comes_late_gets_its_share_of_what_is_left() {
        let mut tracker = Tracker::new(CAPS);
        for who in 0..6_000 {
            tracker.comes(1, v4(who), false);
        }
        let taken = greedy(&mut tracker, 1..20_000);
        // A 32nd of 4,000, which become fewer as it takes them.
        assert_eq!(taken, 121);
        for number in 1..=20 {
            let left = tracker.announce(1, port(number), Doing::Leaves, Want::V4(0));
            assert!(left.is_ok());
        }
        let again = greedy(&mut tracker, 1..2_000);
        assert_eq!(again, 20, "who leaves gives room back");
        tracker.now = tracker.now.plus(181);
        tracker.sweep();
        assert_eq!(tracker.swarms.totals().peers(), 0);
        let taken = greedy(&mut tracker, 1..20_000);
        assert_eq!(taken, 5_000, "who is silent too");
    }

    #[test]
    fn a_network_of_64_bits_is_one_address() {
        let mut tracker = Tracker::new(CAPS);
        for who in 0..6_000 {
            tracker.comes(1, v4(who), false);
        }
        let household = |host: u16| {
            let mut wire = [0x20; 18];
            wire[8..10].copy_from_slice(&host.to_be_bytes());
            Endpoint::V6(wire)
        };
        let come = (0..2_000).filter(|host| {
            let come = tracker.announce(1, household(*host), part(false), Want::V6(0));
            come.is_ok()
        });
        assert_eq!(come.count(), 121);
    }

    #[test]
    fn one_address_cannot_begin_all_swarms() {
        let mut tracker = Tracker::new(Rules {
            max_swarms: 200,
            ..RULES
        });
        let begin = |tracker: &mut Tracker, swarm: u8, who| {
            tracker.announce(swarm, v4(who), part(false), Want::V4(0))
        };
        let begun = (0..=199).filter(|swarm| begin(&mut tracker, *swarm, 7).is_ok());
        assert_eq!(begun.count(), 100);
        for swarm in 100..=199 {
            let who = 1000 + u16::from(swarm);
            assert!(begin(&mut tracker, swarm, who).is_ok(), "{swarm}");
        }
        assert_eq!(begin(&mut tracker, 200, 8), Err(Full::Tracker));
        let joined = begin(&mut tracker, 150, 7);
        assert!(joined.is_ok(), "it may join what others began");
    }

    #[test]
    fn what_an_address_had_before_a_restart_counts() {
        let mut tracker = Tracker::new(CAPS);
        greedy(&mut tracker, 1..5_000);
        for who in 0..100 {
            tracker.comes(2, v4(who), false);
        }
        let after = Tracker::new(CAPS);
        let now = snapshot::Written {
            minute: START,
            wall: 0,
        };
        for group in 0..snapshot::GROUPS {
            if let Some(file) = tracker.swarms.capture(group, now) {
                after.swarms.restore(&file, now).unwrap();
            }
        }
        let mut after = after;
        assert_eq!(greedy(&mut after, 10_000..20_000), 0);
        after.comes(2, v4(5_000), false);
    }

    #[test]
    fn a_second_address_finds_room_or_is_left_out() {
        let mut tracker = Tracker::new(CAPS);
        greedy(&mut tracker, 1..5_001);
        let arrival = Arrival {
            hash: [2; 20],
            at: peer(1),
            also: Some(port(9_999)),
            doing: part(false),
            want: Want::V4(0),
        };
        assert!(tracker.say(&arrival).unwrap().new);
        let totals = tracker.swarms.totals();
        assert_eq!((totals.v4, totals.v6), (5_000, 1));
    }

    /// The table is small, so strangers share counters; as long as there is room that keeps nobody out.
    #[test]
    fn a_million_addresses_find_room_to_the_last_place() {
        let mut tracker = Tracker::new(Rules {
            max_peers: 1_000_000,
            ..RULES
        });
        for who in 0..1_000_000_u32 {
            let [a, b, c, d] = (0x0b00_0000 + who * 7).to_be_bytes();
            let at = Endpoint::V4([a, b, c, d, 0x1a, 0xe1]);
            let come = tracker.announce((who % 200) as u8, at, part(false), Want::V4(0));
            assert!(come.is_ok(), "{who}");
        }
    }
}

#[test]
fn a_household_of_ipv6_has_only_so_many_peers() {
    let mut tracker = Tracker::new(Rules {
        max_peers_per_ip: Some(3),
        ..RULES
    });
    for who in [1, 3, 5] {
        tracker.comes(1, peer(who), false);
    }
    let fourth = tracker.announce(1, peer(7), part(false), Want::V6(0));
    assert_eq!(fourth, Err(Full::Address));
    let left = tracker.announce(1, peer(1), Doing::Leaves, Want::V6(0));
    assert!(left.is_ok());
    tracker.comes(1, peer(7), false);
}

#[test]
fn silent_peers_are_forgotten_by_the_sweep_and_by_announces() {
    let mut tracker = Tracker::new(RULES);
    for who in 0..300 {
        tracker.comes(1, peer(who), who < 100);
    }
    tracker.comes(2, v4(1), false);
    tracker.now = tracker.now.plus(181);
    assert_eq!(
        tracker.comes(2, v4(2), false).counts,
        counts(0, 1),
        "a small swarm is looked through"
    );
    assert_eq!(tracker.given(), []);
    tracker.comes(1, v4(999), false);
    assert_eq!(tracker.given(), [], "nobody silent is given");
    tracker.sweep();
    assert_eq!(tracker.swarms.scrape(&[1; 20]).0, counts(0, 1));
    assert_eq!(tracker.swarms.totals().peers(), 2);
    tracker.now = tracker.now.plus(181);
    tracker.sweep();
    assert_eq!(tracker.swarms.totals(), Totals::default());
}

#[test]
fn who_wants_no_more_is_given_leechers_as_a_seeder_is() {
    let mut tracker = Tracker::new(RULES);
    for who in 0..100 {
        tracker.comes(1, v4(who), who < 60);
    }
    let paused = Doing::TakesPart {
        seeder: false,
        completed: false,
        paused: true,
    };
    let known = tracker.announce(1, v4(99), paused, Want::V4(30)).unwrap();
    assert_eq!(known.counts, counts(60, 40), "it is none");
    let leechers: Vec<_> = (60..100).map(v4).collect();
    assert!(tracker.given().iter().all(|peer| leechers.contains(peer)));
    assert_eq!(tracker.given().len(), 30);
}

#[test]
fn a_swarm_is_forwarded_first_and_then_when_it_is_due() {
    let mut tracker = Tracker::new(RULES);
    let forward = |tracker: &mut Tracker, who| tracker.comes(1, v4(who), false).forward;
    assert_eq!(forward(&mut tracker, 1), Forward::First);
    assert_eq!(
        forward(&mut tracker, 2),
        Forward::NotDue,
        "the first one is on its way"
    );
    tracker.swarms.set_forwarded(&[1; 20], Some(START.plus(30)));
    for (minutes, expected) in [
        (29, Forward::NotDue),
        (30, Forward::Due),
        (30, Forward::NotDue),
        (31, Forward::Due),
    ] {
        tracker.now = START.plus(minutes);
        assert_eq!(forward(&mut tracker, 1), expected, "{minutes}");
    }
    tracker.swarms.set_forwarded(&[1; 20], None);
    assert_eq!(
        forward(&mut tracker, 1),
        Forward::First,
        "it was refused, say"
    );
    let left = tracker
        .announce(1, v4(1), Doing::Leaves, Want::V4(0))
        .unwrap();
    assert_eq!(left.forward, Forward::NotDue);
}

/// Info hashes and peers as somebody makes them who wants to fill one bucket.
mod flood {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::swarm::entry::Entry;
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
        let peers: Vec<Entry<20>> = (0..MANY as u16)
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
}

mod files {
    use super::*;
    use crate::sealed::BadFile;
    use crate::swarm::snapshot::{GROUPS, Written};

    fn at(minute: Minute, wall: u64) -> Written {
        Written { minute, wall }
    }

    fn files(tracker: &Tracker, wall: u64) -> Vec<Vec<u8>> {
        let now = at(tracker.now, wall);
        (0..GROUPS)
            .filter_map(|group| tracker.swarms.capture(group, now))
            .collect()
    }

    fn read_back(files: &[Vec<u8>], rules: Rules, wall: u64) -> Tracker {
        let tracker = Tracker::new(rules);
        for file in files {
            let read = tracker.swarms.restore(file, at(tracker.now, wall));
            assert!(read.is_ok(), "{read:?}");
        }
        tracker
    }

    /// Who is in a swarm, as one more peer of each family is told.
    fn members(tracker: &mut Tracker, swarm: u8) -> Vec<Endpoint> {
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

    fn sorted(peers: impl Iterator<Item = Endpoint>) -> Vec<Endpoint> {
        let mut peers: Vec<_> = peers.collect();
        peers.sort_by_key(Endpoint::socket);
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
            let counts = |tracker: &Tracker| tracker.swarms.scrape(&[swarm; 20]).0;
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
        before.swarms.set_forwarded(&[1; 20], Some(START.plus(30)));
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
        never.swarms.set_forwarded(&[2; 20], None);
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
            assert_eq!(after.swarms.scrape(&[1; 20]).0, counts(150, 50));
            assert_eq!(members(&mut after, 1), sorted((0..200).map(peer)));
            after.now = after.now.plus(81);
            after.sweep();
            let left = after.swarms.scrape(&[1; 20]).0;
            assert_eq!(left, counts(150, 0), "who was in the early file alone");
            let mut counting = read_back(
                &order,
                Rules {
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
        let rules = Rules {
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
}
