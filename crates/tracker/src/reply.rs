//! What clients read: replies and refusals, in bencode and in packets. The one place where a refusal becomes a
//! sentence.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};

use weir_tracker_proto::http::{AnnounceWriter, DictPeer, Head, RetryIn};
use weir_tracker_proto::udp::{self, TransactionId};
use weir_tracker_proto::{RequestError, compact, http};

use crate::forwarding::HeldReply;
use crate::swarm::SwarmCounts;

/// What a client is told after an announce, besides its peers.
#[derive(Debug)]
pub(crate) struct AnnounceReply {
    pub(crate) counts: SwarmCounts,
    /// Seconds until its next announce.
    pub(crate) interval: u32,
    /// The reply waits for what other trackers say; the same announce is then to be answered once more.
    pub(crate) held: Option<HeldReply>,
    /// What became of it beyond the reply.
    pub(crate) went: Went,
}

/// Where an announce went that was answered from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    /// There was nothing to send on.
    Nowhere,
    /// To the forwarders.
    On,
    /// It should have gone on, and found no room.
    Lost,
}

/// Why a client does not get what it asked for. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackerRefusal {
    /// It asked in a way that cannot be read.
    Malformed(RequestError),
    /// Its connection id proves nothing: wrong, too old, or another's.
    NotConnected,
    /// This info hash is not for this tracker.
    NotServed,
    /// There is no room for a new peer.
    Full(u32),
    /// Its address has no room for a new peer.
    Crowded(u32),
    /// First announces are limited for the moment.
    Busy(u32),
    /// The queue to other trackers is full.
    QueueFull(u32),
}

impl TrackerRefusal {
    fn sentence(&self) -> Cow<'static, str> {
        match self {
            Self::Malformed(error) => error.to_string().into(),
            Self::NotConnected => "connection id is wrong or too old, connect again".into(),
            Self::NotServed => "this tracker does not serve this info hash".into(),
            Self::Full(seconds) => {
                format!("tracker full, retry in {} minutes", minutes(*seconds)).into()
            }
            Self::Busy(seconds) => format!("tracker busy, retry in {seconds} seconds").into(),
            Self::QueueFull(seconds) => {
                format!("tracker queue full, retry in {} minutes", minutes(*seconds)).into()
            }
            Self::Crowded(seconds) => format!(
                "too many peers from your address, retry in {} minutes",
                minutes(*seconds)
            )
            .into(),
        }
    }

    /// Seconds until it may ask again.
    pub(crate) fn retry(&self) -> Option<u32> {
        match self {
            Self::Full(seconds)
            | Self::Crowded(seconds)
            | Self::Busy(seconds)
            | Self::QueueFull(seconds) => Some(*seconds),
            Self::Malformed(_) | Self::NotConnected | Self::NotServed => None,
        }
    }

    /// Appends the refusal in bencode.
    pub(crate) fn write_http(&self, out: &mut Vec<u8>) {
        let retry = self.retry();
        let retry_in = retry.map(|seconds| RetryIn::Minutes(minutes(seconds)));
        http::write_failure(&self.sentence(), retry_in, retry, out);
    }

    /// Appends the refusal as a packet of at most `limit` bytes.
    pub(crate) fn write_udp(&self, transaction: TransactionId, limit: usize, out: &mut Vec<u8>) {
        udp::reply::write_error(transaction, &self.sentence(), limit, out);
    }
}

/// BEP 31 counts in minutes; a started one is a whole one.
fn minutes(seconds: u32) -> u32 {
    seconds.div_ceil(60)
}

/// Appends an announce reply in bencode; the peers are in their wire form.
pub(crate) fn announce_http(
    reply: &AnnounceReply,
    source: IpAddr,
    compact: bool,
    [v4, v6]: [&[u8]; 2],
    out: &mut Vec<u8>,
) {
    let head = Head {
        complete: reply.counts.seeders,
        downloaded: Some(reply.counts.completed),
        external_ip: Some(source.to_canonical()),
        incomplete: reply.counts.leechers,
        interval: reply.interval,
        ..Head::default()
    };
    let mut writer = AnnounceWriter::new(&head, out);
    if compact {
        writer.peers(v4);
        if !v6.is_empty() {
            writer.peers6(v6);
        }
    } else {
        let v4 = compact::v4s(v4).map(|peer: SocketAddrV4| SocketAddr::from(peer));
        let v6 = compact::v6s(v6).map(|peer: SocketAddrV6| SocketAddr::from(peer));
        writer.dictionaries(v4.chain(v6).map(|address| DictPeer {
            peer_id: None,
            address,
        }));
    }
    writer.finish();
}
