//! Whether an announce goes on to other trackers: what listener threads decide by themselves, through the engine's
//! [`Gate`] and without its lock. What goes on is put into a ring that the forwarders empty.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc;
use weir_engine::{Gate, Timeline};
use weir_tracker_proto::Announce;

use crate::config::{Config, OverloadReply};
use crate::swarm::Endpoint;

/// The way from the listeners to the forwarders.
#[derive(Debug)]
pub(crate) struct Forwarding {
    gate: Arc<Gate>,
    timeline: Timeline,
    ring: mpsc::Sender<Sent>,
    /// Forwarders that might be asked; written by the forwarders.
    pub(crate) forwarders: AtomicU32,
    rules: Rules,
}

/// An announce on its way, with the places it has in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) announce: Announce,
    pub(crate) at: Endpoint,
    pub(crate) source: IpAddr,
    pub(crate) places: u32,
    /// No announce of this swarm went on before.
    pub(crate) first: bool,
}

/// When the queue is too full for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
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
}

/// What becomes of an announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Goes,
    /// First announces are limited for the moment.
    Busy,
    /// There is no place in the queue.
    Full,
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Self {
        let seconds = |time: std::time::Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        Self {
            most: config.max_forwarders_per_announce.get(),
            throttle_at: config.queue_throttle_threshold.value().into(),
            throttle_to: config.queue_throttle_top_n,
            limit_at: config.queue_rate_limit_threshold.value().into(),
            busy: seconds(config.retry_period),
            full: seconds(config.queue_full_retry),
            peers: config.overload_reply == OverloadReply::Peers,
        }
    }
}

impl Forwarding {
    pub(crate) fn new(
        gate: Arc<Gate>,
        timeline: Timeline,
        rules: Rules,
        capacity: usize,
    ) -> (Self, mpsc::Receiver<Sent>) {
        let (ring, sent) = mpsc::channel(capacity.max(1));
        let forwarding = Self {
            gate,
            timeline,
            ring,
            forwarders: AtomicU32::new(0),
            rules,
        };
        (forwarding, sent)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sends an announce on if there is a place for it.
    pub(crate) fn send(
        &self,
        announce: &Announce,
        at: Endpoint,
        source: IpAddr,
        first: bool,
    ) -> Verdict {
        let wanted = self.forwarders.load(Ordering::Relaxed);
        if wanted == 0 {
            return Verdict::Goes; // nobody is to be asked, so nothing waits
        }
        let fill = self.gate.fill_percent();
        let limited = self.rules.limit_at > 0 && fill >= self.rules.limit_at;
        if first && limited && !self.gate.take_token(self.timeline.now()) {
            return Verdict::Busy;
        }
        let most = wanted.min(self.rules.most);
        let throttled = self.rules.throttle_at > 0
            && self.rules.throttle_to > 0
            && fill >= self.rules.throttle_at;
        let asked = match throttled {
            true => most.min(self.rules.throttle_to),
            false => most,
        };
        self.gate.count_throttled(most - asked);
        let places = self.gate.reserve(asked);
        if places == 0 {
            return Verdict::Full;
        }
        let sent = Sent {
            announce: *announce,
            at,
            source,
            places,
            first,
        };
        if self.ring.try_send(sent).is_err() {
            self.gate.release(places);
            return Verdict::Full;
        }
        Verdict::Goes
    }
}
