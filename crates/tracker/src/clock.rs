//! The time for listeners: read once for all the requests they have at hand.

mod minute;

use std::time::{Duration, SystemTime};

use weir_engine::Timeline;
use weir_engine::dispatch::Moment;

pub(crate) use self::minute::Past;
pub use self::minute::{Age, Minute};

/// Counts from its own beginning, on the timeline of the whole process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackerClock {
    timeline: Timeline,
    began: Moment,
}

/// The time at which some requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) minute: Minute,
    /// Seconds since the clock began.
    pub(crate) seconds: u32,
    /// The same time for the engine.
    pub(crate) moment: Moment,
}

/// When a file was or is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTime {
    /// Seconds since the clock began.
    pub(crate) seconds: u32,
    /// Seconds of the wall clock, by which the next process tells how long nobody ran.
    pub(crate) wall: u64,
}

impl FileTime {
    pub(crate) fn minute(self) -> Minute {
        minute(self.seconds)
    }
}

impl TrackerClock {
    pub(crate) fn on(timeline: Timeline) -> Self {
        Self {
            timeline,
            began: timeline.now(),
        }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.until(self.timeline.now())
    }

    pub(crate) fn file_time(&self) -> FileTime {
        FileTime {
            seconds: self.now().seconds,
            wall: wall_seconds(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        let moment = self.timeline.now();
        let seconds = self.seconds_at(moment);
        Now {
            minute: minute(seconds),
            seconds,
            moment,
        }
    }

    /// The moment of a second since the clock began.
    pub(crate) fn moment_of(&self, seconds: u32) -> Moment {
        self.began + Duration::from_secs(seconds.into())
    }

    /// The wall time of a moment.
    pub(crate) fn wall(&self, moment: Moment) -> SystemTime {
        self.timeline.wall(moment)
    }

    /// Seconds since the clock began, of a moment that lies after it.
    pub(crate) fn seconds_at(&self, moment: Moment) -> u32 {
        let seconds = self.began.until(moment).as_secs();
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }
}

/// The minute of a second since the clock began.
pub(crate) fn minute(seconds: u32) -> Minute {
    Minute::START.plus(seconds / 60)
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
