//! What an overloaded tracker says of itself: records, the last minute, and counters that add up.

use proptest::prelude::*;
use weir_testkit::zoo::http::RetryAfter;

use super::*;
use crate::forwarding::overload::Overload;
use crate::lists::Lists;

impl World {
    fn sentences(&self) -> Vec<String> {
        let decisions = self.engine.own_decisions();
        decisions
            .iter()
            .map(weir_engine::OwnDecision::sentence)
            .collect()
    }

    fn overloads(&self) -> Vec<(Overload, u64)> {
        let overloads = self.tracker.forwarding.overloads();
        let lately = overloads.lately(self.clock.now().seconds);
        lately.iter().map(|one| (one.what, one.count)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn refused_first_announces_are_one_record_with_a_count_and_an_example() {
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let config = Config {
        rate_limit_initial_burst: number(3),
        rate_limit_initial_per_sec: number(1),
        ..config
    };
    let world = World::new(&network, &config);
    world.engine.hold();
    for swarm in 1..=83 {
        world.announce(swarm, 1).await;
    }
    assert!(world.sentences().is_empty() && world.overloads().is_empty());
    let first = Announce {
        peer_id: PeerId(*b"-qB4650-abcdefghijkl"),
        ..announce(0xab, 1, Event::None)
    };
    assert!(world.ask_as(&first, 1).is_err());
    world.until(3 * SECOND / 2).await;
    assert_eq!(
        world.sentences(),
        [
            "First announce of torrent abababab…abab (qBittorrent 4.6.5) refused: the limit of 1 per second was reached. The client was told to retry in 300 s."
        ]
    );
    for swarm in 180..=240 {
        let _ = world.ask(swarm, 1, Event::None);
    }
    world.until(3 * SECOND).await;
    let told = world.sentences();
    assert_eq!(told.len(), 1, "a burst is one record: {told:?}");
    assert!(
        told[0].starts_with("61 first announces refused: the limit of 1 per second"),
        "{told:?}"
    );
    assert_eq!(world.overloads(), [(Overload::NoToken, 61)]);
    world.until(2 * MINUTE).await;
    assert_eq!(world.overloads(), [], "it is over");
    assert_eq!(world.sentences().len(), 1, "the record stays");
}

#[tokio::test(start_paused = true)]
async fn a_full_tracker_and_a_crowded_address_are_told_in_records_and_log_and_only_the_first_is_an_overload()
 {
    weir_testkit::log::listen();
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let config = Config {
        max_swarms: number(3),
        max_peers_per_ip: Some(number(2)),
        ..config
    };
    let world = World::new(&network, &config);
    for (swarm, peer) in [(1, 1), (2, 1), (3, 2)] {
        world.announce(swarm, peer).await;
    }
    assert!(
        world.ask(3, 1, Event::None).is_err(),
        "two of its peers are here"
    );
    for swarm in [4, 5] {
        assert!(
            world.ask(swarm, 2, Event::None).is_err(),
            "three swarms are"
        );
    }
    world.until(2 * SECOND).await;
    assert_eq!(
        world.sentences(),
        [
            "New peer for torrent 03030303…0303 from 10.0.0.1 refused: too many peers from one address. The client was told to retry in 30 minutes.",
            "2 new peers refused: the tracker is full (max_peers or max_swarms reached); most recently 04040404…0404. The clients were told to retry in 30 minutes.",
        ]
    );
    let log = weir_testkit::log::all();
    assert!(
        world.sentences().iter().all(|words| log.contains(words)),
        "{log}"
    );
    // One address that has too many peers says nothing about the tracker.
    assert_eq!(world.overloads(), [(Overload::Full, 2)]);
}

/// How many a line of the log tells of.
fn refused_in(line: &str) -> u64 {
    let (before, _) = line
        .split_once(" first announces refused")
        .unwrap_or((line, ""));
    let number = before.rsplit(' ').next().and_then(|word| word.parse().ok());
    number.unwrap_or(1)
}

#[tokio::test(start_paused = true)]
async fn an_overload_is_logged_now_and_then_in_the_words_of_its_record() {
    weir_testkit::log::listen();
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let config = Config {
        rate_limit_initial_burst: number(3),
        rate_limit_initial_per_sec: number(1),
        drop_log_every: 10 * SECOND,
        ..config
    };
    let world = World::new(&network, &config);
    world.engine.hold();
    for swarm in 1..=83 {
        world.announce(swarm, 1).await;
    }
    let logged = || -> Vec<String> {
        let all = weir_testkit::log::all();
        let lines = all
            .lines()
            .filter(|line| line.contains(" refused: the limit of 1 per second"));
        lines.map(str::to_owned).collect()
    };
    assert!(world.ask(0xab, 1, Event::None).is_err());
    world.until(3 * SECOND / 2).await;
    let lines = logged();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let words = &world.sentences()[0];
    assert!(
        lines[0].contains("WARN") && lines[0].contains(words),
        "{lines:?}"
    );
    // Not each second: the next line tells of all since the last one.
    for (second, wanted) in [(2, 1), (12, 2)] {
        world.until(second * SECOND).await;
        for swarm in 0..20 {
            let _ = world.ask(100 + swarm, 1, Event::None);
        }
        world.until((second + 2) * SECOND).await;
        let lines = logged();
        assert_eq!(lines.len(), wanted, "{lines:?}");
    }
    // The end of the burst needs no further refusal to be told.
    world.until(2 * MINUTE).await;
    let lines = logged();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let told: u64 = lines.iter().map(|line| refused_in(line)).sum();
    let overloads = world.tracker.forwarding.overloads();
    assert_eq!(told, overloads.total(Overload::NoToken), "{lines:?}");
    let last = &lines[2];
    assert!(
        last.contains(" first announces refused: the limit of 1 per second was reached"),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_torrent_that_is_not_served_is_told_in_records_and_log_and_is_no_overload() {
    weir_testkit::log::listen();
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let world = World::new(&network, &config);
    world.tracker.set_terms(ClientTerms {
        lists: Lists::of(Some(&[1, 2]), &[2]),
        ..split(&config).1.terms
    });
    world.announce(1, 1).await;
    for swarm in [2, 3, 3] {
        let told = world.ask(swarm, 1, Event::None);
        assert_eq!(told, Err(TrackerRefusal::NotServed));
    }
    world.until(2 * SECOND).await;
    assert_eq!(
        world.sentences(),
        [
            "Announce of torrent 02020202…0202 refused: torrents in deny_file are not served.",
            "2 announces refused: torrents not in allow_file are not served; most recently 03030303…0303.",
        ]
    );
    let log = weir_testkit::log::all();
    assert!(
        world.sentences().iter().all(|words| log.contains(words)),
        "{log}"
    );
    assert_eq!(world.overloads(), [], "the tracker copes");
    assert_eq!(world.engine.status().counters.refused, 3);
}

#[tokio::test(start_paused = true)]
async fn who_is_answered_and_put_off_waits_at_least_as_long_as_the_record_says() {
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let world = World::new(&network, &config);
    let rules = ForwardRules {
        peers: true,
        ..split(&config).1.terms.forwarding
    };
    world.set_rules(rules);
    world.engine.hold();
    for swarm in 1..=100 {
        world.announce(swarm, 1).await;
    }
    let mut told = Vec::new();
    for swarm in 101..=140 {
        told.push(world.ask(swarm, 1, Event::None).expect("a reply").interval);
        world.until(world.time() + SECOND / 100).await;
    }
    world.until(world.time() + 2 * SECOND).await;
    let own = world.engine.own_decisions();
    let waits = own.iter().filter_map(|one| one.own.retry);
    let least = waits.min().expect("they were told to wait").as_secs();
    assert!(
        told.iter().all(|told| u64::from(*told) >= least),
        "{told:?} {own:?}"
    );
    for words in world.sentences() {
        assert!(words.contains(" were told to wait at least "), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_first_announces_and_drops_the_others() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 1).await;
    trackers[0].set(good(60, &[]));
    for peers in [false, true] {
        let world = World::new(&network, &config);
        world.announce(1, 1).await;
        world.set_rules(ForwardRules {
            limit_at: 0,
            peers,
            ..split(&config).1.terms.forwarding
        });
        world.engine.hold();
        for swarm in 2..=101 {
            world.announce(swarm, 1).await;
        }
        let first = world.ask(102, 1, Event::None);
        assert_eq!(first.is_ok(), peers);
        world.until(MINUTE).await;
        world.announce(1, 1).await;
        world.until(62 * SECOND).await;
        let told = world.sentences();
        assert_eq!(
            told[0],
            "Re-announce of 01010101…0101 dropped: queue full (100)."
        );
        let (first, kind) = match peers {
            false => (
                "First announce of torrent 66666666…6666 refused: queue full (100). The client was told to retry in 30 minutes.",
                Overload::FirstFull,
            ),
            true => (
                "First announce of torrent 66666666…6666 answered with known peers but not forwarded: queue full (100). The client was told to wait at least 30 minutes.",
                Overload::FirstFullAnswered,
            ),
        };
        assert_eq!(told[1..], [first]);
        let total = |what| world.tracker.forwarding.overloads().total(what);
        assert_eq!((total(kind), total(Overload::AgainFull)), (1, 1));
        let counters = world.engine.status().counters;
        let (dropped, refused) = if peers { (2, 0) } else { (1, 1) };
        assert_eq!((counters.dropped, counters.refused), (dropped, refused));
    }
}

#[tokio::test(start_paused = true)]
async fn only_forwarders_that_would_have_been_asked_count_as_left_out() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 30).await;
    for tracker in &trackers[..8] {
        tracker.set(Behaviour::Status(404, RetryAfter::None));
    }
    let world = World::new(&network, &config);
    world.announce(9, 1).await;
    world.engine.hold();
    for swarm in 1..=3 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(world.engine.status().counts.queued, 66, "22 of each");
    world.announce(4, 1).await;
    let status = world.engine.status();
    assert_eq!((status.counts.queued, status.throttled), (86, 2));
    // None of them is due.
    world.announce(9, 2).await;
    assert_eq!(world.engine.status().throttled, 2);
    world.set_rules(ForwardRules {
        limit_at: 0,
        throttle_at: 0,
        ..split(&config).1.terms.forwarding
    });
    world.announce(5, 1).await;
    let status = world.engine.status();
    assert_eq!((status.counts.queued, status.throttled), (100, 10));
    world.until(2 * SECOND).await;
    assert_eq!(
        world.sentences(),
        [
            "Announce of 05050505…0505 not sent to 8 forwarders: queue full (100).",
            "Announce of 04040404…0404 sent to only 20 forwarders, 2 left out: queue at 66 %.",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn events_wait_in_a_ring_as_long_as_queue_and_agenda_and_are_counted_beyond() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let config = Config {
        forwarder_queue_size: number(4),
        forward_events_per_minute: 0,
        ..config(&[("a", &tracker.url())])
    };
    let world = World::new(&network, &config);
    for peer in 1..=4 {
        world.announce(peer, peer).await;
    }
    // All before the forwarders have looked into their ring.
    for peer in 1..=60 {
        world.ask(70, peer, Event::Completed).expect("a reply");
    }
    for peer in 1..=4 {
        world.ask(peer, peer, Event::Stopped).expect("a reply");
    }
    // The same of a peer that left at another node: nobody here asked for anything.
    let before = world.engine.status().counters;
    let elsewhere = world
        .tracker
        .terms()
        .trust
        .endpoints(&announce(5, 5, Event::Stopped), address(5))
        .0;
    world
        .tracker
        .forwarding
        .send_left(&[5; 20], elsewhere, true);
    assert_eq!(world.engine.status().counters, before);
    world.until(2 * SECOND).await;
    assert_eq!(
        world.sentences(),
        [
            "5 stopped events will be sent to trackers later: 44 events were already waiting.",
            "16 completed events were not forwarded: 44 events were already waiting; most recently 46464646…4646.",
        ]
    );
    world.until(5 * MINUTE).await;
    let told = events(&tracker.seen());
    let count = |event: &str| told.iter().filter(|told| *told == event).count();
    assert_eq!(
        count("completed"),
        44,
        "none of those that found room is lost"
    );
    assert_eq!(count("stopped"), 4, "the check for silent peers made up");
    let counters = world.engine.status().counters;
    // Those that were told later are no drops: their calls were made, and counted.
    assert_eq!((counters.dropped, counters.waiting()), (16, 0));
}

#[tokio::test(start_paused = true)]
async fn slow_forwarders_that_are_left_out_are_told_and_the_tracker_copes() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 2).await;
    trackers[0].set(Behaviour::Hang);
    let config = Config {
        forwarder_queue_size: number(40),
        ..config
    };
    let world = World::new(&network, &config);
    for swarm in 1..=4 {
        world.announce(swarm, 1).await;
    }
    world.until(3 * SECOND).await;
    for swarm in 5..=35 {
        world.announce(swarm, 1).await;
    }
    world.until(5 * SECOND).await;
    assert_eq!(world.view("1").status.queued, 20, "half of the queue");
    assert_eq!(trackers[1].seen().len(), 35);
    assert_eq!(
        world.sentences(),
        ["Slow forwarders already fill half the queue: 11 announces were not sent to them."]
    );
    assert_eq!(world.engine.status().throttled, 11);
    assert_eq!(world.overloads(), []);
}

/// What may happen to a tracker.
#[derive(Clone, Debug)]
enum Step {
    Announce(u8, u8, Event),
    Scrape,
    Trackers(u8),
    Hold(bool),
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        4 => Just(Event::None),
        1 => Just(Event::Started),
        1 => Just(Event::Completed),
        1 => Just(Event::Stopped),
    ];
    prop_oneof![
        12 => (1..30u8, 1..6u8, event).prop_map(|(swarm, peer, event)| Step::Announce(swarm, peer, event)),
        1 => Just(Step::Scrape),
        1 => (0..6u8).prop_map(Step::Trackers),
        1 => any::<bool>().prop_map(Step::Hold),
        3 => (0..400u16).prop_map(Step::Wait),
    ]
}

fn behaviour(number: u8) -> Behaviour {
    match number {
        0 => Behaviour::Status(500, RetryAfter::None),
        1 => Behaviour::Status(429, RetryAfter::None),
        2 => Behaviour::RetryNever,
        3 => Behaviour::RetryIn(1),
        _ => good(60, &["198.51.100.7:1"]),
    }
}

async fn counters_add_up(steps: Vec<Step>) {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 5).await;
    let config = Config {
        forwarder_queue_size: number(12),
        rate_limit_initial_burst: number(2),
        forward_events_per_minute: 6,
        ..config
    };
    let world = World::new(&network, &config);
    let (mut asked, mut refused) = (0, 0);
    let mut before = world.engine.status().counters;
    for step in steps {
        match step {
            Step::Announce(swarm, peer, event) => {
                asked += 1;
                refused += u64::from(world.ask(swarm, peer, event).is_err());
            }
            Step::Scrape => {
                asked += 1;
                world.tally.count(TallyKind::UdpScrape);
            }
            Step::Trackers(number) => {
                for tracker in &trackers[..3] {
                    tracker.set(behaviour(number));
                }
            }
            Step::Hold(true) => world.engine.hold(),
            Step::Hold(false) => world.engine.release(),
            Step::Wait(seconds) => {
                world
                    .until(world.time() + u32::from(seconds) * SECOND)
                    .await
            }
        }
        let counters = world.engine.status().counters;
        let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.asked, "{counters:?}");
        for (was, is) in before.parts().iter().zip(counters.parts()) {
            assert!(was.1 <= is.1 || was.0 == "waiting", "{was:?} {is:?}");
        }
        before = counters;
    }
    for tracker in &trackers {
        tracker.set(good(1800, &[]));
    }
    world.engine.release();
    // Put off once more at the longest, and every retry over.
    world.until(world.time() + 6 * MINUTE).await;
    let counters = world.engine.status().counters;
    assert_eq!(counters.waiting(), 0, "{counters:?}");
    assert_eq!(counters.refused, refused);
    // Every request is in one place: answered alone, handed on, dropped or refused.
    let by_themselves = world.tallies.by_themselves();
    let passed = world.tallies.total(TallyKind::UdpPassed);
    let alone = by_themselves.from_memory + by_themselves.dropped + by_themselves.refused;
    assert_eq!(alone + passed, asked);
    // One that was handed on counts for each job that it made, or once.
    assert!(counters.asked >= alone + passed, "{counters:?}");
    // No call is counted as sent that was not made: each is, at least once, in what trackers saw.
    let seen = trackers.iter().map(|tracker| tracker.seen().len() as u64);
    assert!(counters.sent <= seen.sum(), "{counters:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn counters_add_up_at_any_time(steps in prop::collection::vec(step(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(counters_add_up(steps));
    }
}
