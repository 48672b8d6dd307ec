//! How the store is doing, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets that times are sorted into, in microseconds; what is longer is in none of them.
const BOUNDS: [u64; 10] = [
    100, 250, 500, 1_000, 2_500, 5_000, 25_000, 100_000, 500_000, 1_000_000,
];

/// How often the store was called, how often it gave no answer, and how long it took.
#[derive(Debug, Default)]
pub struct StoreFigures {
    calls: AtomicU64,
    lost: AtomicU64,
    micros: AtomicU64,
    ignored: AtomicU64,
    buckets: [AtomicU64; BOUNDS.len()],
}

impl StoreFigures {
    pub(super) fn note(&self, took: Duration, answered: bool) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.lost.fetch_add(u64::from(!answered), Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        if let Some(bucket) = BOUNDS.iter().position(|&bound| micros <= bound) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn ignore(&self, things: u64) {
        self.ignored.fetch_add(things, Ordering::Relaxed);
    }

    /// What was read of upstreams and means nothing.
    pub fn ignored(&self) -> u64 {
        self.ignored.load(Ordering::Relaxed)
    }

    /// All calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Calls that got no answer.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The time of all calls together.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// How many calls took at most so many microseconds, shortest first; each counts in one bucket alone.
    pub fn buckets(&self) -> [(u64, u64); BOUNDS.len()] {
        std::array::from_fn(|at| (BOUNDS[at], self.buckets[at].load(Ordering::Relaxed)))
    }
}
