//! One indexer's part in a search: how far it is, and why there is no answer of now.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::Moment;

use crate::answer::IndexerAnswer;
use crate::indexer::Indexer;
use crate::words::age;

/// One indexer's part in a search.
#[derive(Clone)]
pub(crate) struct IndexerPart {
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) state: PartState,
    /// An older answer, which serves until there is a new one, and how old it was in seconds when it was looked up:
    /// whoever is told of its age is told this.
    pub(crate) stale: Option<(Arc<IndexerAnswer>, i64)>,
    /// When its state was last changed, after the start.
    pub(crate) took: Duration,
    /// The answer came when nobody waited for it any more.
    pub(crate) late: bool,
    /// How far it was at the deadline, once that has come: whoever asked is told this.
    pub(crate) due: Option<PartState>,
}

/// How far an indexer is.
#[derive(Clone)]
pub(crate) enum PartState {
    /// Its answer is awaited.
    Asking,
    /// It answered.
    Answered {
        answer: Arc<IndexerAnswer>,
        from: AnsweredFrom,
    },
    /// There was nothing to ask it; the answer accounts for it all the same.
    Nothing(&'static str),
    /// It was not asked.
    Skipped {
        reason: String,
        until: Option<Moment>,
    },
    /// It was asked in vain.
    Failed {
        reason: String,
        until: Option<Moment>,
    },
}

/// How far an indexer is, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    Answered,
    Shared,
    Cached,
    Nothing,
    Skipped,
    Failed,
    #[default]
    Asking,
}

impl Stage {
    /// All of them, in the order in which a form offers them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Answered,
        Self::Shared,
        Self::Cached,
        Self::Nothing,
        Self::Skipped,
        Self::Failed,
        Self::Asking,
    ];

    /// The word in the API and in the history.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Shared => "shared",
            Self::Cached => "cached",
            Self::Nothing => "nothing",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Asking => "asking",
        }
    }
}

impl PartState {
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Asking => Stage::Asking,
            Self::Answered { from, .. } => match from {
                AnsweredFrom::Call => Stage::Answered,
                AnsweredFrom::SharedCall => Stage::Shared,
                AnsweredFrom::Cache(_) => Stage::Cached,
            },
            Self::Nothing(_) => Stage::Nothing,
            Self::Skipped { .. } => Stage::Skipped,
            Self::Failed { .. } => Stage::Failed,
        }
    }

    /// Why there is no answer of now.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Asking => Some("it has not answered yet"),
            Self::Answered { .. } => None,
            Self::Nothing(reason) => Some(reason),
            Self::Skipped { reason, .. } | Self::Failed { reason, .. } => Some(reason),
        }
    }

    /// When it can be asked again, where that is known.
    pub(crate) fn until(&self) -> Option<Moment> {
        match self {
            Self::Skipped { until, .. } | Self::Failed { until, .. } => *until,
            Self::Asking | Self::Answered { .. } | Self::Nothing(_) => None,
        }
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredFrom {
    /// A call for this search.
    Call,
    /// A call that another asked for.
    SharedCall,
    /// The cache, this old in seconds.
    Cache(i64),
}

impl IndexerPart {
    /// Why there is no answer of now, and what whoever asked got instead: for the feed and the history.
    pub(crate) fn reason(&self) -> Option<String> {
        let reason = self.state.reason()?;
        Some(match &self.stale {
            Some((_, old)) => format!("{reason}; answered from cache, {} old", age(*old)),
            None => reason.to_owned(),
        })
    }

    /// Nothing of its answer is offered any more, for this reason.
    pub(crate) fn hide(&mut self, reason: &str) {
        self.stale = None;
        if matches!(self.state, PartState::Answered { .. }) {
            self.state = PartState::Skipped {
                reason: reason.to_owned(),
                until: None,
            };
        }
    }

    /// Whether its answer is part of the list, fresh or old.
    pub(crate) fn gives(&self) -> bool {
        matches!(self.state, PartState::Answered { .. }) || self.stale.is_some()
    }
}
