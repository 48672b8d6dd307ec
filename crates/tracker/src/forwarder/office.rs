//! What all calls to other trackers share: the way out, what is known there, and how answers are judged.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::Notify;
use weir_engine::Engine;
use weir_engine::dispatch::Moment;
use weir_net::{is_nowhere, is_private};

use super::Forwarder;
use crate::call::Keys;
use crate::clock::{Clock, minute};
use crate::judge::Terms;
use crate::ledger::Ledger;
use crate::ledger::sheet::Slot;
use crate::outbound::{Given, Outbound};
use crate::swarm::{Endpoint, Upstream};
use crate::tracker::Tracker;

/// Addresses of our own that are remembered.
const EXTERNALS: usize = 16;
/// Seconds after which a swarm looks again whether a tracker still rests: an operator may have ended that.
const LOOK_AGAIN: u32 = 60;
/// Percent of the queue from which it matters whose jobs fill it.
const FILLING: u32 = 25;

/// Shared by all calls.
pub(crate) struct Office {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) engine: Engine,
    pub(crate) outbound: Outbound,
    pub(crate) clock: Clock,
    pub(crate) roster: ArcSwap<Roster>,
    terms: ArcSwap<Terms>,
    /// `stopped` events that are not delivered yet.
    pub(crate) farewells: AtomicUsize,
    /// Told when the last of them is.
    pub(crate) quiet: Notify,
    /// Where trackers said that they see us.
    externals: Mutex<HashSet<IpAddr>>,
}

/// The trackers that announces are sent on to.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    pub(crate) forwarders: Vec<Arc<Forwarder>>,
}

impl Roster {
    pub(crate) fn at(&self, slot: Slot) -> Option<&Arc<Forwarder>> {
        self.forwarders
            .iter()
            .find(|forwarder| forwarder.slot == slot)
    }
}

impl Office {
    pub(crate) fn new(
        tracker: Arc<Tracker>,
        engine: Engine,
        outbound: Outbound,
        clock: Clock,
        terms: Terms,
    ) -> Self {
        Self {
            tracker,
            engine,
            outbound,
            clock,
            roster: ArcSwap::default(),
            terms: ArcSwap::from_pointee(terms),
            farewells: AtomicUsize::new(0),
            quiet: Notify::new(),
            externals: Mutex::default(),
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.tracker.forwarding().ledger()
    }

    pub(crate) fn terms(&self) -> Terms {
        **self.terms.load()
    }

    pub(crate) fn set_terms(&self, terms: Terms) {
        self.terms.store(Arc::new(terms));
    }

    pub(crate) fn keys(&self, slot: Slot) -> Keys<'_> {
        Keys {
            seed: self.tracker.swarms.seed(),
            slot,
        }
    }

    /// The second of the clock after this time; never 0.
    pub(crate) fn seconds_in(&self, time: Duration) -> u32 {
        let now = self.engine.timeline().now();
        // A started second is a whole one: nobody is asked early.
        let then = now + time + Duration::from_nanos(999_999_999);
        self.clock.seconds_at(then).max(1)
    }

    pub(crate) fn note_interval(&self, slot: Slot, interval: Duration) {
        if let Some(forwarder) = self.roster.load().at(slot) {
            let seconds = u32::try_from(interval.as_secs()).unwrap_or(u32::MAX);
            forwarder.interval.store(seconds, Ordering::Relaxed);
        }
    }

    /// When each tracker may be asked for a hash, and until when it rests.
    pub(crate) fn dues(&self, roster: &Roster, hash: &[u8; 20], rests: &[Option<Moment>]) -> Dues {
        let slots = roster.forwarders.iter().map(|forwarder| forwarder.slot);
        let dues = self.ledger().dues(hash, slots);
        let rest = |until: &Option<Moment>| until.map(|until| self.clock.seconds_at(until));
        Dues(dues.into_iter().zip(rests.iter().map(rest)).collect())
    }

    pub(crate) fn rests(&self, roster: &Roster) -> Vec<Option<Moment>> {
        let ids = roster.forwarders.iter().map(|forwarder| forwarder.upstream);
        self.engine.rests(ids)
    }

    /// How many further jobs each tracker takes. Those that answer slowly hold half of the queue together at most: so the
    /// dead never keep the others out.
    pub(crate) fn room(&self, roster: &Roster) -> Vec<u32> {
        let gate = self.engine.gate();
        if gate.fill_percent() < FILLING {
            return vec![u32::MAX; roster.forwarders.len()];
        }
        let upstreams = roster.forwarders.iter().map(|forwarder| forwarder.upstream);
        let queued = |upstream| {
            let status = self.engine.upstream(upstream)?.status;
            status.slow.then_some(status.queued)
        };
        let slow: Vec<Option<u32>> = upstreams.map(queued).collect();
        let count = slow.iter().flatten().count().max(1) as u32;
        let share = gate.capacity() / 2 / count;
        let room =
            |queued: Option<u32>| queued.map_or(u32::MAX, |queued| share.saturating_sub(queued));
        slow.into_iter().map(room).collect()
    }

    /// Every swarm sees with its next announce who is to be asked: there are other trackers now.
    pub(crate) fn look_again(&self) {
        let (swarms, now) = (&self.tracker.swarms, self.clock.now().minute);
        self.ledger().hashes(|hash| {
            if swarms.upstream(hash).has(Upstream::FORWARDED) {
                swarms.set_forwarded(hash, Some(now));
            }
        });
    }

    /// Tells a swarm's record when it is to be forwarded next.
    pub(crate) fn settle(&self, hash: &[u8; 20]) {
        let roster = self.roster.load();
        let rests = self.rests(&roster);
        self.settle_by(hash, &self.dues(&roster, hash, &rests));
    }

    pub(crate) fn settle_by(&self, hash: &[u8; 20], dues: &Dues) {
        let now = self.clock.now();
        let next = dues.next(now.seconds).unwrap_or(u32::MAX / 2);
        let next = next.max(now.seconds);
        // As far away as the record can tell.
        let next = next.min(now.seconds.saturating_add(10 * 24 * 60 * 60));
        self.tracker.swarms.set_forwarded(hash, Some(minute(next)));
    }

    /// The peers of an answer that clients may be sent to, without those that are ours: the ones that a tracker was
    /// told of, at our own address.
    pub(crate) async fn foreign(
        &self,
        forwarder: &Forwarder,
        hash: &[u8; 20],
        given: &Given,
    ) -> Vec<Endpoint> {
        let told = self.ledger().told_ports(hash);
        let is_told = |peer: &Endpoint| told.contains(&peer.socket().port());
        let mut own: Vec<IpAddr> = forwarder.config.ip.into_iter().collect();
        if given.peers.iter().any(is_told) {
            own.extend(self.outbound.own_addresses(&forwarder.target).await);
        }
        let externals = {
            let mut externals = self.externals.lock();
            if let Some(external) = given.external
                && externals.len() < EXTERNALS
            {
                externals.insert(external.to_canonical());
            }
            externals.clone()
        };
        let ours = |peer: &Endpoint| {
            let address = peer.address();
            is_told(peer) && (externals.contains(&address) || own.contains(&address))
        };
        // A tracker out there has no business in our network, and nobody has any on our clients' own machines.
        let near = given.from.is_some_and(is_private);
        let may_be_there = |peer: &Endpoint| {
            let address = peer.address();
            !is_nowhere(address) && (near || !is_private(address))
        };
        let swarms = &self.tracker.swarms;
        let foreign =
            |peer: &&Endpoint| may_be_there(peer) && !ours(peer) && !swarms.has_peer(hash, peer);
        given.peers.iter().filter(foreign).copied().collect()
    }
}

/// When a hash may be asked for at each tracker of a roster: the second (0: never asked), and until when it rests.
pub(crate) struct Dues(Vec<(u32, Option<u32>)>);

impl Dues {
    /// The positions of those that may be asked now, and whether it is the first time.
    pub(crate) fn eligible(&self, now: u32) -> Vec<(usize, bool)> {
        let all = self.0.iter().enumerate();
        let now = all.filter(|(_, (due, rest))| rest.is_none() && *due <= now);
        now.map(|(position, (due, _))| (position, *due == 0))
            .collect()
    }

    /// The first second at which one may be asked, as far as that is sure.
    fn next(&self, now: u32) -> Option<u32> {
        let again = now.saturating_add(LOOK_AGAIN);
        let rests = |rest: Option<u32>| rest.map_or(0, |until| until.min(again));
        let all = self.0.iter();
        all.map(|(due, rest)| (*due).max(rests(*rest))).min()
    }
}
