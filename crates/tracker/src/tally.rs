//! What each listener thread did, counted where no other thread writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_engine::ListenerCounts;

use crate::reply::Went;

/// What a listener thread counts, one of them for each packet or request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TallyKind {
    UdpConnect,
    /// Announces that were answered from memory, with nothing to send on.
    UdpAnnounce,
    HttpAnnounce,
    /// Announces that were handed to the forwarders.
    UdpPassed,
    HttpPassed,
    /// Announces that should have been, and found no room.
    UdpDropped,
    HttpDropped,
    UdpScrape,
    HttpScrape,
    /// Asked in a way that cannot be read, or without a valid connection id.
    Malformed,
    /// Asked properly and refused.
    Refused,
    /// Packets that were no request at all, and got no answer.
    Silent,
    /// Replies that the system did not take.
    Unsent,
}

impl TallyKind {
    /// All of them, and what they are called outside; those of one name follow one another.
    pub(crate) const ALL: [(Self, &'static str); 13] = [
        (Self::UdpConnect, "udp_connect"),
        (Self::UdpAnnounce, "udp_announce"),
        (Self::UdpPassed, "udp_announce"),
        (Self::UdpDropped, "udp_announce"),
        (Self::UdpScrape, "udp_scrape"),
        (Self::HttpAnnounce, "http_announce"),
        (Self::HttpPassed, "http_announce"),
        (Self::HttpDropped, "http_announce"),
        (Self::HttpScrape, "http_scrape"),
        (Self::Malformed, "malformed"),
        (Self::Refused, "refused"),
        (Self::Silent, "ignored"),
        (Self::Unsent, "unsent"),
    ];

    /// An announce over UDP that was answered.
    #[inline]
    pub(crate) fn udp(went: Went) -> Self {
        match went {
            Went::Nowhere => Self::UdpAnnounce,
            Went::On => Self::UdpPassed,
            Went::Lost => Self::UdpDropped,
        }
    }

    /// The same over HTTP.
    #[inline]
    pub(crate) fn http(went: Went) -> Self {
        match went {
            Went::Nowhere => Self::HttpAnnounce,
            Went::On => Self::HttpPassed,
            Went::Lost => Self::HttpDropped,
        }
    }
}

/// The counters of one thread, on lines of the cache of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ListenerTally([AtomicU64; TallyKind::ALL.len()]);

impl ListenerTally {
    /// Counts one. Only the thread that owns the tally calls this.
    #[inline]
    pub(crate) fn count(&self, kind: TallyKind) {
        let counter = &self.0[kind as usize];
        // Nobody else writes, so this need not be one step.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The tallies of all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies(Arc<Mutex<Vec<Arc<ListenerTally>>>>);

impl Tallies {
    /// The tally of a new thread.
    pub(crate) fn add(&self) -> Arc<ListenerTally> {
        let tally = Arc::<ListenerTally>::default();
        self.0.lock().push(Arc::clone(&tally));
        tally
    }

    /// What listeners dealt with by themselves. What they handed on is counted by the engine, job by job.
    pub(crate) fn by_themselves(&self) -> ListenerCounts {
        use TallyKind as T;
        let sum = |kinds: &[T]| kinds.iter().map(|kind| self.total(*kind)).sum();
        ListenerCounts {
            from_memory: sum(&[T::UdpAnnounce, T::HttpAnnounce, T::UdpScrape, T::HttpScrape]),
            dropped: sum(&[T::UdpDropped, T::HttpDropped]),
            refused: sum(&[T::Refused]),
        }
    }

    /// The sum over all threads.
    pub(crate) fn total(&self, kind: TallyKind) -> u64 {
        let tallies = self.0.lock();
        let counts = tallies
            .iter()
            .map(|tally| tally.0[kind as usize].load(Ordering::Relaxed));
        counts.sum()
    }
}
