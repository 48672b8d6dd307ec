//! The tracker as pages, `/stats` and `/metrics` see it: one handle on the counters, never a look through swarms.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::clock::TrackerClock;
use crate::forwarder::Forwarders;
use crate::forwarding::allowance::HeldBack;
use crate::forwarding::overload::Lately;
use crate::inbound::start::Answering;
use crate::sharing::Sharing;
use crate::swarm::{SeenSwarm, Totals};
use crate::tally::TallyKind;
use crate::tracker::{ToldSwarm, Tracker};

/// A handle; clones look at the same tracker.
#[derive(Clone)]
pub(crate) struct Look(Arc<LookParts>);

struct LookParts {
    answering: Answering,
    listening: Vec<(&'static str, SocketAddr)>,
    catalogue: Catalogue,
    forwarders: Arc<Forwarders>,
}

impl Look {
    pub(crate) fn new(
        answering: Answering,
        listening: Vec<(&'static str, SocketAddr)>,
        catalogue: Catalogue,
        forwarders: Arc<Forwarders>,
    ) -> Self {
        Self(Arc::new(LookParts {
            answering,
            listening,
            catalogue,
            forwarders,
        }))
    }

    pub(crate) fn totals(&self) -> Totals {
        self.0.answering.tracker.swarms.totals()
    }

    pub(crate) fn tracker(&self) -> &Tracker {
        &self.0.answering.tracker
    }

    /// What clients are told of a swarm now; what was seen of it, if it is gone meanwhile.
    pub(crate) fn told(&self, seen: &SeenSwarm) -> ToldSwarm {
        let told = self.tracker().told(&seen.hash);
        told.unwrap_or(ToldSwarm {
            peers: seen.peers,
            others: 0,
            counts: seen.counts,
            elsewhere: 0,
        })
    }

    /// Events of clients that did not go on at once, by reason.
    pub(crate) fn held_back(&self) -> [(HeldBack, u64); HeldBack::ALL.len()] {
        let allowances = self.tracker().forwarding.allowances();
        HeldBack::ALL.map(|why| (why, allowances.total(why)))
    }

    pub(crate) fn clock(&self) -> TrackerClock {
        self.0.answering.clock
    }

    pub(crate) fn listening(&self) -> &[(&'static str, SocketAddr)] {
        &self.0.listening
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.0.catalogue
    }

    pub(crate) fn forwarders(&self) -> &Forwarders {
        &self.0.forwarders
    }

    /// What is shared with other nodes, if there are any.
    pub(crate) fn sharing(&self) -> Option<&Sharing> {
        self.0.forwarders.exchange().sharing.as_deref()
    }

    pub(crate) fn count(&self, kind: TallyKind) -> u64 {
        self.0.answering.tallies.total(kind)
    }

    /// What came in, by kind. Replies that could not be sent are no requests.
    pub(crate) fn requests(&self) -> Vec<(&'static str, u64)> {
        let mut requests: Vec<(&'static str, u64)> = Vec::new();
        for (kind, name) in TallyKind::ALL {
            let count = self.count(kind);
            match requests.last_mut() {
                _ if kind == TallyKind::Unsent => {}
                Some((same, sum)) if *same == name => *sum += count,
                _ => requests.push((name, count)),
            }
        }
        requests
    }

    /// Overload of the last minute.
    pub(crate) fn lately(&self) -> Vec<Lately> {
        let overloads = self.tracker().forwarding.overloads();
        overloads.lately(self.clock().now().seconds)
    }

    /// The ports of a protocol, each once.
    pub(crate) fn ports(&self, wanted: &str) -> Vec<u16> {
        let listening = self.0.listening.iter();
        let mut ports: Vec<u16> = listening
            .filter(|(protocol, _)| *protocol == wanted)
            .map(|(_, address)| address.port())
            .collect();
        ports.dedup();
        ports
    }
}
