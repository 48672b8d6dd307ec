//! The rows as plain values, what can change of them, and what is kept of a front.

use std::sync::Arc;

use super::value::{Budget, Cause, Ledger, Payload, Wall, Window, Windows};

/// What is kept of one upstream's health and spacing. Written as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamRow {
    /// The operator's switch, when it is off.
    pub off: Option<Off>,
    /// A rest that no success has ended yet.
    pub rest: Option<Rest>,
    /// The rung on the ladder; 0 is healthy.
    pub rung: u8,
    /// Failures in a row.
    pub failures: u32,
    /// The spacing clock.
    pub last_start: Option<Wall>,
    /// Since when it is gone from the configuration. The engine sets it when it loads a row that it has no upstream
    /// for and takes it away when the upstream is back; [`super::State::forget`] goes by it.
    pub gone: Option<Wall>,
}

impl UpstreamRow {
    /// Past events cannot lie ahead: where the wall clock was set back, they count as now.
    pub(super) fn settle(&mut self, now: Wall) {
        let times = [
            self.off.as_mut().map(|off| &mut off.since),
            self.rest.as_mut().map(|rest| &mut rest.since),
            self.last_start.as_mut(),
            self.gone.as_mut(),
        ];
        for time in times.into_iter().flatten() {
            *time = now.min(*time);
        }
    }
}

/// Why and since when an operator has an upstream off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Off {
    /// Since when.
    pub since: Wall,
    /// Who did it.
    pub by: String,
    /// What they gave as the reason; may be empty.
    pub reason: String,
}

/// A time in which an upstream is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When it began.
    pub since: Wall,
    /// When it ends.
    pub until: Wall,
    /// What began it.
    pub cause: Cause,
    /// The same for a person, such as "no such host"; may be empty.
    pub reason: String,
}

/// Calls that count in windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Whose windows.
    pub ledger: Ledger,
    /// Which of them.
    pub windows: Windows,
    /// When.
    pub at: Wall,
    /// How many.
    pub times: u32,
}

impl Start {
    /// Whether it counts in no window any more.
    pub(super) fn is_over(&self, now: Wall) -> bool {
        self.at <= now.before(self.windows.length())
    }
}

/// A limit that an upstream told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Of whose windows.
    pub ledger: Ledger,
    /// Of which one.
    pub window: Window,
    /// How many calls it may hold.
    pub calls: u32,
}

/// A scheduled job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaRow {
    /// The engine's number for it. Numbers of an earlier run mean nothing to the next one, so after a restart the engine
    /// takes all old ones and schedules its new ones in one `save`.
    pub id: u64,
    /// Whom it calls.
    pub upstream: Arc<str>,
    /// Its class, as the front numbers them.
    pub class: u8,
    /// Its budget.
    pub budget: Budget,
    /// When it is due.
    pub due: Wall,
    /// Attempts made so far.
    pub attempts: u8,
    /// From which the front builds the call again.
    pub payload: Payload,
}

/// One change of what is kept of a front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An upstream's row is now this.
    Upstream {
        /// Its name.
        name: Arc<str>,
        /// All of the row.
        row: UpstreamRow,
    },
    /// Calls started, or the upstream told of calls that we did not know.
    Started {
        /// Whom.
        upstream: Arc<str>,
        /// When and how many; added to what is kept.
        start: Start,
    },
    /// The upstream told a limit.
    Learned {
        /// Who.
        upstream: Arc<str>,
        /// Which; replaces an earlier one of the same window.
        limit: Limit,
    },
    /// A told limit does not hold any more.
    Unlearned {
        /// Whose.
        upstream: Arc<str>,
        /// Of whose windows.
        ledger: Ledger,
        /// Of which one.
        window: Window,
    },
    /// An agenda entry is now this.
    Scheduled(AgendaRow),
    /// This agenda entry has left the agenda.
    Taken(u64),
}

/// What was kept of a front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// By name.
    pub upstreams: Vec<KeptUpstream>,
    /// By due time, then number.
    pub agenda: Vec<AgendaRow>,
    /// How many rows could not be read and are missing here.
    pub unreadable: u64,
}

/// What was kept of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptUpstream {
    /// Its name.
    pub name: Arc<str>,
    /// Its row; the default when only starts or limits were kept.
    pub row: UpstreamRow,
    /// What it told.
    pub limits: Vec<Limit>,
    /// The starts that still count, oldest first.
    pub starts: Vec<Start>,
}
