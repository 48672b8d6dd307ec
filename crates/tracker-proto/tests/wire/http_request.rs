//! Queries: what we write we read, and what is wrong with one is said plainly.

use std::net::{IpAddr, Ipv4Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use weir_tracker_proto::http::{
    parse_announce, parse_scrape, scrape_url, write_announce_query, write_scrape_query,
};
use weir_tracker_proto::{Announce, Endpoint, Event, InfoHash, RequestError, UNKNOWN_LEFT};

use crate::strategies;

const HASH: &str = "info_hash=aaaaaaaaaaaaaaaaaaaa";
const PEER: &str = "peer_id=-XX0000-bbbbbbbbbbbb";

proptest! {
    #[test]
    fn what_a_forwarder_asks_a_listener_reads(announce in strategies::announce()) {
        let mut url = "http://t.example/announce".to_owned();
        write_announce_query(&announce, None, &mut url);
        let (_, query) = url.split_once('?').expect("a query");
        prop_assert_eq!(parse_announce(query.as_bytes()), Ok(announce));
    }

    #[test]
    fn scrapes_read_back_in_order(hashes in vec(strategies::hash(), 1..80)) {
        let mut url = "/scrape?passkey=x".to_owned();
        write_scrape_query(hashes.iter().copied(), &mut url);
        let (_, query) = url.split_once('?').expect("a query");
        let all: Vec<InfoHash> = parse_scrape(query.as_bytes(), 100).expect("a scrape").collect();
        prop_assert_eq!(&all, &hashes);
        let some: Vec<InfoHash> = parse_scrape(query.as_bytes(), 10).expect("a scrape").collect();
        prop_assert_eq!(&some[..], &hashes[..hashes.len().min(10)]);
    }

    #[test]
    fn raw_and_escaped_bytes_are_the_same(hash in any::<[u8; 20]>(), escape in any::<[bool; 20]>()) {
        let mut query = format!("{PEER}&port=1&info_hash=").into_bytes();
        for (byte, escape) in hash.into_iter().zip(escape) {
            if escape || matches!(byte, b'&' | b'%') {
                query.extend(format!("%{byte:02x}").bytes());
            } else {
                query.push(byte);
            }
        }
        prop_assert_eq!(parse_announce(&query).map(|a| a.info_hash), Ok(InfoHash(hash)));
    }
}

#[test]
fn a_bare_announce_has_its_defaults() {
    let announce = parsed("").expect("an announce");
    assert_eq!(announce.left, UNKNOWN_LEFT);
    assert_eq!(announce.event, Event::None);
    assert_eq!((announce.uploaded, announce.downloaded), (0, 0));
    assert_eq!((announce.numwant, announce.key), (None, None));
    assert_eq!((announce.compact, announce.no_peer_id), (None, false));
    assert_eq!(
        (announce.ip, announce.ipv4, announce.ipv6),
        (None, None, None)
    );
}

#[test]
fn what_is_wrong_with_an_announce_is_said() {
    for (query, sentence) in [
        (String::new(), "info_hash is missing"),
        (format!("{PEER}&port=1"), "info_hash is missing"),
        (format!("info_hash&{PEER}&port=1"), "info_hash is missing"),
        (
            format!("info_hash=a&{PEER}&port=1"),
            "info_hash must be 20 bytes",
        ),
        (
            format!("{HASH}a&{PEER}&port=1"),
            "info_hash must be 20 bytes",
        ),
        (
            format!("{HASH}%00&{PEER}&port=1"),
            "info_hash must be 20 bytes",
        ),
        (
            format!("{HASH}&{HASH}&{PEER}&port=1"),
            "an announce has one info_hash only",
        ),
        (format!("{HASH}&port=1"), "peer_id is missing"),
        (
            format!("{HASH}&peer_id=short&port=1"),
            "peer_id must be 20 bytes",
        ),
        (format!("{HASH}&{PEER}"), "port is missing"),
        (format!("{HASH}&{PEER}&port=0"), "port must be 1 to 65535"),
        (
            format!("{HASH}&{PEER}&port=65536"),
            "port must be 1 to 65535",
        ),
        (format!("{HASH}&{PEER}&port=-1"), "port must be 1 to 65535"),
        (format!("{HASH}&{PEER}&port="), "port must be 1 to 65535"),
        (
            format!("{HASH}&{PEER}&port=http"),
            "port must be 1 to 65535",
        ),
        (
            format!("{HASH}&{PEER}&port=1&left=x"),
            "left must be a number",
        ),
        (
            format!("{HASH}&{PEER}&port=1&left=-"),
            "left must be a number",
        ),
        (
            format!("{HASH}&{PEER}&port=1&uploaded=1+1"),
            "uploaded must be a number",
        ),
        (
            format!("{HASH}&{PEER}&port=1&downloaded="),
            "downloaded must be a number",
        ),
        (
            format!("{HASH}&{PEER}&port=1&numwant=all"),
            "numwant must be a number",
        ),
    ] {
        let error = parse_announce(query.as_bytes()).expect_err(&query);
        assert_eq!(error.to_string(), sentence, "{query}");
    }
}

#[test]
fn a_broken_escape_is_named_as_one() {
    for value in [
        "%",
        "%1",
        "%zz",
        "%0g",
        "%%41",
        "aaaaaaaaaaaaaaaaaaa%",
        "% 1",
    ] {
        let query = format!("info_hash={value}&{PEER}&port=1");
        assert_eq!(
            parse_announce(query.as_bytes()),
            Err(RequestError::Escape),
            "{value}"
        );
    }
    for pair in ["&left=%", "&event=%4", "&key=%gg", "&ip=%"] {
        assert_eq!(parsed(pair), Err(RequestError::Escape), "{pair}");
    }
    parsed("&x=%zz").expect("nobody reads it");
}

#[test]
fn a_plus_is_a_plus() {
    let query = format!("info_hash=++++++++++++++++++++&{PEER}&port=1");
    let announce = parse_announce(query.as_bytes()).expect("an announce");
    assert_eq!(announce.info_hash, InfoHash([b'+'; 20]));
}

#[test]
fn the_last_of_a_repeated_key_counts_and_unknown_keys_do_not() {
    let announce = parsed("&left=1&left=2&&=&lefty=3&LEFT=4&x&port=2").expect("an announce");
    assert_eq!((announce.left, announce.port.get()), (2, 2));
}

#[test]
fn numbers_may_be_negative_large_or_escaped() {
    let left = |value: &str| parsed(&format!("&left={value}")).map(|a| a.left);
    assert_eq!(left("-1"), Ok(UNKNOWN_LEFT));
    assert_eq!(left("0"), Ok(0));
    assert_eq!(left("-0"), Ok(0));
    assert_eq!(left("18446744073709551616"), Ok(u64::MAX));
    assert_eq!(left("%31%32"), Ok(12));
    let numwant = |value: &str| parsed(&format!("&numwant={value}")).map(|a| a.numwant);
    assert_eq!(numwant("-1"), Ok(None));
    assert_eq!(numwant(""), Ok(None));
    assert_eq!(numwant("0"), Ok(Some(0)));
    assert_eq!(numwant("4294967296"), Ok(Some(u32::MAX)));
    assert_eq!(parsed("&uploaded=-5").map(|a| a.uploaded), Ok(0));
}

#[test]
fn events_and_flags_that_mean_nothing_are_none() {
    let event = |value: &str| parsed(&format!("&event={value}")).map(|a| a.event);
    assert_eq!(event("paused"), Ok(Event::Paused));
    assert_eq!(event("st%61rted"), Ok(Event::Started));
    assert_eq!(event("st%6fpped"), Ok(Event::Stopped));
    assert_eq!(event(""), Ok(Event::None));
    assert_eq!(event("Started"), Ok(Event::None));
    let compact = |value: &str| parsed(&format!("&compact={value}")).map(|a| a.compact);
    assert_eq!(compact("1"), Ok(Some(true)));
    assert_eq!(compact("0"), Ok(Some(false)));
    assert_eq!(compact("yes"), Ok(None));
    assert_eq!(parsed("&no_peer_id=1").map(|a| a.no_peer_id), Ok(true));
}

#[test]
fn keys_are_hexadecimal_or_folded() {
    let key = |value: &str| {
        let announce = parsed(&format!("&key={value}")).expect("an announce");
        announce.key.map_or(0, |key| key.get())
    };
    assert_eq!(key("9400C5D3"), 0x9400_c5d3);
    assert_eq!(key("1f"), 0x1f);
    assert_eq!(key(""), 0);
    assert_eq!(key("0"), 0);
    assert_ne!(key("some thing else"), 0);
    assert_ne!(key("some thing else"), key("some thing more"));
    assert_eq!(key("%2F%BC6%B9%F6pao"), key("%2f%bc%36%b9%f6%70%61%6f"));
}

#[test]
fn addresses_that_are_none_are_left_out() {
    let ip = |value: &str| parsed(&format!("&ip={value}")).expect("an announce").ip;
    assert_eq!(ip("10.0.0.7"), Some(IpAddr::from([10, 0, 0, 7])));
    assert_eq!(ip("2001%3Adb8%3A%3A7"), "2001:db8::7".parse().ok());
    for none in [
        "",
        "0.0.0.0",
        "::",
        "tracker.example",
        "10.0.0",
        &"%61".repeat(99),
    ] {
        assert_eq!(ip(none), None, "{none}");
    }
}

#[test]
fn further_addresses_have_a_port_or_not() {
    let announce = parsed("&ipv4=10.0.0.7:80&ipv6=%5B2001:db8::7%5D%3A81").expect("an announce");
    let port = |port: u16| port.try_into().ok();
    let v4 = Endpoint {
        address: Ipv4Addr::new(10, 0, 0, 7),
        port: port(80),
    };
    assert_eq!(announce.ipv4, Some(v4));
    let v6 = Endpoint {
        address: "2001:db8::7".parse().expect("an address"),
        port: port(81),
    };
    assert_eq!(announce.ipv6, Some(v6));
    let announce = parsed("&ipv4=10.0.0.7&ipv6=2001:db8::7").expect("an announce");
    assert_eq!(announce.ipv4, Some(Endpoint { port: None, ..v4 }));
    assert_eq!(announce.ipv6, Some(Endpoint { port: None, ..v6 }));
    let announce = parsed("&ipv4=2001:db8::7&ipv6=10.0.0.7").expect("an announce");
    assert_eq!((announce.ipv4, announce.ipv6), (None, None));
}

#[test]
fn a_passkey_in_the_url_is_kept() {
    let announce = parsed("&left=0").expect("an announce");
    let written = |base: &str| {
        let mut url = base.to_owned();
        write_announce_query(&announce, Some(b"a b"), &mut url);
        url
    };
    let query = "info_hash=%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61\
        &peer_id=%2D%58%58%30%30%30%30%2D%62%62%62%62%62%62%62%62%62%62%62%62\
        &port=1&uploaded=0&downloaded=0&left=0&compact=1&trackerid=%61%20%62";
    assert_eq!(written("/announce"), format!("/announce?{query}"));
    assert_eq!(written("/a?"), format!("/a?{query}"));
    assert_eq!(written("/a?passkey=x"), format!("/a?passkey=x&{query}"));
    assert_eq!(written("/a?passkey=x&"), format!("/a?passkey=x&{query}"));
}

#[test]
fn a_scrape_needs_a_hash() {
    assert_eq!(parse_scrape(b"", 9), Err(RequestError::NoInfoHash));
    assert_eq!(
        parse_scrape(b"info_hash=x", 9),
        Err(RequestError::InfoHashLength)
    );
    assert_eq!(parse_scrape(b"info_hash=%x", 9), Err(RequestError::Escape));
    let query = format!("{HASH}&info_hash=x");
    assert_eq!(
        parse_scrape(query.as_bytes(), 9),
        Err(RequestError::InfoHashLength)
    );
    assert_eq!(
        parse_scrape(query.as_bytes(), 1).map(|scrape| scrape.len()),
        Ok(1)
    );
}

#[test]
fn a_scrape_url_follows_from_some_announce_urls() {
    for (announce, scrape) in [
        ("http://e.com/announce", Some("http://e.com/scrape")),
        ("http://e.com/x/announce", Some("http://e.com/x/scrape")),
        ("http://e.com/announce.php", Some("http://e.com/scrape.php")),
        (
            "http://e.com/announce?x=2%0644",
            Some("http://e.com/scrape?x=2%0644"),
        ),
        (
            "http://e.com/announce?x=2/4",
            Some("http://e.com/scrape?x=2/4"),
        ),
        ("http://e.com/a", None),
        ("http://e.com/x%064announce", None),
        ("announce", None),
    ] {
        assert_eq!(scrape_url(announce).as_deref(), scrape, "{announce}");
    }
}

/// What is read from the least an announce must say and these pairs.
fn parsed(pairs: &str) -> Result<Announce, RequestError> {
    parse_announce(format!("{HASH}&{PEER}&port=1{pairs}").as_bytes())
}
