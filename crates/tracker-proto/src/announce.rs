//! What a client tells a tracker, as one plain value for both protocols.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroU16, NonZeroU32};

use crate::hash::{InfoHash, PeerId};

/// [`Announce::left`] of a client that did not say or does not know.
///
/// Such a peer is no seeder: it is as far from the end as can be. Clients that have only a magnet
/// link send large made-up values of their own, which mean the same.
pub const UNKNOWN_LEFT: u64 = u64::MAX;

/// One announce, whichever way it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announce {
    /// The swarm it is about.
    pub info_hash: InfoHash,
    /// The peer's own name.
    pub peer_id: PeerId,
    /// Where the peer listens.
    pub port: NonZeroU16,
    /// Bytes sent since `started`, as the client says.
    pub uploaded: u64,
    /// Bytes received since `started`, as the client says.
    pub downloaded: u64,
    /// Bytes still wanted; 0 is a seeder, [`UNKNOWN_LEFT`] one that did not say.
    pub left: u64,
    /// What happened, if anything did.
    pub event: Event,
    /// How many peers are wanted; `None` leaves it to the tracker, 0 is none.
    pub numwant: Option<u32>,
    /// A secret by which a client is known again after its address changed.
    pub key: Option<NonZeroU32>,
    /// Whether peers should come compact (BEP 23); UDP has no choice and says nothing.
    pub compact: Option<bool>,
    /// Whether dictionary peers may come without their ids.
    pub no_peer_id: bool,
    /// Where the peer says it is (`ip=`, or the field of UDP); to be believed only if trusted.
    pub ip: Option<IpAddr>,
    /// Where the peer is reached by IPv4 as well (BEP 7), as the client says.
    pub ipv4: Option<Endpoint<Ipv4Addr>>,
    /// Where the peer is reached by IPv6 as well (BEP 7), as the client says.
    pub ipv6: Option<Endpoint<Ipv6Addr>>,
}

impl Announce {
    /// An announce that says only what every announce must.
    pub fn new(info_hash: InfoHash, peer_id: PeerId, port: NonZeroU16) -> Self {
        Self {
            info_hash,
            peer_id,
            port,
            uploaded: 0,
            downloaded: 0,
            left: UNKNOWN_LEFT,
            event: Event::None,
            numwant: None,
            key: None,
            compact: None,
            no_peer_id: false,
            ip: None,
            ipv4: None,
            ipv6: None,
        }
    }
}

/// What happened to the client since it last announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// Nothing: one of the regular announces.
    #[default]
    None,
    /// It begins.
    Started,
    /// It leaves the swarm.
    Stopped,
    /// It has just received the last byte.
    Completed,
    /// It has all it wants, though not everything (BEP 21); HTTP only.
    Paused,
}

/// A further address of a peer (BEP 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<A> {
    /// The address.
    pub address: A,
    /// Its port where that differs from [`Announce::port`].
    pub port: Option<NonZeroU16>,
}

/// What a scrape tells about one swarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Peers that have everything: seeders.
    pub complete: u32,
    /// How often a peer completed.
    pub downloaded: u32,
    /// Peers that do not have everything: leechers.
    pub incomplete: u32,
}
