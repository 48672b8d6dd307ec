//! Who takes part, what each may spend when it is alone, and what is handed in when the store has lost something.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use crate::state::{Ledger, Window};

use super::permission::{AskId, Switched, ToldLimit};
use super::words::{Epoch, NodeId, StoreTime, UpstreamKey};

/// A node says that it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Who.
    pub node: NodeId,
    /// Its name on pages and in metrics.
    pub name: String,
    /// Its version of Weir.
    pub version: String,
    /// The addresses at which its clients are seen from outside.
    pub addresses: Vec<IpAddr>,
    /// How far it is behind in reading what others write, the worst of all streams.
    pub lag: Duration,
    /// Windows that it wants a share of. Shares that are not wished for any more are given up.
    pub shares: Vec<ShareWish>,
    /// Upstreams whose rows needed a newer Weir: as long as one does, this is refused like whatever met it.
    pub newer: Vec<UpstreamKey>,
    /// A number for the epoch that begins if there is none.
    pub new_epoch: Epoch,
    /// The epoch whose times are wrong, since the store's clock has jumped ahead: another one begins in its place, to which
    /// every node says how long ago its starts were. [`Epoch(0)`](Epoch) for none.
    pub distrusts: Epoch,
}

/// A window that a node wants a share of, to spend when it is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareWish {
    /// Whose window.
    pub upstream: UpstreamKey,
    /// Of which budget.
    pub ledger: Ledger,
    /// Its length.
    pub window: Window,
    /// The limit that this node keeps to there.
    pub limit: u32,
}

/// What a node may spend of a window when it is alone: one twentieth of the limit, at least one, as long as all shares
/// together stay within half of it; else none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Whose window.
    pub upstream: UpstreamKey,
    /// Of which budget.
    pub ledger: Ledger,
    /// Its length.
    pub window: Window,
    /// So many starts in any such window.
    pub starts: u32,
}

/// What a beat is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The store's time.
    pub now: StoreTime,
    /// The present epoch. Where it is not the one that the node knows, it hands in what it knows.
    pub epoch: Epoch,
    /// Everybody who is there, this node among them.
    pub members: Vec<Member>,
    /// This node's shares; none yet while others have to hear of it first.
    pub shares: Vec<Share>,
    /// Members that have yet to hand in what they know.
    pub missing: Vec<NodeId>,
}

/// One node as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its version of Weir.
    pub version: String,
    /// The addresses at which its clients are seen from outside.
    pub addresses: Vec<IpAddr>,
    /// How long it has been silent.
    pub silent: Duration,
    /// How far it is behind.
    pub lag: Duration,
    /// Whether it is there.
    pub state: NodeState,
}

/// Whether a member is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Heard of within the last ten seconds.
    Here,
    /// Not heard of, and still counted with its shares.
    Silent,
}

/// What a node knows, for a store that has lost something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandIn {
    /// Who.
    pub node: NodeId,
    /// For which epoch; for another one nothing is taken.
    pub epoch: Epoch,
    /// The members that it knows, and those that left or fell out within the last 24 hours: their starts are not in a store
    /// that lost them. Those that were silent for longer are left out.
    pub known: Vec<NodeId>,
    /// Its own starts that may still count.
    pub starts: Vec<HandedStart>,
    /// The shares that it has, spent or not: those that it had before it heard of this epoch.
    pub shares: Vec<Share>,
    /// Who wants to be left alone, for how long, and why.
    pub throttled: Vec<(UpstreamKey, Duration, String)>,
    /// What was told.
    pub limits: Vec<(UpstreamKey, ToldLimit)>,
    /// What is switched off, and what was on again.
    pub switched: Vec<(UpstreamKey, Switched)>,
}

/// A start that a node made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedStart {
    /// Who was called.
    pub upstream: UpstreamKey,
    /// Its name; handed in twice, or known already, it counts once.
    pub id: AskId,
    /// Which windows it counts in.
    pub ledger: Ledger,
    /// How long ago.
    pub age: Duration,
    /// Whether it started the spacing clock.
    pub spaced: bool,
}

/// A clean stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leave {
    /// Who.
    pub node: NodeId,
    /// Starts that it made alone and that may still count; they count as everybody's from now on.
    pub starts: Vec<HandedStart>,
}

impl Beat {
    /// All upstreams that it speaks of, each once.
    pub(super) fn upstreams(&self) -> BTreeSet<UpstreamKey> {
        let wished = self.shares.iter().map(|wish| wish.upstream);
        wished.chain(self.newer.iter().copied()).collect()
    }
}

impl HandIn {
    /// All upstreams that it speaks of, each once.
    pub(super) fn upstreams(&self) -> BTreeSet<UpstreamKey> {
        let starts = self.starts.iter().map(|start| start.upstream);
        let shares = self.shares.iter().map(|share| share.upstream);
        let throttled = self.throttled.iter().map(|(upstream, ..)| *upstream);
        let limits = self.limits.iter().map(|(upstream, _)| *upstream);
        let switched = self.switched.iter().map(|(upstream, _)| *upstream);
        let all = starts.chain(shares).chain(throttled);
        all.chain(limits).chain(switched).collect()
    }
}

impl Leave {
    /// All upstreams that it speaks of, each once.
    pub(super) fn upstreams(&self) -> BTreeSet<UpstreamKey> {
        self.starts.iter().map(|start| start.upstream).collect()
    }
}
