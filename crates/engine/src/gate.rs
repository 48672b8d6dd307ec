//! Fill and tokens for listener threads, which never touch the dispatcher.
//!
//! A place is *reserved* by a listener thread, and becomes *queued* or is released when the engine
//! takes the job in. Both counts share one word, so that two threads can never get the same last place.

use weir_dispatch::Moment;

use crate::sync::{AtomicU64, Ordering};

/// Places in the queue and tokens, readable and takeable from any thread.
#[derive(Debug)]
pub struct Gate {
    /// Reserved places in the upper half, queued jobs in the lower. Listener threads write the
    /// upper one; the engine writes both, under its lock.
    places: AtomicU64,
    capacity: u32,
    tokens: Bucket,
    refused_full: AtomicU64,
    rate_limited: AtomicU64,
    throttled: AtomicU64,
}

/// How fast tokens refill, and how many there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// New tokens per second.
    pub per_second: u32,
    /// Maximum tokens, and how many there are at the start.
    pub burst: u32,
}

impl Rate {
    /// For a front whose gate gives no tokens.
    pub const NONE: Self = Self {
        per_second: 0,
        burst: 0,
    };
}

impl Gate {
    /// A separate gate with no queue behind it. For an engine's own gate see [`Engine::gate`](crate::Engine::gate).
    pub fn new(capacity: u32, rate: Rate) -> Self {
        Self {
            places: AtomicU64::new(0),
            capacity,
            tokens: Bucket::new(rate),
            refused_full: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
        }
    }

    /// Reserves `wanted` places, or as many as are left. Each must be passed to
    /// [`Engine::submit_reserved`](crate::Engine::submit_reserved) or released.
    pub fn reserve(&self, wanted: u32) -> u32 {
        let mut places = self.places.load(Ordering::Acquire);
        loop {
            let got = wanted.min(self.capacity.saturating_sub(taken(places)));
            if got == 0 {
                if wanted > 0 {
                    self.refused_full.fetch_add(1, Ordering::Relaxed);
                }
                return 0;
            }
            let new = places + (u64::from(got) << 32);
            match self.places.compare_exchange_weak(
                places,
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return got,
                Err(seen) => places = seen,
            }
        }
    }

    /// Releases places that were reserved and not used.
    pub fn release(&self, places: u32) {
        self.places
            .fetch_sub(u64::from(places) << 32, Ordering::AcqRel);
    }

    /// Takes a token, if there is one.
    pub fn take_token(&self, now: Moment) -> bool {
        let taken = self.tokens.take(now);
        if !taken {
            self.rate_limited.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Counts upstreams that were left out because the queue was filling.
    pub fn count_throttled(&self, left_out: u32) {
        self.throttled
            .fetch_add(u64::from(left_out), Ordering::Relaxed);
    }

    /// Jobs that are queued or have a place reserved.
    pub fn queued(&self) -> u32 {
        taken(self.places.load(Ordering::Relaxed))
    }

    /// How many jobs fit.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Places taken, in whole percent.
    pub fn fill_percent(&self) -> u32 {
        let percent = u64::from(self.queued()) * 100 / u64::from(self.capacity.max(1));
        u32::try_from(percent).unwrap_or(u32::MAX)
    }

    /// How often no place was left, no token was left, and upstreams were left out.
    pub(crate) fn refusals(&self) -> [u64; 3] {
        [&self.refused_full, &self.rate_limited, &self.throttled]
            .map(|count| count.load(Ordering::Relaxed))
    }

    /// The engine now has `queued` jobs queued, where it had `before`, and has taken in jobs for
    /// `used` reserved places.
    pub(crate) fn settle(&self, before: u32, queued: u32, used: u32) {
        let change = u64::from(queued)
            .wrapping_sub(u64::from(before))
            .wrapping_sub(u64::from(used) << 32);
        if change != 0 {
            self.places.fetch_add(change, Ordering::AcqRel);
        }
    }
}

fn taken(places: u64) -> u32 {
    let halves = (places >> 32) + (places & u64::from(u32::MAX));
    u32::try_from(halves).unwrap_or(u32::MAX)
}

/// A token bucket as one atomic: when it will be full again (GCRA).
#[derive(Debug)]
struct Bucket {
    full_at: AtomicU64,
    /// Nanoseconds until there is one more token.
    interval: u64,
    /// Nanoseconds from empty to full.
    span: u64,
    /// Whether time fills it.
    refills: bool,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        let interval = 1_000_000_000_u64
            .checked_div(u64::from(rate.per_second))
            .map_or(1, |interval| interval.max(1));
        Self {
            full_at: AtomicU64::new(0),
            interval,
            span: interval.saturating_mul(u64::from(rate.burst)),
            refills: rate.per_second > 0,
        }
    }

    fn take(&self, now: Moment) -> bool {
        // Without a refill, time stands still, and only the burst is ever given out.
        let now = if self.refills { now.0 } else { 0 };
        let mut full_at = self.full_at.load(Ordering::Acquire);
        loop {
            let new = full_at.max(now).saturating_add(self.interval);
            if new - now.min(new) > self.span {
                return false;
            }
            match self.full_at.compare_exchange_weak(
                full_at,
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(seen) => full_at = seen,
            }
        }
    }
}
