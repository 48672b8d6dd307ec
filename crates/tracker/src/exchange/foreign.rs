//! Which peers of an answer our clients may be sent to.

use std::collections::HashSet;
use std::net::IpAddr;

use parking_lot::Mutex;
use weir_net::{is_nowhere, is_private};

use super::Exchange;
use crate::outbound::GivenAnswer;
use crate::swarm::PeerEndpoint;
use crate::upstreams::Forwarder;

/// Addresses of our own that are remembered: one machine has few, and a tracker that names others fills no memory.
const EXTERNALS: usize = 16;

/// Where trackers said that they see us.
#[derive(Default)]
pub(super) struct Externals(Mutex<HashSet<IpAddr>>);

impl Externals {
    /// All of them, with one that was just named.
    fn with(&self, named: Option<IpAddr>) -> HashSet<IpAddr> {
        let mut all = self.0.lock();
        if let Some(named) = named
            && all.len() < EXTERNALS
        {
            all.insert(named.to_canonical());
        }
        all.clone()
    }
}

impl Exchange {
    /// The peers of an answer that clients may be sent to, without those that are ours: the ones that a tracker was
    /// told of, at our own address.
    pub(crate) async fn foreign(
        &self,
        forwarder: &Forwarder,
        hash: &[u8; 20],
        given: &GivenAnswer,
    ) -> Vec<PeerEndpoint> {
        let told = self.ledger().told_ports(hash);
        let is_told = |peer: &PeerEndpoint| told.contains(&peer.socket().port());
        let mut own: Vec<IpAddr> = forwarder.config.ip.into_iter().collect();
        if given.peers.iter().any(is_told) {
            own.extend(self.outbound.own_addresses(&forwarder.target).await);
        }
        let externals = self.externals.with(given.external);
        let ours = |peer: &PeerEndpoint| {
            let address = peer.address();
            is_told(peer) && (externals.contains(&address) || own.contains(&address))
        };
        // A tracker out there has no business in our network, and nobody has any on our clients' own machines.
        let near = given.from.is_some_and(is_private);
        let may_be_there = |peer: &PeerEndpoint| {
            let address = peer.address();
            !is_nowhere(address) && (near || !is_private(address))
        };
        let swarms = &self.swarms;
        let foreign = |peer: &&PeerEndpoint| {
            may_be_there(peer) && !ours(peer) && !swarms.has_peer(hash, peer)
        };
        given.peers.iter().filter(foreign).copied().collect()
    }
}
