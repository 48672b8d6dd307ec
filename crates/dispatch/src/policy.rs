//! What a front tells the dispatcher once: numbers and small enums, never code that schedules.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// The most classes that a front may have. Three budgets each make twelve queues, which fit the 16 bits that say
/// which of an upstream's queues are filled.
pub const MAX_CLASSES: usize = 4;

/// Urgency of a job: the position of its class in [`Policy::classes`], 0 being the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class(pub u8);

/// The rules of one front.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The classes, most urgent first; at most [`MAX_CLASSES`].
    pub classes: Vec<ClassPolicy>,
    /// How many jobs may be queued, those that stand aside included.
    pub capacity: u32,
    /// How many jobs may be on the agenda. They do not count as queued.
    pub agenda_capacity: u32,
    /// An upstream's share of the queue never falls below this, however many upstreams there are.
    pub backlog_floor: u32,
    /// After this long a class takes a slot or a worker that was meant for a more urgent one.
    pub aging: Duration,
    /// A due job that finds no room goes back to the agenda for this long.
    pub put_off: Duration,
    /// How many calls start side by side.
    pub crew: CrewPolicy,
    /// When an upstream that fails is left alone, and for how long.
    pub failure: FailurePolicy,
    /// The class that a job takes for its attempts after the first; `None` leaves it in its own.
    pub again_class: Option<Class>,
    /// How many attempts a job has; 0 counts as 1.
    pub attempts: u8,
    /// The wait before the second attempt, doubled for each further one and stretched by jitter.
    pub retry_base: Duration,
    /// How many decisions are kept per upstream; with 0 none are made.
    pub records: usize,
}

impl Policy {
    /// Sets how many jobs may be queued. The agenda keeps its size relative to that.
    pub fn set_capacity(&mut self, capacity: u32) {
        let factor = self.agenda_capacity / self.capacity.max(1);
        self.capacity = capacity;
        self.agenda_capacity = capacity.saturating_mul(factor.max(1));
    }
}

/// The rules of one class.
#[derive(Clone, Debug)]
pub struct ClassPolicy {
    /// The longest next wait of the upstream that a job of this class accepts; `None` accepts any.
    pub max_wait: Option<Duration>,
    /// What happens to queued jobs when their upstream begins to cool down.
    pub on_cooldown: OnCooldown,
    /// What happens to a job that finds no room in the queue.
    pub overflow: Overflow,
}

/// What happens to queued jobs of a class when their upstream begins to cool down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCooldown {
    /// They stay queued, if their max-wait allows.
    Hold,
    /// They end as skipped; so do jobs that are submitted or fall due during the cooldown.
    End,
}

/// What happens to a job that finds no room in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It ends as dropped, and whoever asked is told at once.
    Drop,
    /// It goes to the agenda for [`Policy::put_off`]: for jobs that must not get lost.
    Agenda,
}

/// How many workers there are, and when a call stops counting as one.
#[derive(Clone, Debug)]
pub struct CrewPolicy {
    /// Workers that are always there.
    pub base: u32,
    /// Workers that there are at the most.
    pub max: u32,
    /// At this fill, in percent, a worker is added per step.
    pub grow_at: u32,
    /// Below this fill, in percent, a worker leaves per step.
    pub shrink_below: u32,
    /// The time between two steps. Steps fall on whole multiples of this after the start.
    pub step: Duration,
    /// A call older than this gives its worker back and counts as waiting. Its upstream is slow from
    /// then on, until one of its calls ends sooner than this after its start: a call that starts at a
    /// slow upstream needs a free worker, but counts as waiting at once. Zero makes every call wait.
    pub slot_time: Duration,
    /// At most so many calls count as waiting; further ones keep their worker until there is room.
    pub waiting_max: u32,
}

/// When and for how long an upstream is left alone.
#[derive(Clone, Debug)]
pub struct FailurePolicy {
    /// How long the cooldowns of rungs 1, 2, … are; rung 0 is healthy. Not empty.
    pub ladder: Vec<Duration>,
    /// So many failures in a row begin the first cooldown.
    pub threshold: u32,
    /// Whether reaching the threshold shows as disabled (tracker) or as a cooldown (search, news).
    pub threshold_disables: bool,
    /// The cooldown after a throttled call that named no time; `None` climbs the ladder instead.
    pub throttled: Option<Duration>,
    /// The longest cooldown that an upstream may ask for.
    pub longest: Duration,
}

impl FailurePolicy {
    /// How long the cooldown is that another failure on this rung would begin.
    pub fn cooldown_after(&self, rung: u8) -> Duration {
        // The last rung repeats (rule 32).
        let next = self.ladder.get(usize::from(rung)).or(self.ladder.last());
        next.copied().unwrap_or_default()
    }
}

/// What one upstream allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Per class, the time that a start of budget [`Budget::Query`] keeps from the last one of whatever class.
    pub gaps: [Duration; MAX_CLASSES],
    /// Calls under way at once; at least 1.
    pub in_flight: u32,
    /// The windows that calls of [`Budget::Query`] and [`Budget::Side`] count in.
    pub query: Windows,
    /// The windows that calls of [`Budget::Grab`] count in.
    pub grab: Windows,
}

/// How many starts are allowed in each window. A length that is not named is unlimited (and may be learned).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Shortest first, each length once. Few: every start is counted in each.
    limits: Vec<(Window, u32)>,
    /// When set, the window of 24 hours is not sliding: it empties at this moment and every 24 hours before
    /// and after it.
    pub day_reset: Option<Moment>,
}

impl Windows {
    /// Each window with its limit, shortest first.
    pub fn iter(&self) -> impl Iterator<Item = (Window, u32)> + '_ {
        self.limits.iter().copied()
    }

    /// The same with days that begin at one of these moments.
    #[must_use]
    pub fn resetting(self, day_reset: Moment) -> Self {
        Self {
            day_reset: Some(day_reset),
            ..self
        }
    }

    fn place(&self, window: Window) -> Result<usize, usize> {
        self.limits
            .binary_search_by_key(&window, |&(length, _)| length)
    }
}

impl FromIterator<(Window, u32)> for Windows {
    /// Of two limits for one length the lower one holds.
    fn from_iter<I: IntoIterator<Item = (Window, u32)>>(limits: I) -> Self {
        let mut windows = Self::default();
        for (window, limit) in limits {
            match windows.place(window) {
                Ok(at) => windows.limits[at].1 = windows.limits[at].1.min(limit),
                Err(at) => windows.limits.insert(at, (window, limit)),
            }
        }
        windows
    }
}

impl<const N: usize> From<[(Window, u32); N]> for Windows {
    fn from(limits: [(Window, u32); N]) -> Self {
        limits.into_iter().collect()
    }
}

/// Which of its upstream's allowances a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Budget {
    /// An ordinary call: counts in the query windows, waits for and starts the spacing clock.
    Query,
    /// Caps and the like: counts in the query windows, neither waits for nor starts the spacing clock.
    Side,
    /// A download: counts in the grab windows, neither waits for nor starts the spacing clock.
    Grab,
}

/// A window of [`Windows`]: it is its length, in whole seconds, which is what fits into a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Window(NonZeroU32);

impl Window {
    /// Any 60 seconds, however they lie.
    pub const MINUTE: Self = Self::of_seconds(60);
    /// Any 60 minutes, however they lie.
    pub const HOUR: Self = Self::of_seconds(60 * 60);
    /// Any 24 hours, or from one reset to the next.
    pub const DAY: Self = Self::of_seconds(24 * 60 * 60);

    /// The window of so many seconds, at least one.
    pub const fn of_seconds(seconds: u32) -> Self {
        match NonZeroU32::new(seconds) {
            Some(seconds) => Self(seconds),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// How many seconds long it is.
    pub fn seconds(self) -> u32 {
        self.0.get()
    }

    /// How long it is.
    pub fn length(self) -> Duration {
        Duration::from_secs(self.0.get().into())
    }
}

/// What an upstream said about a limit of its own. It counts where nothing is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Which windows it speaks of; `Side` means the same as `Query`.
    pub budget: Budget,
    /// Which window of that budget.
    pub window: Window,
    /// How many calls it allows there; 0 counts as 1.
    pub limit: u32,
    /// How many of them it has counted already, if it said so. Where that is more than we know of,
    /// the difference counts as starts made now.
    pub used: Option<u32>,
}
