//! Trackers of UDP: lost packets, connection ids, and answers that are none.

use weir_tracker_proto::udp::{ConnectionId, Request};

use super::animals::{Case, broken, failing, refusing, well};
use super::*;

const SILENT: &str = "it did not answer within 30 s";

/// What a packet is: `connect`, or the connection id of an announce.
fn kinds(seen: &[Seen]) -> Vec<String> {
    let kind = |seen: &Seen| match Request::parse(&seen.bytes) {
        Ok(Request::Connect { .. }) => "connect".to_owned(),
        Ok(Request::Announce {
            connection: ConnectionId(id),
            ..
        }) => format!("announce {:x}", id & 0xff),
        other => format!("{other:?}"),
    };
    seen.iter().map(kind).collect()
}

/// Seconds since the first packet.
fn seconds(seen: &[Seen]) -> Vec<u64> {
    let first = seen.first().map(|seen| seen.at);
    let since = |seen: &Seen| first.map_or(0, |first| (seen.at - first).as_secs());
    seen.iter().map(since).collect()
}

async fn world(behaviour: udp::Behaviour) -> (World, udp::Tracker) {
    let network = Network::new();
    let tracker = udp_tracker(&network, 1, behaviour).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    (world, tracker)
}

#[tokio::test(start_paused = true)]
async fn every_answer_over_udp_has_its_time_and_its_state() {
    use udp::Behaviour as B;
    let late = |what, takes| Case {
        takes,
        ..well(what, 1800)
    };
    for (behaviour, case) in [
        (B::good(), well("good", 1800)),
        (
            B::Good {
                interval: 5,
                peers: vec![at("198.51.100.7:1")],
            },
            well("interval 5", 60),
        ),
        (B::Drop(1), late("one packet lost", 15_000)),
        (
            B::Drop(2),
            Case {
                calls: 2,
                words: SILENT,
                ..well("two lost", 1800)
            },
        ),
        (B::WrongTransaction, failing("transaction", 30_000, SILENT)),
        (B::Garbage, failing("garbage", 30_000, SILENT)),
        (B::Silent, failing("silent", 30_000, SILENT)),
        (
            B::SilentAnnounce,
            failing("silent after connecting", 30_000, SILENT),
        ),
        (B::Short, broken("short", "its answer cannot be read")),
        (
            B::ErrorPacket("not here".to_owned()),
            refusing("error packet", 1800, "it said: not here"),
        ),
        (
            B::RejectConnectionId(1),
            refusing("a new id rejected", 1800, "it said: Connection ID"),
        ),
    ] {
        let (world, _tracker) = world(behaviour).await;
        case.check(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_packet_is_repeated_once_at_half_of_the_attempt() {
    let (world, tracker) = world(udp::Behaviour::Silent).await;
    world.announce(1, 1).await;
    world.until(29 * SECOND).await;
    assert_eq!(seconds(&tracker.seen()), [0, 15]);
    tracker.set(udp::Behaviour::good());
    world.until(32 * SECOND).await;
    let seen = tracker.seen();
    assert_eq!(
        kinds(&seen),
        ["connect", "connect", "connect", "announce 0"]
    );
    assert_eq!(seconds(&seen), [0, 15, 30, 30], "the second attempt");
    assert_eq!(world.state_of("a"), "open");
    assert_eq!(world.announce(1, 2).await.counts.0, 1, "its peer");
}

#[tokio::test(start_paused = true)]
async fn a_connection_id_is_used_for_a_minute_and_then_renewed() {
    let (world, tracker) = world(udp::Behaviour::good()).await;
    for (swarm, second) in [(1, 0), (2, 30), (3, 59), (4, 60), (5, 119), (6, 120)] {
        world.until(second * SECOND).await;
        world.announce(swarm, 1).await;
    }
    let seen = tracker.seen();
    let expected = [
        ("connect", 0),
        ("announce 0", 0),
        ("announce 0", 30),
        ("announce 0", 59),
        ("connect", 60),
        ("announce 0", 60),
        ("announce 0", 119),
        ("connect", 120),
        ("announce 0", 120),
    ];
    assert_eq!(kinds(&seen), expected.map(|(kind, _)| kind));
    assert_eq!(seconds(&seen), expected.map(|(_, second)| second));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_connection_id_is_renewed_once() {
    let (world, tracker) = world(udp::Behaviour::good()).await;
    world.announce(1, 1).await;
    tracker.set(udp::Behaviour::RejectConnectionId(1));
    world.announce(2, 1).await;
    let kinds_now = kinds(&tracker.seen());
    let expected = [
        "connect",
        "announce 0",
        "announce 0",
        "connect",
        "announce 1",
    ];
    assert_eq!(kinds_now, expected);
    assert_eq!(world.announce(2, 2).await.counts.0, 1, "it brought a peer");
    tracker.set(udp::Behaviour::RejectConnectionId(2));
    world.announce(3, 1).await;
    assert_eq!(tracker.seen().len(), 8, "not asked a third time");
    assert_eq!(world.last_error("a"), "it said: Connection ID missmatch");
    assert_eq!(
        (
            world.state_of("a").as_str(),
            world.view("a").status.failures
        ),
        ("open", 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_cut_after_its_header_is_a_no() {
    let (world, tracker) = world(udp::Behaviour::good()).await;
    world.announce(1, 1).await;
    tracker.set(udp::Behaviour::Short);
    world.announce(2, 1).await;
    assert_eq!(world.last_error("a"), "it refused without giving a reason");
    assert_eq!(world.view("a").status.failures, 0);
    tracker.set(udp::Behaviour::good());
    world.until(1799 * SECOND).await;
    world.announce(2, 1).await;
    assert_eq!(world.calls("a"), 2, "not before announce_interval");
    world.until(1800 * SECOND).await;
    world.announce(2, 1).await;
    assert_eq!(world.calls("a"), 3);
}

#[tokio::test(start_paused = true)]
async fn the_next_attempt_goes_to_the_next_address_and_stays_where_it_was_answered() {
    let network = Network::new();
    network.resolves("two.example", &["192.0.2.1", "192.0.2.2"]);
    let dead = udp_tracker(&network, 1, udp::Behaviour::Silent).await;
    let alive = udp_tracker(&network, 2, udp::Behaviour::good()).await;
    let world = World::new(
        &network,
        &config(&[("a", "udp://two.example:6969/announce")]),
    );
    world.announce(1, 1).await;
    world.until(31 * SECOND).await;
    world.announce(2, 1).await;
    assert_eq!(kinds(&dead.seen()), ["connect", "connect"]);
    assert_eq!(
        kinds(&alive.seen()),
        ["connect", "announce 0", "announce 0"]
    );
}
