//! What several nodes share through one Valkey or Redis: when limited upstreams may be called, what they answered, who is
//! in which swarm, who is signed in, and which article has which number.
//!
//! [`SharedStore`] has two implementations, [`MemoryStore`] for tests and simulations and [`RedisStore`]; the same story
//! (`shared/story.rs`) is told to both. The store decides nothing that a node could decide alone, and no node is special:
//! each call is one script, so that what it reads and what it writes belong together.
//!
//! # What is promised
//!
//! - *Windows hold.* In any window, the starts that the store grants stay below the limit less the shares of all members
//!   ([`Share`]). A node that is alone spends its own share and nothing else. So both together never exceed the limit,
//!   whatever is lost, late or repeated in between. A grant is used within [`USE_WITHIN`] or given back; the store therefore
//!   counts each start for that much longer than its window.
//! - *A grant that nobody hears of* is counted and not used, which is the safe side. Asking again with the same [`AskId`]
//!   gets the same answer, and one that arrives after [`Ask::wanted_until`] changes nothing.
//! - *Time* is the store's own ([`StoreTime`]): the later of its clock and the newest time it has handed out. Nodes' clocks
//!   play no part.
//! - *A store that lost something* (restarted empty or with older data, failed over, flushed) has another [`Epoch`]. Then
//!   nothing that has a window is granted for five seconds ([`SETTLE`]), in which everybody who is there notices, and until
//!   every member that any node knows has handed in its starts, or ten seconds are over; after that, a window is taken for full
//!   until it has passed once or the missing members are back.
//! - *Who comes* is granted nothing that has a window until all who are there have read that it came, two beats later: so after
//!   a loss somebody can name it. Nodes write down who is a member before they rely on it.
//! - What nobody can know: if a store loses everything, a node that was granted something must reach it within those five
//!   seconds, or be known to one that does. Otherwise (all who ever knew anything are away, and only somebody new is there)
//!   the loss looks like a first start.
//! - Every call ends within the node's time-out with an answer or [`Lost`]. After `Lost`, nothing is known about whether it
//!   was carried out.

mod exchange;
mod member;
mod memory;
mod permission;
mod redis;
mod seal;
mod words;

use std::time::Duration;

use futures_util::future::BoxFuture;

pub use self::{
    exchange::{
        Claim, Entry, Lease, LogAnswer, LogKey, Place, Stream, StreamEnd, StreamEnds, Table,
        TableChanges, Version,
    },
    member::{Beat, HandIn, HandedStart, Leave, Member, NodeState, Pulse, Share, ShareWish},
    memory::{Fault, MemoryStore, Snapshot},
    permission::{
        Answer, Ask, AskId, Configured, Counted, Grant, Question, Refusal, SharedRow, Switched,
        Told, ToldLimit,
    },
    redis::{RedisAddress, RedisStore},
    seal::Seal,
    words::{Epoch, Lost, NodeId, StoreTime, UpstreamKey},
};

/// A grant is used within this time or given back. Each start counts for so much longer than its window is, since the call
/// may be made so much later than it was granted.
pub const USE_WITHIN: Duration = Duration::from_secs(2);

/// A node that has not been heard of for so long is no member any more. Its share is counted as spent then. A node that is
/// alone stops spending its share well before ([`SHARE_LASTS`]).
pub const SILENT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after its last beat a node that is alone may still spend its share.
pub const SHARE_LASTS: Duration = Duration::from_secs(23 * 60 * 60);

/// How long a new epoch waits for members to hand in what they know.
pub const HAND_IN: Duration = Duration::from_secs(10);

/// So long nothing that has a window is granted in a new epoch, whoever began it: two and a half beats, in which every node
/// that is there has noticed and said so. Whoever begins one may know nobody, and a first start looks just the same.
pub const SETTLE: Duration = Duration::from_secs(5);

/// So many nodes tell what limits they have configured for an upstream, and so many limits each.
pub const MOST_CONFIGURED: usize = 16;

/// The longest answer that nodes share, as it is packed.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// A member that was heard of within this time is there.
const HERE: Duration = Duration::from_secs(10);

/// What nodes tell with the time at which they think that it was happened in their order where the times differ by no more:
/// they know the store's clock from its answers, which take time.
const CLOCKS: Duration = Duration::from_secs(1);

/// When it is worth asking again about an upstream that an operator has switched off.
const OFF_WAIT: Duration = Duration::from_secs(60);

/// When it is worth asking again, at the latest, about a window of which not everything is known.
const UNCERTAIN_WAIT: Duration = Duration::from_secs(30);

/// Nodes at most.
pub const MOST_MEMBERS: usize = 1000;

/// Shares that a node may have, one for each window of each upstream: more than anybody has.
const MOST_SHARES: usize = 20_000;

/// Addresses of a node at most.
const MOST_ADDRESSES: usize = 64;

/// Limits that an upstream may tell.
const MOST_LIMITS: usize = 16;

/// How many times starts of which only the number is known are told apart, for each window.
const MOST_COUNTED: usize = 16;

/// Starts of an upstream that are told, of each ledger.
const MOST_STARTS: usize = 2000;

/// Entries of a log that are told at once.
const MOST_ENTRIES: usize = 10_000;

/// Bytes of a reason, or of whatever else an upstream or operator said.
pub const LONGEST_REASON: usize = 500;

/// What a member gets of a window with this limit, if all shares together stay within half of it.
pub fn nominal_share(limit: u32) -> u32 {
    (limit / 20).max(1)
}

/// As much of a text as is kept.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_REASON)]
}

/// Refuses what is longer than any store takes.
fn fits(bytes: usize) -> Result<(), Lost> {
    if bytes <= LONGEST_ANSWER {
        return Ok(());
    }
    Err(Lost::TooLong(bytes))
}

fn too_many_members() -> String {
    format!("the store has {MOST_MEMBERS} nodes, which is the most that it can have")
}

/// What an answer of the store comes to.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, Lost>>;

/// What nodes share. All calls are safe to repeat: who did not hear the answer asks again.
pub trait SharedStore: Send + Sync + 'static {
    /// Says that this node is there, asks for its shares, and hears who else is.
    fn beat(&self, beat: Beat) -> Reply<'_, Pulse>;

    /// Hands in what this node knows of the present, after the epoch has changed.
    fn hand_in(&self, hand_in: HandIn) -> Reply<'_, Pulse>;

    /// A clean stop: its starts that were made alone are handed in, and its shares are free again. Through the handle that
    /// beats: a leaving that arrives after a later beat is none.
    fn leave(&self, leave: Leave) -> Reply<'_, ()>;

    /// Asks whether an upstream may be called now. A start that is granted is counted already.
    fn ask(&self, ask: Ask) -> Reply<'_, Answer>;

    /// Tells what became known about an upstream: it wants to be left alone, told a limit, was switched off, was called
    /// without asking, or a grant was not used.
    fn tell(&self, upstream: UpstreamKey, told: Vec<Told>) -> Reply<'_, StoreTime>;

    /// What is known of upstreams, for pages and for nodes that just came.
    fn rows(&self, upstreams: Vec<UpstreamKey>) -> Reply<'_, Vec<SharedRow>>;

    /// How a claimed question ended: its answer, packed and sealed, or `None` for a failure, which others then ask about
    /// themselves. Kept for `keep`, and only if the claim is still the one that came with `claim`.
    fn answer(
        &self,
        question: Question,
        claim: AskId,
        body: Option<Vec<u8>>,
        keep: Duration,
    ) -> Reply<'_, ()>;

    /// Claims jobs that one node alone is to do, each for `span`; the claims of one node are renewed by claiming again.
    fn claim(&self, keys: Vec<[u8; 16]>, by: NodeId, span: Duration) -> Reply<'_, Vec<Claim>>;

    /// Appends to a stream; what is older than `keep` may be forgotten.
    fn append(&self, stream: Stream, body: Vec<u8>, keep: Duration) -> Reply<'_, Place>;

    /// What stands in streams after each place, oldest first, at most so many entries of each. A stream that cannot be read
    /// keeps nobody from the others.
    fn read(&self, after: Vec<(Stream, Place)>, most: usize) -> Reply<'_, StreamEnds>;

    /// Puts values into a table that every node holds, or takes them out (`None`). Each is kept for `keep`, then forgotten.
    fn put(&self, table: Table, entries: Vec<Entry>, keep: Duration) -> Reply<'_, Version>;

    /// What has changed in a table since a version that was seen before; all of it for [`Version::NONE`], or where that
    /// version is of another epoch or too old.
    fn changes(&self, table: Table, since: Version) -> Reply<'_, TableChanges>;

    /// Appends to a log if it has exactly `known` entries, and gives all entries from `known` on, with those appended. So
    /// who was behind learns what came in between, and decides anew.
    fn extend(&self, log: LogKey, known: u64, entries: Vec<Vec<u8>>) -> Reply<'_, LogAnswer> {
        self.extend_within(None, log, known, entries)
    }

    /// The same, but appends in this epoch alone: a node that has not noticed yet that the store has lost something must not
    /// take the place of what others have yet to hand in. If the length is right and nothing was appended, it is that.
    fn extend_within(
        &self,
        epoch: Option<Epoch>,
        log: LogKey,
        known: u64,
        entries: Vec<Vec<u8>>,
    ) -> Reply<'_, LogAnswer>;

    /// Takes `open` of an account's `limit` connections, as many as others leave; the connections of a node that is not
    /// heard of for ten seconds are closed, and free.
    fn lease(&self, account: UpstreamKey, by: NodeId, open: u32, limit: u32) -> Reply<'_, Lease>;
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
