//! How many of an account's connections this node may have open, where several nodes share the account.
//!
//! The lease is the open connection: a pool tells the store how many it has and wants, and hears what the others leave.
//! Part of what is free is everybody's own, without asking: what nobody has, divided by the members. So a node that is
//! alone still has something to read with. More than that is used only once the store has had it on record for so long
//! that every other node has heard of it ([`MATURE`]); then the parts that nodes take without asking never overlap with it:
//! with `m` on record for each, all of `m + (limit − Σm) ÷ members` together are no more than the limit.
//!
//! That holds while the store answers all nodes or none. Who alone is cut off from it keeps what is open, and the store
//! forgets that after ten seconds; then it is the server that says when there are too many.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use weir_engine::{Node, NodeStanding};
use weir_store::shared::{Lease, UpstreamKey};

/// How often a lease is renewed while nothing changes.
pub(super) const RENEW: Duration = Duration::from_secs(2);

/// How often while somebody waits for a connection.
pub(super) const ASK_AGAIN: Duration = Duration::from_millis(500);

/// After this time, every other node has heard of what stands on record.
const MATURE: Duration = Duration::from_secs(3);

/// A pool that was just made waits so long for the store before it takes its part without asking.
const FIRST: Duration = Duration::from_secs(2);

/// An order waits no longer than this for a connection while other nodes have all of them.
pub(super) const ELSEWHERE: Duration = Duration::from_secs(5);

/// Who takes connections, and of which account.
#[derive(Clone)]
pub(crate) struct Tenant {
    pub(crate) node: Node,
    pub(crate) account: UpstreamKey,
}

impl Tenant {
    /// How many nodes there are, and whether the store answers.
    pub(super) fn surroundings(&self) -> Surroundings {
        let view = self.node.view();
        Surroundings {
            members: u32::try_from(view.count()).unwrap_or(u32::MAX),
            together: view.standing == NodeStanding::Together,
            returns: view.returns,
        }
    }
}

/// What a node knows of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// Nodes, those that are silent or not yet back as well: they may come back with what they had.
    pub(super) members: u32,
    pub(super) together: bool,
    /// How often this node was alone and is back.
    pub(super) returns: u64,
}

/// An answer of the store.
#[derive(Clone, Copy, Debug)]
struct Told {
    at: Instant,
    granted: u32,
    others: u32,
    nodes: u32,
    members: u32,
}

/// What the store has said lately, and what follows from it. Pure.
#[derive(Debug)]
pub(super) struct Allowance {
    limit: u32,
    since: Instant,
    /// Answers of the last [`MATURE`], and one before; oldest first.
    told: VecDeque<Told>,
    /// How often this node was alone when the store last answered.
    returns: Option<u64>,
    /// Until then nothing more is asked for: others have yet to say what they have, since the store may have forgotten it.
    quiet: Option<Instant>,
}

impl Allowance {
    pub(super) fn new(limit: u32, now: Instant) -> Self {
        Self {
            limit,
            since: now,
            told: VecDeque::new(),
            returns: None,
            quiet: None,
        }
    }

    /// Takes an answer in.
    pub(super) fn hear(&mut self, now: Instant, lease: &Lease, around: Surroundings) {
        if self.was_away(around) {
            self.quiet = Some(now + MATURE);
        }
        self.returns = Some(around.returns);
        self.told.push_back(Told {
            at: now,
            granted: lease.granted.min(self.limit),
            others: lease.others,
            nodes: lease.nodes,
            members: around.members.max(1),
        });
        let old = |told: &Told| told.at + MATURE <= now;
        while self.told.get(1).is_some_and(old) {
            self.told.pop_front();
        }
    }

    /// Whether this node was alone since the store last answered.
    fn was_away(&self, around: Surroundings) -> bool {
        self.returns
            .is_some_and(|returns| returns != around.returns)
    }

    /// How many connections there may be.
    pub(super) fn most(&self, now: Instant, around: Surroundings) -> u32 {
        let Some(last) = self.told.back() else {
            let waited = now >= self.since + FIRST;
            let part = self.limit / around.members.max(1);
            return if waited { part } else { 0 };
        };
        // Whoever is alone goes by what held when the store last answered.
        let now = if around.together { now } else { last.at };
        let first = self.told.iter().rposition(|told| told.at + MATURE <= now);
        let lately = || self.told.iter().skip(first.unwrap_or(0));
        // Before there is an answer that is old enough, nothing was on record.
        let matured = match first {
            Some(_) => lately().map(|told| told.granted).min().unwrap_or(0),
            None => 0,
        };
        let others = lately().map(|told| told.others).max().unwrap_or(0);
        let members = lately().map(|told| told.members).max().unwrap_or(1);
        if self.limit < members {
            // Nobody takes anything without asking.
            return last.granted;
        }
        let free = self.limit.saturating_sub(matured + others);
        let own = matured + free / members;
        match around.together {
            true => own.min(last.granted),
            false => own,
        }
    }

    /// How many to ask the store for: what is open, and more if somebody waits, but no more than a fair part while others
    /// are short of them.
    pub(super) fn wanted(
        &self,
        now: Instant,
        around: Surroundings,
        open: u32,
        waiting: bool,
    ) -> u32 {
        let quiet = self.was_away(around) || self.quiet.is_some_and(|until| now < until);
        if !waiting || quiet {
            return open;
        }
        let more = open.saturating_add((open / 2).max(1)).min(self.limit);
        match self.scarce() {
            // One is asked for in any case: it says that this node wants some.
            Some(fair) => more.min(fair.max(1).max(open)),
            None => more,
        }
    }

    /// How many to keep: idle ones beyond these are closed, since others want some or the store grants no more.
    pub(super) fn keep(&self) -> u32 {
        let granted = self.told.back().map_or(self.limit, |last| last.granted);
        self.scarce().map_or(granted, |fair| fair.min(granted))
    }

    /// This node's fair part, if all are taken and another node wants some too.
    fn scarce(&self) -> Option<u32> {
        let last = self.told.back()?;
        let taken = last.granted.saturating_add(last.others) >= self.limit;
        (last.nodes > 1 && taken).then(|| self.limit / last.nodes)
    }
}

#[cfg(test)]
mod tests;
