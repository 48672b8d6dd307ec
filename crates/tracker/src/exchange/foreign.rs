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
    /// All of them, with one that was just named, and whether that was new.
    fn with(&self, named: Option<IpAddr>) -> (HashSet<IpAddr>, bool) {
        let mut all = self.0.lock();
        let mut new = false;
        if let Some(named) = named
            && all.len() < EXTERNALS
        {
            new = all.insert(named.to_canonical());
        }
        (all.clone(), new)
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
        let (externals, new) = self.externals.with(given.external);
        let mut others = Vec::new();
        if let Some(sharing) = &self.sharing {
            if new {
                sharing.node().set_addresses(externals.iter().copied());
            }
            others = sharing.others_addresses();
        }
        let ours = |peer: &PeerEndpoint| {
            let address = peer.address();
            // Which ports other nodes told is not known here; their clients are in the swarms by themselves.
            others.contains(&address)
                || is_told(peer) && (externals.contains(&address) || own.contains(&address))
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
