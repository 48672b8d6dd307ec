//! The names and times that nodes share.

use std::time::Duration;

/// One node, by a number that it made for itself once and keeps in its data directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// An upstream as all nodes know it: a keyed hash of front, address and account, whatever each node calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamKey(pub [u8; 16]);

/// Time as the store tells it, in milliseconds. It never falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(pub u64);

impl StoreTime {
    /// So much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// So much earlier.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    /// How long until `later`; nothing if that has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}

/// One life of the store's data: a store that lost something begins another. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

/// Why the store gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Nobody has heard of it yet, nor how the first attempt to reach it ended.
    #[error("the store has not answered yet")]
    NotYet,
    /// Nobody answered in time, or the connection broke.
    #[error("the store does not answer: {0}")]
    Silent(String),
    /// It answered, and will not do what it is asked: wrong password, read-only, full, too old.
    #[error("{0}")]
    Refused(String),
    /// It was not asked at all: what was to be said is longer than any store takes.
    #[error("{0} bytes are too many for the store")]
    TooLong(usize),
    /// Another server of a cluster does not answer, which has streams and nothing else.
    #[error("a server of the store's cluster is out of reach: {0}")]
    Part(String),
    /// It holds rows of a newer Weir.
    #[error(
        "the store is used by a newer Weir (needs {needs}, this one knows {known}): upgrade this node"
    )]
    Newer {
        /// What the rows need.
        needs: u32,
        /// What this Weir knows.
        known: u32,
        /// The row that needs it; `None` if it is the store as a whole.
        row: Option<UpstreamKey>,
    },
}

impl Lost {
    /// Whether all that nodes share is out of reach, and not only what was asked for.
    pub fn is_whole(&self) -> bool {
        !matches!(self, Self::Part(_) | Self::TooLong(_))
    }
}

/// A hundred years.
const LONGEST: u64 = 100 * 366 * 24 * 60 * 60 * 1000;

/// `span` in whole milliseconds, rounded up: a wait is never told shorter than it is. No span is longer than a hundred years,
/// so that times and spans can be added.
pub(crate) fn millis(span: Duration) -> u64 {
    let millis = u64::try_from(span.as_nanos().div_ceil(1_000_000));
    millis.unwrap_or(LONGEST).min(LONGEST)
}
