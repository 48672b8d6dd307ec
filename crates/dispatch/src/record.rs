//! What was decided about an upstream, for whoever asks why.
//!
//! Records hold numbers and small enums, no text: one is written at every start, and read when somebody opens a page.
//! `engine` makes sentences of them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::cooldown::Cooldown;
use crate::job::{DropReason, Skip, Wait};
use crate::moment::Moment;
use crate::policy::Class;

/// The program that asked, by a number that the front gave it; 0 where nobody did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asker(pub u32);

/// One decision, and one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Decision {
    /// Counts the decisions of this upstream from 1, so that each can be linked to.
    pub number: u64,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The first job in line has to wait. Told once per wait; a cooldown has a record of its own.
    Waits {
        /// What holds its upstream longest.
        reason: Wait,
        /// When that is over.
        until: Moment,
    },
    /// A cooldown began or grew.
    CooldownBegan {
        /// Its end and what began it.
        cooldown: Cooldown,
        /// The rung that the upstream stands on now; 0 for one that merely asked to be left alone.
        rung: u8,
    },
    /// A success ended a cooldown.
    Healed,
    /// A job was skipped.
    Skipped(Skip),
    /// A job got the answer of a call made for another.
    Shared {
        /// Who had asked for it.
        with: Asker,
    },
    /// A job was not taken in because the same is pending already.
    Duplicate,
    /// A job was not taken in, or had no further attempt, for want of room.
    Dropped(DropReason),
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
    /// An operator ended a cooldown, or just forgot the failures of an open upstream.
    Cleared,
    /// An operator switched it off.
    SwitchedOff,
    /// An operator switched it on.
    SwitchedOn,
}

/// The last decisions about one upstream, at most [`Policy::records`](crate::Policy::records) of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    kept: VecDeque<Decision>,
    made: u64,
}

impl Ring {
    pub(crate) fn push(
        &mut self,
        capacity: usize,
        at: Moment,
        class: Option<Class>,
        asker: Asker,
        what: What,
    ) {
        self.made += 1;
        if capacity == 0 {
            return;
        }
        if self.kept.len() >= capacity {
            self.kept.pop_front();
        }
        self.kept.push_back(Decision {
            number: self.made,
            at,
            class,
            asker,
            what,
        });
    }

    /// The decisions, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Decision> {
        self.kept.iter().rev()
    }
}
