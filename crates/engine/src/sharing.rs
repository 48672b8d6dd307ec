//! Upstreams that several nodes share: asks the store before a call is made, and tells it what became known.
//!
//! What may be done is decided by `ledger`, under the engine's lock; here the questions go out and the answers come in,
//! each in a task of its own that no client and no other upstream waits for.

mod another;
mod asking;
mod configured;
mod failing;
mod part;
mod rows;
mod switching;
mod telling;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use weir_dispatch::{
    Asker, Availability, Budget, Finish, FullWindow, Job, JobId, Moment, Refused, UpstreamId,
    Usage, Wait, What, Window, WindowUse,
};
use weir_store::shared::{
    Answer, Ask, AskId, Configured, LONGEST_ANSWER, Lost, Question, Refusal, StoreTime, Switched,
    Told, ToldLimit, UpstreamKey,
};

use crate::call::{Call, SharedQuestion};
use crate::ledger::{self, Ledger, Made, Wanted};
use crate::node::Node;
use crate::payload::{Elsewhere, Payload};
use crate::record::Got;
use crate::shared::{Effects, Shared};
use crate::state::State;
use crate::timeline::Waking;

use telling::Untold;

pub(crate) use asking::Published;
pub(crate) use failing::Failed;
pub(crate) use part::EnginePart;

/// Things that the store has yet to hear of, at most; the oldest are forgotten first.
const UNTOLD: usize = 10_000;

/// So many are told at once.
const TOLD_AT_ONCE: usize = 100;

/// How often a job looks whether another node has the answer by now.
const LOOK: Duration = Duration::from_millis(200);

/// What one front shares with other nodes.
pub(crate) struct Sharing {
    pub(crate) node: Node,
    pub(crate) ledger: Ledger,
    alone: bool,
    /// When the store last answered a beat: a share lasts for a day after that.
    heard: Option<Moment>,
    /// The node's count of returns that this front has seen.
    returns: u64,
    /// What the store has yet to hear, oldest first.
    untold: VecDeque<(UpstreamKey, Untold)>,
    /// A task is telling it.
    telling: bool,
    /// Questions on their way, and whether they were handed in: if the store loses something before the answer arrives, a
    /// grant would count nowhere.
    open: HashMap<AskId, OpenAsk>,
    /// Looks around since what all nodes know of upstreams was last read.
    looks: u32,
    /// What all nodes know of each, as last read.
    seen: HashMap<UpstreamId, SharedUse>,
}

/// What all nodes together used of an upstream, as last read from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedUse {
    /// When it was read.
    pub at: Moment,
    /// Starts in each window, of all nodes.
    pub windows: Vec<(Budget, Window, u32)>,
    /// An operator of another node has switched it off: which node.
    pub off_at: Option<Arc<str>>,
    /// It told another node to wait: which node.
    pub throttled_at: Option<Arc<str>>,
    /// Where another node has configured another limit.
    pub differing: Vec<DifferingLimit>,
}

/// A window for which another node has configured another limit. Each keeps to its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingLimit {
    /// Of which budget.
    pub budget: Budget,
    /// Which window.
    pub window: Window,
    /// The limit of this node, if it has one.
    pub here: Option<u32>,
    /// That of the other, if it has one.
    pub there: Option<u32>,
    /// The other.
    pub node: Arc<str>,
}

/// What must be handed in of a question on its way.
struct OpenAsk {
    upstream: UpstreamId,
    budget: Budget,
    handed_in: bool,
}

/// A question to the store on its way.
pub(crate) struct Asking {
    whose: Whose,
    upstream: UpstreamId,
    budget: Budget,
    gap: Option<Duration>,
    /// When it was asked: no grant is older than this.
    sent: Waking,
    ask: Ask,
}

/// For what the store is asked.
enum Whose {
    /// The turn of a job that was submitted then has come.
    Job(JobId, Moment),
    /// A call under way wants to make one more request. It may be gone when the answer arrives.
    Request(oneshot::Sender<bool>),
}

/// With what right a call is made at an upstream that is shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    id: AskId,
    alone: bool,
    /// The answer took so long that the distance to the next call would be too short, did the store not hear of it.
    late: bool,
    /// What others may ask too, if it is claimed for this call.
    question: Option<Question>,
}

impl Granted {
    /// What is claimed for this call, and with which start.
    pub(crate) fn claimed(&self) -> Option<(Question, AskId)> {
        self.question.map(|question| (question, self.id))
    }
}

impl Sharing {
    pub(crate) fn new(node: Node) -> Self {
        Self {
            alone: node.is_alone(),
            node,
            ledger: Ledger::default(),
            heard: None,
            returns: 0,
            untold: VecDeque::new(),
            telling: false,
            open: HashMap::new(),
            looks: 0,
            seen: HashMap::new(),
        }
    }

    /// Whether a job may start although the store does not answer.
    fn alone(
        &self,
        wanted: &Wanted,
        windows: &[WindowUse],
        now: Moment,
    ) -> Result<(), ledger::NotAlone> {
        let node = &self.node;
        let lasts = self.heard.is_some_and(|heard| node.share_lasts(heard));
        self.ledger.alone(wanted, windows, lasts, now)
    }

    /// A question of this name is on its way from now on.
    fn open(&mut self, id: AskId, upstream: UpstreamId, budget: Budget) {
        let open = OpenAsk {
            upstream,
            budget,
            handed_in: false,
        };
        self.open.insert(id, open);
    }

    fn note(&mut self, upstream: UpstreamId, untold: Untold) {
        let Some(key) = self.ledger.key(upstream) else {
            return;
        };
        if self.untold.len() >= UNTOLD {
            self.untold.pop_front();
        }
        self.untold.push_back((key, untold));
    }
}

impl Shared {
    fn node(&self) -> Option<Node> {
        let state = self.state.lock();
        state.sharing.as_ref().map(|sharing| sharing.node.clone())
    }
}

impl State {
    fn windows(&mut self, upstream: UpstreamId, budget: Budget, now: Moment) -> Vec<WindowUse> {
        let status = self.dispatcher.upstream(now, upstream);
        status.map_or_else(Vec::new, |status| match budget {
            Budget::Query | Budget::Side => status.query,
            Budget::Grab => status.grab,
        })
    }

    /// How long a start at an upstream counts.
    pub(crate) fn longest(&mut self, upstream: UpstreamId, now: Moment) -> Duration {
        let gaps = self.dispatcher.quota(upstream).map(|quota| quota.gaps);
        let gap = gaps.and_then(|gaps| gaps.into_iter().max());
        let windows = [Budget::Query, Budget::Grab].map(|one| self.windows(upstream, one, now));
        let lengths = windows.iter().flatten().map(|one| one.window.length());
        lengths.chain(gap).max().unwrap_or_default()
    }

    /// A call starts at an upstream that may be shared.
    pub(crate) fn start_shared(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        granted: Option<Granted>,
        now: Moment,
        effects: &mut Effects,
    ) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if sharing.ledger.key(upstream).is_none() {
            return;
        }
        let Some(quota) = self.dispatcher.quota(upstream) else {
            return;
        };
        let gap = quota.gaps.iter().copied().max().unwrap_or_default();
        let spaced = budget == Budget::Query && !gap.is_zero();
        if granted.is_none() && !spaced && !self.dispatcher.is_limited(upstream, budget) {
            return;
        }
        let windows = self.windows(upstream, budget, now);
        let longest = windows.iter().map(|one| one.window.length()).max();
        let most = windows.iter().map(|one| one.limit as usize).max();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        // What is made without asking, an operator's probe, counts like any other. While this node is alone, against its
        // share.
        let (id, alone) = match granted {
            Some(granted) => (granted.id, granted.alone),
            None => (sharing.node.ask_id(), sharing.alone),
        };
        let made = Made {
            budget,
            at: now,
            alone,
            longest: longest.unwrap_or_default().max(gap),
            most: most.unwrap_or_default(),
        };
        sharing.ledger.start(id, upstream, &made);
        if alone || granted.is_none_or(|granted| granted.late) {
            let at = now;
            sharing.note(upstream, Untold::Started { id, budget, at });
            self.tell_if_untold(effects);
        }
    }

    /// One more request of a call under way.
    pub(crate) fn count_shared(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        now: Moment,
        effects: &mut Effects,
    ) {
        self.start_shared(upstream, budget, None, now, effects);
    }
}
