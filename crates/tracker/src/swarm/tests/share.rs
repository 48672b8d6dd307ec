//! One address that wants all the room there is.

use super::*;

const CAPS: SwarmRules = SwarmRules {
    max_peers: 10_000,
    max_swarms: 20_000,
    ..RULES
};

/// The same address on every port; then the next.
fn port(number: u16) -> PeerEndpoint {
    let [high, low] = number.to_be_bytes();
    PeerEndpoint::V4([198, 51, 100, 7, high, low])
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
        PeerEndpoint::V6(wire)
    };
    let come = (0..2_000).filter(|host| {
        let come = tracker.announce(1, household(*host), part(false), Want::V6(0));
        come.is_ok()
    });
    assert_eq!(come.count(), 121);
}

#[test]
fn one_address_cannot_begin_all_swarms() {
    let mut tracker = Tracker::new(SwarmRules {
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
    let now = crate::clock::FileTime {
        seconds: 0,
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
    let arrival = SwarmAnnounce {
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
    let mut tracker = Tracker::new(SwarmRules {
        max_peers: 1_000_000,
        ..RULES
    });
    for who in 0..1_000_000_u32 {
        let [a, b, c, d] = (0x0b00_0000 + who * 7).to_be_bytes();
        let at = PeerEndpoint::V4([a, b, c, d, 0x1a, 0xe1]);
        let come = tracker.announce((who % 200) as u8, at, part(false), Want::V4(0));
        assert!(come.is_ok(), "{who}");
    }
}
