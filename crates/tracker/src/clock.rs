//! The time for listeners: read once for all the requests they have at hand.

use std::time::{Duration, Instant, SystemTime};

use crate::swarm::Minute;

/// Counts from its own beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
}

/// The time at which some requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) minute: Minute,
    /// Seconds since the clock began.
    pub(crate) seconds: u32,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "listener threads have no runtime whose time could be paused; all that decides takes a `Now`"
    )]
    pub(crate) fn start() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn now(&self) -> Now {
        let seconds = self.elapsed().as_secs();
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        Now {
            minute: Minute::START.plus(seconds / 60),
            seconds,
        }
    }
}

/// Seconds of the wall clock, for what is read by the next process.
#[expect(
    clippy::disallowed_methods,
    reason = "only the age of a file is told by it"
)]
pub(crate) fn wall_seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
