//! Peers that go: trackers that were told of them are told so, by the peer's own `stopped` or in its place.

use weir_tracker_proto::Announce;
use weir_web::Household;

use super::task::ForwarderTask;
use crate::call::{Announcing, Keys};
use crate::exchange::Lineup;
use crate::forwarding::allowance::HeldBack;
use crate::forwarding::{ForwardKind, SentAnnounce};
use crate::swarm::PeerEndpoint;

/// What came of a goodbye.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goodbye {
    /// Some tracker is told.
    Said,
    /// None knows the peer, or can be told.
    Nobody,
    /// Its address has no event left: they stay told, and the sweep comes back to it.
    Later,
}

impl ForwarderTask {
    /// A peer said that it goes, here or at another node; `last` if nobody was left in its swarm then. Says whether anybody
    /// is told of it now.
    pub(super) fn take_leave(&self, lineup: &Lineup, sent: &SentAnnounce, last: bool) -> bool {
        let exchange = &self.exchange;
        let hash = &sent.announce.info_hash.0;
        let gone = last && !exchange.swarms.holds(hash);
        // At another node: what it said is not known here, but who was told of it is.
        let announce = match sent.kind {
            ForwardKind::Left { .. } => None,
            _ => Some(&sent.announce),
        };
        let mut made = false;
        for at in [Some(sent.at), sent.also].into_iter().flatten() {
            let keys = || self.keys(lineup);
            let queued = keys().map(|keys| keys.peer(hash, &at));
            let scheduled = keys().filter(|_| gone).map(|keys| keys.hash(hash));
            exchange.engine.cancel_keys(queued, scheduled);
            let said = self.say_goodbye(lineup, hash, at, (sent.client, announce));
            made |= said == Goodbye::Said;
            if said == Goodbye::Later {
                if let Some(announce) = announce {
                    exchange.ledger().leaves(announce, &at);
                }
                exchange
                    .forwarding
                    .hold_back(sent.client, HeldBack::Delayed);
            }
        }
        if gone {
            self.forget(hash);
        }
        made
    }

    /// Forgets what is over in a part of the ledger, and tells trackers whose peers went without a word.
    pub(super) fn sweep(&self, step: usize, steps: usize) {
        let exchange = &self.exchange;
        let now = exchange.clock.now().seconds;
        let mut seen = Vec::new();
        exchange.ledger().sweep(step, steps, now, |sheet| {
            if sheet.emptied || sheet.over || sheet.pending || !sheet.told.is_empty() {
                seen.push(sheet);
            }
        });
        if seen.is_empty() {
            return;
        }
        let lineup = exchange.lineup();
        for sheet in seen {
            if sheet.emptied {
                exchange.mirror(&sheet.hash);
            }
            for at in sheet.told {
                if !exchange.swarms.has_peer(&sheet.hash, &at) {
                    let client = Household::of(at.address());
                    self.say_goodbye(&lineup, &sheet.hash, at, (client, None));
                }
            }
            if !exchange.swarms.holds(&sheet.hash) {
                // Nobody is here for whom a call would be made again.
                if sheet.pending {
                    let scheduled = self.keys(&lineup).map(|keys| keys.hash(&sheet.hash));
                    exchange.engine.cancel_keys([], scheduled);
                }
                self.forget(&sheet.hash);
            }
        }
    }

    /// Sends `stopped` to all who were told of a peer.
    fn say_goodbye(
        &self,
        lineup: &Lineup,
        hash: &[u8; 20],
        at: PeerEndpoint,
        (client, announce): (Household, Option<&Announce>),
    ) -> Goodbye {
        let (ledger, allowances) = (
            self.exchange.ledger(),
            self.exchange.forwarding.allowances(),
        );
        if !ledger.is_told(hash, &at) {
            return Goodbye::Nobody;
        }
        if !allowances.take(client, self.exchange.clock.now().moment) {
            return Goodbye::Later;
        }
        let Some(told) = ledger.untell(hash, &at) else {
            return Goodbye::Nobody;
        };
        let Some(announce) = announce.copied().or_else(|| told.farewell(*hash)) else {
            return Goodbye::Nobody;
        };
        let mut said = Goodbye::Nobody;
        for forwarder in lineup.open() {
            if told.slots.has(forwarder.slot) {
                let call = Announcing::begin(&self.exchange, forwarder, &announce, at);
                if self.submit_event(call) {
                    said = Goodbye::Said;
                }
            }
        }
        said
    }

    fn forget(&self, hash: &[u8; 20]) {
        let now = self.exchange.clock.now().seconds;
        self.exchange.ledger().forget(hash, now);
        // Somebody may have come meanwhile.
        self.exchange.mirror(hash);
    }

    /// The keys of jobs at each tracker.
    fn keys<'a>(&'a self, lineup: &'a Lineup) -> impl Iterator<Item = Keys<'a>> {
        let seed = self.exchange.swarms.seed();
        let slots = lineup.forwarders.iter().map(|forwarder| forwarder.slot);
        slots.map(move |slot| Keys { seed, slot })
    }
}
