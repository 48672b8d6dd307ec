//! What each listener thread did, counted where no other thread writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// What a listener thread counts, one of them for each packet or request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TallyKind {
    UdpConnect,
    UdpAnnounce,
    UdpScrape,
    HttpAnnounce,
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
    pub(crate) const ALL: [(Self, &'static str); 9] = [
        (Self::UdpConnect, "udp_connect"),
        (Self::UdpAnnounce, "udp_announce"),
        (Self::UdpScrape, "udp_scrape"),
        (Self::HttpAnnounce, "http_announce"),
        (Self::HttpScrape, "http_scrape"),
        (Self::Malformed, "malformed"),
        (Self::Refused, "refused"),
        (Self::Silent, "ignored"),
        (Self::Unsent, "unsent"),
    ];
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

    /// The sum over all threads.
    pub(crate) fn total(&self, kind: TallyKind) -> u64 {
        let tallies = self.0.lock();
        let counts = tallies
            .iter()
            .map(|tally| tally.0[kind as usize].load(Ordering::Relaxed));
        counts.sum()
    }
}
