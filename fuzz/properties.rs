//! What must hold for any bytes at all, one function per parser, each named as its fuzz target.
//!
//! The targets call these with made-up bytes; a test of `weir-tracker-proto` calls them with the
//! recorded and kept ones.

use std::net::SocketAddr;

use weir_tracker_proto::bencode::{self, Value, Writer};
use weir_tracker_proto::http::{self, AnnounceWriter, Answer, Head};
use weir_tracker_proto::nodes::{self, Batch};
use weir_tracker_proto::udp::{Family, Reply, Request, Unreadable, reply, request};
use weir_tracker_proto::{Announce, InfoHash, compact};

/// Swarms that a scrape may name.
const SCRAPE_LIMIT: usize = 74;

/// An announce that was read is read again from what we would ask an upstream.
pub(crate) fn http_announce(query: &[u8]) {
    let Ok(announce) = http::parse_announce(query) else {
        return;
    };
    let mut url = "/announce?passkey=1".to_owned();
    http::write_announce_query(&announce, None, &mut url);
    let (_, query) = url.split_once('?').expect("it had one");
    let expected = Announce {
        left: announce.left.min(i64::MAX as u64),
        compact: announce.compact.or(Some(true)),
        ..announce
    };
    assert_eq!(http::parse_announce(query.as_bytes()), Ok(expected));
}

/// A scrape that was read is read again from what we would ask an upstream.
pub(crate) fn http_scrape(query: &[u8]) {
    let Ok(scrape) = http::parse_scrape(query, SCRAPE_LIMIT) else {
        return;
    };
    let hashes: Vec<InfoHash> = scrape.collect();
    assert_eq!(hashes.len(), scrape.len());
    assert!((1..=SCRAPE_LIMIT).contains(&hashes.len()));
    let mut url = "/scrape".to_owned();
    http::write_scrape_query(hashes.iter().copied(), &mut url);
    let (_, query) = url.split_once('?').expect("it had a hash");
    let again = http::parse_scrape(query.as_bytes(), SCRAPE_LIMIT).expect("we wrote it");
    assert!(again.eq(hashes));
}

/// A request that was read is read again from what we would send an upstream.
pub(crate) fn udp_request(packet: &[u8]) {
    match Request::parse(packet) {
        Ok(Request::Connect { transaction }) => {
            assert_eq!(packet[..16], request::connect(transaction));
        }
        Ok(Request::Announce {
            connection,
            transaction,
            announce,
            options,
        }) => {
            let url: Vec<u8> = options.url().flatten().copied().collect();
            let mut again = request::announce(connection, transaction, &announce).to_vec();
            request::write_url(&url, &mut again);
            let Ok(Request::Announce {
                announce: same,
                options,
                ..
            }) = Request::parse(&again)
            else {
                panic!("we wrote it");
            };
            assert_eq!(same, announce);
            assert!(options.url().flatten().eq(&url));
        }
        Ok(Request::Scrape {
            connection,
            transaction,
            hashes,
        }) => {
            let mut again = Vec::new();
            request::write_scrape(connection, transaction, hashes, &mut again);
            assert!(packet.starts_with(&again));
        }
        Err(Unreadable::Answerable { .. }) => assert!(packet.len() >= 16),
        Err(Unreadable::Silent) => {}
    }
}

/// A reply that was read is read again from what we would send a client.
pub(crate) fn udp_reply(packet: &[u8]) {
    for family in [Family::V4, Family::V6] {
        match Reply::parse(packet, family) {
            Ok(Reply::Connect {
                transaction,
                connection,
            }) => assert_eq!(packet[..16], reply::connect(transaction, connection)),
            Ok(Reply::Announce {
                transaction,
                interval,
                leechers,
                seeders,
                peers,
            }) => {
                let head = reply::announce_head(transaction, interval, leechers, seeders);
                assert_eq!(packet[..reply::ANNOUNCE_HEAD_LEN], head);
                let size = if family == Family::V4 { 6 } else { 18 };
                assert!(peers.addresses().count() <= (packet.len() - head.len()) / size);
                assert!(peers.addresses().all(|peer| peer.port() != 0));
            }
            Ok(Reply::Scrape {
                transaction,
                counts,
            }) => {
                let mut again = Vec::new();
                reply::write_scrape(transaction, counts.iter(), &mut again);
                assert!(packet.starts_with(&again));
            }
            Ok(Reply::Error {
                transaction,
                message,
            }) => {
                let mut again = Vec::new();
                let message = message.to_string();
                reply::write_error(transaction, &message, packet.len(), &mut again);
                assert!(again.len() <= packet.len());
            }
            Ok(Reply::Cut { .. }) => assert!(packet.len() < reply::ANNOUNCE_HEAD_LEN),
            Err(_) => {}
        }
    }
}

/// A value that was read is the very bytes it was read from, integers beyond 64 bits excepted.
pub(crate) fn bencode(bytes: &[u8]) {
    let Ok((value, rest)) = bencode::read_prefix(bytes) else {
        return;
    };
    let mut again = Vec::new();
    let clamped = write(value, &mut Writer::new(&mut again));
    if clamped {
        bencode::read(&again).expect("we wrote it");
    } else {
        assert_eq!([&again, rest].concat(), bytes);
    }
}

/// A reply that was read is read again from what we would answer a client.
pub(crate) fn http_reply(body: &[u8]) {
    if let Ok(Answer::Given(answer)) = http::read_announce_reply(body) {
        let peers: Vec<SocketAddr> = answer.peers.addresses().collect();
        let mut again = Vec::new();
        let head = Head {
            complete: answer.complete.unwrap_or(0),
            incomplete: answer.incomplete.unwrap_or(0),
            interval: answer.interval.unwrap_or(0),
            min_interval: answer.min_interval,
            downloaded: answer.downloaded,
            external_ip: answer.external_ip,
            warning: None,
        };
        let (v4, v6) = split(&peers);
        let mut writer = AnnounceWriter::new(&head, &mut again);
        writer.peers(&v4);
        writer.peers6(&v6);
        writer.finish();
        let Ok(Answer::Given(same)) = http::read_announce_reply(&again) else {
            panic!("we wrote it");
        };
        assert_eq!(same.interval, Some(head.interval));
        assert_eq!(same.min_interval, answer.min_interval);
        assert_eq!(same.external_ip, answer.external_ip);
        let (same4, same6) = split(&same.peers.addresses().collect::<Vec<_>>());
        assert_eq!((same4, same6), (v4, v6));
    }
    if let Ok(Answer::Given(answer)) = http::read_scrape_reply(body) {
        let mut swarms: Vec<_> = answer.files.iter().collect();
        let mut again = Vec::new();
        http::write_scrape(&mut swarms, answer.min_request_interval, &mut again);
        let Ok(Answer::Given(same)) = http::read_scrape_reply(&again) else {
            panic!("we wrote it");
        };
        assert_eq!(same.min_request_interval, answer.min_request_interval);
        for (hash, _) in swarms.iter().take(SCRAPE_LIMIT) {
            assert!(same.files.counts(*hash).is_some());
        }
    }
}

/// Writes a value as it was read; true if an integer in it may have been cut to 64 bits.
fn write(value: Value<'_>, writer: &mut Writer<'_>) -> bool {
    let mut clamped = false;
    match value {
        Value::Integer(integer) => {
            writer.integer(integer);
            clamped = integer == i64::MAX || integer == i64::MIN;
        }
        Value::Bytes(bytes) => writer.bytes(bytes),
        Value::List(list) => {
            writer.begin_list();
            for value in list {
                clamped |= write(value, writer);
            }
            writer.end();
        }
        Value::Dict(dict) => {
            writer.begin_dict();
            for (key, value) in dict {
                writer.bytes(key);
                clamped |= write(value, writer);
            }
            writer.end();
        }
    }
    clamped
}

fn split(peers: &[SocketAddr]) -> (Vec<u8>, Vec<u8>) {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for peer in peers {
        match *peer {
            SocketAddr::V4(peer) => v4.extend(compact::from_v4(peer)),
            SocketAddr::V6(peer) => v6.extend(compact::from_v6(peer)),
        }
    }
    (v4, v6)
}

/// Events of other nodes that were read to their end are written as they were.
pub(crate) fn peer_events(bytes: &[u8]) {
    let Ok(batch) = Batch::open(bytes) else {
        return;
    };
    let mut again = Vec::new();
    batch.head.write(&mut again);
    for event in batch.events() {
        let Ok(event) = event else { return };
        event.write(&mut again);
    }
    assert_eq!(again, bytes);
}

/// The same for what other trackers answered them.
pub(crate) fn told_answers(bytes: &[u8]) {
    let Ok(batch) = Batch::open(bytes) else {
        return;
    };
    let mut again = Vec::new();
    batch.head.write(&mut again);
    for answer in batch.answers() {
        let Ok(answer) = answer else { return };
        assert!(answer.v4.len() + answer.v6.len() <= nodes::ANSWER_PEERS);
        answer.write(&mut again);
    }
    assert_eq!(again, bytes);
}
