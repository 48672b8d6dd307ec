//! A call that came to nothing, for the other nodes: whoever waits there for its answer ends as its followers here do.

use std::sync::Arc;
use std::time::Duration;

use weir_store::shared::{LONGEST_REASON, Question};

use crate::call::{Ended, Outcome, Reason};

/// So long the store keeps the word: whoever waits asks more often, and whoever asks after it makes a call of its own.
pub(super) const KEEP: Duration = Duration::from_secs(5);

/// Stands where an answer has its question. A Weir that does not know it finds that the answer is to another question.
const MARK: &[u8] = b"failed";

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(super) ended: Ended,
    /// In words, if there are any.
    pub(super) words: Option<Arc<str>>,
}

impl Failed {
    /// What the last attempt of a job came to, if it is the upstream's doing: of what is this node's own, a panic, a stop or
    /// its network, others hear nothing and try themselves. So they do of what passes to all by itself, a wait.
    pub(crate) fn of(ended: &Ended, words: Option<&Arc<str>>) -> Option<Self> {
        tag(ended)?;
        Some(Self {
            ended: ended.clone(),
            words: words.cloned(),
        })
    }

    /// With its question: one failure is not taken for another.
    pub(super) fn write(&self, question: &Question) -> Vec<u8> {
        let (tag, status) = tag(&self.ended).unwrap_or_default();
        let words = self.words.as_deref().unwrap_or_default();
        let words = &words[..words.floor_char_boundary(LONGEST_REASON)];
        let about = [tag, status.to_be_bytes()[0], status.to_be_bytes()[1]];
        [MARK, &question.key, &about, words.as_bytes()].concat()
    }

    pub(super) fn read(opened: &[u8], key: &[u8]) -> Option<Self> {
        let rest = opened.strip_prefix(MARK)?.strip_prefix(key)?;
        let (about, words) = rest.split_first_chunk::<3>()?;
        let words = String::from_utf8_lossy(words);
        Some(Self {
            ended: ended(about[0], u16::from_be_bytes([about[1], about[2]]))?,
            words: (!words.is_empty()).then(|| words.as_ref().into()),
        })
    }
}

fn tag(ended: &Ended) -> Option<(u8, u16)> {
    Some(match ended {
        Ended::TimedOut => (1, 0),
        Ended::Finished(Outcome::Unavailable) => (2, 0),
        Ended::Finished(Outcome::Broken) => (3, 0),
        Ended::Finished(Outcome::Rejected { reason }) => match reason {
            Reason::NoSuchHost => (4, 0),
            Reason::Refused => (5, 0),
            Reason::Status(status) => (6, *status),
            Reason::Never => (7, 0),
            Reason::NotAllowed => (8, 0),
            Reason::Untrusted => (9, 0),
            // The way from here.
            Reason::NoRoute => return None,
        },
        _ => return None,
    })
}

fn ended(tag: u8, status: u16) -> Option<Ended> {
    let rejected = |reason| Ended::Finished(Outcome::Rejected { reason });
    Some(match tag {
        1 => Ended::TimedOut,
        2 => Ended::Finished(Outcome::Unavailable),
        3 => Ended::Finished(Outcome::Broken),
        4 => rejected(Reason::NoSuchHost),
        5 => rejected(Reason::Refused),
        6 => rejected(Reason::Status(status)),
        7 => rejected(Reason::Never),
        8 => rejected(Reason::NotAllowed),
        9 => rejected(Reason::Untrusted),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_read_as_it_was_written() {
        let question = Question {
            key: [7; 16],
            claim: KEEP,
            fresh: KEEP,
        };
        let all = (0..=u8::MAX).filter_map(|tag| ended(tag, 503));
        let all: Vec<Ended> = all.collect();
        assert_eq!(all.len(), 9);
        for ended in all {
            for words in [None, Some("it answered 503 \u{e9}".into())] {
                let failed = Failed::of(&ended, words.as_ref()).expect("others hear of it");
                let written = failed.write(&question);
                assert_eq!(Failed::read(&written, &question.key), Some(failed));
                assert_eq!(Failed::read(&written, &[8; 16]), None);
                assert_eq!(Failed::read(&written[..20], &question.key), None);
            }
        }
        let long = Failed::of(&Ended::TimedOut, Some(&"\u{e9}".repeat(4000).into()));
        assert!(long.expect("a failure").write(&question).len() < 600);
        for own in [Ended::Panicked, Ended::Shutdown, Ended::Cancelled] {
            assert_eq!(Failed::of(&own, None), None);
        }
        let route = Outcome::Rejected {
            reason: Reason::NoRoute,
        };
        for own in [Outcome::OurNetwork, Outcome::Moot, route, Outcome::Done] {
            assert_eq!(Failed::of(&Ended::Finished(own), None), None);
        }
    }
}
