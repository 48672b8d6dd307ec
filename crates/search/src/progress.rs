//! How far a search is, in figures and in words; page, API and terminal say the same.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use weir_engine::dispatch::Moment;

use crate::bill::Cost;
use crate::merge::ReleaseList;
use crate::search::{AnsweredFrom, IndexerPart, PartState, Search, SearchTally, Stage};
use crate::words::{age, at, capital, counted, grouped, took};

/// What takes less than this is there at once.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A search at one moment.
pub(crate) struct Progress {
    /// Nobody waits for it any more: all is said, its time is over, or it was stopped.
    pub(crate) finished: bool,
    pub(crate) stopped: bool,
    /// So far, or until it was finished.
    pub(crate) took: Duration,
    pub(crate) deadline: Duration,
    /// Releases of all answers, each once.
    pub(crate) results: usize,
    pub(crate) tally: SearchTally,
    /// How many indexers the results are of.
    pub(crate) giving: usize,
    /// The earliest time at which one that was not asked can be.
    pub(crate) earliest: Option<Moment>,
    pub(crate) lines: Vec<IndexerLine>,
}

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

impl Progress {
    /// `now` is the wall time in seconds since 1970.
    pub(crate) fn of(search: &Search, list: &ReleaseList, now: i64) -> Self {
        let parts = search.parts();
        let tally = search.tally();
        let stopped = search.stop.is_cancelled();
        let deadline = search.question.deadline;
        let elapsed = search.began_at.elapsed();
        let finished = stopped || tally.asking == 0 || Instant::now() >= search.deadline();
        let last = parts.iter().filter(|part| !part.late);
        let last = last.map(|part| part.took).max().unwrap_or_default();
        let costs = search.costs();
        let line = |(part, cost): (&IndexerPart, &Cost)| {
            let (releases, _) = list.counts_of(&part.indexer);
            let shared_with = cost.shared_with.clone();
            IndexerLine::new(part, shared_with, releases, finished, now)
        };
        let lines: Vec<IndexerLine> = parts.iter().zip(&*costs.borrow()).map(line).collect();
        Self {
            finished,
            stopped,
            took: match (finished, tally.asking) {
                (true, 0) => last.min(deadline),
                (true, _) => elapsed.min(deadline),
                (false, _) => elapsed,
            },
            deadline,
            results: list.releases.len(),
            tally,
            giving: lines.iter().filter(|line| line.gives).count(),
            earliest: lines.iter().filter_map(|line| line.until).min(),
            lines,
        }
    }

    /// `103 results from 4 of 7 indexers.`
    pub(crate) fn headline(&self) -> String {
        let asked = counted(self.tally.asked, "indexer", "indexers");
        if self.giving == 0 && !self.finished {
            return format!("Asking {asked}.");
        }
        if self.giving == 0 {
            return match self.tally.asked {
                1 => "The indexer gave no answer.".to_owned(),
                _ => format!("None of {asked} gave an answer."),
            };
        }
        let from = match self.giving == self.tally.asked {
            true => asked,
            false => format!("{} of {asked}", grouped(self.giving)),
        };
        match self.results {
            0 => format!("No results from {from}."),
            results => format!("{} from {from}.", counted(results, "result", "results")),
        }
    }

    /// `2 still to answer, 1 skipped.`
    pub(crate) fn rest(&self) -> String {
        let silent = |stage| {
            let lines = self.lines.iter();
            lines
                .filter(|line| !line.gives && line.stage == stage)
                .count()
        };
        let asking = self.tally.asking;
        let to_come = if self.finished {
            "not in time"
        } else {
            "still to answer"
        };
        let parts = [
            (asking, to_come),
            (silent(Stage::Skipped), "skipped"),
            (silent(Stage::Failed), "failed"),
            (silent(Stage::Nothing), "with nothing to ask"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", grouped(count)))
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!("{}.", parts.join(", ")),
        }
    }

    /// `Finished in 7.9 s.` or `6 of 20 s`.
    pub(crate) fn pace(&self) -> String {
        match (self.stopped, self.finished) {
            (true, _) => format!("Stopped after {}.", took(self.took)),
            (false, true) if self.took < AT_ONCE => "Finished at once.".to_owned(),
            (false, true) => format!("Finished in {}.", took(self.took)),
            (false, false) => {
                let (now, all) = (self.took.as_secs(), self.deadline.as_secs());
                format!("{now} of {all} s")
            }
        }
    }

    /// The whole as one sentence after the other.
    pub(crate) fn sentence(&self) -> String {
        let parts = [self.headline(), self.rest(), self.pace()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn json(&self, search: &Search) -> Value {
        let tally = &self.tally;
        json!({
            "id": search.id.to_string(),
            "url": format!("/search?id={}", search.id),
            "query": search.question.query.words(),
            "program": &*search.question.program.name,
            "began": at(search.began).to_string(),
            "finished": self.finished,
            "stopped": self.stopped,
            "took_ms": millis(self.took),
            "deadline_ms": millis(self.deadline),
            "sentence": self.sentence(),
            "headline": self.headline(),
            "rest": self.rest(),
            "pace": self.pace(),
            "results": self.results,
            "count": self.results,
            "asked": tally.asked,
            "answered": tally.answered,
            "asking": tally.asking,
            "skipped": tally.skipped,
            "failed": tally.failed,
            "nothing": tally.nothing,
            "calls": tally.calls,
            "indexers": self.lines.iter().map(IndexerLine::json).collect::<Vec<_>>(),
        })
    }
}

impl IndexerLine {
    fn new(
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
                format!("{reason}; what it says is kept for the next search")
            }
            state => state.reason().unwrap_or_default().to_owned(),
        };
        let age = match &part.state {
            PartState::Answered { answer, from } => {
                matches!(from, AnsweredFrom::Cache(_)).then(|| answer.age(now))
            }
            _ => part.stale.as_ref().map(|answer| answer.age(now)),
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
            Stage::Asking if self.finished => "not in time".to_owned(),
            Stage::Answered | Stage::Shared if self.late => format!("{}, late", results()),
            Stage::Answered => format!("{} · {}", results(), took(self.took)),
            Stage::Shared => match &self.shared_with {
                Some(program) => format!("{} · shared with {program}", results()),
                None => format!("{} · shared", results()),
            },
            Stage::Nothing => "nothing to ask".to_owned(),
            Stage::Asking | Stage::Cached | Stage::Skipped | Stage::Failed => {
                self.stage.name().to_owned()
            }
        }
    }

    /// Why it has no answer of now, in a sentence that a time may follow.
    pub(crate) fn note(&self) -> String {
        match self.stage {
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
            Stage::Failed => "; asked again from",
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

    fn json(&self) -> Value {
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

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
