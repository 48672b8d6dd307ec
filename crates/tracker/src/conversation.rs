//! Whole connections without a socket: bytes in, in any pieces, and what is answered. For the fuzzer and for tests.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_engine::{Timeline, Vitals};
use weir_web::seats::{Seating, Seats};

use crate::clock::TrackerClock;
use crate::config::Config;
use crate::forwarding::Forwarding;
use crate::inbound::http::{ConnectionLimits, Http, whole_requests};
use crate::rules::split;
use crate::swarm::Swarms;
use crate::tally::Tallies;
use crate::tracker::{ClientTerms, Tracker};
use crate::trust::Trust;

const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9)), 4711);
/// Bytes of a request at most.
pub const REQUEST: usize = 2048;

/// What came of a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Conversation {
    /// All that was sent to the client.
    pub replies: Vec<u8>,
    /// How it ended.
    pub end: ConversationEnd,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ConversationEnd {
    /// Not yet: these bytes wait for more.
    Waits(Vec<u8>),
    /// We closed it.
    Closed,
    /// It went to the router, with these bytes and all that follow.
    Left(Vec<u8>),
}

/// A connection with a tracker of its own, as its client sees it. `by_proxy`: it comes from a trusted proxy. Of each
/// reply, the system takes `at_once` bytes at once.
pub fn converse<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    by_proxy: bool,
    at_once: usize,
) -> Conversation {
    let http = http(by_proxy);
    let mut wire = Wire {
        pieces: pieces.into_iter(),
        piece: &[],
        sent: Vec::new(),
        at_once,
    };
    let end = Arc::new(http).converse(PEER, &mut wire);
    let end = match end {
        ConversationEnd::Left(mut read) => {
            read.extend_from_slice(wire.piece);
            wire.pieces.for_each(|piece| read.extend_from_slice(piece));
            ConversationEnd::Left(read)
        }
        other => other,
    };
    Conversation {
        replies: wire.sent,
        end,
    }
}

/// How many replies these bytes deserve: one for each whole request up to the first that ends the connection, and one
/// for what cannot be read as a request.
pub fn deserved(bytes: &[u8], by_proxy: bool) -> usize {
    whole_requests(bytes, PEER.ip(), &trust(by_proxy), REQUEST)
}

fn trust(by_proxy: bool) -> Trust {
    let proxies = match by_proxy {
        true => vec![PEER.ip().into()],
        false => Vec::new(),
    };
    Trust {
        clients: Vec::new(),
        proxies,
    }
}

fn http(by_proxy: bool) -> Http {
    let (start, reload) = split(&Config::default());
    let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
    let tracker = Tracker::new(
        Arc::new(Swarms::new(start.swarms, [1; 16])),
        Forwarding::to_nobody(),
        ClientTerms {
            trust: trust(by_proxy),
            ..reload.terms
        },
    );
    let limits = ConnectionLimits {
        idle: 1,
        request: 1,
        bytes: REQUEST,
    };
    let seats = Seats::new(Seating::new(1, None));
    let (guests, _) = tokio::sync::mpsc::channel(1);
    let clock = TrackerClock::on(timeline);
    let http = Http::new(
        tracker.into(),
        clock,
        Tallies::default().add(),
        limits,
        (
            guests,
            seats,
            Vitals::default().add("tracker", "conversation"),
        ),
    );
    // Which peers are picked must not tell two conversations apart.
    http.seed(7);
    http
}

/// The other side of a connection.
pub(crate) struct Wire<'a, P> {
    pieces: P,
    piece: &'a [u8],
    sent: Vec<u8>,
    at_once: usize,
}

impl<'a, P: Iterator<Item = &'a [u8]>> Wire<'a, P> {
    /// One that brings all at once.
    #[cfg(test)]
    pub(crate) fn bringing(pieces: P) -> Self {
        Self {
            pieces,
            piece: &[],
            sent: Vec::new(),
            at_once: usize::MAX,
        }
    }

    /// All that was sent to the client.
    #[cfg(test)]
    pub(crate) fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// The next bytes; none if there are no more.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(piece) = self.pieces.next() else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            self.piece = piece;
        }
        let (read, rest) = self.piece.split_at(self.piece.len().min(into.len()));
        into[..read.len()].copy_from_slice(read);
        self.piece = rest;
        Ok(read.len())
    }

    pub(crate) fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let taken = from.len().min(self.at_once);
        self.write_all(&from[..taken]);
        match taken {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    pub(crate) fn write_all(&mut self, from: &[u8]) {
        self.sent.extend_from_slice(from);
    }
}

#[cfg(test)]
#[path = "../../../fuzz/connection_properties.rs"]
mod properties;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::properties;

    #[test]
    fn kept_bytes_keep_the_fuzzers_property() {
        let seeds =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/tracker_connection");
        let seeds: Vec<_> = fs::read_dir(seeds).unwrap().flatten().collect();
        assert!(seeds.len() > 5, "{}", seeds.len());
        for seed in seeds {
            properties::tracker_connection(&fs::read(seed.path()).unwrap());
        }
    }

    /// Of which streams are made; most of it is what clients send.
    const PARTS: [&[u8]; 18] = [
        b"GET /announce?info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbbb&port=1&left=0 HTTP/1.1\r\n\r\n",
        b"GET /announce?info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbbb&port=2&left=1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /announce?info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbbb&port=3&left=1&compact=0 HTTP/1.1\r\nX-Forwarded-For: 198.51.100.7\r\nX-Real-IP: 198.51.100.7\r\n\r\n",
        b"GET /announce?info_hash=\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80\xff\x80&port=1 HTTP/1.1\r\n\r\n",
        b"GET http://tracker.example/announce?info_hash=x HTTP/1.1\r\nConnection: keep-alive\r\n\r\n",
        b"GET /scrape?info_hash=aaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n\r\n",
        b"GET /scrape HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"GET /announce HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /stats HTTP/1.1\r\n\r\n",
        b"POST /announce HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"PROXY TCP4 198.51.100.8 203.0.113.9 1 2\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x33\x64\x07\xcb\0\x71\x01\x01\x02\x03\x04",
        b"\r\n",
        b"\n\n",
        b"GET ",
        b"\0",
        b"X: y\r\n",
        &[b'x'; 700],
    ];

    proptest! {
        #[test]
        fn what_is_answered_does_not_depend_on_the_pieces(
            flags in any::<u8>(),
            cuts in vec(any::<u8>(), 0..12),
            parts in vec(select(PARTS.to_vec()), 0..12),
        ) {
            let mut bytes = vec![flags, cuts.len() as u8];
            bytes.extend(cuts);
            bytes.extend(parts.concat());
            properties::tracker_connection(&bytes);
        }
    }
}
