//! Peers of other trackers in replies, and what trackers are told with an announce.

use super::*;

const FOREIGN: &str = "198.51.100.7:51413";

#[tokio::test(start_paused = true)]
async fn peers_are_merged_and_each_is_given_and_counted_once() {
    let network = Network::new();
    let one = tracker(
        &network,
        1,
        good(1800, &[FOREIGN, "198.51.100.8:1", "10.0.0.1:6881"]),
    )
    .await;
    let peers = [
        FOREIGN,
        "[2001:db8::7]:3",
        "10.0.0.2:6881",
        "0.0.0.0:5",
        "198.51.100.9:0",
    ];
    let two = tracker(&network, 2, good(1800, &peers)).await;
    let world = World::new(
        &network,
        &config(&[("one", &one.url()), ("two", &two.url())]),
    );
    let first = world.announce(1, 1).await;
    assert_eq!(first.counts, (0, 1), "nobody is known yet");
    let reply = world.announce(1, 2).await;
    let mut peers = reply.peers;
    peers.sort();
    let expected = [
        "10.0.0.1:6881",
        "198.51.100.7:51413",
        "198.51.100.8:1",
        "[2001:db8::7]:3",
    ];
    assert_eq!(
        peers,
        expected.map(at),
        "neither the asker nor anybody twice"
    );
    assert_eq!(
        reply.counts,
        (3, 2),
        "peers of others count as seeders, unless they are here"
    );
    let scraped = world
        .tracker
        .scrape(&world.tracker.terms(), InfoHash([1; 20]));
    assert_eq!(
        (scraped.complete, scraped.incomplete),
        (3, 2),
        "scrapes say the same"
    );
}

#[tokio::test(start_paused = true)]
async fn replies_carry_as_many_as_are_wanted() {
    let network = Network::new();
    let many: Vec<String> = (1..=99)
        .map(|last| format!("198.51.100.{last}:1"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let tracker = tracker(&network, 1, good(1800, &many)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    for (wanted, given) in [(None, 50), (Some(0), 0), (Some(7), 7), (Some(500), 100)] {
        let announce = Announce {
            numwant: wanted,
            ..announce(1, 2, Event::None)
        };
        let reply = world.ask_as(&announce, 2).expect("a reply");
        assert_eq!(
            (reply.peers.len(), reply.counts.0),
            (given, 99),
            "{wanted:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn peers_stay_through_failures_and_live_twice_their_interval() {
    // An hour at least, the age of our own peers at most.
    for (interval, minutes) in [(60, 60), (2700, 90), (7200, 180)] {
        let network = Network::new();
        let tracker = tracker(&network, 1, good(interval, &[FOREIGN])).await;
        let world = World::new(&network, &config(&[("a", &tracker.url())]));
        world.announce(1, 1).await;
        tracker.set(Behaviour::Html);
        let mut minute = 0;
        while minute < minutes - 5 {
            world.announce(1, 1).await;
            assert_eq!(
                world.announce(1, 2).await.counts.0,
                1,
                "{interval}: minute {minute}"
            );
            minute += 5;
            world.until(minute * MINUTE).await;
        }
        world.until(minutes * MINUTE - SECOND).await;
        assert_eq!(world.announce(1, 2).await.counts.0, 1, "{interval}");
        world.until(minutes * MINUTE + 2 * MINUTE).await;
        let reply = world.announce(1, 2).await;
        assert_eq!((reply.counts.0, reply.peers.len()), (0, 1), "{interval}");
        assert!(tracker.seen().len() > 1, "it was asked in between");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_answer_replaces_the_peers_of_its_tracker_alone() {
    let network = Network::new();
    let one = tracker(&network, 1, good(60, &["198.51.100.1:1"])).await;
    let two = tracker(&network, 2, good(1800, &["198.51.100.2:1"])).await;
    let world = World::new(
        &network,
        &config(&[("one", &one.url()), ("two", &two.url())]),
    );
    world.announce(1, 1).await;
    one.set(good(60, &["198.51.100.3:1"]));
    world.until(MINUTE).await;
    world.announce(1, 1).await;
    let mut peers = world.announce(1, 1).await.peers;
    peers.sort();
    assert_eq!(peers, ["198.51.100.2:1", "198.51.100.3:1"].map(at));
    one.set(good(60, &[]));
    world.until(2 * MINUTE).await;
    world.announce(1, 1).await;
    assert_eq!(world.announce(1, 1).await.peers, ["198.51.100.2:1"].map(at));
}

#[tokio::test(start_paused = true)]
async fn who_comes_to_us_is_no_longer_a_peer_of_others() {
    let network = Network::new();
    let near = at("192.168.7.1:6969");
    let tracker = tracker_at(&network, near, good(1800, &["10.0.0.2:6881", FOREIGN])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    assert_eq!(world.announce(1, 1).await.counts, (2, 1));
    assert_eq!(world.announce(1, 2).await.counts, (1, 2));
    assert_eq!(world.announce(1, 1).await.counts, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn our_own_addresses_are_taken_out() {
    let network = Network::new();
    let peers = ["203.0.113.5:6881", "203.0.113.5:7000", FOREIGN];
    let tracker = tracker(&network, 1, good(1800, &peers)).await;
    let mut config = config(&[("a", &tracker.url())]);
    config.forwarders[0].ip = Some([203, 0, 113, 5].into());
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    let mut peers = world.announce(1, 1).await.peers;
    peers.sort();
    assert_eq!(
        peers,
        [FOREIGN, "203.0.113.5:7000"].map(at),
        "only with a port of ours"
    );
}

#[tokio::test(start_paused = true)]
async fn the_short_interval_is_told_for_five_minutes_while_trackers_are_asked() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryIn(9)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    for (second, interval) in [
        (0, 60),
        (1, 60),
        (61, 60),
        (299, 60),
        (300, 1800),
        (539, 1800),
    ] {
        world.until(second * SECOND).await;
        let told = world.announce(1, 1).await.interval;
        assert_eq!(told, interval, "after {second} s");
    }
    let off = Config {
        first_interval: Duration::ZERO,
        ..config(&[("a", &tracker.url())])
    };
    let world = World::new(&network, &off);
    assert_eq!(world.announce(1, 1).await.interval, 1800);
}

#[tokio::test(start_paused = true)]
async fn a_tracker_id_is_sent_back_to_who_gave_it() {
    let network = Network::new();
    let with_id = Behaviour::Good(Good {
        interval: 60,
        tracker_id: Some("a b&c".to_owned()),
        ..Good::default()
    });
    let one = tracker(&network, 1, with_id).await;
    let two = tracker(&network, 2, good(60, &[])).await;
    let world = World::new(
        &network,
        &config(&[("one", &one.url()), ("two", &two.url())]),
    );
    world.announce(1, 1).await;
    one.set(good(60, &[]));
    for minute in 1..=2 {
        world.until(minute * MINUTE).await;
        world.announce(1, 1).await;
    }
    world.event(1, 1, Event::Stopped).await;
    let ids = |tracker: &http::Tracker| -> Vec<Option<String>> {
        let queries = queries(&tracker.seen());
        let id = |query: &String| value(query, "trackerid").map(str::to_owned);
        queries.iter().map(id).collect()
    };
    let sent = Some("%61%20%62%26%63".to_owned());
    assert_eq!(
        ids(&one),
        [None, sent.clone(), sent.clone(), sent],
        "until there is another"
    );
    assert_eq!(ids(&two), [None, None, None, None]);
    assert_eq!(events(&one.seen()), ["started", "", "", "stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_forwarder_may_have_its_own_address_and_host() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let mut config = config(&[
        ("a", &tracker.url()),
        ("b", "http://192.0.2.1:6969/b?key=1&x=%2F"),
    ]);
    config.forwarders[0].ip = Some([203, 0, 113, 5].into());
    config.forwarders[0].host = Some("other.example".to_owned());
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    let (mut own, mut plain) = (None, None);
    for seen in tracker.seen() {
        let text = String::from_utf8(seen.bytes).expect("text");
        match text.starts_with("GET /announce?") {
            true => own = Some(text),
            false => plain = Some(text),
        }
    }
    let (own, plain) = (own.expect("asked"), plain.expect("asked"));
    let address: String = b"203.0.113.5"
        .iter()
        .map(|byte| format!("%{byte:02X}"))
        .collect();
    let stated = format!("&ip={address}&ipv4={address} HTTP/1.1\r\n");
    assert!(own.contains(&stated), "{own}");
    assert!(
        own.to_lowercase().contains("\r\nhost: other.example\r\n"),
        "{own}"
    );
    assert!(
        plain.starts_with("GET /b?key=1&x=%2F&info_hash=%01%01"),
        "{plain}"
    );
    assert!(!plain.contains("&ip"), "{plain}");
    assert!(
        plain
            .to_lowercase()
            .contains("\r\nhost: 192.0.2.1:6969\r\n"),
        "{plain}"
    );
    for part in [
        "&port=6881&",
        "&left=1&",
        "&event=started&",
        "&numwant=200&",
        "&compact=1&",
    ] {
        assert!(plain.contains(part), "{plain}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_udp_tracker_is_told_the_address_and_the_path() {
    let network = Network::new();
    let tracker = udp_tracker(&network, 1, udp::Behaviour::good()).await;
    let mut config = config(&[("a", "udp://192.0.2.1:6969/x/announce?y=1")]);
    config.forwarders[0].ip = Some([203, 0, 113, 5].into());
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    let packet = &tracker.seen()[1].bytes;
    assert_eq!(packet[80..84], [0, 0, 0, 2], "started");
    assert_eq!(packet[84..88], [203, 0, 113, 5]);
    assert_eq!(packet[88..92], [0, 0, 0, 1], "the key");
    assert_eq!(
        packet[92..98],
        [0, 0, 0, 200, 0x1a, 0xe1],
        "numwant and port"
    );
    assert_eq!(packet[98..], *b"\x02\x0f/x/announce?y=1\0");
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_used_again() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    for swarm in 1..=5 {
        world.announce(swarm, 1).await;
    }
    assert_eq!((tracker.seen().len(), tracker.connections()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_forwarder_may_have_one_family_and_a_proxy() {
    let network = Network::new();
    let v4 = tracker(&network, 1, good(1800, &[])).await;
    let v6 = tracker_at(&network, at("[2001:db8::1]:6969"), good(1800, &[])).await;
    let proxy = tracker(&network, 3, good(1800, &[])).await;
    network.resolves("t.example", &["192.0.2.1", "2001:db8::1"]);
    let url = "http://t.example:6969/announce";
    let mut config = config(&[("a", url), ("b", url), ("c", "http://far.example/announce")]);
    config.forwarders[0].family = forwarder::ForwarderFamily::Ipv4;
    config.forwarders[1].family = forwarder::ForwarderFamily::Ipv6;
    config.forwarders[2].proxy = SecretUrl::parse("http://192.0.2.3:6969");
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    assert_eq!([v4.seen().len(), v6.seen().len()], [1, 1]);
    let [seen] = &proxy.seen()[..] else {
        panic!("the proxy is asked once");
    };
    let text = String::from_utf8_lossy(&seen.bytes);
    let asked = text.starts_with("GET http://far.example/announce?info_hash=%01");
    assert!(asked, "nobody here looks up its name: {text}");
    assert_eq!(world.state_of("c"), "open");
}
