//! A front's own decisions, which concern no upstream: one ring per front.
//!
//! A burst of the same decision is one record with a count, so that a client that does one thing a thousand times does
//! not push out everybody else's records. Listener threads do not write here; their front reports what they counted, at
//! most once a second.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_dispatch::Moment;

use crate::engine::Engine;

/// The same decision again within this time belongs to the burst.
const PAUSE: Duration = Duration::from_secs(60);
/// A burst that lasts longer gets a new record, so that it shows among the newest decisions.
const LONGEST: Duration = Duration::from_secs(600);

/// One decision of a front, as often as it was made in a row.
#[derive(Clone, Debug)]
pub struct OwnDecision {
    /// Counts the front's own decisions from 1.
    pub number: u64,
    /// When it was made first.
    pub at: Moment,
    /// When it was made last.
    pub last: Moment,
    /// How often.
    pub count: u64,
    /// What was decided.
    pub own: Own,
}

/// What a front decided.
#[derive(Clone, Debug)]
pub struct Own {
    /// Which kind of decision.
    pub kind: OwnKind,
    /// What was asked for, in the front's terms.
    pub about: &'static str,
    /// Who asked, if it was a single client.
    pub asker: Option<Arc<str>>,
    /// The limit that was reached, if any.
    pub limit: Option<u32>,
    /// The sentence for page, API and terminal. A function, because only the front has the words and the count may still
    /// grow.
    pub sentence: fn(&OwnDecision) -> String,
}

/// Kinds of a front's own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnKind {
    /// The same had already been done.
    Deduplicated,
    /// It was more than one client is allowed.
    Throttled,
}

impl OwnKind {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deduplicated => "deduplicated",
            Self::Throttled => "throttled",
        }
    }
}

impl OwnDecision {
    /// The decision in words.
    pub fn sentence(&self) -> String {
        (self.own.sentence)(self)
    }

    fn goes_on_with(&self, own: &Own, now: Moment) -> bool {
        let same = (self.own.kind, self.own.about, self.own.limit)
            == (own.kind, own.about, own.limit)
            && self.own.asker == own.asker;
        same && self.last.until(now) <= PAUSE && self.at.until(now) <= LONGEST
    }
}

/// The latest own decisions.
#[derive(Debug, Default)]
pub(crate) struct OwnRing(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    ring: VecDeque<OwnDecision>,
    made: u64,
}

impl OwnRing {
    fn push(&self, capacity: usize, now: Moment, own: Own, count: u64) {
        let mut kept = self.0.lock();
        let mut newest_first = kept.ring.iter_mut().rev();
        if let Some(same) = newest_first.find(|kept| kept.goes_on_with(&own, now)) {
            same.count += count;
            same.last = now;
            return;
        }
        if capacity == 0 {
            return;
        }
        if kept.ring.len() >= capacity {
            kept.ring.pop_front();
        }
        kept.made += 1;
        let number = kept.made;
        kept.ring.push_back(OwnDecision {
            number,
            at: now,
            last: now,
            count,
            own,
        });
    }
}

impl Engine {
    /// Records a decision of the front, made `count` times since the last report.
    pub fn note_own(&self, own: Own, count: u64) {
        let shared = &self.shared;
        let now = shared.timeline.now();
        shared.own.push(shared.records, now, own, count);
    }

    /// The front's own decisions, newest first.
    pub fn own_decisions(&self) -> Vec<OwnDecision> {
        let kept = self.shared.own.0.lock();
        kept.ring.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn own(asker: Option<&str>) -> Own {
        Own {
            kind: OwnKind::Throttled,
            about: "completed",
            asker: asker.map(Into::into),
            limit: Some(60),
            sentence: |decision| format!("{} of {:?}", decision.count, decision.own.asker),
        }
    }

    fn told(ring: &OwnRing) -> Vec<String> {
        let kept = ring.0.lock();
        kept.ring.iter().map(OwnDecision::sentence).collect()
    }

    #[test]
    fn a_burst_is_one_record_with_a_count() {
        let ring = OwnRing::default();
        for second in 0..5 {
            ring.push(3, Moment(second * SECOND), own(Some("a")), 10);
            ring.push(3, Moment(second * SECOND), own(Some("b")), 1);
        }
        assert_eq!(told(&ring), ["50 of Some(\"a\")", "5 of Some(\"b\")"]);
        ring.push(3, Moment(65 * SECOND), own(Some("a")), 1);
        ring.push(3, Moment(66 * SECOND), own(None), 1);
        let after_a_pause = ["5 of Some(\"b\")", "1 of Some(\"a\")", "1 of None"];
        assert_eq!(told(&ring), after_a_pause, "and the oldest is gone");
        let kept = ring.0.lock();
        let numbers: Vec<u64> = kept.ring.iter().map(|decision| decision.number).collect();
        assert_eq!(numbers, [2, 3, 4]);
    }

    #[test]
    fn what_never_ends_is_told_every_ten_minutes() {
        let ring = OwnRing::default();
        for minute in 0..=20 {
            ring.push(10, Moment(minute * 60 * SECOND), own(None), 1);
        }
        assert_eq!(told(&ring), ["11 of None", "10 of None"]);
        ring.push(0, Moment(0), own(Some("a")), 1);
        assert_eq!(told(&ring).len(), 2, "none are kept");
    }
}
