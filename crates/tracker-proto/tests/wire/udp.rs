//! Packets: what one side writes the other reads, and what may be said about the rest.

use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use weir_tracker_proto::udp::{
    ConnectionId, Family, MAX_SCRAPE, Reply, Request, TransactionId, Unreadable, reply, request,
};
use weir_tracker_proto::{
    Announce, Event, InfoHash, PeerId, ReplyError, RequestError, Text, compact,
};

use crate::strategies;

const CONNECTION: ConnectionId = ConnectionId(0x1122_3344_5566_7788);
const TRANSACTION: TransactionId = TransactionId(0x0102_0304);

proptest! {
    #[test]
    fn announces_read_back(
        announce in strategies::udp_announce(),
        connection in any::<u64>(),
        transaction in any::<u32>(),
        url in vec(any::<u8>(), 0..600),
    ) {
        let (connection, transaction) = (ConnectionId(connection), TransactionId(transaction));
        let mut packet = request::announce(connection, transaction, &announce).to_vec();
        request::write_url(&url, &mut packet);
        let read = Request::parse(&packet).expect("we wrote it");
        let Request::Announce { options, .. } = read else {
            panic!("{read:?} is no announce");
        };
        prop_assert_eq!(read, Request::Announce { connection, transaction, announce, options });
        prop_assert!(options.url().flatten().eq(&url));
    }

    #[test]
    fn scrapes_read_back_in_order(hashes in vec(strategies::hash(), 1..90)) {
        let mut packet = Vec::new();
        request::write_scrape(CONNECTION, TRANSACTION, hashes.iter().copied(), &mut packet);
        let Ok(Request::Scrape { hashes: read, .. }) = Request::parse(&packet) else {
            panic!("we wrote a scrape");
        };
        prop_assert!(read.eq(hashes.into_iter().take(MAX_SCRAPE)));
    }

    #[test]
    fn announce_replies_read_back(
        numbers in any::<[u32; 4]>(),
        v4 in vec(strategies::v4(), 0..60),
        v6 in vec(strategies::v6(), 0..60),
        cut in 0..6_usize,
    ) {
        let [transaction, interval, leechers, seeders] = numbers;
        let transaction = TransactionId(transaction);
        let head = reply::announce_head(transaction, interval, leechers, seeders);
        let mut packet = head.to_vec();
        packet.extend(v4.iter().copied().flat_map(compact::from_v4));
        packet.extend(&[1; 6][..cut]);
        let peers = assert_announce(Reply::parse(&packet, Family::V4), numbers);
        prop_assert_eq!(peers, v4.into_iter().map(SocketAddr::V4).collect::<Vec<_>>());
        let mut packet = head.to_vec();
        packet.extend(v6.iter().copied().flat_map(compact::from_v6));
        packet.extend(&[1; 6][..cut]);
        let peers = assert_announce(Reply::parse(&packet, Family::V6), numbers);
        prop_assert_eq!(peers, v6.into_iter().map(SocketAddr::V6).collect::<Vec<_>>());
    }

    #[test]
    fn scrape_replies_read_back_in_order(all in vec(strategies::counts(), 0..90), cut in 0..12_usize) {
        let mut packet = Vec::new();
        reply::write_scrape(TRANSACTION, all.iter().copied(), &mut packet);
        packet.extend(&[1; 12][..cut]);
        let Ok(Reply::Scrape { transaction: TRANSACTION, counts }) = Reply::parse(&packet, Family::V4) else {
            panic!("we wrote a scrape");
        };
        prop_assert!(counts.iter().eq(all.into_iter().take(MAX_SCRAPE)));
    }

    #[test]
    fn errors_read_back_and_keep_to_their_limit(message in ".*", limit in 8..200_usize) {
        let mut packet = Vec::new();
        reply::write_error(TRANSACTION, &message, limit, &mut packet);
        prop_assert!(packet.len() <= limit);
        let Ok(Reply::Error { transaction: TRANSACTION, message: read }) = Reply::parse(&packet, Family::V6) else {
            panic!("we wrote an error");
        };
        let read = str::from_utf8(read.0).expect("cut between characters");
        prop_assert!(message.starts_with(read));
        prop_assert!(read.len() == message.len() || read.len() + 4 > limit - 8);
    }

    #[test]
    fn connects_read_back(transaction in any::<u32>(), connection in any::<u64>()) {
        let transaction = TransactionId(transaction);
        let packet = request::connect(transaction);
        prop_assert_eq!(Request::parse(&packet), Ok(Request::Connect { transaction }));
        let connection = ConnectionId(connection);
        let packet = reply::connect(transaction, connection);
        let read = Reply::parse(&packet, Family::V4);
        prop_assert_eq!(read, Ok(Reply::Connect { transaction, connection }));
    }
}

#[test]
fn an_announce_is_these_bytes() {
    let announce = Announce {
        uploaded: 3,
        downloaded: 1,
        left: 2,
        event: Event::Started,
        numwant: None,
        ip: Some([10, 0, 0, 7].into()),
        key: 5.try_into().ok(),
        ..bare()
    };
    let mut expected = Vec::new();
    expected.extend(0x1122_3344_5566_7788_u64.to_be_bytes());
    expected.extend([0, 0, 0, 1, 1, 2, 3, 4]);
    expected.extend([b'h'; 20]);
    expected.extend([b'p'; 20]);
    for number in [1_u64, 2, 3] {
        expected.extend(number.to_be_bytes());
    }
    expected.extend([0, 0, 0, 2, 10, 0, 0, 7, 0, 0, 0, 5]);
    expected.extend([0xff, 0xff, 0xff, 0xff, 0x1a, 0xe1]);
    assert_eq!(
        request::announce(CONNECTION, TRANSACTION, &announce)[..],
        expected
    );
}

#[test]
fn what_cannot_be_read_is_answered_only_where_somebody_asked() {
    let announce = request::announce(CONNECTION, TRANSACTION, &bare());
    let answerable = |error| {
        Err(Unreadable::Answerable {
            transaction: TRANSACTION,
            connection: CONNECTION,
            error,
        })
    };
    for length in 0..16 {
        assert_eq!(Request::parse(&announce[..length]), Err(Unreadable::Silent));
    }
    for length in 16..98 {
        let cut = Request::parse(&announce[..length]);
        assert_eq!(cut, answerable(RequestError::Short), "{length}");
    }
    let mut no_port = announce;
    no_port[96..].fill(0);
    assert_eq!(Request::parse(&no_port), answerable(RequestError::Port));
    let mut unknown = announce;
    unknown[11] = 7;
    assert_eq!(
        Request::parse(&unknown),
        answerable(RequestError::UnknownAction)
    );
    let mut scrape = Vec::new();
    request::write_scrape(CONNECTION, TRANSACTION, [bare().info_hash], &mut scrape);
    assert_eq!(
        Request::parse(&scrape[..35]),
        answerable(RequestError::Short)
    );
    let mut no_magic = request::connect(TRANSACTION);
    no_magic[7] ^= 1;
    assert_eq!(Request::parse(&no_magic), Err(Unreadable::Silent));
}

#[test]
fn odd_numbers_in_an_announce_are_what_they_mean() {
    let read = |at: usize, bytes: [u8; 4]| {
        let mut packet = request::announce(CONNECTION, TRANSACTION, &bare());
        packet[at..at + 4].copy_from_slice(&bytes);
        let Ok(Request::Announce { announce, .. }) = Request::parse(&packet) else {
            panic!("still an announce");
        };
        announce
    };
    assert_eq!(read(80, [0, 0, 0, 4]).event, Event::None);
    assert_eq!(read(80, [0xff; 4]).event, Event::None);
    assert_eq!(read(92, [0xff, 0xff, 0xff, 0xfe]).numwant, None);
    assert_eq!(read(92, [0; 4]).numwant, Some(0));
    assert_eq!(read(84, [0; 4]).ip, None);
    assert_eq!(read(88, [0; 4]).key, None);
}

#[test]
fn what_udp_cannot_say_is_left_out() {
    let announce = Announce {
        event: Event::Paused,
        ip: "2001:db8::7".parse().ok(),
        numwant: Some(u32::MAX),
        ..bare()
    };
    let packet = request::announce(CONNECTION, TRANSACTION, &announce);
    let Ok(Request::Announce { announce, .. }) = Request::parse(&packet) else {
        panic!("an announce");
    };
    assert_eq!((announce.event, announce.ip), (Event::None, None));
    assert_eq!(announce.numwant, Some(i32::MAX as u32));
}

#[test]
fn options_end_where_they_stop_making_sense() {
    let url = |options: &[u8]| {
        let announce = request::announce(CONNECTION, TRANSACTION, &bare());
        let packet = [&announce[..], options].concat();
        let Ok(Request::Announce { options, .. }) = Request::parse(&packet) else {
            panic!("an announce");
        };
        let url: Vec<u8> = options.url().flatten().copied().collect();
        String::from_utf8(url).expect("text")
    };
    assert_eq!(url(b""), "");
    assert_eq!(url(b"\0\0"), "");
    assert_eq!(url(b"\x02\x02/a"), "/a");
    assert_eq!(url(b"\x01\x01\x02\x02/a\x01\x02\x02/b\0\x02\x02/c"), "/a/b");
    assert_eq!(url(b"\x09\x01x\x02\x02/a"), "/a");
    assert_eq!(url(b"\x02\x02/a\x02\x09/b"), "/a");
    assert_eq!(url(b"\x02"), "");
    assert_eq!(url(b"\x02\0\x02\x02/a"), "/a");
}

#[test]
fn an_announce_reply_cut_in_its_head_is_a_no() {
    let packet = reply::announce_head(TRANSACTION, 1, 2, 3);
    for length in 8..20 {
        let cut = Reply::Cut {
            transaction: TRANSACTION,
        };
        assert_eq!(Reply::parse(&packet[..length], Family::V4), Ok(cut));
    }
}

#[test]
fn replies_that_are_none_are_refused() {
    for length in 0..8 {
        assert_eq!(
            Reply::parse(&[0; 8][..length], Family::V4),
            Err(ReplyError::Short)
        );
    }
    assert_eq!(Reply::parse(&[0; 15], Family::V4), Err(ReplyError::Short));
    let unknown = Reply::parse(&[0, 0, 0, 9, 0, 0, 0, 0], Family::V4);
    assert_eq!(unknown, Err(ReplyError::UnknownAction(9)));
}

#[test]
fn every_reply_names_its_transaction() {
    let mut scrape = Vec::new();
    reply::write_scrape(TRANSACTION, [], &mut scrape);
    let mut error = Vec::new();
    reply::write_error(TRANSACTION, "no", 100, &mut error);
    let connect = reply::connect(TRANSACTION, CONNECTION);
    let announce = reply::announce_head(TRANSACTION, 1, 2, 3);
    for packet in [&connect[..], &announce, &announce[..8], &scrape, &error] {
        let reply = Reply::parse(packet, Family::V4).expect("a reply");
        assert_eq!(reply.transaction(), TRANSACTION);
    }
    let no = Reply::Error {
        transaction: TRANSACTION,
        message: Text(b"no"),
    };
    assert_eq!(Reply::parse(&error, Family::V4), Ok(no));
}

fn bare() -> Announce {
    let port = 6881.try_into().expect("not zero");
    Announce::new(InfoHash([b'h'; 20]), PeerId([b'p'; 20]), port)
}

fn assert_announce(reply: Result<Reply<'_>, ReplyError>, numbers: [u32; 4]) -> Vec<SocketAddr> {
    let Ok(Reply::Announce {
        transaction,
        interval,
        leechers,
        seeders,
        peers,
    }) = reply
    else {
        panic!("{reply:?} is no announce");
    };
    assert_eq!([transaction.0, interval, leechers, seeders], numbers);
    peers.addresses().collect()
}
