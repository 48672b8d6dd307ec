//! Whether an announce goes on to other trackers: what listener threads decide by themselves, through the engine's
//! [`Gate`] and without its lock. What goes on is put into rings that the forwarders empty.

pub(crate) mod allowance;
mod held;
pub(crate) mod overload;

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use weir_engine::Gate;
use weir_engine::dispatch::Moment;
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::Household;

use self::allowance::{Allowances, HeldBack};
use self::held::HeldReplies;
use self::overload::{Limits, Overload, Overloads};
use crate::ledger::Ledger;
use crate::reply::Went;
use crate::swarm::PeerEndpoint;

pub(crate) use self::held::HeldReply;

/// The agenda of an engine holds so many times what its queue does.
const AGENDA: usize = 10;

/// The way from the listeners to the forwarders. Nothing here waits: a full ring or queue says so at once.
#[derive(Debug)]
pub(crate) struct Forwarding {
    gate: Arc<Gate>,
    ring: mpsc::Sender<SentAnnounce>,
    /// A ring of their own: no crowd of announces keeps them out.
    events: mpsc::Sender<SentAnnounce>,
    /// Forwarders that might be asked; written by reloads.
    forwarders: AtomicU32,
    ledger: Ledger,
    /// Events that each address may still have sent on.
    allowances: Allowances,
    held: HeldReplies,
    overloads: Overloads,
}

/// Where the forwarders take announces out.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) regular: mpsc::Receiver<SentAnnounce>,
    pub(crate) events: mpsc::Receiver<SentAnnounce>,
}

/// An announce on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentAnnounce {
    pub(crate) announce: Announce,
    pub(crate) at: PeerEndpoint,
    /// Where the peer is reached in the other family.
    pub(crate) also: Option<PeerEndpoint>,
    /// Who sent it, and pays for it.
    pub(crate) client: Household,
    pub(crate) kind: ForwardKind,
}

/// What the forwarders are to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardKind {
    /// Tell those that are due, as many as there are places in the queue.
    Regular(Share),
    /// Tell all.
    Completed,
    /// Tell all who know the peer; it may have been the last one.
    Stopped { last: bool },
    /// The same for a peer that said so to another node: the announce is none of its own.
    Left { last: bool },
}

/// How many of the forwarders an announce may go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Places in the queue that it has.
    pub(crate) places: u16,
    /// How many it would have had if there had been as many places.
    pub(crate) asked: u16,
    /// The same if the queue had not been filling.
    pub(crate) wanted: u16,
    /// Percent of the queue that were taken.
    pub(crate) fill: u8,
}

/// When the queue is too full for what, and what clients are told meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardRules {
    /// Forwarders of one announce at most.
    pub(crate) most: u32,
    /// Fill in percent from which fewer are asked; 0 is never.
    pub(crate) throttle_at: u32,
    /// How many then; 0 is as many as ever.
    pub(crate) throttle_to: u32,
    /// Fill in percent from which first announces need a token; 0 is never.
    pub(crate) limit_at: u32,
    /// What clients are told to wait, in seconds: without a token, and when the queue is full.
    pub(crate) busy: u32,
    pub(crate) full: u32,
    /// Whether they get the known peers nevertheless.
    pub(crate) peers: bool,
    /// Seconds that a client is told to wait while trackers are being asked; 0 is as long as ever.
    pub(crate) first_interval: u32,
    /// Minutes after a swarm began in which that holds.
    pub(crate) first_window: u16,
    /// How long the reply to a peer's first announce may be held.
    pub(crate) first_wait: Duration,
}

/// Places in the queue that an announce has taken; they are for [`Forwarding::send`].
#[must_use = "places that nobody gives back are lost"]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueuePlaces(Share);

/// Why an announce does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    /// There is nobody to send it to.
    Nobody,
    /// First announces are limited for the moment.
    Busy,
    /// There is no place in the queue.
    Full,
}

impl Forwarding {
    /// `tokens` are those of a second, and `events_per_minute` how many an address may have sent on.
    pub(crate) fn new(
        gate: Arc<Gate>,
        ledger: Ledger,
        tokens: u32,
        events_per_minute: u32,
        held_replies: usize,
    ) -> (Arc<Self>, Rings) {
        // As long as the queue behind them, so that who has a place there also has one here.
        let capacity = (gate.capacity() as usize).max(1);
        let (ring, regular) = mpsc::channel(capacity);
        // As many as queue and agenda hold together: who finds no place in one is put on the other, and these have none yet.
        // Room is taken as it is needed.
        let most_events = capacity.saturating_mul(1 + AGENDA);
        let (events, happened) = mpsc::channel(most_events);
        let limits = Limits {
            tokens,
            queue: gate.capacity(),
            events: u32::try_from(most_events).unwrap_or(u32::MAX),
        };
        let forwarding = Self {
            gate,
            ring,
            events,
            forwarders: AtomicU32::new(0),
            ledger,
            allowances: Allowances::new(events_per_minute),
            held: HeldReplies::new(held_replies),
            overloads: Overloads::new(limits),
        };
        let rings = Rings {
            regular,
            events: happened,
        };
        (Arc::new(forwarding), rings)
    }

    /// One with nobody behind it, for a tracker by itself.
    #[cfg(any(test, feature = "bench"))]
    pub(crate) fn to_nobody() -> Arc<Self> {
        let gate = Arc::new(Gate::new(0, weir_engine::Rate::NONE));
        let ledger = Ledger::new(crate::ledger::LedgerLimits::default(), [0; 16]);
        Self::new(gate, ledger, 10, 60, 10_000).0
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn allowances(&self) -> &Allowances {
        &self.allowances
    }

    pub(crate) fn overloads(&self) -> &Overloads {
        &self.overloads
    }

    /// An event stays here, or goes on later.
    pub(crate) fn hold_back(&self, client: Household, why: HeldBack) {
        if self.has_forwarders() {
            self.allowances.hold(client, why);
        }
    }

    pub(crate) fn set_forwarders(&self, forwarders: u32) {
        self.forwarders.store(forwarders, Ordering::Relaxed);
    }

    /// Whether there is anybody to send announces to.
    pub(crate) fn has_forwarders(&self) -> bool {
        self.forwarders.load(Ordering::Relaxed) > 0
    }

    /// Takes places for an announce. Nothing waits here, so a swarm may be locked meanwhile.
    pub(crate) fn take_places(
        &self,
        first: bool,
        rules: &ForwardRules,
        now: Moment,
    ) -> Result<QueuePlaces, Stays> {
        let wanted = self.forwarders.load(Ordering::Relaxed);
        if wanted == 0 {
            return Err(Stays::Nobody);
        }
        let fill = self.gate.fill_percent();
        let limited = rules.limit_at > 0 && fill >= rules.limit_at;
        if first && limited && !self.gate.take_token(now) {
            return Err(Stays::Busy);
        }
        let most = wanted.min(rules.most);
        let throttled = rules.throttle_at > 0 && rules.throttle_to > 0 && fill >= rules.throttle_at;
        let asked = match throttled {
            true => most.min(rules.throttle_to),
            false => most,
        };
        let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        match self.gate.reserve(asked.min(u16::MAX.into())) {
            0 => Err(Stays::Full),
            places => Ok(QueuePlaces(Share {
                places: short(places),
                asked: short(asked),
                wanted: short(most),
                fill: fill.min(100) as u8,
            })),
        }
    }

    /// Sends an announce on that has taken places; `false` if nobody can take it now.
    pub(crate) fn send(
        &self,
        sent: impl FnOnce(ForwardKind) -> SentAnnounce,
        QueuePlaces(share): QueuePlaces,
    ) -> bool {
        let sent = sent(ForwardKind::Regular(share));
        let is_sent = self.ring.try_send(sent).is_ok();
        if !is_sent {
            self.gate.release(share.places.into());
        }
        is_sent
    }

    /// Sends an event on. One that finds the ring full is told: the sweep of the ledger makes up for a `stopped`, whose call
    /// is counted then, and nothing for a `completed`.
    pub(crate) fn send_event(&self, sent: SentAnnounce) -> Went {
        if !self.has_forwarders() {
            return Went::Nowhere;
        }
        if self.events.try_send(sent).is_err() {
            let (what, went) = match sent.kind {
                ForwardKind::Stopped { .. } | ForwardKind::Left { .. } => {
                    (Overload::StoppedLate, Went::Nowhere)
                }
                _ => (Overload::CompletedLost, Went::Lost),
            };
            self.overloads.note(what, &sent.announce, 0);
            return went;
        }
        Went::On
    }

    /// A peer left at another node: trackers that this node told of it are told so.
    pub(crate) fn send_left(&self, hash: &[u8; 20], at: PeerEndpoint, last: bool) {
        let Some(port) = NonZeroU16::new(at.socket().port()) else {
            return;
        };
        self.send_event(SentAnnounce {
            announce: Announce::new(InfoHash(*hash), PeerId([0; 20]), port),
            at,
            also: None,
            client: Household::of(at.address()),
            kind: ForwardKind::Left { last },
        });
    }

    /// The reply to this announce waits until something happens; `None` if too many do already.
    pub(crate) fn hold(&self, hash: &[u8; 20], at: PeerEndpoint) -> Option<HeldReply> {
        self.held.hold(hash, at)
    }

    /// A tracker brought peers, or none will: those who wait for a swarm go on.
    pub(crate) fn wake(&self, hash: &[u8; 20]) {
        self.held.wake(hash);
    }

    /// Forgets those who no longer wait for a swarm.
    pub(crate) fn tidy_held(&self, hash: &[u8; 20]) {
        self.held.tidy(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_rings_stays_small() {
        // The rings hold up to twelve times as many as the queue.
        let size = size_of::<SentAnnounce>();
        assert!(size <= 232, "{size}");
    }
}
