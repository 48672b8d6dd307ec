//! What nodes tell one another through the store: claims, streams, tables that everybody holds, logs, connections.

use std::time::Duration;

use super::words::{Epoch, Lost, NodeId, StoreTime};

/// Whether a job is this node's to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is.
    Ours,
    /// Another node does it, and its claim ends then.
    Theirs {
        /// Which one.
        by: NodeId,
        /// How long that still is.
        left: Duration,
    },
}

/// A stream that one node writes and all others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Peers that came, went and completed at a node.
    Swarm(NodeId),
    /// What other trackers told a node.
    Forwarded(NodeId),
}

/// A place in a stream, in the store's own terms; they grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Milliseconds of the store's clock.
    pub millis: u64,
    /// Number within that millisecond.
    pub number: u64,
}

impl Place {
    /// Before everything.
    pub const START: Self = Self {
        millis: 0,
        number: 0,
    };
}

/// What stood in several streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnds {
    /// Those that could be read.
    pub ends: Vec<StreamEnd>,
    /// Why others could not: their servers, of a cluster, do not answer.
    pub lost: Option<Lost>,
}

/// What stood in a stream after a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// Which one.
    pub stream: Stream,
    /// The newest place of the stream, read or not.
    pub last: Option<Place>,
    /// Entries with their places, oldest first.
    pub entries: Vec<(Place, Vec<u8>)>,
}

/// A table that every node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Who is signed in.
    Sessions,
    /// Keys, as hashes, and the secrets that links are made with.
    Keys,
    /// The numbers by which programs know indexers.
    Indexers,
}

/// One row of a table: its key, and its value unless it was taken out.
pub type Entry = (Vec<u8>, Option<Vec<u8>>);

/// Bits of a version that count changes; the others tell epochs apart.
const COUNT: u32 = 40;

/// How far a node has read a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

impl Version {
    /// Nothing was read yet.
    pub const NONE: Self = Self(0);

    /// So many changes of a table in this epoch.
    pub(super) fn of(epoch: Epoch, count: u64) -> Self {
        Self((Self::tag(epoch) << COUNT) | (count & ((1 << COUNT) - 1)))
    }

    /// How many changes of the table had been made.
    pub(super) fn count(self) -> u64 {
        self.0 & ((1 << COUNT) - 1)
    }

    /// Whether it was made in this epoch.
    pub(super) fn is_of(self, epoch: Epoch) -> bool {
        self.0 >> COUNT == Self::tag(epoch)
    }

    /// What remains of an epoch in a version.
    pub(super) fn tag(epoch: Epoch) -> u64 {
        epoch.0 & ((1 << (64 - COUNT)) - 1)
    }
}

/// What has changed in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChanges {
    /// Up to where this goes.
    pub version: Version,
    /// Whether these are all rows: then what is not among them is gone.
    pub whole: bool,
    /// The rows.
    pub entries: Vec<Entry>,
}

/// Which log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogKey {
    /// The article numbers of a newsgroup, by a keyed hash of its name.
    Numbers([u8; 16]),
}

/// What a log holds from the place on that was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAnswer {
    /// Whether what was sent was appended. If not, somebody was faster, or the log is shorter than the node knew.
    pub appended: bool,
    /// How many entries it has now.
    pub length: u64,
    /// Its entries from the place on that was asked about, at most 10,000.
    pub entries: Vec<Vec<u8>>,
}

/// What a node has of an account's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// How many it may have open.
    pub granted: u32,
    /// How many the others have.
    pub others: u32,
    /// How many nodes want any.
    pub nodes: u32,
    /// The store's time.
    pub now: StoreTime,
}
