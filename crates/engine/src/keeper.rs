//! The seam to whoever keeps the engine's rows across a restart.

use std::sync::Arc;

use weir_dispatch::{JobId, Moment, SavedJob, SavedUpstream, UpstreamId};

use crate::side::UpstreamTrouble;

/// Takes changed rows, in the order of the changes. Called while holding no lock that a submission needs.
/// It must neither block nor call the engine; it hands the rows to a writer.
///
/// Starts that count in an hour or day window arrive before their call is made; everything else arrives
/// within a second.
pub trait Keeper: Send + Sync + 'static {
    /// These rows of a front changed.
    fn changed(&self, front: &'static str, changes: Changes);
}

/// Rows that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Upstreams, each with its whole row.
    pub upstreams: Vec<KeptUpstream>,
    /// Jobs that were added to the agenda, moved on it or left it.
    pub agenda: Vec<AgendaChange>,
    /// What happened, in the words of `past`.
    pub pasts: Vec<KeptPast>,
}

/// What happened lately, written down: of one upstream, or of the front itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPast {
    /// The upstream's name; empty for the front itself, and [`SERIES`](weir_store::state::SERIES) for its series.
    pub name: Arc<str>,
    /// States and records as text.
    pub text: String,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.upstreams.is_empty() && self.agenda.is_empty() && self.pasts.is_empty()
    }
}

/// What is kept of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptUpstream {
    /// Which one, in this run.
    pub upstream: UpstreamId,
    /// Its name, which identifies it across restarts.
    pub name: Arc<str>,
    /// The dispatcher's row.
    pub row: SavedUpstream,
    /// Why an operator switched it off, while it is off.
    pub off: Option<Off>,
    /// What the engine knows of it besides.
    pub memory: Memory,
}

/// What the engine remembers of an upstream, so that a restart changes nothing that is said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Why it cools down and since when, while no success has ended that.
    pub trouble: Option<UpstreamTrouble>,
    /// What last went wrong, and when.
    pub last_error: Option<(Moment, Arc<str>)>,
    /// When it was last called for anything.
    pub last_call: Option<Moment>,
    /// When an operator last switched it on, here or at another node.
    pub on: Option<Moment>,
    /// The front's own bytes, at most [`KEPT_BYTES`](crate::KEPT_BYTES).
    pub own: Arc<[u8]>,
}

/// Who switched an upstream off, when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// The reason given.
    pub reason: String,
    /// Who did it.
    pub who: String,
    /// When.
    pub at: Moment,
}

/// What happened to a job on the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgendaChange {
    /// It is on the agenda, and its front wants it kept.
    Put {
        /// The dispatcher's row.
        row: SavedJob,
        /// The name of the upstream that it calls.
        upstream: Arc<str>,
        /// The front's own bytes.
        kept: Vec<u8>,
    },
    /// It has left the agenda, or was never worth keeping.
    Gone(JobId),
}
