//! Time for everything that runs: tokio's clock, as [`Moment`]s that begin at the wall time.
//!
//! A moment is nanoseconds since 1970 by the wall clock at the time the program started, and continues
//! with the monotonic clock from there. So it never jumps, and rows can be stored as wall times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use weir_dispatch::Moment;

/// Far enough away for a timer that nobody waits for.
const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Translates between tokio's clock, moments and wall time. All fronts share one.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    origin: Instant,
    begins: Moment,
    slept: fn() -> Duration,
}

/// A moment, and how long this machine had slept by then: for what others count on meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Waking {
    /// When it was.
    pub at: Moment,
    slept: Duration,
}

impl Timeline {
    /// A timeline on which now is this wall time.
    pub fn starting_at(wall: SystemTime) -> Self {
        let since = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            origin: Instant::now(),
            begins: Moment(0) + since,
            slept: || Duration::ZERO,
        }
    }

    /// The same, where something says how long this machine has slept in all: tokio's clock stands still meanwhile, and moments
    /// with it.
    #[must_use]
    pub fn with_sleep(self, slept: fn() -> Duration) -> Self {
        Self { slept, ..self }
    }

    /// Now, for [`Self::since`].
    pub fn waking(&self) -> Waking {
        Waking {
            at: self.now(),
            slept: (self.slept)(),
        }
    }

    /// How long ago that was for everybody else, with the time in which this machine slept.
    pub fn since(&self, then: Waking) -> Duration {
        then.at.until(self.now()) + (self.slept)().saturating_sub(then.slept)
    }

    /// Now.
    pub fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    /// The moment at which tokio's clock says this.
    pub(crate) fn moment(&self, instant: Instant) -> Moment {
        self.begins + instant.saturating_duration_since(self.origin)
    }

    /// The wall time that a moment stands for.
    pub fn wall(&self, moment: Moment) -> SystemTime {
        UNIX_EPOCH + Moment(0).until(moment)
    }

    /// The instant of this moment on tokio's clock, at most a year from now.
    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        let now = self.now();
        match now.until(moment) {
            Duration::ZERO => self.origin + self.begins.until(moment),
            wait => self.origin + self.begins.until(now) + wait.min(FAR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn moments_begin_at_the_wall_time_and_follow_the_clock() {
        let wall = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let timeline = Timeline::starting_at(wall);
        let first = timeline.now();
        assert_eq!(timeline.wall(first), wall);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(timeline.now(), first + Duration::from_secs(5));
        let later = timeline.instant(first + Duration::from_secs(9));
        assert_eq!(later - Instant::now(), Duration::from_secs(4));
        assert!(timeline.instant(Moment::NEVER) > later);
    }
}
