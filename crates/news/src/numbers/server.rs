//! One server as a newsgroup's numbers know it: what it says, what it was found to have.

use std::ops::RangeInclusive;

use super::runs::Runs;
use super::{Carried, LARGEST};

/// A server that carries the newsgroup.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) carried: Carried,
    /// Up to here its numbers have been dealt with, by windows that were noted or by a promise.
    pub(super) mark: u64,
    /// Up to here its articles are from before it was first seen: they get room, not the next number.
    pub(super) earlier: u64,
    /// How far its numbers went when it was last found to have begun again; 0 if it never did.
    pub(super) renewed: u64,
    pub(super) runs: Runs,
}

impl Carried {
    pub(crate) const NOTHING: Self = Self {
        low: 1,
        high: 0,
        count: 0,
    };

    /// Believable numbers, the lowest at least 1.
    pub(crate) fn checked(self) -> Option<Self> {
        let low = self.low.max(1);
        let believed = self.high <= LARGEST && low <= LARGEST;
        believed.then_some(Self { low, ..self })
    }

    pub(super) fn is_empty(self) -> bool {
        self.high < self.low
    }

    /// Numbers from low to high.
    pub(super) fn span(self) -> u64 {
        (self.high + 1).saturating_sub(self.low)
    }

    /// Articles it can have at most.
    pub(super) fn claimed(self) -> u64 {
        self.count.min(self.span())
    }
}

impl Server {
    pub(super) fn new(carried: Carried) -> Self {
        Self {
            carried,
            mark: carried.high,
            earlier: carried.high,
            renewed: 0,
            runs: Runs::default(),
        }
    }

    /// Adds an article that was found. It may have come since the server last counted.
    pub(super) fn add(&mut self, own: u64, theirs: u64) {
        if self.runs.add(own, theirs, 1) {
            self.carried.count = self.carried.count.saturating_add(1);
        }
    }

    /// Moves the mark over a window, if nothing was left out before it.
    pub(super) fn pass(&mut self, window: &RangeInclusive<u64>) {
        if *window.start() <= self.mark + 1 {
            let end = self.carried.high.min(*window.end());
            self.mark = self.mark.max(end);
        }
    }

    /// Its numbers mean other articles from now on. What it has is counted as found now: those known by
    /// their IDs keep their numbers, the others get new ones.
    pub(super) fn begin_again(&mut self) {
        self.runs.clear();
        self.mark = self.carried.high;
        self.renewed = self.carried.high;
        self.earlier = 0;
    }

    /// Numbers from before it was seen that stand for no own number yet.
    pub(super) fn unnumbered(&self) -> u64 {
        let earlier = (self.earlier + 1).saturating_sub(self.carried.low);
        earlier.saturating_sub(self.runs.numbers_up_to(self.earlier))
    }
}
