//! Whether an upstream may be called now: what is asked, and what the store answers.

use std::sync::Arc;
use std::time::Duration;

use crate::state::{Ledger, Window};

use super::words::{NodeId, StoreTime, UpstreamKey};

/// The name of one question to the store. A node never uses a number twice, also not after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId {
    /// Who asks.
    pub node: NodeId,
    /// Which of its questions.
    pub number: u64,
}

/// May this upstream be called now?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its name: a repeat gets the same answer.
    pub id: AskId,
    /// Who is to be called.
    pub upstream: UpstreamKey,
    /// Which windows the call counts in.
    pub ledger: Ledger,
    /// The limits that this node has configured; limits that the upstream told come on top where a length has none.
    pub windows: Vec<(Window, u32)>,
    /// The second of the day (UTC) at which the window of 24 hours empties, where it is not a sliding one.
    pub day_begins: Option<u32>,
    /// The time that must have passed since the last start that had a gap; `None` neither waits for that clock nor starts it.
    pub gap: Option<Duration>,
    /// What is to be asked, where other nodes may have the answer or be about to get it.
    pub question: Option<Question>,
    /// After this the grant is not wanted any more, and nothing is changed.
    pub wanted_until: StoreTime,
}

/// A question to an upstream that all nodes recognise, claimed together with the permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// A keyed hash of upstream and question.
    pub key: [u8; 16],
    /// How long the claim holds: the call's time-out.
    pub claim: Duration,
    /// Answers that are older than this are not wanted.
    pub fresh: Duration,
}

/// What the store says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Call it. The start is counted.
    Granted(Grant),
    /// Not now; nothing was counted.
    Refused {
        /// When it is worth asking again.
        wait: Duration,
        /// Why.
        reason: Refusal,
        /// The store's time.
        now: StoreTime,
    },
    /// Another node is asking the same just now.
    Claimed {
        /// Which one.
        by: NodeId,
        /// When its claim ends at the latest.
        left: Duration,
        /// The store's time.
        now: StoreTime,
    },
    /// Another node has asked the same, and this is the answer, as it was sealed.
    Answered {
        /// Which one.
        by: NodeId,
        /// How old the answer is.
        age: Duration,
        /// The answer.
        body: Arc<[u8]>,
        /// The store's time.
        now: StoreTime,
    },
    /// It came too late to be wanted. Nothing was changed.
    Late {
        /// The store's time.
        now: StoreTime,
    },
}

/// A start that the store has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// When it was counted.
    pub at: StoreTime,
}

/// Why an upstream may not be called now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A window is full: what all nodes together have used, and what there is for them, shares left out.
    Window {
        /// Its length.
        window: Window,
        /// Starts in it.
        used: u32,
        /// The limit.
        limit: u32,
    },
    /// The spacing since the last start of any node.
    Gap,
    /// It asked one of the nodes to be left alone.
    Throttled {
        /// Which node.
        by: NodeId,
        /// What it said.
        reason: String,
    },
    /// An operator has switched it off.
    Off(Switched),
    /// The store lost something, and members have yet to say what they know.
    HandingIn,
}

/// Something that became known about an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A grant was not used: it counts no longer.
    Unused(AskId),
    /// A call was made without asking: an operator's probe, the second request of a call, or a start that was made alone.
    Started {
        /// The name of the start; told twice, it counts once.
        id: AskId,
        /// Which windows it counts in.
        ledger: Ledger,
        /// How long ago.
        age: Duration,
        /// Whether it started the spacing clock.
        spaced: bool,
    },
    /// It wants to be left alone.
    Throttled {
        /// For how long from now.
        span: Duration,
        /// Who was told so.
        by: NodeId,
        /// In its words.
        reason: String,
        /// When it said so; never later than the store hears of it.
        at: StoreTime,
    },
    /// It told a limit of its own.
    Limit(ToldLimit),
    /// An operator switched it off, or on again.
    Switched(Switched),
    /// An operator ended its cooldown then: throttling and told limits of before are forgotten.
    Cleared(StoreTime),
    /// The limits that a node has configured, all of them. Nobody else keeps to them; they are for pages.
    Configured(NodeId, Vec<Configured>),
}

/// A limit that a node has configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configured {
    /// Of which budget.
    pub ledger: Ledger,
    /// Of which window.
    pub window: Window,
    /// How many starts it allows there.
    pub limit: u32,
}

/// A limit that an upstream told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldLimit {
    /// Which windows it speaks of.
    pub ledger: Ledger,
    /// Which of them.
    pub window: Window,
    /// How many starts it allows there; at least 1.
    pub limit: u32,
    /// How many it has counted, if it said so; what is more than all nodes know of counts as started now.
    pub used: Option<u32>,
    /// When it said so, or 0 where that is not known. The later of two counts, whenever the store hears of them; never later
    /// than it does.
    pub at: StoreTime,
}

/// What an operator last did to an upstream: switched it off, or on again. The later of two counts, whenever the store hears
/// of them: a node that was away must not bring back what was undone meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switched {
    /// Off, or on.
    pub off: bool,
    /// Where.
    pub node: NodeId,
    /// Who.
    pub by: String,
    /// The reason given; empty for *on*.
    pub reason: String,
    /// When; never later than the store hears of it.
    pub at: StoreTime,
}

/// Starts that no node names: what an upstream has counted beyond those that nodes know of, or the share of a member that is
/// none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Of which budget.
    pub ledger: Ledger,
    /// The one window that they count in.
    pub window: Window,
    /// How many.
    pub starts: u32,
    /// When they count as started.
    pub at: StoreTime,
}

/// What all nodes together know of an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedRow {
    /// The last start that had a gap.
    pub last_start: Option<StoreTime>,
    /// It is left alone until then, who was told so, and why.
    pub throttled: Option<(StoreTime, NodeId, String)>,
    /// Whether it is switched off, or was on again.
    pub switched: Option<Switched>,
    /// The limits that it told.
    pub limits: Vec<ToldLimit>,
    /// Starts that may still count, oldest first: their names, when, and in which windows. The newest 2,000 of each ledger.
    pub starts: Vec<(AskId, StoreTime, Ledger)>,
    /// Starts of which only the number is known.
    pub counted: Vec<Counted>,
    /// What nodes have configured, by node; of those that told so.
    pub configured: Vec<(NodeId, Vec<Configured>)>,
    /// The shares that members have of its windows.
    pub shares: Vec<(NodeId, Ledger, Window, u32)>,
    /// How much of it means nothing, and is left out.
    pub ignored: u32,
}
