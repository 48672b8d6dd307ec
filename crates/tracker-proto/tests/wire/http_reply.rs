//! Bodies: what a listener answers a forwarder reads, and so do others; the ways of real trackers.

use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use weir_tracker_proto::http::{
    AnnounceAnswer, AnnounceWriter, Answer, DictPeer, Failure, Head, RetryIn, ScrapeAnswer,
    read_announce_reply, read_scrape_reply, write_failure, write_scrape,
};
use weir_tracker_proto::{Counts, InfoHash, PeerId, ReplyError, Text, bencode, compact};

use crate::{oracle, strategies};

proptest! {
    #[test]
    fn compact_replies_read_back(
        head in head(),
        v4 in vec(strategies::v4(), 0..60),
        v6 in vec(strategies::v6(), 0..60),
    ) {
        let mut body = Vec::new();
        let mut writer = AnnounceWriter::new(&head, &mut body);
        writer.peers(&wire4(&v4));
        writer.peers6(&wire6(&v6));
        writer.finish();
        assert_sorted(&body);
        let answer = given(&body);
        assert_says(&head, &answer);
        let all = v4.into_iter().map(SocketAddr::V4).chain(v6.into_iter().map(SocketAddr::V6));
        prop_assert!(answer.peers.addresses().eq(all));
    }

    #[test]
    fn dictionary_replies_read_back(
        head in head(),
        peers in vec((any::<IpAddr>(), 1_u16.., option::of(any::<[u8; 20]>())), 0..60),
    ) {
        let peers: Vec<DictPeer> = peers.into_iter().map(|(ip, port, id)| DictPeer {
            peer_id: id.map(PeerId),
            address: SocketAddr::new(ip, port),
        }).collect();
        let mut body = Vec::new();
        let mut writer = AnnounceWriter::new(&head, &mut body);
        writer.dictionaries(peers.iter().copied());
        writer.finish();
        assert_sorted(&body);
        let answer = given(&body);
        assert_says(&head, &answer);
        prop_assert!(answer.peers.addresses().eq(peers.iter().map(|peer| peer.address)));
    }

    #[test]
    fn failures_read_back(reason in ".*", retry_in in option::of(retry_in()), interval in option::of(any::<u32>())) {
        let mut body = Vec::new();
        write_failure(&reason, retry_in, interval, &mut body);
        assert_sorted(&body);
        let failure = Failure { reason: Text(reason.as_bytes()), retry_in, interval };
        prop_assert_eq!(read_announce_reply(&body), Ok(Answer::Refused(failure)));
        prop_assert_eq!(read_scrape_reply(&body), Ok(Answer::Refused(failure)));
    }

    #[test]
    fn scrape_replies_read_back(
        swarms in btree_map(strategies::hash(), strategies::counts(), 0..60),
        interval in option::of(any::<u32>()),
        rotate in 0..60_usize,
    ) {
        let sorted: Vec<(InfoHash, Counts)> = swarms.into_iter().collect();
        let mut shuffled = sorted.clone();
        shuffled.rotate_left(rotate.min(sorted.len()));
        shuffled.extend(sorted.first().copied());
        let mut body = Vec::new();
        write_scrape(&mut shuffled, interval, &mut body);
        assert_sorted(&body);
        let answer = scraped(&body);
        prop_assert_eq!(answer.min_request_interval, interval);
        prop_assert!(answer.files.iter().eq(sorted.iter().copied()));
        for (hash, counts) in sorted {
            prop_assert_eq!(answer.files.counts(hash), Some(counts));
        }
    }
}

#[test]
fn a_reply_is_these_bytes() {
    let mut body = b"before".to_vec();
    let head = Head {
        complete: 1,
        downloaded: Some(2),
        external_ip: Some(IpAddr::from([10, 0, 0, 7])),
        incomplete: 3,
        interval: 1800,
        min_interval: Some(900),
        warning: Some("slow"),
    };
    let mut writer = AnnounceWriter::new(&head, &mut body);
    writer.peers(b"abcdef");
    writer.finish();
    let expected = b"befored8:completei1e10:downloadedi2e11:external ip4:\x0a\0\0\x07\
        10:incompletei3e8:intervali1800e12:min intervali900e5:peers6:abcdef15:warning message4:slowe";
    assert_eq!(
        body.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
}

#[test]
fn a_refusal_says_when_to_come_back() {
    let written = |retry_in, interval| {
        let mut body = Vec::new();
        write_failure("busy", retry_in, interval, &mut body);
        String::from_utf8(body).expect("text")
    };
    assert_eq!(written(None, None), "d14:failure reason4:busye");
    assert_eq!(
        written(Some(RetryIn::Minutes(30)), Some(1800)),
        "d14:failure reason4:busy8:intervali1800e8:retry ini30ee"
    );
    assert_eq!(
        written(Some(RetryIn::Never), None),
        "d14:failure reason4:busy8:retry in5:nevere"
    );
}

#[test]
fn retry_in_may_be_digits_in_a_string_and_nonsense_is_none() {
    for (value, expected) in [
        ("i5e", Some(RetryIn::Minutes(5))),
        ("2:15", Some(RetryIn::Minutes(15))),
        ("5:never", Some(RetryIn::Never)),
        ("5:later", None),
        ("i-1e", None),
        ("le", None),
    ] {
        let body = format!("d14:failure reason1:x8:retry in{value}e");
        let Ok(Answer::Refused(failure)) = read_announce_reply(body.as_bytes()) else {
            panic!("{body} refuses");
        };
        assert_eq!(failure.retry_in, expected, "{value}");
    }
}

#[test]
fn dictionary_peers_are_taken_where_they_are_addresses() {
    let body = b"d8:intervali60e5:peersl\
        d2:ip8:10.0.0.74:porti80ee\
        d2:ip11:2001:db8::74:porti81ee\
        d2:ip13:[2001:db8::8]4:porti82ee\
        d2:ip12:peer.example4:porti83ee\
        d2:ip8:10.0.0.84:porti0ee\
        d2:ip8:10.0.0.94:porti65536ee\
        d2:ip8:10.0.0.9e\
        d4:porti80ee\
        3:odd\
        ee";
    let found: Vec<String> = given(body)
        .peers
        .addresses()
        .map(|address| address.to_string())
        .collect();
    assert_eq!(
        found,
        ["10.0.0.7:80", "[2001:db8::7]:81", "[2001:db8::8]:82"]
    );
}

#[test]
fn compact_peers_without_a_port_are_left_out() {
    let body = b"d5:peers12:\x0a\0\0\x07\0\x50\x0a\0\0\x08\0\0e";
    let found: Vec<SocketAddr> = given(body).peers.addresses().collect();
    assert_eq!(found, [SocketAddr::from(([10, 0, 0, 7], 80))]);
}

#[test]
fn unreadable_replies_are_told_apart() {
    for (body, error) in [
        ("", ReplyError::Bencode(bencode::Error::Cut)),
        ("<html>", ReplyError::Bencode(bencode::Error::Syntax)),
        ("le", ReplyError::NotADictionary),
        ("de", ReplyError::Empty),
        ("d5:helloi1ee", ReplyError::Empty),
        ("d5:peers7:abcdefge", ReplyError::Field("peers")),
        ("d5:peersi1ee", ReplyError::Field("peers")),
        ("d5:peersdee", ReplyError::Field("peers")),
        ("d6:peers66:abcdefe", ReplyError::Field("peers6")),
        ("d6:peers6lee", ReplyError::Field("peers6")),
    ] {
        assert_eq!(read_announce_reply(body.as_bytes()), Err(error), "{body}");
    }
    for (body, error) in [
        ("de", ReplyError::Empty),
        ("d5:filesi1ee", ReplyError::Field("files")),
    ] {
        assert_eq!(read_scrape_reply(body.as_bytes()), Err(error), "{body}");
    }
}

#[test]
fn odd_but_plain_replies_are_read() {
    let answer = given(b"d8:intervali-5e12:min interval2:hi8:completei99999999999ee\n\n");
    assert_eq!((answer.interval, answer.min_interval), (None, None));
    assert_eq!(answer.complete, Some(u32::MAX));
    let answer = given(b"d5:peers0:e");
    assert_eq!(answer.peers.addresses().count(), 0);
    let answer = given(b"d8:intervali1e5:peers0:8:intervali2ee");
    assert_eq!(answer.interval, Some(1));
    let answer = given(b"d10:tracker id3:\x00\xff&8:intervali1ee");
    assert_eq!(answer.tracker_id, Some(&b"\x00\xff&"[..]));
    let answer = given(b"d15:warning message4:slow11:external ip4:\x0a\0\0\x07e");
    assert_eq!(answer.warning, Some(Text(b"slow")));
    assert_eq!(answer.external_ip, Some(IpAddr::from([10, 0, 0, 7])));
    assert_eq!(
        given(b"d11:external ip3:abc8:intervali1ee").external_ip,
        None
    );
}

fn head() -> impl Strategy<Value = Head<'static>> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>());
    let others = (
        option::of(any::<u32>()),
        option::of(any::<u32>()),
        option::of(any::<IpAddr>()),
        option::of(Just("be gentle")),
    );
    (numbers, others).prop_map(|(numbers, others)| Head {
        complete: numbers.0,
        incomplete: numbers.1,
        interval: numbers.2,
        min_interval: others.0,
        downloaded: others.1,
        external_ip: others.2,
        warning: others.3,
    })
}

fn retry_in() -> impl Strategy<Value = RetryIn> {
    prop_oneof![
        any::<u32>().prop_map(RetryIn::Minutes),
        Just(RetryIn::Never)
    ]
}

fn given(body: &[u8]) -> AnnounceAnswer<'_> {
    match read_announce_reply(body).expect("a reply") {
        Answer::Given(answer) => answer,
        Answer::Refused(failure) => panic!("refused: {}", failure.reason),
    }
}

fn scraped(body: &[u8]) -> ScrapeAnswer<'_> {
    match read_scrape_reply(body).expect("a reply") {
        Answer::Given(answer) => answer,
        Answer::Refused(failure) => panic!("refused: {}", failure.reason),
    }
}

fn assert_says(head: &Head<'_>, answer: &AnnounceAnswer<'_>) {
    assert_eq!(answer.complete, Some(head.complete));
    assert_eq!(answer.incomplete, Some(head.incomplete));
    assert_eq!(answer.interval, Some(head.interval));
    assert_eq!(answer.min_interval, head.min_interval);
    assert_eq!(answer.downloaded, head.downloaded);
    assert_eq!(answer.external_ip, head.external_ip);
    let warning = head.warning.map(|warning| Text(warning.as_bytes()));
    assert_eq!(answer.warning, warning);
}

fn assert_sorted(body: &[u8]) {
    oracle::read(body).expect("bencode by the book");
}

fn wire4(peers: &[SocketAddrV4]) -> Vec<u8> {
    peers.iter().copied().flat_map(compact::from_v4).collect()
}

fn wire6(peers: &[SocketAddrV6]) -> Vec<u8> {
    peers.iter().copied().flat_map(compact::from_v6).collect()
}
