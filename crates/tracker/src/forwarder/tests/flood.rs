//! Clients that send events again and again: what trackers hear of it, and what is delivered all the same.

use super::*;
use crate::forwarding::allowance::HeldBack;

impl World {
    /// An announce of a peer by its port.
    fn ask_at(&self, swarm: u8, peer: u8, port: u16, event: Event) {
        let announce = Announce {
            port: NonZeroU16::new(port).expect("not 0"),
            ..announce(swarm, peer, event)
        };
        self.ask_as(&announce, peer).expect("a reply");
    }
}

/// How often each event was told to a tracker.
fn told(tracker: &http::Tracker, event: &str) -> usize {
    let events = events(&tracker.seen());
    events.iter().filter(|told| *told == event).count()
}

async fn three(network: &Network) -> (Vec<http::Tracker>, Config) {
    let (trackers, config) = crowd(network, 3).await;
    let config = Config {
        forwarder_queue_size: number(10_000),
        ..config
    };
    (trackers, config)
}

#[tokio::test(start_paused = true)]
async fn a_thousand_completed_of_one_peer_are_one_call_per_forwarder() {
    for begins in [Event::Started, Event::Completed] {
        let network = Network::new();
        let (trackers, config) = three(&network).await;
        let world = World::new(&network, &config);
        world.event(1, 1, begins).await;
        for _ in 0..1000 {
            world.ask(1, 1, Event::Completed).expect("a reply");
            tokio::task::yield_now().await;
        }
        world.until(10 * MINUTE).await;
        for tracker in &trackers {
            assert_eq!(told(tracker, "completed"), 1, "after {begins:?}");
        }
        let counts = world.told(1);
        assert_eq!((counts.seeders, counts.completed), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_completed_is_a_regular_announce() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(900, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.event(1, 1, Event::Completed).await;
    world.until(899 * SECOND).await;
    world.event(1, 1, Event::Completed).await;
    assert_eq!(events(&tracker.seen()), ["completed"]);
    world.until(901 * SECOND).await;
    world.event(1, 1, Event::Completed).await;
    assert_eq!(events(&tracker.seen()), ["completed", ""], "when it is due");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_said_before_that_nothing_is_left_completes_once() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(900, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    let seeds = Announce {
        left: 0,
        ..announce(1, 1, Event::Started)
    };
    world.ask_as(&seeds, 1).expect("a reply");
    turn().await;
    for _ in 0..3 {
        world.event(1, 1, Event::Completed).await;
    }
    assert_eq!(events(&tracker.seen()), ["started", "completed"]);
    let counts = world.told(1);
    assert_eq!((counts.seeders, counts.completed), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_address_has_its_share_of_events_and_others_have_theirs() {
    let network = Network::new();
    let (trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    world.announce(1, 9).await;
    for _ in 0..300 {
        world.event(1, 1, Event::Completed).await;
        world.event(1, 1, Event::Stopped).await;
    }
    for tracker in &trackers {
        let (completed, stopped) = (told(tracker, "completed"), told(tracker, "stopped"));
        assert_eq!(completed + stopped, 60, "{completed} {stopped}");
    }
    world.event(1, 2, Event::Completed).await;
    world.event(1, 2, Event::Stopped).await;
    for tracker in &trackers {
        let (completed, stopped) = (told(tracker, "completed"), told(tracker, "stopped"));
        assert_eq!(completed + stopped, 62, "a second address");
    }
    let counts = world.told(1);
    assert!(counts.completed <= 61, "{counts:?}");
    world.until(60 * SECOND).await;
    world.event(1, 1, Event::Completed).await;
    assert!(told(&trackers[0], "completed") > 31, "a minute later");
}

#[tokio::test(start_paused = true)]
async fn neither_ports_nor_torrents_give_an_address_more_events() {
    let network = Network::new();
    let (trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    for port in 1..=400 {
        world.ask_at(1, 1, port, Event::Completed);
        turn().await;
    }
    assert_eq!(told(&trackers[0], "completed"), 60);
    assert_eq!(trackers[0].seen().len(), 60, "the others are not due");
    for swarm in 2..=200 {
        world.event(swarm, 2, Event::Completed).await;
    }
    for tracker in &trackers {
        assert_eq!(told(tracker, "completed"), 120);
        assert_eq!(told(tracker, "started"), 139, "announced like any other");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_with_many_torrents_is_taken_leave_of() {
    let network = Network::new();
    let (trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    for swarm in 1..=250 {
        world.announce(swarm, 1).await;
    }
    for swarm in 1..=250 {
        world.ask(swarm, 1, Event::Stopped).expect("a reply");
    }
    turn().await;
    for tracker in &trackers {
        assert_eq!(told(tracker, "stopped"), 60, "at once");
    }
    world.until(2 * MINUTE).await;
    for tracker in &trackers {
        let stopped = told(tracker, "stopped");
        assert!((150..=180).contains(&stopped), "{stopped} in two minutes");
    }
    world.until(6 * MINUTE).await;
    for tracker in &trackers {
        assert_eq!(told(tracker, "stopped"), 250, "none is lost");
    }
    assert_eq!(world.tracker.forwarding.ledger().totals().1, 0);
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_before_its_turn_is_not_taken_leave_of() {
    let network = Network::new();
    let (trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    for event in [Event::Started, Event::Stopped, Event::Started] {
        for swarm in 1..=100 {
            world.event(swarm, 1, event).await;
        }
    }
    world.until(10 * MINUTE).await;
    assert_eq!(told(&trackers[0], "stopped"), 60);
}

#[tokio::test(start_paused = true)]
async fn announces_and_goodbyes_of_nobody_cost_nothing() {
    let network = Network::new();
    let (trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    world.announce(1, 9).await;
    for event in [Event::Started, Event::None, Event::Paused] {
        for _ in 0..1000 {
            world.ask(1, 1, event).expect("a reply");
        }
        turn().await;
    }
    for _ in 0..500 {
        // Of a peer that is here and was never told of, and of one that is not here.
        world.ask(1, 2, Event::Started).expect("a reply");
        world.ask(1, 2, Event::Stopped).expect("a reply");
        world.ask(1, 2, Event::Stopped).expect("a reply");
        tokio::task::yield_now().await;
    }
    world.until(2 * MINUTE).await;
    assert_eq!(asked(&trackers), 3, "the first announce");
    world.event(1, 2, Event::Completed).await;
    world.event(1, 2, Event::Stopped).await;
    let told = events(&trackers[0].seen());
    assert_eq!(told, ["started", "completed", "stopped"], "nor its share");
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_counted_and_explained() {
    let network = Network::new();
    let (_trackers, config) = three(&network).await;
    let world = World::new(&network, &config);
    for _ in 0..1000 {
        world.ask(1, 1, Event::Completed).expect("a reply");
    }
    for port in 1..=100 {
        world.ask_at(1, 2, port, Event::Completed);
    }
    for swarm in 2..=200 {
        world.event(swarm, 3, Event::Started).await;
    }
    for swarm in 2..=200 {
        world.ask(swarm, 3, Event::Stopped).expect("a reply");
    }
    world.until(SECOND).await;
    let total = |why| world.tracker.forwarding.allowances().total(why);
    assert_eq!(HeldBack::ALL.map(total), [999, 40, 139]);
    let decisions = world.engine.own_decisions();
    let mut told: Vec<_> = decisions
        .iter()
        .map(|decision| (decision.own.kind.name(), decision.sentence()))
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            ("deduplicated", "10.0.0.1 repeated 999 completed events. They were answered but not forwarded again.".to_owned()),
            ("throttled", "10.0.0.2 sent more than 60 events in a minute: 40 completed events were stored and answered, but not sent to trackers.".to_owned()),
            ("throttled", "10.0.0.3 sent more than 60 events in a minute: 139 stopped events will be sent to trackers later.".to_owned()),
        ]
    );
    world.ask(1, 1, Event::Completed).expect("a reply");
    world.until(3 * SECOND).await;
    let decisions = world.engine.own_decisions();
    let counts: Vec<u64> = decisions.iter().map(|decision| decision.count).collect();
    assert_eq!(decisions.len(), 3, "a burst is one record");
    assert!(counts.contains(&1000), "{counts:?}");
    world.until(5 * MINUTE).await;
    assert_eq!(
        total(HeldBack::Delayed),
        139,
        "each once, however long it waits"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_back_where_nobody_is_told_or_no_limit_is_set() {
    let network = Network::new();
    let world = World::new(&network, &Config::default());
    for port in 1..=100 {
        world.ask_at(1, 1, port, Event::Completed);
        world.ask_at(1, 1, port, Event::Completed);
    }
    world.until(SECOND).await;
    assert!(world.engine.own_decisions().is_empty());
    let (trackers, config) = three(&network).await;
    let config = Config {
        forward_events_per_minute: 0,
        ..config
    };
    let world = World::new(&network, &config);
    for port in 1..=100 {
        world.ask_at(1, 1, port, Event::Completed);
        turn().await;
    }
    assert_eq!(told(&trackers[0], "completed"), 100);
    let counts = world.told(1);
    assert_eq!(counts.completed, 100);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_goodbye_says_what_its_peer_said_and_outlives_a_restart() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
    let config = Config {
        forward_events_per_minute: 1,
        ..config(&[("a", &tracker.url())])
    };
    let world = World::new(&network, &config);
    for swarm in 1..=2 {
        world.announce(swarm, 1).await;
        let leaves = Announce {
            uploaded: 70 + u64::from(swarm),
            downloaded: 8,
            left: 9,
            ..announce(swarm, 1, Event::Stopped)
        };
        world.ask_as(&leaves, 1).expect("a reply");
        turn().await;
    }
    assert_eq!(told(&tracker, "stopped"), 1);
    let world = world.again(SECOND, &config).await;
    // The new run has a new allowance, and looks at all of its sheets within a good minute.
    world.until(65 * SECOND).await;
    let queries = queries(&tracker.seen());
    let stopped: Vec<_> = queries
        .iter()
        .filter(|query| value(query, "event") == Some("stopped"))
        .map(|query| ["uploaded", "downloaded", "left"].map(|key| value(query, key)))
        .collect();
    let said = |uploaded| [Some(uploaded), Some("8"), Some("9")];
    assert_eq!(stopped, [said("71"), said("72")]);
    world.until(90 * MINUTE).await;
    let (sheets, _) = world.tracker.forwarding.ledger().totals();
    assert_eq!(sheets, 0, "nothing of it stays");
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_whose_turn_never_comes_is_forgotten_when_trackers_forget_the_peer() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let config = Config {
        forward_events_per_minute: 1,
        ..config(&[("a", &tracker.url())])
    };
    let world = World::new(&network, &config);
    for event in [Event::Started, Event::Stopped] {
        for swarm in 1..=200 {
            world.event(swarm, 1, event).await;
        }
    }
    let sheets = || world.tracker.forwarding.ledger().totals().0;
    world.until(88 * MINUTE).await;
    assert!(sheets() > 100, "{}", sheets());
    // An interval and an hour after the last announce, and once more around.
    world.until(93 * MINUTE).await;
    assert_eq!(sheets(), 0);
    assert!((80..=95).contains(&told(&tracker, "stopped")));
}
