//! How far a search is, in figures and in words; page, API and terminal say the same.

mod line;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use weir_engine::dispatch::Moment;

use crate::bill::Cost;
use crate::merge::ReleaseList;
use crate::search::{IndexerPart, Search, SearchTally, Stage};
use crate::words::{at, counted, grouped, took};

pub(crate) use self::line::{IndexerLine, LineLook};

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

impl Progress {
    /// `now` is the wall time in seconds since 1970.
    pub(crate) fn of(search: &Search, list: &ReleaseList, now: i64) -> Self {
        let mut parts = search.parts();
        for part in &mut parts {
            if let Some(reason) = list.why_off(&part.indexer) {
                part.hide(reason);
            }
        }
        let tally = search.tally_of(&parts);
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
            let mut line = IndexerLine::new(part, shared_with, releases, finished, now);
            line.hidden = list.why_off(&part.indexer) == Some(&*line.reason);
            line
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
            "too late"
        } else {
            "still to answer"
        };
        let parts = [
            (asking, to_come),
            (silent(Stage::Skipped), "skipped"),
            (silent(Stage::Failed), "failed"),
            (silent(Stage::Nothing), "not applicable"),
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

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
