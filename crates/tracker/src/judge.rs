//! What follows from what a tracker said: when it is asked again, how long its peers are kept, whether it is well.

use std::time::Duration;

use weir_engine::{Outcome, Permit};
use weir_tracker_proto::http::RetryIn;

use crate::outbound::{GivenAnswer, NoUsableAnswer, Said};

/// The numbers by which answers are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    /// Peers wanted from a tracker.
    pub(crate) numwant: u32,
    /// After a *no*, and for trackers that name no interval.
    pub(crate) announce_interval: Duration,
    /// After a call that failed.
    pub(crate) failed_delay: Duration,
    pub(crate) interval_min: Duration,
    pub(crate) interval_max: Duration,
    /// Retries that are asked for sooner than this are scheduled.
    pub(crate) retry_in_max: Duration,
    /// A hash that a tracker never wants to be asked about again is left alone for this long.
    pub(crate) never: Duration,
    /// A tracker that says so about so many hashes is disabled.
    pub(crate) never_hashes: usize,
    pub(crate) peers_min: Duration,
    pub(crate) age: Duration,
}

/// Nobody means a longer `retry in` than this.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What is to be done after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    /// It never wants to be asked about this hash again.
    pub(crate) never: bool,
    /// From when on the hash may be asked for again at this tracker; `None` leaves that to its cooldown.
    pub(crate) due: Option<Duration>,
    /// For the page: its last word.
    pub(crate) words: Option<String>,
}

impl Judge {
    /// The same by another configuration, but for what is read at start.
    pub(crate) fn reloaded(self, other: Self) -> Self {
        Self {
            never: self.never,
            age: self.age,
            ..other
        }
    }

    /// The interval that holds for a good answer.
    pub(crate) fn interval(&self, given: &GivenAnswer) -> Duration {
        let said = given.interval.max(given.min_interval);
        let said = said.map_or(self.announce_interval, |seconds| {
            Duration::from_secs(seconds.into())
        });
        said.clamp(self.interval_min, self.interval_max)
    }

    /// How long the peers of an answer are kept.
    pub(crate) fn peers_live(&self, interval: Duration) -> Duration {
        (2 * interval).max(self.peers_min).min(self.age)
    }

    /// What an answer, or that there is none, means.
    pub(crate) fn judge(&self, said: &Result<Said, NoUsableAnswer>, permit: &Permit) -> Judged {
        match said {
            Ok(Said::Given(given)) => Judged {
                outcome: Outcome::Done,
                never: false,
                due: Some(self.interval(given)),
                words: None,
            },
            Ok(Said::Refused { reason, retry_in }) => self.refused(reason, *retry_in),
            Err(NoUsableAnswer::No(words)) => self.refused(words, None),
            Err(no_answer) => Judged {
                outcome: outcome(no_answer, permit),
                never: false,
                due: Some(self.failed_delay),
                words: Some(no_answer.to_string()),
            },
        }
    }

    fn refused(&self, reason: &str, retry_in: Option<RetryIn>) -> Judged {
        let said = match reason.trim_end_matches(['.', ' ']) {
            "" => "it refused without giving a reason".to_owned(),
            reason => format!("it said: {reason}"),
        };
        let never = retry_in == Some(RetryIn::Never);
        let said = match never {
            true => format!("{said} (never ask about this torrent again)"),
            false => said,
        };
        let (outcome, due) = match retry_in {
            None => (Outcome::No, self.announce_interval),
            // A healthy no, until it is said about several.
            Some(RetryIn::Never) => (Outcome::No, self.never),
            Some(RetryIn::Minutes(minutes)) => {
                let after = Duration::from_secs(u64::from(minutes.max(1)) * 60);
                let after = after.min(LONGEST);
                match after < self.retry_in_max {
                    true => (Outcome::Again { after }, after),
                    false => (Outcome::No, after),
                }
            }
        };
        Judged {
            outcome,
            never,
            due: Some(due),
            words: Some(said),
        }
    }
}

/// What a missing answer means for the engine.
pub(crate) fn outcome(no_answer: &NoUsableAnswer, permit: &Permit) -> Outcome {
    match no_answer {
        NoUsableAnswer::Fault(fault) => fault.outcome(permit),
        NoUsableAnswer::No(_) => Outcome::No,
        NoUsableAnswer::Unreadable(_) => Outcome::Broken,
    }
}
