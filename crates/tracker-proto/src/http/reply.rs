//! What a listener answers, as bencode appended to a buffer.

use std::net::{IpAddr, SocketAddr};

use crate::announce::Counts;
use crate::bencode::Writer;
use crate::compact;
use crate::hash::{InfoHash, PeerId};

/// What an announce reply says besides its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// Seeders.
    pub complete: u32,
    /// How often a peer completed; left out if unknown.
    pub downloaded: Option<u32>,
    /// Where we see the client (BEP 24).
    pub external_ip: Option<IpAddr>,
    /// Leechers.
    pub incomplete: u32,
    /// Seconds until the next announce.
    pub interval: u32,
    /// Seconds before which the client must not come back.
    pub min_interval: Option<u32>,
    /// A word for the person in front of the client.
    pub warning: Option<&'a str>,
}

/// When a refused client may try again (BEP 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryIn {
    /// After so many minutes.
    Minutes(u32),
    /// Not at all.
    Never,
}

/// A peer for a reply in dictionary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictPeer {
    /// Its name, where it is kept and wanted.
    pub peer_id: Option<PeerId>,
    /// Where it listens.
    pub address: SocketAddr,
}

/// An announce reply being written: [`AnnounceWriter::new`], then IPv4 or dictionary peers at most
/// once, then IPv6 peers at most once, then [`AnnounceWriter::finish`].
///
/// That order is bencode's: keys must be sorted.
#[derive(Debug)]
#[must_use = "a reply without its end cannot be read"]
pub struct AnnounceWriter<'a> {
    writer: Writer<'a>,
    warning: Option<&'a str>,
}

/// Room for all that a head may say.
const HEAD_ROOM: usize = 192;

impl<'a> AnnounceWriter<'a> {
    /// Appends the head of a reply.
    #[inline]
    pub fn new(head: &Head<'a>, out: &'a mut Vec<u8>) -> Self {
        out.reserve(HEAD_ROOM);
        let mut writer = Writer::new(out);
        writer.number(b"d8:completei", head.complete);
        if let Some(downloaded) = head.downloaded {
            writer.number(b"10:downloadedi", downloaded);
        }
        match head.external_ip {
            Some(IpAddr::V4(ip)) => {
                writer.verbatim(b"11:external ip4:");
                writer.verbatim(&ip.octets());
            }
            Some(IpAddr::V6(ip)) => {
                writer.verbatim(b"11:external ip16:");
                writer.verbatim(&ip.octets());
            }
            None => {}
        }
        writer.number(b"10:incompletei", head.incomplete);
        writer.number(b"8:intervali", head.interval);
        if let Some(min_interval) = head.min_interval {
            writer.number(b"12:min intervali", min_interval);
        }
        Self {
            writer,
            warning: head.warning,
        }
    }

    /// Appends IPv4 peers that are compact already.
    #[inline]
    pub fn peers(&mut self, compact: &[u8]) {
        debug_assert_eq!(compact.len() % compact::V4, 0);
        self.writer.verbatim(b"5:peers");
        self.writer.bytes(compact);
    }

    /// Appends IPv6 peers that are compact already.
    pub fn peers6(&mut self, compact: &[u8]) {
        debug_assert_eq!(compact.len() % compact::V6, 0);
        self.writer.bytes_at("peers6", compact);
    }

    /// Appends peers of both families as dictionaries, for a client that said `compact=0`.
    pub fn dictionaries(&mut self, peers: impl IntoIterator<Item = DictPeer>) {
        self.writer.bytes(b"peers");
        self.writer.begin_list();
        for peer in peers {
            self.writer.begin_dict();
            let ip = peer.address.ip().to_string();
            self.writer.bytes_at("ip", ip.as_bytes());
            if let Some(PeerId(id)) = peer.peer_id {
                self.writer.bytes_at("peer id", &id);
            }
            self.writer.integer_at("port", peer.address.port().into());
            self.writer.end();
        }
        self.writer.end();
    }

    /// Appends the end.
    #[inline]
    pub fn finish(mut self) {
        if let Some(warning) = self.warning {
            self.writer.bytes_at("warning message", warning.as_bytes());
        }
        self.writer.end();
    }
}

/// Appends a refusal of an announce or scrape; `interval` is for clients that do not know
/// `retry in`.
pub fn write_failure(
    reason: &str,
    retry_in: Option<RetryIn>,
    interval: Option<u32>,
    out: &mut Vec<u8>,
) {
    let mut writer = Writer::new(out);
    writer.begin_dict();
    writer.bytes_at("failure reason", reason.as_bytes());
    if let Some(interval) = interval {
        writer.integer_at("interval", interval.into());
    }
    match retry_in {
        Some(RetryIn::Minutes(minutes)) => writer.integer_at("retry in", minutes.into()),
        Some(RetryIn::Never) => writer.bytes_at("retry in", b"never"),
        None => {}
    }
    writer.end();
}

/// Appends a scrape reply; the swarms are brought into the order that bencode asks for, and one
/// that is named twice is written once.
///
/// `min_request_interval` is how many seconds a client should leave between scrapes.
pub fn write_scrape(
    swarms: &mut [(InfoHash, Counts)],
    min_request_interval: Option<u32>,
    out: &mut Vec<u8>,
) {
    swarms.sort_unstable_by_key(|(hash, _)| *hash);
    let mut writer = Writer::new(out);
    writer.begin_dict();
    writer.bytes(b"files");
    writer.begin_dict();
    for group in swarms.chunk_by(|(a, _), (b, _)| a == b) {
        let (hash, counts) = group[0];
        writer.bytes(&hash.0);
        writer.begin_dict();
        writer.integer_at("complete", counts.complete.into());
        writer.integer_at("downloaded", counts.downloaded.into());
        writer.integer_at("incomplete", counts.incomplete.into());
        writer.end();
    }
    writer.end();
    if let Some(seconds) = min_request_interval {
        writer.bytes(b"flags");
        writer.begin_dict();
        writer.integer_at("min_request_interval", seconds.into());
        writer.end();
    }
    writer.end();
}
