//! For each misbehaviour, what a client of either protocol and the upstream read.

use weir_testkit::zoo::flood::Flood;
use weir_testkit::zoo::http::{Behaviour, Good, RetryAfter, Tracker};
use weir_testkit::zoo::{Place, udp as udp_zoo};
use weir_tracker_proto::udp::Request;

use super::*;

/// 198.51.100.7:51413, which good trackers give.
const FOREIGN: [u8; 6] = [198, 51, 100, 7, 0xc8, 0xd5];
/// Our client at 127.0.0.1:1000.
const LOCAL: [u8; 6] = [127, 0, 0, 1, 3, 232];

/// How an upstream's behaviour shows: peers, the interval that clients are told, the last word about it.
struct Shows {
    peers: usize,
    interval: u32,
    words: &'static str,
}

const fn shows(peers: usize, words: &'static str) -> Shows {
    Shows {
        peers,
        interval: 1800,
        words,
    }
}

/// The reply of HTTP with so many peers of others.
fn body(interval: u32, peers: usize) -> String {
    let foreign = FOREIGN.repeat(peers).escape_ascii().to_string();
    let length = 6 * peers;
    format!(
        "d8:completei{peers}e10:downloadedi0e11:external ip4:\\x7f\\x00\\x00\\x0110:incompletei1e8:intervali{interval}e5:peers{length}:{foreign}e"
    )
}

impl Shows {
    /// Two clients announce, before and after the upstream was called.
    async fn check(&self, weir: &Weir, what: &str) {
        let first = weir.announce(1, 1000, "").await;
        // It may have answered by then.
        let known = [body(60, 0), body(self.interval, self.peers)];
        assert!(known.contains(&first), "{what}: {first}");
        let view = weir.called(1).await;
        let error = view
            .last_error
            .map_or_else(String::new, |(_, words)| words.to_string());
        assert!(error.starts_with(self.words), "{what}: {error}");
        assert_eq!(error.is_empty(), self.words.is_empty(), "{what}: {error}");
        // The call is over before the swarm hears of it.
        let expected = body(self.interval, self.peers);
        let mut after = weir.announce(1, 1000, "").await;
        for _ in 0..1000 {
            if after == expected {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            after = weir.announce(1, 1000, "").await;
        }
        assert_eq!(after, expected, "{what}");
        let packet = weir.announce_udp(1, 2000).await;
        let mut expected = Vec::new();
        for count in [self.interval, 1, self.peers as u32] {
            expected.extend_from_slice(&count.to_be_bytes());
        }
        expected.extend_from_slice(&LOCAL);
        expected.extend_from_slice(&FOREIGN.repeat(self.peers));
        assert_eq!(packet, expected, "{what}");
        weir.called(1).await;
    }
}

fn table() -> Vec<(Behaviour, Shows)> {
    use Behaviour as B;
    let status = |status| B::Status(status, RetryAfter::None);
    let cut = "the connection was closed";
    let unreadable = "its answer cannot be read";
    let silent = "it did not answer within";
    let good = Good::default;
    vec![
        (B::Good(good()), shows(1, "")),
        (
            B::Good(Good {
                gzip: true,
                ..good()
            }),
            shows(1, ""),
        ),
        (
            B::Good(Good {
                dictionaries: true,
                ..good()
            }),
            shows(1, ""),
        ),
        (
            B::Good(Good {
                warning: Some("careful".to_owned()),
                ..good()
            }),
            shows(1, ""),
        ),
        (B::Interval(0), shows(1, "")),
        (B::Interval(-1), shows(1, "")),
        (B::Interval(i64::MAX), shows(1, "")),
        (status(429), shows(0, "it says we ask too often")),
        (
            B::Status(503, RetryAfter::Seconds(9)),
            shows(0, "it says we ask too often"),
        ),
        (status(503), shows(0, "it answered 503")),
        (status(500), shows(0, "it answered 500")),
        (status(404), shows(0, "it answered 404")),
        (status(403), shows(0, "it answered 403")),
        (status(400), shows(0, "it answered 400")),
        (B::Hang, shows(0, silent)),
        (B::Drip(Duration::from_millis(100)), shows(0, silent)),
        (B::HalfBody, shows(0, cut)),
        (B::CloseAtOnce, shows(0, cut)),
        (B::CloseAfterRequest, shows(0, cut)),
        (B::Reset, shows(0, cut)),
        (B::Garbage, shows(0, "the answer is not readable")),
        (B::Html, shows(0, unreadable)),
        (B::Empty, shows(0, unreadable)),
        (B::Truncated, shows(0, unreadable)),
        (B::NestingBomb, shows(0, unreadable)),
        (B::EndlessString, shows(0, unreadable)),
        (B::HugeBody(3 << 20), shows(0, "the answer is larger")),
        (B::GzipBomb(3 << 20), shows(0, "the answer is larger")),
        (B::HugeHead(1 << 20), shows(0, "the answer is larger")),
        (
            B::Flood(Flood::Informational, 64 << 20),
            shows(0, "the answer consists of too many preliminary replies"),
        ),
        (
            B::Flood(Flood::ChunkSize, 64 << 20),
            shows(0, "the answer is larger"),
        ),
        (
            B::RetryIn(5),
            Shows {
                interval: 60,
                ..shows(0, "it said: try later")
            },
        ),
        (B::RetryIn(10), shows(0, "it said: try later")),
        (B::RetryNever, shows(0, "it said: gone for good")),
        (B::FailureOnly("no".to_owned()), shows(0, "it said: no")),
        (B::RedirectLoop, shows(0, "redirected too often")),
        (
            B::Redirect("http://127.0.0.2:1/".to_owned()),
            shows(0, "the address 127.0.0.2 is private"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_and_upstreams_of_http_read_what_they_should() {
    for (behaviour, shows) in table() {
        let tracker = Tracker::start(Place::Loopback, behaviour.clone()).await;
        let tracker = tracker.expect("a tracker");
        let slow = matches!(behaviour, Behaviour::Hang | Behaviour::Drip(_));
        let time_out = slow.then_some(Duration::from_millis(1500));
        let weir = Weir::start(forwarder(&tracker.url(), time_out));
        let what = format!("{behaviour:?}");
        shows.check(&weir, &what).await;
        let seen = tracker.seen();
        if let Some(first) = seen.first() {
            let head = first.bytes.escape_ascii().to_string();
            let address = tracker.address();
            let hash = "%01".repeat(20);
            let peer: String = PEER.0.iter().map(|byte| format!("%{byte:02X}")).collect();
            let version = env!("CARGO_PKG_VERSION");
            let expected = [
                &format!(
                    "GET /announce?info_hash={hash}&peer_id={peer}&port=1000&uploaded=0&downloaded=0"
                ),
                "&left=7&event=started&numwant=200&compact=1&no_peer_id=1 HTTP/1.1",
                &format!("\\r\\nHost: {address}\\r\\nUser-Agent: Weir/{version}"),
                "\\r\\nAccept: */*\\r\\nAccept-Encoding: gzip, deflate\\r\\n\\r\\n",
            ];
            assert_eq!(head, expected.concat(), "{what}");
        } else {
            assert_eq!(behaviour, Behaviour::CloseAtOnce, "nobody asked");
        }
        // Our own redirect loop follows three.
        let asked = if behaviour == Behaviour::RedirectLoop {
            4
        } else {
            1
        };
        assert!(seen.len() <= asked, "{what}: {}", seen.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_to_the_configured_place_are_followed_three_times() {
    let tracker = Tracker::start(Place::Loopback, Behaviour::Hang).await;
    let tracker = tracker.expect("a tracker");
    tracker.set(Behaviour::Redirect(format!("{}?moved=1", tracker.url())));
    let weir = Weir::start(forwarder(&tracker.url(), None));
    weir.announce(1, 1000, "").await;
    let view = weir.called(1).await;
    let error = view.last_error.expect("it never answers").1;
    assert!(error.starts_with("redirected too often"), "{error}");
    let seen = tracker.seen();
    assert_eq!(seen.len(), 4);
    assert!(
        seen[1]
            .bytes
            .starts_with(b"GET /announce?moved=1 HTTP/1.1\r\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_and_upstreams_of_udp_read_what_they_should() {
    use udp_zoo::Behaviour as B;
    let silent = "it did not answer within";
    for (behaviour, shows) in [
        (B::good(), shows(1, "")),
        (B::WrongTransaction, shows(0, silent)),
        (B::Drop(1), shows(1, "")),
        (B::Drop(9), shows(0, silent)),
        (B::RejectConnectionId(1), shows(0, "it said: Connection ID")),
        (B::Short, shows(0, "its answer cannot be read")),
        (B::Garbage, shows(0, silent)),
        (B::ErrorPacket("no".to_owned()), shows(0, "it said: no")),
        (B::Silent, shows(0, silent)),
        (B::SilentAnnounce, shows(0, silent)),
    ] {
        let tracker = udp_zoo::Tracker::start(Place::Loopback, behaviour.clone()).await;
        let tracker = tracker.expect("a tracker");
        let time_out = match behaviour {
            B::Drop(1) => Duration::from_secs(10),
            _ => Duration::from_secs(2),
        };
        let weir = Weir::start(forwarder(&tracker.url(), Some(time_out)));
        let what = format!("{behaviour:?}");
        shows.check(&weir, &what).await;
        let seen = tracker.seen();
        let connect = &seen.first().expect("it was asked").bytes;
        assert_eq!(
            connect[..12],
            [0, 0, 4, 0x17, 0x27, 0x10, 0x19, 0x80, 0, 0, 0, 0],
            "{what}"
        );
        assert_eq!(connect.len(), 16, "{what}");
        let announces = seen
            .iter()
            .filter_map(|seen| match Request::parse(&seen.bytes) {
                Ok(Request::Announce {
                    connection,
                    announce,
                    ..
                }) => Some((connection, announce, &seen.bytes)),
                _ => None,
            });
        for (connection, announce, packet) in announces {
            assert_eq!(connection, ConnectionId(0x1122_3344_5566_7700), "{what}");
            assert_eq!(
                (announce.info_hash, announce.port.get()),
                (InfoHash([1; 20]), 1000)
            );
            assert_eq!((announce.left, announce.numwant), (7, Some(200)), "{what}");
            assert_eq!(packet[80..84], [0, 0, 0, 2], "{what}: started");
            assert_eq!(packet[98..], *b"\x02\x09/announce\0", "{what}: BEP 41");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_our_own_address_nor_this_machine_comes_back_to_us() {
    let ours = [203, 0, 113, 5];
    let peers = [(ours, 1000), (ours, 1001), ([127, 0, 0, 1], 1001)];
    let tracker = Tracker::start(
        Place::Loopback,
        Behaviour::Good(Good {
            peers: peers.map(SocketAddr::from).to_vec(),
            ..Good::default()
        }),
    )
    .await
    .expect("a tracker");
    let weir = Weir::start(ForwarderEntry {
        ip: Some(ours.into()),
        ..forwarder(&tracker.url(), None)
    });
    weir.announce(1, 1000, "").await;
    weir.called(1).await;
    let body = weir.announce(1, 1000, "").await;
    assert!(body.contains("8:completei1e"), "{body}");
    // As Rust writes bytes: the address with a port that is not of our peer.
    assert!(
        body.ends_with("5:peers6:\\xcb\\x00q\\x05\\x03\\xe9e"),
        "{body}"
    );
}
