//! What clients send: connect, announce, scrape.

use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU16, NonZeroU32};

use super::{
    ANNOUNCE, CONNECT, ConnectionId, MAGIC, MAX_SCRAPE, SCRAPE, TransactionId, field, u32_at,
    u64_at,
};
use crate::announce::{Announce, Event};
use crate::error::RequestError;
use crate::hash::{InfoHash, PeerId};

/// Bytes of a connect request.
pub const CONNECT_LEN: usize = 16;

/// Bytes of an announce request without options.
pub const ANNOUNCE_LEN: usize = 98;

/// Bytes before the hashes of a scrape, and the part that every request has.
const HEAD_LEN: usize = 16;

const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const URL_DATA: u8 = 2;

/// A packet that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Asks for a connection id.
    Connect {
        /// To be repeated in the reply.
        transaction: TransactionId,
    },
    /// Announces.
    Announce {
        /// Proof of the client's address, not checked here.
        connection: ConnectionId,
        /// To be repeated in the reply.
        transaction: TransactionId,
        /// What it says.
        announce: Announce,
        /// What follows (BEP 41): the path of the announce URL.
        options: Options<'a>,
    },
    /// Asks for the counts of some swarms.
    Scrape {
        /// Proof of the client's address, not checked here.
        connection: ConnectionId,
        /// To be repeated in the reply.
        transaction: TransactionId,
        /// The swarms, at most [`MAX_SCRAPE`]; what a client asks beyond that is left out.
        hashes: Hashes<'a>,
    },
}

/// A packet that is no request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Nobody to answer: no whole head, or a connect request without its magic number.
    #[error("not a tracker request")]
    Silent,
    /// The client can be told.
    #[error("{error}")]
    Answerable {
        /// To be repeated in the reply.
        transaction: TransactionId,
        /// To be checked before anything longer than the request is answered.
        connection: ConnectionId,
        /// What to tell it.
        error: RequestError,
    },
}

/// The info hashes of a scrape, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes<'a> {
    rest: &'a [[u8; 20]],
}

/// The options after an announce (BEP 41).
///
/// A broken option ends them: the announce before it stands on its own, and some clients send more
/// than its 98 bytes without meaning anything by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    bytes: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads a packet.
    pub fn parse(packet: &'a [u8]) -> Result<Self, Unreadable> {
        let Some((head, rest)) = packet.split_first_chunk::<HEAD_LEN>() else {
            return Err(Unreadable::Silent);
        };
        let [connection @ .., _, _, _, _, _, _, _, _] = *head;
        let connection = ConnectionId(u64::from_be_bytes(connection));
        let [_, _, _, _, _, _, _, _, a, b, c, d, transaction @ ..] = *head;
        let transaction = TransactionId(u32::from_be_bytes(transaction));
        let refuse = |error| Unreadable::Answerable {
            transaction,
            connection,
            error,
        };
        match u32::from_be_bytes([a, b, c, d]) {
            CONNECT if connection.0 == MAGIC => Ok(Self::Connect { transaction }),
            CONNECT => Err(Unreadable::Silent),
            ANNOUNCE => Ok(Self::Announce {
                connection,
                transaction,
                announce: parse_announce(packet).map_err(refuse)?,
                options: Options {
                    bytes: &packet[ANNOUNCE_LEN..],
                },
            }),
            SCRAPE => Ok(Self::Scrape {
                connection,
                transaction,
                hashes: Hashes::parse(rest).map_err(refuse)?,
            }),
            _ => Err(refuse(RequestError::UnknownAction)),
        }
    }
}

impl<'a> Hashes<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, RequestError> {
        let (hashes, _) = bytes.as_chunks();
        if hashes.is_empty() {
            return Err(RequestError::Short);
        }
        Ok(Self {
            rest: &hashes[..hashes.len().min(MAX_SCRAPE)],
        })
    }
}

impl Iterator for Hashes<'_> {
    type Item = InfoHash;

    fn next(&mut self) -> Option<InfoHash> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(InfoHash(*first))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl ExactSizeIterator for Hashes<'_> {}

impl<'a> Options<'a> {
    /// The pieces of the announce URL's path and query, to be joined; a piece has at most 255 bytes.
    pub fn url(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            loop {
                match *rest.first()? {
                    END_OF_OPTIONS => return None,
                    NO_OPERATION => rest = &rest[1..],
                    kind => {
                        let length = usize::from(*rest.get(1)?);
                        let piece = rest.get(2..2 + length)?;
                        rest = &rest[2 + length..];
                        if kind == URL_DATA {
                            return Some(piece);
                        }
                    }
                }
            }
        })
    }
}

/// Writes a connect request.
pub fn connect(transaction: TransactionId) -> [u8; CONNECT_LEN] {
    head(ConnectionId(MAGIC), CONNECT, transaction)
}

/// Writes an announce request without options.
pub fn announce(
    connection: ConnectionId,
    transaction: TransactionId,
    announce: &Announce,
) -> [u8; ANNOUNCE_LEN] {
    let mut packet = [0; ANNOUNCE_LEN];
    let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &head(connection, ANNOUNCE, transaction));
    put(16, &announce.info_hash.0);
    put(36, &announce.peer_id.0);
    put(56, &announce.downloaded.to_be_bytes());
    put(64, &announce.left.to_be_bytes());
    put(72, &announce.uploaded.to_be_bytes());
    put(80, &event_number(announce.event).to_be_bytes());
    put(84, &stated_ipv4(announce).octets());
    put(88, &announce.key.map_or(0, NonZeroU32::get).to_be_bytes());
    // As a signed number on the wire, where -1 leaves the count to the tracker.
    let numwant = announce
        .numwant
        .map_or(-1, |n| n.min(i32::MAX as u32) as i32);
    put(92, &numwant.to_be_bytes());
    put(96, &announce.port.get().to_be_bytes());
    packet
}

/// Appends the options that tell an upstream the path of its announce URL (BEP 41), with its query.
pub fn write_url(path: &[u8], out: &mut Vec<u8>) {
    for piece in path.chunks(255) {
        out.extend_from_slice(&[URL_DATA, piece.len() as u8]);
        out.extend_from_slice(piece);
    }
    if !path.is_empty() {
        out.push(END_OF_OPTIONS);
    }
}

/// Appends a scrape request; hashes beyond [`MAX_SCRAPE`] are left out.
pub fn write_scrape(
    connection: ConnectionId,
    transaction: TransactionId,
    hashes: impl IntoIterator<Item = InfoHash>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&head(connection, SCRAPE, transaction));
    for hash in hashes.into_iter().take(MAX_SCRAPE) {
        out.extend_from_slice(&hash.0);
    }
}

fn head(connection: ConnectionId, action: u32, transaction: TransactionId) -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    head[..8].copy_from_slice(&connection.0.to_be_bytes());
    head[8..12].copy_from_slice(&action.to_be_bytes());
    head[12..].copy_from_slice(&transaction.0.to_be_bytes());
    head
}

fn parse_announce(packet: &[u8]) -> Result<Announce, RequestError> {
    let packet: &[u8; ANNOUNCE_LEN] = packet.first_chunk().ok_or(RequestError::Short)?;
    announce_fields(packet).ok_or(RequestError::Port)
}

/// The fields of an announce; only its port can be wrong.
fn announce_fields(packet: &[u8; ANNOUNCE_LEN]) -> Option<Announce> {
    let ip = Ipv4Addr::from(field::<4>(packet, 84)?);
    let numwant = i32::from_be_bytes(field(packet, 92)?);
    Some(Announce {
        info_hash: InfoHash(field(packet, 16)?),
        peer_id: PeerId(field(packet, 36)?),
        downloaded: u64_at(packet, 56)?,
        left: u64_at(packet, 64)?,
        uploaded: u64_at(packet, 72)?,
        event: event(u32_at(packet, 80)?),
        ip: (!ip.is_unspecified()).then_some(IpAddr::V4(ip)),
        key: NonZeroU32::new(u32_at(packet, 88)?),
        numwant: u32::try_from(numwant).ok(),
        port: NonZeroU16::new(u16::from_be_bytes(field(packet, 96)?))?,
        compact: None,
        no_peer_id: false,
        ipv4: None,
        ipv6: None,
    })
}

/// Numbers that BEP 15 does not know are regular announces.
fn event(number: u32) -> Event {
    match number {
        1 => Event::Completed,
        2 => Event::Started,
        3 => Event::Stopped,
        _ => Event::None,
    }
}

/// A pause has no number, so it is a regular announce here.
fn event_number(event: Event) -> u32 {
    match event {
        Event::None | Event::Paused => 0,
        Event::Completed => 1,
        Event::Started => 2,
        Event::Stopped => 3,
    }
}

/// The address field has room for IPv4 only, also in packets over IPv6.
fn stated_ipv4(announce: &Announce) -> Ipv4Addr {
    match announce.ip {
        Some(IpAddr::V4(ip)) => ip,
        _ => Ipv4Addr::UNSPECIFIED,
    }
}
