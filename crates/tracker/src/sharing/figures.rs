//! What is shared with other nodes, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use weir_store::shared::NodeId;

/// Counters; read by `/metrics`, `/stats` and the card.
#[derive(Debug, Default)]
pub(crate) struct SharingFigures {
    /// Events of our peers that the others can read.
    written: AtomicU64,
    /// Events of their peers that were taken in.
    read: AtomicU64,
    /// Of these, peers that were not here before.
    came: AtomicU64,
    /// Events that found no room here, or were not true any more.
    ignored: AtomicU64,
    /// Entries of streams that could not be read.
    unreadable: AtomicU64,
    /// Announces to other trackers that another node makes or made.
    elsewhere: AtomicU64,
    /// Answers of other trackers that other nodes told.
    answers: AtomicU64,
    lags: Mutex<Vec<(NodeId, Duration)>>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharingCount {
    Written,
    Read,
    Came,
    Ignored,
    Unreadable,
    Elsewhere,
    Answers,
}

impl SharingFigures {
    fn counter(&self, what: SharingCount) -> &AtomicU64 {
        match what {
            SharingCount::Written => &self.written,
            SharingCount::Read => &self.read,
            SharingCount::Came => &self.came,
            SharingCount::Ignored => &self.ignored,
            SharingCount::Unreadable => &self.unreadable,
            SharingCount::Elsewhere => &self.elsewhere,
            SharingCount::Answers => &self.answers,
        }
    }

    pub(super) fn count(&self, what: SharingCount, more: u64) {
        self.counter(what).fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, what: SharingCount) -> u64 {
        self.counter(what).load(Ordering::Relaxed)
    }

    pub(super) fn set_lags(&self, lags: Vec<(NodeId, Duration)>) {
        *self.lags.lock() = lags;
    }

    /// How far this node is behind each of the others.
    pub(crate) fn lags(&self) -> Vec<(NodeId, Duration)> {
        self.lags.lock().clone()
    }
}
