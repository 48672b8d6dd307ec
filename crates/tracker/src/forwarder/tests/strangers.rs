//! Peers of other trackers that clients must not be sent to: whoever runs a tracker could have them knock on doors of
//! their own machine and network.

use super::*;

const PUBLIC: [&str; 2] = ["198.51.100.7:51413", "[2001:db8::7]:3"];

const PRIVATE: [&str; 8] = [
    "10.9.9.9:1",
    "100.64.9.9:1",
    "172.16.9.9:1",
    "192.168.9.9:1",
    "[64:ff9b::a09:909]:1",
    "[2002:c0a8:909::9]:1",
    "[fd00::9]:1",
    "[fec0::9]:1",
];

const NOWHERE: [&str; 17] = [
    "0.0.0.0:1",
    "0.1.2.3:1",
    "127.0.0.1:6881",
    "127.9.9.9:1",
    "169.254.9.9:1",
    "224.0.0.9:1",
    "240.0.0.9:1",
    "255.255.255.255:1",
    "198.51.100.9:0",
    "[::]:1",
    "[::1]:1",
    "[::7f00:1]:1",
    "[::ffff:127.0.0.1]:1",
    "[64:ff9b::7f00:1]:1",
    "[2002:7f00:1::1]:1",
    "[fe80::9]:1",
    "[ff02::9]:1",
];

fn all() -> Vec<SocketAddr> {
    let all = PUBLIC.iter().chain(&PRIVATE).chain(&NOWHERE);
    all.map(|text| at(text)).collect()
}

fn with_all(dictionaries: bool) -> Behaviour {
    Behaviour::Good(Good {
        peers: all(),
        dictionaries,
        ..Good::default()
    })
}

/// What a client gets of what the forwarder at a URL has, and what a scrape counts as seeders.
async fn given(world: &World) -> Vec<SocketAddr> {
    world.announce(1, 1).await;
    let reply = world.announce(1, 1).await;
    let scraped = world
        .tracker
        .scrape(&world.tracker.terms(), InfoHash([1; 20]));
    let number = reply.peers.len() as u32;
    assert_eq!((reply.counts.0, scraped.complete), (number, number));
    let mut peers = reply.peers;
    peers.sort();
    peers
}

/// Those that may be given, of the families that are asked for.
fn expected(private: bool, families: [bool; 2]) -> Vec<SocketAddr> {
    let near: &[&str] = if private { &PRIVATE } else { &[] };
    let wanted = PUBLIC.iter().chain(near).map(|text| at(text));
    let mut wanted: Vec<_> = wanted
        .filter(|at| families[usize::from(at.is_ipv6())])
        .collect();
    wanted.sort();
    wanted
}

#[tokio::test(start_paused = true)]
async fn private_peers_come_from_private_trackers_alone_and_nobodys_from_none() {
    let places = [
        ("192.0.2.1:6969", false),
        ("[2001:db8::1]:6969", false),
        ("192.168.7.1:6969", true),
        ("127.0.0.1:6969", true),
        ("[fd00::1]:6969", true),
    ];
    for (place, private) in places.map(|(place, private)| (at(place), private)) {
        for dictionaries in [false, true] {
            let network = Network::new();
            let tracker = tracker_at(&network, place, with_all(dictionaries)).await;
            let world = World::new(&network, &config(&[("a", &tracker.url())]));
            let peers = given(&world).await;
            let context = format!("{place}, dictionaries: {dictionaries}");
            assert_eq!(peers, expected(private, [true, true]), "{context}");
        }
        let network = Network::new();
        let behaviour = udp::Behaviour::Good {
            interval: 1800,
            peers: all(),
        };
        let tracker = udp::Tracker::start(Place::Memory(&network, place), behaviour).await;
        let _tracker = tracker.expect("memory has room");
        let url = format!("udp://{place}/announce");
        let world = World::new(&network, &config(&[("a", &url)]));
        let families = [place.is_ipv4(), place.is_ipv6()];
        assert_eq!(
            given(&world).await,
            expected(private, families),
            "udp {place}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_address_that_answered_decides_and_not_the_name() {
    for (address, private) in [("192.0.2.1", false), ("192.168.7.1", true)] {
        let network = Network::new();
        let place = at(&format!("{address}:6969"));
        let _tracker = tracker_at(&network, place, with_all(false)).await;
        network.resolves("t.example", &[address]);
        let url = "http://t.example:6969/announce";
        let world = World::new(&network, &config(&[("a", url)]));
        world.announce(1, 1).await;
        // Too late: the connection leads where it leads.
        network.resolves("t.example", &["192.168.7.1"]);
        assert_eq!(
            given(&world).await,
            expected(private, [true, true]),
            "{address}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn behind_a_proxy_the_address_in_the_url_decides() {
    for (url, private) in [
        ("http://t.example/announce", false),
        ("http://192.0.2.77/announce", false),
        ("http://192.168.7.77/announce", true),
    ] {
        let network = Network::new();
        // A proxy at a private address: it says nothing of where the tracker is.
        let _proxy = tracker_at(&network, at("192.168.7.3:6969"), with_all(false)).await;
        let mut config = config(&[("a", url)]);
        config.forwarders[0].proxy = SecretUrl::parse("http://192.168.7.3:6969");
        let world = World::new(&network, &config);
        assert_eq!(
            given(&world).await,
            expected(private, [true, true]),
            "{url}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_private_tracker_gave_is_there_after_a_restart() {
    let network = Network::new();
    let tracker = tracker_at(&network, at("192.168.7.1:6969"), with_all(false)).await;
    let config = config(&[("a", &tracker.url())]);
    let world = World::new(&network, &config);
    given(&world).await;
    let world = world.again(SECOND, &config).await;
    assert_eq!(given(&world).await, expected(true, [true, true]));
    assert_eq!(tracker.seen().len(), 1);
}
