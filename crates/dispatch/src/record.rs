//! What was decided about an upstream, for whoever asks why.

use std::collections::VecDeque;
use std::time::Duration;

use crate::cooldown::Rest;
use crate::job::{Drop, Skip, Wait};
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
    /// When it was made.
    pub at: Moment,
    /// The class of the job it is about, if it is about one.
    pub class: Option<Class>,
    /// Who asked.
    pub asker: Asker,
    /// What was decided.
    pub what: What,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A call started.
    Started {
        /// How long its job was queued.
        waited: Duration,
        /// What the upstream last waited for, if it did.
        reason: Option<Wait>,
        /// 1 for the first attempt.
        attempt: u8,
    },
    /// The first job in line has to wait.
    Waits {
        /// For what.
        reason: Wait,
        /// Until when.
        until: Moment,
    },
    /// A rest began or grew.
    Rested {
        /// Until when, and why.
        rest: Rest,
        /// The rung it stands on now.
        rung: u8,
    },
    /// A success ended a rest.
    Healed,
    /// A job was skipped.
    Skipped(Skip),
    /// A job got the answer of a call made for another.
    Shared {
        /// Who had asked for it.
        with: Asker,
    },
    /// The same is pending already.
    Duplicate,
    /// There was no room for a job.
    Dropped(Drop),
    /// A queued job became more urgent.
    Raised {
        /// What it was before.
        from: Class,
    },
    /// A job has another attempt.
    Retried {
        /// When.
        due: Moment,
    },
    /// An operator ended a rest.
    Cleared,
    /// An operator switched it off.
    SwitchedOff,
    /// An operator switched it on.
    SwitchedOn,
}

/// The last decisions about one upstream.
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
