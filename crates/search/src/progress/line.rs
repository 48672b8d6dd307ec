//! What is said of one indexer beside its bar.

use std::time::Duration;

use serde_json::{Value, json};
use weir_engine::dispatch::Moment;

use super::millis;
use crate::search::{AnsweredFrom, IndexerPart, PartState, Stage};
use crate::words::{age, at, capital, counted, grouped, took};

/// One indexer's part.
pub(crate) struct IndexerLine {
    pub(crate) name: String,
    pub(crate) stage: Stage,
    pub(crate) reason: String,
    pub(crate) until: Option<Moment>,
    pub(crate) releases: usize,
    pub(crate) took: Duration,
    pub(crate) late: bool,
    /// Seconds since its answer was given, if that was not now.
    pub(crate) age: Option<i64>,
    /// The program whose call it shares.
    shared_with: Option<String>,
    /// It gives releases, fresh or old.
    pub(crate) gives: bool,
    /// It answered, and was switched off or removed since.
    pub(super) hidden: bool,
    finished: bool,
}

/// How the bar of an indexer is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineLook {
    Runs,
    Done,
    Failed,
    /// Nothing comes of it now.
    Idle,
}

impl LineLook {
    /// The class in the style sheet, and the word for script.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Idle => "rests",
        }
    }
}

impl IndexerLine {
    pub(super) fn new(
        part: &IndexerPart,
        shared_with: Option<String>,
        releases: usize,
        finished: bool,
        now: i64,
    ) -> Self {
        let reason = match &part.state {
            PartState::Asking if !finished => String::new(),
            state @ PartState::Asking => {
                let reason = state.reason().unwrap_or_default();
                format!("{reason}; its answer will be kept for the next search")
            }
            state => state.reason().unwrap_or_default().to_owned(),
        };
        let age = match &part.state {
            PartState::Answered { answer, from } => {
                matches!(from, AnsweredFrom::Cache(_)).then(|| answer.age(now))
            }
            _ => part.stale.as_ref().map(|(answer, _)| answer.age(now)),
        };
        Self {
            name: part.indexer.name().to_owned(),
            stage: part.state.stage(),
            reason,
            until: part.state.until(),
            releases,
            took: part.took,
            late: part.late,
            age,
            shared_with,
            gives: part.gives(),
            hidden: false,
            finished,
        }
    }

    /// What stands beside its name.
    pub(crate) fn says(&self) -> String {
        let results = || counted(self.releases, "result", "results");
        if let Some(age_s) = self.age {
            return format!("{} from cache, {} old", grouped(self.releases), age(age_s));
        }
        match self.stage {
            Stage::Asking if self.finished => "too late".to_owned(),
            Stage::Answered | Stage::Shared if self.late => format!("{}, late", results()),
            Stage::Answered => format!("{} · {}", results(), took(self.took)),
            Stage::Shared => match &self.shared_with {
                Some(program) => format!("{} · shared with {program}", results()),
                None => format!("{} · shared", results()),
            },
            Stage::Nothing => "not applicable".to_owned(),
            Stage::Asking | Stage::Cached | Stage::Skipped | Stage::Failed => {
                self.stage.name().to_owned()
            }
        }
    }

    /// Why it has no answer of now, in a sentence that a time may follow.
    pub(crate) fn note(&self) -> String {
        match self.stage {
            _ if self.hidden => format!("Not listed: {}", self.reason),
            Stage::Skipped => format!("Not asked: {}", self.reason),
            Stage::Answered | Stage::Shared if self.late => {
                "It answered after the deadline; its results are kept for the next search"
                    .to_owned()
            }
            _ => capital(&self.reason),
        }
    }

    /// `at` before the time that ends the note.
    pub(crate) fn until_word(&self) -> &'static str {
        match self.stage {
            Stage::Failed => ". Next try at",
            _ => ", at",
        }
    }

    /// How it is drawn.
    pub(crate) fn look(&self) -> LineLook {
        match self.stage {
            Stage::Asking if !self.finished => LineLook::Runs,
            Stage::Asking | Stage::Skipped => LineLook::Idle,
            Stage::Failed => LineLook::Failed,
            Stage::Answered | Stage::Shared | Stage::Cached | Stage::Nothing => LineLook::Done,
        }
    }

    /// Whether its bar is full, without the running part.
    pub(crate) fn full(&self) -> bool {
        self.gives || self.look() == LineLook::Done
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "state": self.stage.name(),
            "reason": (!self.reason.is_empty()).then_some(&self.reason),
            "until": self.until.map(|until| at(until).to_string()),
            "releases": self.releases,
            "took_ms": millis(self.took),
            "late": self.late,
            "shared_with": self.shared_with,
            "cached_seconds": self.age,
            "says": self.says(),
            "note": self.note(),
            "until_word": self.until_word(),
            "look": self.look().name(),
            "full": self.full(),
        })
    }
}
