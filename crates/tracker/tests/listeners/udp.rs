//! UDP: connection ids, bursts, refusals.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::num::{NonZeroU16, NonZeroU32};

use weir_tracker::config::Config;
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, request};
use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

use super::{PATIENCE, Tracker, config};

struct Client {
    socket: UdpSocket,
    family: Family,
}

impl Client {
    fn new(tracker: SocketAddr) -> Self {
        let here = if tracker.is_ipv4() {
            "127.0.0.1:0"
        } else {
            "[::1]:0"
        };
        let socket = UdpSocket::bind(here).expect("a socket");
        socket.connect(tracker).expect("an address");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        let family = if tracker.is_ipv4() {
            Family::V4
        } else {
            Family::V6
        };
        Self { socket, family }
    }

    fn ask(&self, packet: &[u8]) -> Vec<u8> {
        self.socket.send(packet).expect("it is sent");
        self.receive()
    }

    fn receive(&self) -> Vec<u8> {
        let mut reply = [0; 4096];
        let length = self.socket.recv(&mut reply).expect("a reply");
        reply[..length].to_vec()
    }

    fn connect(&self) -> ConnectionId {
        let reply = self.ask(&request::connect(TransactionId(7)));
        match Reply::parse(&reply, self.family) {
            Ok(Reply::Connect {
                connection,
                transaction,
            }) => {
                assert_eq!(transaction, TransactionId(7));
                connection
            }
            other => panic!("{other:?}"),
        }
    }

    /// Announces and says whom it was told of.
    fn announce(&self, announce: &Announce) -> (u32, u32, Vec<SocketAddr>) {
        let id = self.connect();
        let reply = self.ask(&request::announce(id, TransactionId(9), announce));
        match Reply::parse(&reply, self.family) {
            Ok(Reply::Announce {
                transaction,
                interval,
                leechers,
                seeders,
                peers,
            }) => {
                assert_eq!(transaction, TransactionId(9));
                assert_eq!(interval, 1800);
                (seeders, leechers, peers.addresses().collect())
            }
            other => panic!("{other:?}"),
        }
    }

    fn refused(&self, packet: &[u8]) -> String {
        let reply = self.ask(packet);
        match Reply::parse(&reply, self.family) {
            Ok(Reply::Error { message, .. }) => message.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

fn announce(swarm: u8, port: u16) -> Announce {
    let port = NonZeroU16::new(port).expect("a port");
    Announce::new(InfoHash([swarm; 20]), PeerId([b'p'; 20]), port)
}

#[test]
fn clients_meet_in_either_family() {
    let tracker = Tracker::start(Config {
        udp_listen: Some("[::]:0".parse().expect("all addresses")),
        http_listen: None,
        ..config()
    });
    for here in ["127.0.0.1", "::1"] {
        let at = SocketAddr::new(here.parse().expect("an address"), tracker.at("udp").port());
        let (one, other) = (Client::new(at), Client::new(at));
        let seeder = Announce {
            left: 0,
            ..announce(1, 1000)
        };
        let (seeders, leechers, peers) = one.announce(&seeder);
        let before = if here == "::1" { 1 } else { 0 };
        assert_eq!((seeders, leechers), (1 + before, 0));
        assert_eq!(peers, []);
        let (_, _, peers) = other.announce(&Announce {
            left: 5,
            ..announce(1, 2000)
        });
        assert_eq!(peers, [SocketAddr::new(at.ip(), 1000)], "of its own family");
        let gone = Announce {
            event: Event::Stopped,
            ..announce(1, 2000)
        };
        assert_eq!(other.announce(&gone).2, []);
    }
}

#[test]
fn all_of_20_000_announces_in_bursts_of_50_get_their_own_reply() {
    let tracker = Tracker::start(config());
    let client = Client::new(tracker.at("udp"));
    let id = client.connect();
    // Each swarm has a number of seeders that tells it from the others.
    let mut expected = HashMap::new();
    for burst in 0..400u32 {
        for number in 0..50 {
            let transaction = burst * 50 + number;
            let swarm = (transaction % 100) as u8;
            let port = (transaction / 100 + 1) as u16;
            let packet = request::announce(
                id,
                TransactionId(transaction),
                &Announce {
                    left: 0,
                    numwant: Some(0),
                    ..announce(swarm, port)
                },
            );
            client.socket.send(&packet).expect("it is sent");
            expected.insert(transaction, port);
        }
        for _ in 0..50 {
            let packet = client.receive();
            let Ok(Reply::Announce {
                transaction,
                seeders,
                leechers,
                ..
            }) = Reply::parse(&packet, Family::V4)
            else {
                panic!("no announce reply: {packet:?}");
            };
            let port = expected.remove(&transaction.0).expect("one reply for each");
            // By address: all of them are one machine; above 64 peers each port counts.
            let seen = if port <= 64 { 1 } else { u32::from(port) };
            assert_eq!((seeders, leechers), (seen, 0), "{transaction:?}");
        }
    }
    assert!(expected.is_empty());
    let totals = tracker.front().totals();
    assert_eq!((totals.swarms, totals.peers()), (100, 20_000));
}

#[test]
fn wrong_foreign_and_missing_connection_ids_are_refused_in_no_more_bytes() {
    let tracker = Tracker::start(config());
    let client = Client::new(tracker.at("udp"));
    let id = client.connect();
    let packets = |id: ConnectionId| {
        let hashes = [InfoHash([1; 20])];
        let mut scrape = Vec::new();
        request::write_scrape(id, TransactionId(1), hashes, &mut scrape);
        let announce = request::announce(id, TransactionId(1), &announce(1, 1));
        [announce.to_vec(), scrape]
    };
    for wrong in [
        0,
        1,
        id.0 ^ 1,
        id.0 ^ (1 << 63),
        id.0.wrapping_sub(100 << 32),
    ] {
        for packet in packets(ConnectionId(wrong)) {
            let reply = client.ask(&packet);
            assert!(
                reply.len() <= packet.len(),
                "{} {}",
                reply.len(),
                packet.len()
            );
            let Ok(Reply::Error { message, .. }) = Reply::parse(&reply, Family::V4) else {
                panic!("{wrong} was not refused");
            };
            assert!(
                "connection id is wrong or too old, connect again"
                    .starts_with(&message.to_string())
            );
        }
    }
    // The id of another address.
    let elsewhere = UdpSocket::bind("127.0.0.2:0").expect("a socket");
    elsewhere.set_read_timeout(Some(PATIENCE)).expect("a time");
    elsewhere
        .send_to(&packets(id)[0], tracker.at("udp"))
        .expect("it is sent");
    let mut reply = [0; 1000];
    let length = elsewhere.recv(&mut reply).expect("a reply");
    assert!(matches!(
        Reply::parse(&reply[..length], Family::V4),
        Ok(Reply::Error { .. })
    ));
    assert_eq!(tracker.front().totals().peers(), 0, "nobody got in");
    assert!(matches!(
        Reply::parse(&client.ask(&packets(id)[0]), Family::V4),
        Ok(Reply::Announce { .. })
    ));
}

#[test]
fn what_is_malformed_is_told_where_it_can_be_and_dropped_where_not() {
    let tracker = Tracker::start(config());
    let client = Client::new(tracker.at("udp"));
    let id = client.connect();
    let whole = request::announce(id, TransactionId(5), &announce(1, 1));
    assert_eq!(client.refused(&whole[..97]), "packet is too short");
    let mut no_port = whole;
    no_port[96..98].fill(0);
    assert_eq!(client.refused(&no_port), "port must be 1 to 65535");
    let mut unknown = whole;
    unknown[11] = 9;
    assert_eq!(client.refused(&unknown), "unknown action");
    // Silence: packets that are nobody's, then one that is answered.
    for silent in [&b""[..], b"x", &[0; 15], &[0xff; 16][..8], &[0; 16]] {
        client.socket.send(silent).expect("it is sent");
    }
    let reply = client.ask(&request::connect(TransactionId(77)));
    assert_eq!(reply.len(), 16);
    assert_eq!(reply[4..8], 77u32.to_be_bytes());
}

#[test]
fn scrapes_tell_the_counts_in_the_order_asked() {
    let tracker = Tracker::start(config());
    let client = Client::new(tracker.at("udp"));
    client.announce(&Announce {
        left: 0,
        ..announce(1, 1)
    });
    client.announce(&Announce {
        left: 0,
        event: Event::Completed,
        ..announce(2, 1)
    });
    client.announce(&Announce {
        left: 9,
        ..announce(3, 1)
    });
    let id = client.connect();
    let mut packet = Vec::new();
    let hashes = [3, 9, 1, 2].map(|swarm| InfoHash([swarm; 20]));
    request::write_scrape(id, TransactionId(3), hashes, &mut packet);
    let reply = client.ask(&packet);
    let Ok(Reply::Scrape { counts, .. }) = Reply::parse(&reply, Family::V4) else {
        panic!("no scrape reply");
    };
    let counts = counts
        .iter()
        .map(|c| (c.complete, c.downloaded, c.incomplete));
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [(0, 0, 1), (0, 0, 0), (1, 0, 0), (1, 1, 0)]
    );
}

#[test]
fn a_full_tracker_says_so() {
    let tracker = Tracker::start(Config {
        max_peers: NonZeroU32::new(1).expect("one"),
        ..config()
    });
    let client = Client::new(tracker.at("udp"));
    client.announce(&announce(1, 1));
    let id = client.connect();
    let second = request::announce(id, TransactionId(1), &announce(1, 2));
    assert_eq!(client.refused(&second), "tracker full, retry in 30 minutes");
}

/// Clients drop what comes from another address. Left to itself, the system answers all of these from 127.0.0.1.
#[test]
fn replies_leave_from_the_address_that_was_asked() {
    let tracker = Tracker::start(Config {
        udp_listen: Some("0.0.0.0:0".parse().expect("all addresses")),
        http_listen: None,
        ..config()
    });
    for last in [1, 2, 3, 200] {
        let at = SocketAddr::from(([127, 0, 0, last], tracker.at("udp").port()));
        let client = Client::new(at);
        client.announce(&announce(last, 1000));
        let id = client.connect();
        let mut unknown = request::announce(id, TransactionId(5), &announce(last, 1000));
        unknown[11] = 9;
        assert_eq!(client.refused(&unknown), "unknown action", "{at}");
        let mut scrape = Vec::new();
        request::write_scrape(id, TransactionId(3), [InfoHash([last; 20])], &mut scrape);
        assert_eq!(client.ask(&scrape).len(), 20, "{at}");
    }
}
