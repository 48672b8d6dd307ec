mod files;
mod flood;
mod share;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

pub(crate) const RULES: SwarmRules = SwarmRules {
    age: Age(180),
    count_by: PeerCounting::Endpoint,
    max_swarms: 1_000_000,
    max_peers: 1_000_000,
    max_peers_per_ip: None,
    forwards: true,
};

const START: Minute = Minute::START;

/// A peer by a number; odd ones are of IPv6.
fn peer(who: u16) -> PeerEndpoint {
    let [high, low] = who.to_be_bytes();
    if who.is_multiple_of(2) {
        PeerEndpoint::V4([10, 0, high, low, 0x1a, 0xe1])
    } else {
        let mut wire = [0; 18];
        wire[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        wire[14..].copy_from_slice(&[high, low, 0x1a, 0xe1]);
        PeerEndpoint::V6(wire)
    }
}

fn v4(who: u16) -> PeerEndpoint {
    let [high, low] = who.to_be_bytes();
    PeerEndpoint::V4([10, 0, high, low, 0x1a, 0xe1])
}

struct Tracker {
    swarms: Swarms,
    random: fastrand::Rng,
    now: Minute,
    v4: Vec<u8>,
    v6: Vec<u8>,
}

impl Tracker {
    fn new(rules: SwarmRules) -> Self {
        Self {
            swarms: Swarms::new(rules, [7; 16]),
            random: fastrand::Rng::with_seed(7),
            now: START,
            v4: Vec::new(),
            v6: Vec::new(),
        }
    }

    fn counts(&self, swarm: u8) -> SwarmCounts {
        let local = self.swarms.local(&[swarm; 20]);
        local.unwrap_or_default().with(OtherPeers::default())
    }

    fn announce(
        &mut self,
        swarm: u8,
        at: PeerEndpoint,
        doing: Doing,
        want: Want,
    ) -> Result<AfterAnnounce, Full> {
        let arrival = SwarmAnnounce {
            hash: [swarm; 20],
            at,
            also: None,
            doing,
            want,
        };
        self.say(&arrival)
    }

    fn say(&mut self, arrival: &SwarmAnnounce) -> Result<AfterAnnounce, Full> {
        self.v4.clear();
        self.v6.clear();
        let out = [&mut self.v4, &mut self.v6];
        self.swarms
            .announce(arrival, (self.now, |_| true), &mut self.random, out)
    }

    fn comes(&mut self, swarm: u8, at: PeerEndpoint, seeder: bool) -> AfterAnnounce {
        self.announce(swarm, at, part(seeder), Want::OwnFirst(200))
            .expect("there is room")
    }

    /// The ledger says this of a swarm.
    fn mirror(&self, swarm: u8, pending: bool, due: Minute) {
        let mirrored = Mirrored {
            pending,
            peers: false,
            due,
        };
        self.swarms.mirror(&[swarm; 20], mirrored, self.now);
    }

    fn sweep(&self) {
        for shard in 0..SHARDS {
            self.swarms.sweep(shard, self.now);
        }
    }

    /// Who was given in the last reply.
    fn given(&self) -> Vec<PeerEndpoint> {
        let v4 = self
            .v4
            .chunks(6)
            .map(|wire| PeerEndpoint::V4(wire.try_into().expect("peers are given whole")));
        let v6 = self
            .v6
            .chunks(18)
            .map(|wire| PeerEndpoint::V6(wire.try_into().expect("peers are given whole")));
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

fn counts(seeders: u32, leechers: u32) -> SwarmCounts {
    SwarmCounts {
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
                        prop_assert_eq!(tracker.counts(swarm), counts(seeders, leechers));
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
    let by_address = SwarmRules {
        count_by: PeerCounting::Address(64),
        ..RULES
    };
    let mut tracker = Tracker::new(by_address);
    let port = |port: u8| PeerEndpoint::V4([10, 0, 0, 1, 0, port]);
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
    let mut arrival = SwarmAnnounce {
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
    let arrival = SwarmAnnounce {
        hash: [1; 20],
        at: v4(1),
        also: Some(peer(1)),
        doing: COMPLETED,
        want: Want::Both(50),
    };
    let known = tracker.say(&arrival).unwrap();
    assert_eq!(known.counts.completed, 1);
    assert_eq!(tracker.given(), []);
    let turned = SwarmAnnounce {
        at: peer(1),
        also: Some(v4(1)),
        ..arrival
    };
    tracker.say(&turned).unwrap();
    assert_eq!(tracker.given(), []);
}

#[test]
fn many_addresses_do_not_fill_the_count_of_one() {
    let mut tracker = Tracker::new(SwarmRules {
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
    let mut tracker = Tracker::new(SwarmRules {
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
    let mut tracker = Tracker::new(SwarmRules {
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

#[test]
fn a_household_of_ipv6_has_only_so_many_peers() {
    let mut tracker = Tracker::new(SwarmRules {
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
    assert_eq!(tracker.counts(1), counts(0, 1));
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
    tracker.mirror(1, false, START.plus(30));
    for (minutes, expected) in [
        (29, Forward::NotDue),
        (30, Forward::Due),
        (30, Forward::NotDue),
        (31, Forward::Due),
    ] {
        tracker.now = START.plus(minutes);
        assert_eq!(forward(&mut tracker, 1), expected, "{minutes}");
    }
    tracker.swarms.not_forwarded(&[1; 20]);
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

#[test]
fn while_calls_are_pending_a_swarm_that_is_due_waits_for_the_next_minute_and_no_longer() {
    let mut tracker = Tracker::new(RULES);
    let forward = |tracker: &mut Tracker| tracker.comes(1, v4(1), false).forward;
    tracker.mirror(1, true, START);
    assert_eq!(forward(&mut tracker), Forward::First, "it is none yet");
    tracker.mirror(1, true, START);
    assert_eq!(forward(&mut tracker), Forward::NotDue);
    tracker.mirror(1, true, START.plus(30));
    tracker.now = START.plus(5);
    assert_eq!(forward(&mut tracker), Forward::NotDue, "nobody is due");
    for minutes in [0, 1] {
        // Who comes later does not put it off again.
        tracker.now = START.plus(5 + minutes);
        tracker.mirror(1, true, START);
    }
    assert_eq!(forward(&mut tracker), Forward::Due);
    tracker.mirror(1, false, START);
    assert_eq!(forward(&mut tracker), Forward::Due, "nobody is asked");
    let swarms = &tracker.swarms;
    assert!(!swarms.flags(&[1; 20]).has(ForwardFlags::PENDING));
    swarms.not_forwarded(&[1; 20]);
    tracker.mirror(1, false, START.plus(90));
    assert_eq!(forward(&mut tracker), Forward::First, "whatever it says");
}
