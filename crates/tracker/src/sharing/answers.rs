//! What other trackers answer, told to the other nodes and heard from them.

use std::time::Duration;

use weir_net::is_nowhere;
use weir_tracker_proto::InfoHash;
use weir_tracker_proto::nodes::{ANSWER_PEERS, CompactPeer, ToldAnswer};

use super::Sharing;
use super::outlet::endpoint;
use crate::clock::minute;
use crate::exchange::Exchange;
use crate::ledger::sheet::News;
use crate::swarm::PeerEndpoint;
use crate::upstreams::Forwarder;

/// What a tracker said about an info hash, as far as other nodes need to know.
pub(crate) struct TrackerSaid<'a> {
    pub(crate) hash: &'a [u8; 20],
    /// When it may be asked again.
    pub(crate) due: Duration,
    /// Its peers and how long they are kept, if it gave any answer.
    pub(crate) peers: Option<(&'a [PeerEndpoint], Duration)>,
}

impl Sharing {
    /// Tells the others what a tracker said, and that nobody is to ask it before it is due.
    pub(crate) fn tell_answer(&self, forwarder: &Forwarder, said: &TrackerSaid<'_>) {
        let key = self.claim_key(said.hash, forwarder);
        self.claims.hold(key, said.due);
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let mut answer = ToldAnswer {
            hash: InfoHash(*said.hash),
            tracker: self.tracker_key(forwarder),
            due: seconds(said.due),
            peers_live: said.peers.map(|(_, live)| seconds(live)),
            v4: Vec::new(),
            v6: Vec::new(),
        };
        let peers = said.peers.map_or(&[][..], |(peers, _)| peers);
        let peers = peers.iter().filter(|peer| self.outlet.may_tell(peer));
        for peer in peers.take(ANSWER_PEERS) {
            match peer {
                PeerEndpoint::V4(wire) => answer.v4.push(*wire),
                PeerEndpoint::V6(wire) => answer.v6.push(*wire),
            }
        }
        if self.answers.try_send(answer).is_err() {
            self.outlet.drop_events(1);
        }
    }
}

impl Exchange {
    /// Another node told what a tracker said so long ago. The tracker is due here as it is there, and its peers are known
    /// here as well, if the swarm is.
    pub(super) fn hear_answer(&self, answer: &ToldAnswer, age: Duration) {
        let Some(sharing) = &self.sharing else { return };
        let forwarders = self.roster.all();
        let mut all = forwarders.iter();
        let known = all.find(|one| sharing.tracker_key(one) == answer.tracker);
        let hash = &answer.hash.0;
        let Some(forwarder) = known.filter(|_| self.swarms.holds(hash)) else {
            return;
        };
        let left = |seconds: u32| Duration::from_secs(seconds.into()).saturating_sub(age);
        // No longer than a tracker of our own might demand.
        let due = left(answer.due).min(self.judge().never);
        let due = self.seconds_in(due);
        let peers: Vec<PeerEndpoint> = (answer.v4.iter().map(|wire| CompactPeer::V4(*wire)))
            .chain(answer.v6.iter().map(|wire| CompactPeer::V6(*wire)))
            .filter_map(|told| endpoint(&told))
            .filter(|at| sharing.outlet.may_tell(at) && !is_nowhere(at.address()))
            .filter(|at| !self.swarms.has_peer(hash, at))
            .collect();
        let live = answer
            .peers_live
            .map(|live| left(live).min(self.judge().age));
        let news = live.map(|live| News {
            due,
            expires: minute(self.seconds_in(live)).short(),
            peers: &peers,
            tracker_id: None,
            most: usize::MAX,
        });
        self.ledger().hear(hash, forwarder.slot, due, news.as_ref());
        self.mirror(hash);
    }
}
