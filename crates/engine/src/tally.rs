//! Figures that are counted as things happen, so that reading them costs nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_dispatch::DropReason;

use crate::call::{Ended, Outcome};

/// How an attempt went, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of `Outcome` and `Ended`")]
pub enum Kind {
    Done,
    No,
    Again,
    Throttled,
    Unavailable,
    Broken,
    Rejected,
    OurNetwork,
    Panicked,
    TimedOut,
    Cut,
    /// Not made by us: the client was sent to make it.
    Redirected,
    /// Weir was killed during it or soon after. Only in records of earlier runs: it was counted there, if at all.
    Lost,
}

impl Kind {
    /// All kinds that are counted, in the order of [`Requests`].
    pub const ALL: [Self; 12] = [
        Self::Done,
        Self::No,
        Self::Again,
        Self::Throttled,
        Self::Unavailable,
        Self::Broken,
        Self::Rejected,
        Self::OurNetwork,
        Self::Panicked,
        Self::TimedOut,
        Self::Cut,
        Self::Redirected,
    ];

    /// The label in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::No => "no",
            Self::Again => "again",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::Broken => "broken",
            Self::Rejected => "rejected",
            Self::OurNetwork => "our_network",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
            Self::Cut => "cut",
            Self::Redirected => "redirected",
            Self::Lost => "lost",
        }
    }

    pub(crate) fn of(ended: &Ended) -> Self {
        match ended {
            Ended::Finished(Outcome::Done) => Self::Done,
            Ended::Finished(Outcome::No) => Self::No,
            Ended::Finished(Outcome::Again { .. }) => Self::Again,
            Ended::Finished(Outcome::Throttled { .. }) => Self::Throttled,
            Ended::Finished(Outcome::Unavailable) => Self::Unavailable,
            Ended::Finished(Outcome::Broken) => Self::Broken,
            Ended::Finished(Outcome::Rejected { .. }) => Self::Rejected,
            Ended::Finished(Outcome::OurNetwork) => Self::OurNetwork,
            Ended::Finished(Outcome::Elsewhere) => Self::Redirected,
            Ended::Panicked => Self::Panicked,
            Ended::TimedOut => Self::TimedOut,
            _ => Self::Cut,
        }
    }

    /// Whether the call was made and nobody knows more of the upstream than before: it may still be tried again, and our own
    /// network may have been the cause.
    pub fn is_in_vain(self) -> bool {
        match self {
            Self::Unavailable | Self::Broken | Self::TimedOut | Self::OurNetwork => true,
            Self::Done | Self::No | Self::Again | Self::Throttled | Self::Rejected => false,
            Self::Panicked | Self::Cut | Self::Redirected | Self::Lost => false,
        }
    }

    /// Whether the call was made and came to nothing.
    pub fn is_failure(self) -> bool {
        self.group().is_some_and(|group| group != Group::Answered)
    }

    /// Which of the chart's four groups it belongs to; `None` leaves it out.
    pub(crate) fn group(self) -> Option<Group> {
        match self {
            Self::Done | Self::No | Self::Again => Some(Group::Answered),
            Self::Throttled | Self::Rejected => Some(Group::Refused),
            Self::Unavailable | Self::Broken | Self::OurNetwork | Self::Panicked => {
                Some(Group::Failed)
            }
            Self::TimedOut => Some(Group::TimedOut),
            Self::Cut | Self::Redirected | Self::Lost => None,
        }
    }
}

/// Calls by outcome as the chart shows them; the order of [`Point::calls`](crate::Point::calls).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Answered,
    Refused,
    Failed,
    TimedOut,
}

/// What became of everything that a front was asked: each request that needed no upstream, and for each other one every
/// job that was made for it. The difference between `asked` and the sum of all others is what still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests: submissions, followers of flights and answers from memory.
    pub asked: u64,
    /// Answered from memory or cache, as reported by the front.
    pub from_memory: u64,
    /// Answered by a call made for somebody else.
    pub shared: u64,
    /// Not queued again: the same job was already pending.
    pub duplicates: u64,
    /// Sent to their upstream at least once.
    pub sent: u64,
    /// Skipped before they were sent.
    pub skipped: u64,
    /// Dropped before they were sent.
    pub dropped: u64,
    /// Those of the dropped that found the queue full.
    pub dropped_full: u64,
    /// Answered with a refusal by the front's listeners.
    pub refused: u64,
    /// Cancelled before they were sent, or no longer true when their turn came.
    pub cancelled: u64,
    /// Ended by the shutdown before they were sent.
    pub shut_down: u64,
}

impl Counters {
    /// Jobs that have neither been sent nor ended.
    pub fn waiting(&self) -> u64 {
        let over: u64 = self.over().iter().map(|(_, count)| count).sum();
        self.asked.saturating_sub(over)
    }

    /// Everything that was asked, by what became of it: the parts, with their names in the API, add up to `asked`.
    pub fn parts(&self) -> [(&'static str, u64); 10] {
        let [a, b, c, d, e, f, g, h, i] = self.over();
        [a, b, c, d, e, f, g, h, i, ("waiting", self.waiting())]
    }

    fn over(&self) -> [(&'static str, u64); 9] {
        [
            ("from_memory", self.from_memory),
            ("shared", self.shared),
            ("duplicates", self.duplicates),
            ("sent", self.sent),
            ("skipped", self.skipped),
            ("dropped", self.dropped),
            ("refused", self.refused),
            ("cancelled", self.cancelled),
            ("shut_down", self.shut_down),
        ]
    }

    /// With what the front's listeners dealt with by themselves.
    pub(crate) fn with(self, listeners: ListenerCounts) -> Self {
        let ListenerCounts {
            from_memory,
            dropped,
            refused,
        } = listeners;
        Self {
            asked: self.asked + from_memory + dropped + refused,
            from_memory: self.from_memory + from_memory,
            dropped: self.dropped + dropped,
            refused: self.refused + refused,
            ..self
        }
    }

    pub(crate) fn end_unsent(&mut self, ended: &Ended) {
        match ended {
            Ended::Skipped(_) => self.skipped += 1,
            Ended::Dropped(reason) => {
                self.dropped += 1;
                self.dropped_full += u64::from(*reason == DropReason::QueueFull);
            }
            Ended::Shutdown => self.shut_down += 1,
            Ended::Answered => self.shared += 1,
            _ => self.cancelled += 1,
        }
    }
}

/// Requests that a front's listeners dealt with by themselves, since the start. They count where no lock is needed, and
/// the engine adds them up when somebody looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounts {
    /// Answered from memory, with nothing to send on.
    pub from_memory: u64,
    /// Answered from memory, and not sent on for want of room.
    pub dropped: u64,
    /// Answered with a refusal.
    pub refused: u64,
}

/// Attempts by [`Kind::ALL`].
pub type Requests = [u64; Kind::ALL.len()];

/// Answer times in a few buckets, for Prometheus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// How many took at most each of [`Latency::BOUNDS`], each call counted once; the last entry is for
    /// all that took longer.
    pub buckets: [u64; Self::BOUNDS.len() + 1],
    /// All times together.
    pub sum: Duration,
}

impl Latency {
    /// The upper bounds in milliseconds.
    pub const BOUNDS: [u64; 8] = [10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000];

    pub(crate) fn count(&mut self, took: Duration) {
        let at = Self::BOUNDS.partition_point(|&bound| Duration::from_millis(bound) < took);
        self.buckets[at] += 1;
        self.sum = self.sum.saturating_add(took);
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_the_first_bucket_that_holds_it() {
        let mut latency = Latency::default();
        for millis in [0, 10, 11, 30_000, 30_001] {
            latency.count(Duration::from_millis(millis));
        }
        assert_eq!(latency.buckets, [2, 1, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(latency.total(), 5);
    }

    #[test]
    fn every_kind_has_its_own_place_and_name() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let same = Kind::ALL.iter().filter(|other| other.name() == kind.name());
            assert_eq!(same.count(), 1);
        }
    }
}
