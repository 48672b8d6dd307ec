//! What a tracker, Weir or another, answers over HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, TcpStream};

use crate::{PATIENCE, Torrent};

/// What a scrape says about a swarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) complete: u32,
    pub(crate) downloaded: u32,
    pub(crate) incomplete: u32,
}

/// The port of the leecher that asks; nothing listens there.
const PORT: u16 = 9;

pub(crate) fn scrape(tracker: SocketAddr, torrent: &Torrent) -> Counts {
    let target = format!("/scrape?info_hash={}", escaped(&torrent.hash));
    let body = ask(tracker, &target);
    let number = |key: &str| number(&body, key).unwrap_or(0);
    Counts {
        complete: number("8:complete"),
        downloaded: number("10:downloaded"),
        incomplete: number("10:incomplete"),
    }
}

/// The peers that a leecher is given, sorted and without itself; it leaves the swarm afterwards.
pub(crate) fn peers(tracker: SocketAddr, torrent: &Torrent) -> Vec<SocketAddr> {
    let body = announce(tracker, torrent, PORT, "started");
    announce(tracker, torrent, PORT, "stopped");
    let v4 = string(&body, "5:peers").unwrap_or_default().chunks_exact(6);
    let v4 = v4.map(|peer| {
        let ip: [u8; 4] = peer[..4].try_into().expect("four of six bytes");
        let port = u16::from_be_bytes([peer[4], peer[5]]);
        SocketAddrV4::new(Ipv4Addr::from(ip), port).into()
    });
    let v6 = string(&body, "6:peers6").unwrap_or_default();
    let v6 = v6.chunks_exact(18).map(|peer| {
        let ip: [u8; 16] = peer[..16].try_into().expect("sixteen of eighteen bytes");
        let port = u16::from_be_bytes([peer[16], peer[17]]);
        SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, 0).into()
    });
    // Some trackers include the client itself.
    let others = v4.chain(v6).filter(|peer: &SocketAddr| peer.port() != PORT);
    let mut peers: Vec<SocketAddr> = others.collect();
    peers.sort();
    peers
}

/// Announces a leecher on this host; returns the answer.
pub(crate) fn announce(tracker: SocketAddr, torrent: &Torrent, port: u16, event: &str) -> Vec<u8> {
    let target = format!(
        "/announce?info_hash={}&peer_id=-XX0000-abcdefg{port:05}&port={port}&uploaded=0&downloaded=0&left=1&compact=1\
         &event={event}",
        escaped(&torrent.hash)
    );
    ask(tracker, &target)
}

/// The body of the tracker's answer.
fn ask(tracker: SocketAddr, target: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(tracker).expect("the tracker listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time above zero");
    let head = format!("GET {target} HTTP/1.1\r\nHost: tracker\r\nConnection: close\r\n\r\n");
    stream
        .write_all(head.as_bytes())
        .expect("the tracker reads");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .expect("the tracker answers");
    let end = find(&answer, b"\r\n\r\n").expect("an HTTP head");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    answer.split_off(end)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

/// Where the first `wanted` ends.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let at = bytes.windows(wanted.len()).position(|part| part == wanted);
    at.map(|at| at + wanted.len())
}

/// The number after a bencoded key.
fn number(bytes: &[u8], key: &str) -> Option<u32> {
    let digits = &bytes[find(bytes, format!("{key}i").as_bytes())?..];
    let end = digits.iter().position(|byte| *byte == b'e')?;
    str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// The bytes after a bencoded key.
fn string<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let rest = &bytes[find(bytes, key.as_bytes())?..];
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let length: usize = str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    rest.get(colon + 1..colon + 1 + length)
}
