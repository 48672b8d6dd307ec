//! What was decided about an upstream, for whoever asks why.
//!
//! Decisions hold numbers and small enums, no text. Each has all that is needed to tell it again later, when limits, ladder
//! and state are others. The dispatcher hands them out and forgets them; `engine` adds the words that came with a call,
//! keeps the last ones and makes sentences of them. A start is handed out as [`Start`](crate::Start) alone, since there is
//! one for every call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cooldown::Cooldown;
use crate::job::{DropReason, JobId, Skip, UpstreamId, Wait};
use crate::moment::Moment;
use crate::policy::Class;
use crate::quota::FullWindow;

/// The program that asked, by a number that the front gave it; 0 where nobody did.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Asker(pub u32);

impl Asker {
    /// Nobody in particular.
    pub const NOBODY: Self = Self(0);
    /// A person who acts on an upstream.
    pub const OPERATOR: Self = Self(u32::MAX);
    /// Weir itself, which tries upstreams that nobody asks.
    pub const WEIR: Self = Self(u32::MAX - 1);
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// About whom.
    pub upstream: UpstreamId,
    /// The job it is about, if that was taken in.
    pub job: Option<JobId>,
    /// When it was made, in the dispatcher's time.
    pub at: Moment,
    /// The class of the job it is about, if it is about one and not about the upstream itself.
    pub class: Option<Class>,
    /// Who asked for that job.
    pub asker: Asker,
    /// The decision and its reason.
    pub what: What,
}

/// A decision and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A call started.
    Started {
        /// How long its job was queued; time on the agenda is not in it.
        waited: Duration,
        /// What the upstream last waited for, if it did since its last start.
        reason: Option<Wait>,
        /// 1 for the first attempt.
        attempt: u8,
    },
    /// The first job in line has to wait. Told once per wait.
    Waits {
        /// What holds its upstream longest.
        reason: Wait,
        /// When that is over.
        until: Moment,
        /// The window that holds it, where it is one that does.
        full: Option<FullWindow>,
    },
    /// A cooldown began or grew.
    CooldownBegan {
        /// Its end and what began it.
        cooldown: Cooldown,
        /// The rung that the upstream stands on now; 0 for one that merely asked to be left alone.
        rung: u8,
        /// How many calls in a row have failed; 0 in records of earlier versions.
        #[serde(default)]
        failures: u32,
        /// How long the cooldown of the rung after that is.
        next: Duration,
        /// When a probe may be made, as things are: at its end, or later where a window is full until then.
        #[serde(default)]
        probe: Moment,
    },
    /// A success ended a cooldown.
    Healed,
    /// A job was skipped.
    Skipped(Skip),
    /// A job's answer comes too late for whoever asked; it goes on for whoever asks next. Without a `wait` its call is
    /// under way, with a wait of zero its turn has just not come.
    Missed(Skip),
    /// A job got the answer of a call made for another.
    Shared {
        /// Who had asked for it.
        with: Asker,
        /// How much earlier.
        after: Duration,
    },
    /// A job got an answer that another node had kept.
    Kept {
        /// Which node.
        by: Asker,
    },
    /// A job was not taken in because the same is pending already.
    Duplicate,
    /// A job was not taken in, or had no further attempt, for want of room.
    Dropped {
        /// What there was no room in.
        reason: DropReason,
        /// How many jobs that holds; 0 where it is not about a number.
        limit: u32,
    },
    /// A queued job became more urgent.
    Raised {
        /// Its class before.
        from: Class,
    },
    /// A job has another attempt.
    Retried {
        /// When that one is due on the agenda.
        due: Moment,
    },
    /// A scheduled job was due, and there was no room for it.
    PutOff {
        /// When it is due again.
        due: Moment,
        /// What there was no room in.
        reason: DropReason,
        /// How many jobs that holds.
        limit: u32,
    },
    /// An operator ended a cooldown.
    Cleared,
    /// An operator had the failures of an upstream forgotten that was not in a cooldown.
    Forgiven,
    /// An operator switched it off.
    SwitchedOff,
    /// An operator switched it on.
    SwitchedOn,
}
