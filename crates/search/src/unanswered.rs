//! Why an indexer has no part in an answer, as it is told to whoever asked.

use std::time::Duration;

use weir_engine::dispatch::{Class, Moment, Skip, Wait};
pub(crate) use weir_engine::wait_reason as why;
use weir_engine::{Ended, Engine, Skipped, drop_reason, span};

use crate::indexer::Indexer;
use crate::judge::IndexerFault;
use crate::policy::class_name;
use crate::search::PartState;

/// What is said of an indexer where our own code went wrong.
pub(crate) const PANICKED: &str = "Weir failed to ask it; the log says why";

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// It gave nothing that can be used.
    Fault(IndexerFault),
    /// Its call was not made, or did not end by itself.
    Ended(Ended),
}

impl Unanswered {
    /// Whether all that is missing is its turn, and that comes within this time.
    pub(crate) fn passes_within(&self, time: Duration) -> bool {
        match self {
            Self::Ended(Ended::Skipped(told)) => told.skip.wait.is_some_and(|wait| wait <= time),
            _ => false,
        }
    }

    /// How far the indexer is then.
    pub(crate) fn state(self, engine: &Engine, indexer: &Indexer, class: Class) -> PartState {
        let failed = |reason: String| PartState::Failed {
            reason,
            until: cooldown_end(engine, indexer),
        };
        let skipped_for_good = |reason: &str| PartState::Skipped {
            reason: reason.to_owned(),
            until: None,
        };
        let ended = match self {
            Self::Fault(fault) => return failed(fault.to_string()),
            Self::Ended(ended) => ended,
        };
        match ended {
            Ended::Skipped(told) => skipped(&told, class),
            Ended::TimedOut => {
                let time = indexer.terms.timeout;
                failed(format!("it did not answer within {}", span(time)))
            }
            Ended::Panicked => failed(PANICKED.to_owned()),
            Ended::Finished(_) => failed("it sent no usable answer".to_owned()),
            Ended::Dropped(reason) => skipped_for_good(&drop_reason(reason, None)),
            Ended::Shutdown => skipped_for_good("Weir is stopping"),
            // Cannot happen: whoever takes another node's answer has it.
            Ended::Answered => failed("another node's answer was of no use".to_owned()),
            Ended::Cancelled => skipped_for_good("the request was cancelled"),
        }
    }
}

/// Why a turn comes too late. One that is switched off has none, so there is no time to tell.
pub(crate) fn skip(reason: Wait, wait: Duration, limit: Option<Duration>) -> Skip {
    let has_turn = reason != Wait::Off;
    Skip {
        reason,
        wait: has_turn.then_some(wait),
        limit: limit.filter(|_| has_turn),
    }
}

/// Why a turn comes too late, in the words of the record that tells it.
pub(crate) fn skip_reason(told: &Skipped) -> String {
    why(told.skip.reason, told.cause.as_deref())
}

/// How far an indexer is whose turn comes too late, in the words of the record that tells it.
pub(crate) fn skipped(told: &Skipped, class: Class) -> PartState {
    let why = skip_reason(told);
    let class = class_name(told.class.unwrap_or(class));
    let reason = match (told.skip.wait, told.skip.limit) {
        (Some(wait), Some(limit)) => format!(
            "{why}. Next try in {}; {class} searches wait at most {}",
            span(wait),
            span(limit)
        ),
        (Some(wait), None) => format!("{why}. Next try in {}", span(wait)),
        (None, _) => why,
    };
    PartState::Skipped {
        reason,
        until: told.until(),
    }
}

/// When an indexer that cools down may be asked again.
fn cooldown_end(engine: &Engine, indexer: &Indexer) -> Option<Moment> {
    let ends = engine.rests([indexer.upstream]);
    let mut ends = ends.into_iter().flatten();
    ends.find(|until| *until != Moment::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{INTERACTIVE, RSS};

    #[test]
    fn a_request_that_was_raised_is_told_of_as_it_is_recorded() {
        let told = |class| Skipped {
            skip: skip(
                Wait::Gap,
                Duration::from_secs(40),
                Some(Duration::from_secs(31)),
            ),
            class,
            at: Moment(0),
            cause: None,
            number: None,
        };
        for (recorded, word) in [(Some(INTERACTIVE), "interactive"), (None, "RSS")] {
            let PartState::Skipped { reason, .. } = skipped(&told(recorded), RSS) else {
                panic!("it is skipped");
            };
            let end = format!("{word} searches wait at most 31 s");
            assert!(reason.ends_with(&end), "{reason}");
        }
    }
}
