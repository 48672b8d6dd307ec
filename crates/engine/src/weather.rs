//! Is our own network up? Shared by all fronts, so that nobody is blamed for our own outage.
//!
//! No route, an unreachable network and a silent DNS server may be our fault or the upstream's. A success elsewhere
//! after an upstream's trouble proves that it is the upstream's; two upstreams (or as many as are configured) in trouble
//! and no success for half a minute mean that it is ours. Until either is certain, nobody is blamed. With fewer
//! upstreams there is nothing to compare: each is judged at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// What may be our own network's fault. A refused connection, an error status and "no such host" are not:
/// they prove that the network works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No route to the host, or the network is unreachable.
    NoRoute,
    /// The DNS server does not answer.
    SilentDns,
}

/// One handle for the whole process.
#[derive(Clone, Debug)]
pub struct Weather(Arc<Inner>);

/// An upstream of any front.
pub(crate) type Whom = (u32, u32);

/// Whose fault a trouble is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Our own network is down.
    Ours,
    /// Not known yet: nobody is blamed, and nothing pauses.
    Unclear,
    /// The upstream's.
    Theirs,
}

#[derive(Debug)]
struct Inner {
    /// How many upstreams must be in trouble.
    upstreams: u32,
    /// How long there must have been no success.
    quiet: Duration,
    /// How long calls pause.
    pause: Duration,
    origin: Instant,
    /// Milliseconds after `origin`, plus 1; 0 before the first success. Written without the lock
    /// while nobody is in trouble.
    last_success: AtomicU64,
    /// Whether `sky` has anybody in trouble. Written under its lock.
    cloudy: AtomicBool,
    sky: Mutex<Sky>,
}

#[derive(Debug, Default)]
struct Sky {
    fronts: u32,
    upstreams: u32,
    /// Counts successes while anybody is in trouble.
    successes: u64,
    /// How many upstreams were in trouble since the last success.
    since_success: u32,
    troubled: HashMap<Whom, Troubled>,
    /// The last verdict was [`Verdict::Ours`], and nothing has succeeded since.
    down: bool,
    /// How often that has begun.
    outages: u64,
}

/// An outage of our own that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    /// Counts them from 1.
    pub(crate) number: u64,
    /// How many upstreams of all fronts have shown it so far.
    pub(crate) failed: u32,
}

/// An upstream in trouble since its own last success.
#[derive(Clone, Copy, Debug)]
struct Troubled {
    since: Instant,
    /// The count of successes at its first trouble and at its last.
    first: u64,
    last: u64,
}

impl Weather {
    /// Fair weather. An outage is ours once this many `upstreams` are in trouble and nothing has succeeded for `quiet`;
    /// calls then pause for `pause`.
    pub fn new(upstreams: u32, quiet: Duration, pause: Duration) -> Self {
        Self(Arc::new(Inner {
            upstreams,
            quiet,
            pause,
            origin: Instant::now(),
            last_success: AtomicU64::new(0),
            cloudy: AtomicBool::new(false),
            sky: Mutex::default(),
        }))
    }

    /// Fair weather by the same rules, for upstreams that say nothing about the others.
    pub fn apart(&self) -> Self {
        Self::new(self.0.upstreams, self.0.quiet, self.0.pause)
    }

    /// How long calls pause now: not at all unless our own network is known to be down.
    pub(crate) fn pause(&self) -> Duration {
        let down = self.0.cloudy.load(Ordering::Acquire) && self.0.sky.lock().down;
        if down { self.0.pause } else { Duration::ZERO }
    }

    /// Whether our own network is known to be down.
    pub fn is_down(&self) -> bool {
        !self.pause().is_zero()
    }

    /// The outage that lasts, if one does.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let sky = self.0.sky.lock();
        sky.down.then_some(Outage {
            number: sky.outages,
            failed: sky.since_success,
        })
    }

    /// How many upstreams have failed since anything last succeeded, in a way that may be our own network's fault.
    pub fn troubled(&self) -> usize {
        let cloudy = self.0.cloudy.load(Ordering::Acquire);
        if cloudy {
            self.0.sky.lock().since_success as usize
        } else {
            0
        }
    }

    /// How long nothing has answered, while our own network is known to be down; since the start if nothing ever has.
    pub fn down_for(&self) -> Option<Duration> {
        let now = self.stamp(Instant::now());
        let last = self.0.last_success.load(Ordering::Acquire);
        let quiet = Duration::from_millis(now.saturating_sub(last.max(1)));
        self.is_down().then_some(quiet)
    }

    /// Adds a front; returns the number for its [`Whom`]s.
    pub(crate) fn add_front(&self) -> u32 {
        let mut sky = self.0.sky.lock();
        sky.fronts += 1;
        sky.fronts
    }

    pub(crate) fn add_upstream(&self) {
        self.0.sky.lock().upstreams += 1;
    }

    pub(crate) fn remove_upstream(&self, whom: Whom) {
        let mut sky = self.0.sky.lock();
        sky.upstreams -= 1;
        if let Some(gone) = sky.troubled.remove(&whom)
            && gone.last == sky.successes
        {
            sky.since_success -= 1;
        }
    }

    /// An upstream answered, so our network works.
    pub(crate) fn success(&self, whom: Whom, now: Instant) {
        let stamp = self.stamp(now);
        // Nearly every call comes here: a word that all threads read is written only when needed.
        if self.0.last_success.load(Ordering::Relaxed) != stamp {
            self.0.last_success.fetch_max(stamp, Ordering::AcqRel);
        }
        if !self.0.cloudy.load(Ordering::Acquire) {
            return;
        }
        let mut sky = self.0.sky.lock();
        sky.successes += 1;
        sky.since_success = 0;
        sky.down = false;
        sky.troubled.remove(&whom);
        if sky.troubled.is_empty() {
            self.0.cloudy.store(false, Ordering::Release);
        }
    }

    /// An upstream is in trouble: whose fault is it?
    pub(crate) fn trouble(&self, whom: Whom, now: Instant) -> Verdict {
        let mut sky = self.0.sky.lock();
        self.0.cloudy.store(true, Ordering::Release);
        let Sky {
            successes,
            since_success,
            troubled,
            ..
        } = &mut *sky;
        let new = Troubled {
            since: now,
            first: *successes,
            last: u64::MAX,
        };
        let entry = troubled.entry(whom).or_insert(new);
        if entry.last != *successes {
            entry.last = *successes;
            *since_success += 1;
        }
        let entry = *entry;
        let verdict = self.judge(&sky, entry, now);
        let down = verdict == Verdict::Ours;
        sky.outages += u64::from(down && !sky.down);
        sky.down = down;
        verdict
    }

    fn judge(&self, sky: &Sky, entry: Troubled, now: Instant) -> Verdict {
        if sky.upstreams < self.0.upstreams {
            return Verdict::Theirs;
        }
        if sky.since_success >= self.0.upstreams {
            return if self.is_quiet(now) {
                Verdict::Ours
            } else {
                Verdict::Unclear
            };
        }
        let others_answered = entry.first < sky.successes;
        let long_alone = now.duration_since(entry.since) >= self.0.quiet;
        if others_answered || long_alone {
            Verdict::Theirs
        } else {
            Verdict::Unclear
        }
    }

    /// Whether nothing has succeeded for long enough; before the first success, since the start.
    fn is_quiet(&self, now: Instant) -> bool {
        let last = self.0.last_success.load(Ordering::Acquire);
        let quiet = u64::try_from(self.0.quiet.as_millis()).unwrap_or(u64::MAX);
        self.stamp(now).saturating_sub(last) >= quiet
    }

    fn stamp(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.0.origin);
        since.as_secs() * 1000 + u64::from(since.subsec_millis()) + 1
    }
}

impl Default for Weather {
    fn default() -> Self {
        Self::new(2, Duration::from_secs(30), Duration::from_secs(30))
    }
}

#[cfg(test)]
#[path = "weather/tests.rs"]
mod tests;
