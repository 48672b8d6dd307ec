//! What clients are told and allowed, by the configuration.

use weir_tracker_proto::Announce;

use crate::forwarding;
use crate::lists::Lists;
use crate::swarm::{PeerEndpoint, Want};
use crate::trust::Trust;

/// The terms of one moment; a reload replaces all of them at once.
#[derive(Debug)]
pub(crate) struct ClientTerms {
    /// Seconds between announces.
    pub(crate) interval: u32,
    /// Peers given to who does not say how many.
    pub(crate) numwant: u32,
    /// Peers given at most.
    pub(crate) max_numwant: u32,
    /// Info hashes in one scrape.
    pub(crate) scrape_hashes: usize,
    /// When announces are sent on, and what clients are told meanwhile.
    pub(crate) forwarding: forwarding::ForwardRules,
    pub(crate) trust: Trust,
    pub(crate) lists: Lists,
}

/// How a reply can carry peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// UDP over IPv4.
    V4,
    /// UDP over IPv6.
    V6,
    /// HTTP.
    Both,
}

impl ClientTerms {
    #[inline]
    pub(super) fn want(&self, announce: &Announce, at: &PeerEndpoint, carries: Carries) -> Want {
        let number = announce.numwant.unwrap_or(self.numwant);
        let number = number.min(self.max_numwant) as usize;
        let other_family = match at {
            PeerEndpoint::V4(_) => announce.ipv6.is_some(),
            PeerEndpoint::V6(_) => announce.ipv4.is_some(),
        };
        match carries {
            Carries::V4 => Want::V4(number),
            Carries::V6 => Want::V6(number),
            // Whether or not we believe its other address, it has one.
            Carries::Both if other_family => Want::Both(number),
            Carries::Both => Want::OwnFirst(number),
        }
    }
}
