//! The rows as plain values, the changes to them, and everything stored for a front.

use std::sync::Arc;

use super::value::{Budget, Cause, Ledger, Payload, Wall, Window};

/// One upstream's health and spacing. Always written as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamRow {
    /// Set while an operator has it switched off.
    pub off: Option<Off>,
    /// When an operator last switched it on.
    pub on: Option<Wall>,
    /// The cooldown that no success has ended yet.
    pub rest: Option<Rest>,
    /// The step on the ladder of cooldowns; 0 is healthy.
    pub rung: u8,
    /// Failures in a row.
    pub failures: u32,
    /// Whether it has ever answered.
    pub answered: bool,
    /// When it was last called, for spacing.
    pub last_start: Option<Wall>,
    /// When it was last called for anything.
    pub last_call: Option<Wall>,
    /// What last went wrong, and when.
    pub last_error: Option<(Wall, String)>,
    /// The front's own bytes; short.
    pub own: Vec<u8>,
    /// When it was found missing from the configuration. The engine sets this when it loads a row without an upstream and
    /// clears it when the upstream is back; [`super::State::forget`] uses it.
    pub gone: Option<Wall>,
}

impl UpstreamRow {
    /// Moves past events that lie in the future, because the wall clock was set back, to now.
    pub(super) fn settle(&mut self, now: Wall) {
        let times = [
            self.off.as_mut().map(|off| &mut off.since),
            self.on.as_mut(),
            self.last_start.as_mut(),
            self.last_call.as_mut(),
            self.last_error.as_mut().map(|(at, _)| at),
            self.gone.as_mut(),
        ];
        let cooldown = self.rest.as_mut();
        let began = cooldown.map(|rest| [&mut rest.since, &mut rest.began]);
        let times = times.into_iter().flatten();
        for time in times.chain(began.into_iter().flatten()) {
            *time = now.min(*time);
        }
    }
}

/// Why and since when an upstream is switched off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Off {
    /// Since when.
    pub since: Wall,
    /// Who did it.
    pub by: String,
    /// The reason they gave; may be empty.
    pub reason: String,
}

/// A cooldown: a time in which an upstream is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When the upstream stopped being called: the beginning of the first of several in a row.
    pub since: Wall,
    /// When it began.
    pub began: Wall,
    /// When it ends.
    pub until: Wall,
    /// What caused it.
    pub cause: Cause,
    /// The cause in words, such as "no such host"; may be empty.
    pub reason: String,
}

/// What happened lately, as text that means something to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// How far the wall clock was ahead of the times in the text, in nanoseconds.
    pub skew: i64,
    /// The text.
    pub text: String,
}

/// Calls that count against the limit of a window. A call counts in each window that has a limit, so it is a start
/// in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Whose window.
    pub ledger: Ledger,
    /// Which one.
    pub window: Window,
    /// When.
    pub at: Wall,
    /// How many.
    pub times: u32,
}

impl Start {
    /// Whether it no longer counts.
    pub(super) fn is_over(&self, now: Wall) -> bool {
        self.at <= now.before(self.window.length())
    }
}

/// A limit that an upstream told us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which ledger it applies to.
    pub ledger: Ledger,
    /// Which window it applies to.
    pub window: Window,
    /// How many calls are allowed in the window.
    pub calls: u32,
}

/// A scheduled job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaRow {
    /// The engine's number for it. Numbers of an earlier run mean nothing to the next one, so after a restart the engine
    /// removes all old entries and schedules its new ones in one `save`.
    pub id: u64,
    /// The upstream it calls.
    pub upstream: Arc<str>,
    /// Its class, as the front numbers them.
    pub class: u8,
    /// Its budget.
    pub budget: Budget,
    /// When it is due.
    pub due: Wall,
    /// Attempts made so far.
    pub attempts: u8,
    /// What the front needs to build the call again.
    pub payload: Payload,
}

/// One change to what is stored for a front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes all that is stored under a name but its agenda entries; what follows in the same call is another upstream's.
    Cleared(Arc<str>),
    /// Replaces an upstream's row.
    Upstream {
        /// Its name.
        name: Arc<str>,
        /// The whole row.
        row: UpstreamRow,
    },
    /// Calls were started, or the upstream reported calls that we did not know about.
    Started {
        /// Who was called.
        upstream: Arc<str>,
        /// When and how many; added to what is stored.
        start: Start,
    },
    /// The upstream told us a limit.
    Learned {
        /// Its name.
        upstream: Arc<str>,
        /// The limit; replaces an earlier one of the same window.
        limit: Limit,
    },
    /// Such a limit no longer applies.
    Unlearned {
        /// The upstream that told it.
        upstream: Arc<str>,
        /// Which ledger it applied to.
        ledger: Ledger,
        /// Which window it applied to.
        window: Window,
    },
    /// Replaces what is written about the latest past.
    Past {
        /// The upstream's name; empty for the front itself, and [`SERIES`] for its series.
        name: Arc<str>,
        /// What is written.
        past: Past,
    },
    /// Adds or replaces an agenda entry.
    Scheduled(AgendaRow),
    /// Removes the agenda entry with this number.
    Taken(u64),
}

/// In place of an upstream's name: the series of the front itself. No upstream's name holds a control character.
pub const SERIES: &str = "\u{1}series";

/// Whether what is written under this name is about an upstream. Then it has a row, even if it has never been called: only
/// with that does its past come back, and go when it is forgotten.
pub fn is_upstream(name: &str) -> bool {
    !name.is_empty() && name != SERIES
}

/// Everything stored for a front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// In order of their names.
    pub upstreams: Vec<KeptUpstream>,
    /// In order of due time, then number.
    pub agenda: Vec<AgendaRow>,
    /// What is written about the front itself.
    pub past: Option<Past>,
    /// What is written of its series.
    pub series: Option<Past>,
    /// How many rows could not be read and are missing here.
    pub unreadable: u64,
}

/// Everything stored for an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptUpstream {
    /// Its name.
    pub name: Arc<str>,
    /// Its row; the default if only starts, limits or its past are stored.
    pub row: UpstreamRow,
    /// The limits it told us.
    pub limits: Vec<Limit>,
    /// The starts that still count, oldest first.
    pub starts: Vec<Start>,
    /// What happened lately.
    pub past: Option<Past>,
}
