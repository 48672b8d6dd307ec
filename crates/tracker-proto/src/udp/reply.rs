//! What trackers answer: connect, announce, scrape, error.

use std::net::SocketAddr;

use super::{
    ANNOUNCE, CONNECT, ConnectionId, ERROR, MAX_SCRAPE, SCRAPE, TransactionId, u32_at, u64_at,
};
use crate::announce::Counts;
use crate::compact;
use crate::error::ReplyError;
use crate::text::Text;

/// Bytes of a connect reply.
pub const CONNECT_LEN: usize = 16;

/// Bytes of an announce reply before its peers.
pub const ANNOUNCE_HEAD_LEN: usize = 20;

/// Bytes of a scrape or error reply before its content.
pub const HEAD_LEN: usize = 8;

/// Which addresses an announce reply carries: those of the protocol that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Peers of 6 bytes.
    V4,
    /// Peers of 18 bytes.
    V6,
}

/// A packet that a tracker sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The connection id that was asked for.
    Connect {
        /// As in the request.
        transaction: TransactionId,
        /// Good for about a minute.
        connection: ConnectionId,
    },
    /// An answer to an announce.
    Announce {
        /// As in the request.
        transaction: TransactionId,
        /// Seconds until the next announce.
        interval: u32,
        /// Peers that do not have everything.
        leechers: u32,
        /// Peers that do.
        seeders: u32,
        /// Some of them.
        peers: Peers<'a>,
    },
    /// An announce reply that ends within its head: a *no* without words.
    Cut {
        /// As in the request.
        transaction: TransactionId,
    },
    /// An answer to a scrape, in the order of its hashes.
    Scrape {
        /// As in the request.
        transaction: TransactionId,
        /// As many as came whole.
        counts: ScrapeCounts<'a>,
    },
    /// A *no* with a reason.
    Error {
        /// As in the request.
        transaction: TransactionId,
        /// The reason.
        message: Text<'a>,
    },
}

/// The peers of an announce reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peers<'a> {
    bytes: &'a [u8],
    family: Family,
}

/// The counts of a scrape reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrapeCounts<'a> {
    entries: &'a [[u8; 12]],
}

impl<'a> Reply<'a> {
    /// Reads a packet that came over `family`; bytes that make no whole peer or count are left out.
    pub fn parse(packet: &'a [u8], family: Family) -> Result<Self, ReplyError> {
        let (action, transaction) = u32_at(packet, 0)
            .zip(u32_at(packet, 4).map(TransactionId))
            .ok_or(ReplyError::Short)?;
        let rest = &packet[HEAD_LEN..];
        match action {
            CONNECT => Ok(Self::Connect {
                transaction,
                connection: ConnectionId(u64_at(rest, 0).ok_or(ReplyError::Short)?),
            }),
            ANNOUNCE => Ok(Self::announce(transaction, rest, family)),
            SCRAPE => Ok(Self::Scrape {
                transaction,
                counts: ScrapeCounts {
                    entries: rest.as_chunks().0,
                },
            }),
            ERROR => Ok(Self::Error {
                transaction,
                message: Text(rest),
            }),
            other => Err(ReplyError::UnknownAction(other)),
        }
    }

    /// What the reply belongs to.
    pub fn transaction(&self) -> TransactionId {
        match *self {
            Self::Connect { transaction, .. }
            | Self::Announce { transaction, .. }
            | Self::Cut { transaction }
            | Self::Scrape { transaction, .. }
            | Self::Error { transaction, .. } => transaction,
        }
    }

    fn announce(transaction: TransactionId, rest: &'a [u8], family: Family) -> Self {
        let Some((counts, bytes)) = rest.split_first_chunk::<12>() else {
            return Self::Cut { transaction };
        };
        let [interval, leechers, seeders] = three(counts);
        Self::Announce {
            transaction,
            interval,
            leechers,
            seeders,
            peers: Peers { bytes, family },
        }
    }
}

impl<'a> Peers<'a> {
    /// The addresses; one with port 0 cannot be reached and is left out.
    pub fn addresses(self) -> impl Iterator<Item = SocketAddr> + 'a {
        let (v4, v6): (&[u8], &[u8]) = match self.family {
            Family::V4 => (self.bytes, &[]),
            Family::V6 => (&[], self.bytes),
        };
        let v4 = compact::v4s(v4).map(SocketAddr::V4);
        let v6 = compact::v6s(v6).map(SocketAddr::V6);
        v4.chain(v6).filter(|address| address.port() != 0)
    }
}

impl<'a> ScrapeCounts<'a> {
    /// The counts, in the order of the hashes that were asked for.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Counts> + 'a {
        self.entries.iter().map(|entry| {
            let [complete, downloaded, incomplete] = three(entry);
            Counts {
                complete,
                downloaded,
                incomplete,
            }
        })
    }
}

/// Writes a connect reply.
pub fn connect(transaction: TransactionId, connection: ConnectionId) -> [u8; CONNECT_LEN] {
    let mut packet = [0; CONNECT_LEN];
    packet[..HEAD_LEN].copy_from_slice(&head(CONNECT, transaction));
    packet[HEAD_LEN..].copy_from_slice(&connection.0.to_be_bytes());
    packet
}

/// Writes what comes before the peers of an announce reply; they follow compact, in the family of
/// the protocol that carries the reply.
pub fn announce_head(
    transaction: TransactionId,
    interval: u32,
    leechers: u32,
    seeders: u32,
) -> [u8; ANNOUNCE_HEAD_LEN] {
    let mut packet = [0; ANNOUNCE_HEAD_LEN];
    packet[..HEAD_LEN].copy_from_slice(&head(ANNOUNCE, transaction));
    packet[8..12].copy_from_slice(&interval.to_be_bytes());
    packet[12..16].copy_from_slice(&leechers.to_be_bytes());
    packet[16..].copy_from_slice(&seeders.to_be_bytes());
    packet
}

/// Appends a scrape reply, counts in the order of the request's hashes.
pub fn write_scrape(
    transaction: TransactionId,
    counts: impl IntoIterator<Item = Counts>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&head(SCRAPE, transaction));
    for count in counts.into_iter().take(MAX_SCRAPE) {
        for number in [count.complete, count.downloaded, count.incomplete] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Appends an error reply of at most `limit` bytes, the message cut between characters.
///
/// `limit` keeps a reply to an unproven address from being larger than its request; below
/// [`HEAD_LEN`] it is the bare head.
pub fn write_error(transaction: TransactionId, message: &str, limit: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&head(ERROR, transaction));
    let room = limit.saturating_sub(HEAD_LEN);
    let cut = message.floor_char_boundary(room);
    out.extend_from_slice(&message.as_bytes()[..cut]);
}

fn head(action: u32, transaction: TransactionId) -> [u8; HEAD_LEN] {
    let [a, b, c, d] = action.to_be_bytes();
    let [e, f, g, h] = transaction.0.to_be_bytes();
    [a, b, c, d, e, f, g, h]
}

fn three(bytes: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_be_bytes)
}
