//! What the store in memory holds, and what each call makes of it. Plain values and the time as an argument: the scripts
//! of [`RedisStore`](crate::shared::RedisStore) say the same in Lua, and a test compares the two.

mod exchange;
mod members;
mod permission;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::shared::words::millis;
use crate::shared::{
    Answer, Ask, AskId, Beat, CLOCKS, Claim, Configured, Counted, Entry, Epoch, Grant, HAND_IN,
    HERE, HandIn, HandedStart, Lease, Leave, LogAnswer, LogKey, Lost, MOST_CONFIGURED,
    MOST_COUNTED, MOST_ENTRIES, MOST_LIMITS, MOST_MEMBERS, MOST_STARTS, Member, NodeId, NodeState,
    OFF_WAIT, Place, Pulse, Question, Refusal, SETTLE, SILENT, Share, ShareWish, SharedRow,
    StoreTime, Stream, StreamEnd, Switched, Table, TableChanges, Told, ToldLimit, UNCERTAIN_WAIT,
    USE_WITHIN, UpstreamKey, Version, nominal_share, shortened,
};
use crate::state::{Ledger, Window};

/// A whole day in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// How old a start may be before it is taken to count in a window of a day at least.
const LOOSE: u64 = 60_000;

/// Everything in the store.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The newest time that was handed out.
    newest: u64,
    epoch: Option<EpochRow>,
    members: BTreeMap<NodeId, MemberRow>,
    upstreams: BTreeMap<UpstreamKey, UpstreamRow>,
    questions: BTreeMap<[u8; 16], QuestionRow>,
    claims: BTreeMap<[u8; 16], (NodeId, u64)>,
    streams: BTreeMap<Stream, StreamRow>,
    tables: BTreeMap<Table, TableRow>,
    logs: BTreeMap<LogKey, Vec<Vec<u8>>>,
    leases: BTreeMap<UpstreamKey, BTreeMap<NodeId, LeaseRow>>,
    /// Whose rows need a newer Weir.
    newer: BTreeSet<UpstreamKey>,
}

#[derive(Clone, Debug)]
struct EpochRow {
    id: Epoch,
    /// The life of the server that it belongs to.
    run: u64,
    began: u64,
    /// Who was a member before, and has not handed in yet.
    known: BTreeSet<NodeId>,
    /// Who has, and when.
    handed: BTreeMap<NodeId, u64>,
}

impl EpochRow {
    /// Whether all who are there have noticed.
    fn is_settled(&self, now: u64) -> bool {
        now >= self.began + millis(SETTLE)
    }
}

#[derive(Clone, Debug, Default)]
struct MemberRow {
    name: String,
    version: String,
    addresses: Vec<std::net::IpAddr>,
    lag: Duration,
    seen: u64,
    /// The time of the newest pulse that it had read when it was last seen.
    heard: u64,
    joined: u64,
    /// Whether all who are there have read that it came.
    met: bool,
}

#[derive(Clone, Debug, Default)]
struct UpstreamRow {
    /// When the last spaced start was, its name, and when the one before it was.
    last: Option<(u64, AskId, Option<u64>)>,
    throttled: Option<(u64, NodeId, String)>,
    /// When it last said so.
    throttled_at: Option<u64>,
    /// When an operator last ended its cooldown.
    cleared: Option<u64>,
    switched: Option<Switched>,
    limits: BTreeMap<(Ledger, Window), ToldLimit>,
    configured: BTreeMap<NodeId, Vec<Configured>>,
    ledgers: BTreeMap<Ledger, LedgerRow>,
    shares: BTreeMap<(Ledger, Window), BTreeMap<NodeId, u32>>,
}

#[derive(Clone, Debug, Default)]
struct LedgerRow {
    starts: BTreeMap<AskId, u64>,
    /// Starts of which only the number is known.
    counted: Vec<Lump>,
    /// The longest window that was seen, in milliseconds.
    longest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Lump {
    at: u64,
    window: Window,
    count: u32,
}

#[derive(Clone, Debug)]
struct QuestionRow {
    /// With which start it was claimed: a node may claim the same again.
    claim: AskId,
    /// When the claim ends, or the answer is forgotten.
    until: u64,
    answer: Option<(u64, Arc<[u8]>)>,
}

#[derive(Clone, Debug, Default)]
struct StreamRow {
    last: Place,
    entries: BTreeMap<Place, Vec<u8>>,
}

/// Which change a row came with, until when it is kept, and its value unless it was taken out.
type Kept = (u64, u64, Option<Vec<u8>>);

#[derive(Clone, Debug, Default)]
struct TableRow {
    count: u64,
    /// Up to here, a row that was taken out may be missing.
    forgotten: u64,
    rows: BTreeMap<Vec<u8>, Kept>,
}

#[derive(Clone, Copy, Debug)]
struct LeaseRow {
    granted: u32,
    seen: u64,
}

fn span(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn length(window: Window) -> u64 {
    u64::from(window.0) * 1000
}

/// How long a start counts in a window of this length.
fn counts(window: Window) -> u64 {
    length(window) + millis(USE_WITHIN)
}

impl Rows {
    /// The time, given what the clock says.
    pub(super) fn now(&mut self, clock: u64) -> u64 {
        self.newest = self.newest.max(clock);
        self.newest
    }

    pub(super) fn renew(&mut self, upstream: UpstreamKey, newer: bool) {
        match newer {
            true => self.newer.insert(upstream),
            false => self.newer.remove(&upstream),
        };
    }

    /// Refuses rows that need a newer Weir.
    pub(super) fn knows(
        &self,
        upstreams: impl IntoIterator<Item = UpstreamKey>,
    ) -> Result<(), Lost> {
        let mut upstreams = upstreams.into_iter();
        match upstreams.find(|upstream| self.newer.contains(upstream)) {
            Some(row) => Err(Lost::Newer {
                needs: 2,
                known: 1,
                row: Some(row),
            }),
            None => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) fn noted_epoch(&self) -> Epoch {
        self.epoch.as_ref().map_or(Epoch(0), |epoch| epoch.id)
    }

    fn epoch(&self, run: u64) -> Option<&EpochRow> {
        self.epoch.as_ref().filter(|epoch| epoch.run == run)
    }
}
