//! Bytes that are kept: what real programs sent, and what the fuzzer once tripped over.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weir_tracker_proto::http::{
    Answer, parse_announce, parse_scrape, read_announce_reply, read_scrape_reply,
};
use weir_tracker_proto::udp::{Family, Reply, Request};
use weir_tracker_proto::{Announce, Counts, Event, InfoHash};

#[path = "../../../../fuzz/properties.rs"]
mod properties;

type Property = fn(&[u8]);

/// The swarm of the recordings, and the one of those made with a magnet link or by hand.
const HASH: &str = "b94b4296451a37ff5b0cce909fa8fdb7fa4733bc";
const OTHER_HASH: &str = "aabbccddeeff00112233445566778899a0b1c2d3";

#[test]
fn kept_bytes_keep_the_fuzzers_properties() {
    let properties: [(&str, Property); 8] = [
        ("http_announce", properties::http_announce),
        ("http_scrape", properties::http_scrape),
        ("udp_request", properties::udp_request),
        ("udp_reply", properties::udp_reply),
        ("bencode", properties::bencode),
        ("http_reply", properties::http_reply),
        ("peer_events", properties::peer_events),
        ("told_answers", properties::told_answers),
    ];
    for (name, property) in properties {
        let mut kept = files(&recorded().join(name));
        kept.extend(files(&root().join("../../fuzz/seeds").join(name)));
        assert!(!kept.is_empty(), "nothing kept for {name}");
        for path in kept {
            property(&fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn announces_of_real_clients_are_read_over_http() {
    for (name, event, left, numwant, port, key) in [
        (
            "aria2-1.36.0-started",
            Event::Started,
            262_144,
            Some(50),
            16882,
            None,
        ),
        (
            "aria2-1.36.0-regular",
            Event::None,
            262_144,
            Some(50),
            16882,
            None,
        ),
        (
            "libtorrent-2.0.8-started",
            Event::Started,
            0,
            Some(200),
            16881,
            Some(0x9400_c5d3),
        ),
        (
            "libtorrent-2.0.8-stopped",
            Event::Stopped,
            0,
            Some(0),
            16881,
            Some(0x9400_c5d3),
        ),
        (
            "rtorrent-0.9.8-started",
            Event::Started,
            262_144,
            None,
            16886,
            Some(0x021e_5012),
        ),
        (
            "transmission-3.00-started",
            Event::Started,
            262_144,
            Some(80),
            16884,
            Some(0x17b1_f139),
        ),
        (
            "transmission-3.00-regular",
            Event::None,
            262_144,
            Some(80),
            16884,
            Some(0x17b1_f139),
        ),
        (
            "transmission-3.00-stopped",
            Event::Stopped,
            0,
            Some(0),
            16885,
            Some(0x242b_2d7d),
        ),
        (
            "utorrent-3.5.5-started",
            Event::Started,
            262_144,
            Some(200),
            27364,
            Some(0x97e4_ee5c),
        ),
    ] {
        let query = kept("http_announce", name);
        let announce = parse_announce(&query).expect(name);
        assert_eq!(announce.info_hash, hash(HASH), "{name}");
        assert_eq!(announce.event, event, "{name}");
        assert_eq!((announce.left, announce.numwant), (left, numwant), "{name}");
        assert_eq!(
            (announce.port.get(), announce.compact),
            (port, Some(true)),
            "{name}"
        );
        let has_key = announce.key.expect(name).get();
        assert_eq!(key.unwrap_or(has_key), has_key, "{name}");
    }
    let utorrent = parse_announce(&kept("http_announce", "utorrent-3.5.5-started"));
    let ipv6 = utorrent.expect("an announce").ipv6.expect("an address");
    assert_eq!(ipv6.address.to_string(), "2001:db8::9d38:6ab8");
}

#[test]
fn announces_of_real_clients_are_read_over_udp() {
    for (name, of, event, left, numwant, url) in [
        (
            "aria2-1.36.0-started",
            HASH,
            Event::Started,
            262_144,
            50,
            "",
        ),
        (
            "libtorrent-2.0.8-started",
            HASH,
            Event::Started,
            262_144,
            200,
            "/announce/passkey",
        ),
        (
            "libtorrent-2.0.8-stopped",
            HASH,
            Event::Stopped,
            262_144,
            0,
            "/announce/passkey",
        ),
        (
            "libtorrent-2.0.8-magnet-started",
            OTHER_HASH,
            Event::Started,
            16_384,
            200,
            "/announce/passkey",
        ),
        (
            "transmission-3.00-started",
            HASH,
            Event::Started,
            262_144,
            80,
            "",
        ),
        (
            "transmission-3.00-stopped",
            HASH,
            Event::Stopped,
            262_144,
            0,
            "",
        ),
    ] {
        let packet = kept("udp_request", name);
        let (announce, path) = announced(&packet);
        assert_eq!(announce.info_hash, hash(of), "{name}");
        assert_eq!((announce.event, announce.left), (event, left), "{name}");
        assert_eq!(
            (announce.numwant, path.as_str()),
            (Some(numwant), url),
            "{name}"
        );
        assert!(announce.key.is_some() && announce.ip.is_none(), "{name}");
    }
}

#[test]
fn connects_and_scrapes_of_real_clients_are_read() {
    for client in ["aria2-1.36.0", "libtorrent-2.0.8", "transmission-3.00"] {
        let packet = kept("udp_request", &format!("{client}-connect"));
        let read = Request::parse(&packet).expect(client);
        assert!(matches!(read, Request::Connect { .. }), "{client}");
    }
    for client in ["libtorrent-2.0.8", "transmission-3.00"] {
        let packet = kept("udp_request", &format!("{client}-scrape"));
        let Ok(Request::Scrape { hashes, .. }) = Request::parse(&packet) else {
            panic!("{client} scrapes");
        };
        assert!(hashes.eq([hash(HASH)]), "{client}");
        let query = kept("http_scrape", client);
        let scrape = parse_scrape(&query, 74).expect(client);
        assert!(scrape.eq([hash(HASH)]), "{client}");
    }
}

#[test]
fn announce_replies_of_real_trackers_are_read() {
    for (name, interval, ports) in [
        ("opentracker-alone", 1723, &[6881][..]),
        ("opentracker-compact", 1893, &[6882, 6881]),
        ("bittorrent-tracker-11.2.3-alone", 600, &[6881]),
        ("bittorrent-tracker-11.2.3-compact", 600, &[6881, 6882]),
        (
            "bittorrent-tracker-11.2.3-dictionaries",
            600,
            &[6883, 6881, 6882],
        ),
    ] {
        let body = kept("http_reply", name);
        let Ok(Answer::Given(answer)) = read_announce_reply(&body) else {
            panic!("{name} answers");
        };
        assert_eq!(answer.interval, Some(interval), "{name}");
        assert_eq!(answer.complete, Some(1), "{name}");
        let found: Vec<u16> = answer.peers.addresses().map(|peer| peer.port()).collect();
        assert_eq!(found, ports, "{name}");
    }
    let body = kept("http_reply", "opentracker-failure");
    let Ok(Answer::Refused(failure)) = read_announce_reply(&body) else {
        panic!("opentracker refuses");
    };
    assert!(
        failure
            .reason
            .to_string()
            .starts_with("Requested download is not authorized")
    );
}

#[test]
fn scrape_replies_of_real_trackers_are_read_even_with_mangled_keys() {
    for (name, expected) in [
        ("opentracker-scrape", [1, 0, 1]),
        ("bittorrent-tracker-11.2.3-scrape", [1, 1, 2]),
    ] {
        let body = kept("http_reply", name);
        let Ok(Answer::Given(answer)) = read_scrape_reply(&body) else {
            panic!("{name} answers");
        };
        assert_eq!(
            answer.files.counts(hash(OTHER_HASH)),
            Some(counts(expected)),
            "{name}"
        );
        assert_eq!(answer.files.counts(hash(HASH)), None, "{name}");
    }
}

#[test]
fn packets_of_real_trackers_are_read() {
    for (name, wanted) in [
        ("opentracker-announce", (1927, 1, 2, vec![6882, 6884, 6881])),
        (
            "bittorrent-tracker-11.2.3-announce",
            (600, 2, 2, vec![6881, 6884, 6882, 6883]),
        ),
    ] {
        let packet = kept("udp_reply", name);
        let Ok(Reply::Announce {
            interval,
            leechers,
            seeders,
            peers,
            ..
        }) = Reply::parse(&packet, Family::V4)
        else {
            panic!("{name} answers");
        };
        let ports = peers
            .addresses()
            .map(|peer: SocketAddr| peer.port())
            .collect();
        assert_eq!((interval, leechers, seeders, ports), wanted, "{name}");
    }
    for (name, expected) in [
        ("opentracker-scrape", [2, 0, 1]),
        ("bittorrent-tracker-11.2.3-scrape", [2, 2, 2]),
    ] {
        let packet = kept("udp_reply", name);
        let Ok(Reply::Scrape { counts: found, .. }) = Reply::parse(&packet, Family::V4) else {
            panic!("{name} answers");
        };
        assert!(found.iter().eq([counts(expected)]), "{name}");
    }
    let packet = kept("udp_reply", "opentracker-announce-of-foreign-hash");
    let no = Reply::parse(&packet, Family::V4);
    assert!(matches!(no, Ok(Reply::Cut { .. })), "{no:?}");
}

fn announced(packet: &[u8]) -> (Announce, String) {
    let Ok(Request::Announce {
        announce, options, ..
    }) = Request::parse(packet)
    else {
        panic!("an announce");
    };
    let url: Vec<u8> = options.url().flatten().copied().collect();
    (announce, String::from_utf8(url).expect("text"))
}

fn counts([complete, downloaded, incomplete]: [u32; 3]) -> Counts {
    Counts {
        complete,
        downloaded,
        incomplete,
    }
}

fn hash(hex: &str) -> InfoHash {
    hex.parse().expect("an info hash")
}

fn kept(directory: &str, name: &str) -> Vec<u8> {
    fs::read(recorded().join(directory).join(name)).expect(name)
}

fn recorded() -> PathBuf {
    root().join("tests/recorded")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a directory; none if there is no such directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries.map(|entry| entry.expect("a file").path()).collect()
}
