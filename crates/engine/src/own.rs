//! A front's own decisions, which concern no upstream: one ring per front.
//!
//! A burst of the same decision is one record with a count, so that a client that does one thing a thousand times does
//! not push out everybody else's records. Listener threads do not write here; their front reports what they counted, at
//! most once a second. Page, API and terminal get their sentence from one function for each kind (`own/sentence.rs`).

mod sentence;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use weir_dispatch::Moment;

use crate::engine::Engine;
use crate::record::{FREE, MOST_RECORDS, cut};
use crate::rows::RestoredPast;
use crate::shared::Shared;
use crate::weather::Outage;

/// The same decision again within this time belongs to the burst.
const PAUSE: Duration = Duration::from_secs(60);
/// A burst that lasts longer gets a new record, so that it shows among the newest decisions.
const LONGEST: Duration = Duration::from_secs(600);

/// One decision of a front, as often as it was made in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// What a front decided: facts alone, so that the same can be told again after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// Which kind of decision.
    pub kind: OwnKind,
    /// Why.
    pub reason: OwnReason,
    /// What was asked for, in the front's terms: one of the names in [`about`].
    pub about: Arc<str>,
    /// Whose it was, if a burst is a single client's.
    pub asker: Option<Arc<str>>,
    /// The limit that was reached, if any.
    pub limit: Option<u32>,
    /// How full the queue was last, in percent, if that was the reason.
    pub fill: Option<u32>,
    /// How many things were concerned, all decisions of a burst together: forwarders that were left out, upstreams of all
    /// fronts that showed an outage of ours.
    pub concerned: u64,
    /// How long the client was told to wait, if it was told; of a single client's burst, the latest. The least of what
    /// clients were told, where they were answered.
    pub retry: Option<Duration>,
    /// The latest of a burst: which torrent, and whose program; or which release.
    pub example: Option<Arc<str>>,
}

/// What own decisions are about.
pub mod about {
    /// `completed` events of clients.
    pub const COMPLETED: &str = "completed";
    /// `stopped` events of clients.
    pub const STOPPED: &str = "stopped";
    /// The first announce of a torrent.
    pub const FIRST: &str = "first announce";
    /// Any later one.
    pub const AGAIN: &str = "re-announce";
    /// An announce, whichever.
    pub const ANNOUNCE: &str = "announce";
    /// An announce of a peer that is not in the swarm yet.
    pub const NEW_PEER: &str = "new peer";
    /// The forwarders that an announce goes to.
    pub const FORWARDERS: &str = "forwarders";
    /// A file behind a link.
    pub const DOWNLOAD: &str = "download";
    /// A look for words in stored articles.
    pub const ARTICLE_SEARCH: &str = "article search";
    /// An article that somebody posts.
    pub const POST: &str = "post";
    /// A newsreader that connects.
    pub const NEWSREADER: &str = "newsreader connection";
    /// What a newsreader asks for.
    pub const COMMAND: &str = "newsreader request";
    /// Our own network.
    pub const NETWORK: &str = "network";
}

/// Kinds of a front's own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnKind {
    /// The same had already been done.
    Deduplicated,
    /// It was more than there may be, and goes on later or in part.
    Throttled,
    /// It was answered, and does not go on.
    Dropped,
    /// The client got no answer but when to come back.
    Refused,
    /// Upstreams could not be reached, and were not blamed for it.
    OurNetwork,
}

impl OwnKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Deduplicated,
        Self::Throttled,
        Self::Dropped,
        Self::Refused,
        Self::OurNetwork,
    ];

    /// Its name in the API and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deduplicated => "deduplicated",
            Self::Throttled => "throttled",
            Self::Dropped => "dropped",
            Self::Refused => "refused",
            Self::OurNetwork => "our_network",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Why a front decided so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnReason {
    /// The client had done the same before.
    Repeated,
    /// The client did more in a minute than it may.
    TooMany,
    /// Tokens are given out, so many per second, and none was left.
    NoToken,
    /// There was no place left in the queue.
    QueueFull,
    /// The queue is filling, so fewer are asked.
    QueueFilling,
    /// Those that answer slowly hold as much of the queue as they may.
    Slow,
    /// Too many events wait to be queued.
    EventsFull,
    /// There was no room for another peer.
    Full,
    /// There was none for another peer of one address.
    Crowded,
    /// Several upstreams failed at once, and none answered.
    AllFailed,
    /// It is not on the list of what is served.
    NotAllowed,
    /// It is on the list of what is never served.
    Denied,
}

impl OwnReason {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Repeated,
        Self::TooMany,
        Self::NoToken,
        Self::QueueFull,
        Self::QueueFilling,
        Self::Slow,
        Self::EventsFull,
        Self::Full,
        Self::Crowded,
        Self::AllFailed,
        Self::NotAllowed,
        Self::Denied,
    ];

    /// Its name in the API and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeated => "repeated",
            Self::TooMany => "too_many",
            Self::NoToken => "no_token",
            Self::QueueFull => "queue_full",
            Self::QueueFilling => "queue_filling",
            Self::Slow => "slow",
            Self::EventsFull => "events_full",
            Self::Full => "full",
            Self::Crowded => "crowded",
            Self::AllFailed => "all_failed",
            Self::NotAllowed => "not_allowed",
            Self::Denied => "denied",
        }
    }

    /// The reason of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl Own {
    /// A decision without any particulars.
    pub fn new(kind: OwnKind, reason: OwnReason, about: &str) -> Self {
        Self {
            kind,
            reason,
            about: about.into(),
            asker: None,
            limit: None,
            fill: None,
            concerned: 0,
            retry: None,
            example: None,
        }
    }

    /// Whether both belong to one burst. What the latest of them adds does not matter.
    fn is_like(&self, other: &Self) -> bool {
        // A single client's time to come back is another one each time.
        let retry = |own: &Self| own.retry.filter(|_| own.asker.is_none());
        let what = |own: &Self| (own.kind, own.reason, own.limit, retry(own));
        what(self) == what(other) && self.about == other.about && self.asker == other.asker
    }
}

impl OwnDecision {
    fn goes_on_with(&self, own: &Own, now: Moment) -> bool {
        self.own.is_like(own) && self.last.until(now) <= PAUSE && self.at.until(now) <= LONGEST
    }

    fn go_on(&mut self, own: Own, count: u64, now: Moment) {
        self.count += count;
        self.last = now;
        self.own = Own {
            concerned: self.own.concerned + own.concerned,
            example: own.example.or_else(|| self.own.example.take()),
            ..own
        };
    }
}

/// The latest own decisions.
#[derive(Debug, Default)]
pub(crate) struct OwnRing(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    ring: VecDeque<OwnDecision>,
    made: u64,
    /// The latest outage of our own network in this run, and the number of its record.
    outage: Option<(u64, u64)>,
    /// Something has changed since it was last written.
    changed: bool,
    /// What was last written keeps numbers free for decisions that might be lost with a kill.
    keeps_free: bool,
}

impl OwnRing {
    fn push(&self, capacity: usize, now: Moment, mut own: Own, count: u64) {
        own.asker = own.asker.map(cut);
        own.example = own.example.map(cut);
        let mut kept = self.0.lock();
        kept.changed = true;
        let mut newest_first = kept.ring.iter_mut().rev();
        if let Some(same) = newest_first.find(|kept| kept.goes_on_with(&own, now)) {
            same.go_on(own, count, now);
            return;
        }
        kept.add(capacity, now, own, count);
    }

    /// One more call failed because our own network is down. That is one record for each outage, however long it lasts and
    /// however seldom something is asked meanwhile.
    fn note_outage(&self, capacity: usize, now: Moment, outage: Outage) {
        let mut kept = self.0.lock();
        let known = kept.outage.filter(|(of, _)| *of == outage.number);
        let Some((_, number)) = known else {
            let own = Own {
                concerned: outage.failed.into(),
                ..Own::new(OwnKind::OurNetwork, OwnReason::AllFailed, about::NETWORK)
            };
            kept.changed = true;
            kept.add(capacity, now, own, 1);
            kept.outage = Some((outage.number, kept.made));
            return;
        };
        let mut newest_first = kept.ring.iter_mut().rev();
        // Others may have pushed it out.
        if let Some(record) = newest_first.find(|one| one.number == number) {
            record.count += 1;
            record.last = now;
            record.own.concerned = record.own.concerned.max(outage.failed.into());
            kept.changed = true;
        }
    }
}

impl Kept {
    fn add(&mut self, capacity: usize, now: Moment, own: Own, count: u64) {
        if capacity == 0 {
            return;
        }
        if self.ring.len() >= capacity {
            self.ring.pop_front();
        }
        self.made += 1;
        self.ring.push_back(OwnDecision {
            number: self.made,
            at: now,
            last: now,
            count,
            own,
        });
    }
}

impl OwnRing {
    /// The next time it is written, numbers are kept free: before the first decision of a run, which a kill may take.
    pub(crate) fn keep_numbers_free(&self) {
        let mut kept = self.0.lock();
        kept.changed |= !kept.keeps_free;
    }

    /// What is to be kept over a restart, one line for each and one with the highest number that there may be until it is
    /// written again, if anything has changed; after the `last` time there is none.
    pub(crate) fn write(&self, last: bool) -> Option<String> {
        let mut kept = self.0.lock();
        let is_due = std::mem::take(&mut kept.changed) || (last && kept.keeps_free);
        if !is_due {
            return None;
        }
        kept.keeps_free = !last;
        let numbers = kept.made + if last { 0 } else { FREE };
        let lines = kept.ring.iter();
        let lines = lines.filter_map(|decision| serde_json::to_string(decision).ok());
        let lines: Vec<String> = lines.chain([numbers.to_string()]).collect();
        Some(lines.join("\n"))
    }

    /// Takes in what was written, with its times moved; what is from before these `times`, cannot be read or does not fit is
    /// left out, and nothing is from after them.
    fn restore(&self, capacity: usize, past: &RestoredPast, times: RangeInclusive<Moment>) {
        let (oldest, now) = times.into_inner();
        let moved = |at: Moment| Moment(at.0.saturating_add_signed(past.shift)).min(now);
        let mut kept = self.0.lock();
        for line in past.text.lines() {
            let decision = serde_json::from_str::<OwnDecision>(line).ok();
            let number = decision.as_ref().map(|decision| decision.number);
            let number = number.or_else(|| line.parse().ok());
            let Some(number) = number.filter(|number| *number < MOST_RECORDS) else {
                continue;
            };
            kept.made = kept.made.max(number);
            let Some(decision) = decision else {
                continue;
            };
            let (at, last) = (moved(decision.at), moved(decision.last));
            if last >= oldest {
                kept.ring.push_back(OwnDecision {
                    at,
                    last,
                    ..decision
                });
            }
        }
        // The oldest go, as they would have gone when the newer ones came.
        let over = kept.ring.len().saturating_sub(capacity);
        kept.ring.drain(..over);
    }
}

impl Shared {
    /// A call of this front failed, and it is our own network that is down.
    pub(crate) fn note_outage(&self) {
        // Somebody may have been answered in between, and then there is nothing to tell.
        let Some(outage) = self.weather.outage() else {
            return;
        };
        let now = self.timeline.now();
        self.own.note_outage(self.records, now, outage);
        self.note_past(now);
    }
}

impl Engine {
    /// Takes in the front's own decisions of an earlier run.
    pub fn restore_own(&self, past: &RestoredPast) {
        let now = self.shared.timeline.now();
        let history = self.shared.state.lock().history;
        self.shared
            .own
            .restore(self.shared.records, past, now - history..=now);
    }

    /// Records a decision of the front, made `count` times since the last report.
    pub fn note_own(&self, own: Own, count: u64) {
        let shared = &self.shared;
        let now = shared.timeline.now();
        shared.own.push(shared.records, now, own, count);
        shared.note_past(now);
    }

    /// Records that the front turned a client away by itself, and counts it together with all others.
    pub fn note_refused(&self, own: Own) {
        {
            let mut state = self.shared.state.lock();
            state.counters.asked += 1;
            state.counters.refused += 1;
        }
        self.note_own(own, 1);
    }

    /// The number of the newest own decision, and when one was last made again.
    pub(crate) fn own_newest(&self) -> Option<(u64, Moment)> {
        let kept = self.shared.own.0.lock();
        let last = kept.ring.iter().map(|decision| decision.last).max();
        last.map(|last| (kept.made, last))
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
            asker: asker.map(Into::into),
            limit: Some(60),
            concerned: 2,
            ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
        }
    }

    fn told(ring: &OwnRing) -> Vec<String> {
        let kept = ring.0.lock();
        let told = |decision: &OwnDecision| {
            let own = &decision.own;
            assert_eq!(own.concerned % 2, 0, "they add up");
            format!("{} of {:?}", decision.count, own.asker)
        };
        kept.ring.iter().map(told).collect()
    }

    #[test]
    fn kinds_and_reasons_are_found_by_their_names() {
        for kind in OwnKind::ALL {
            assert_eq!(OwnKind::named(kind.name()), Some(kind));
        }
        for reason in OwnReason::ALL {
            assert_eq!(OwnReason::named(reason.name()), Some(reason));
        }
        assert_eq!(OwnKind::named("raised"), None);
    }

    #[test]
    fn what_clients_sent_takes_a_bounded_place() {
        let ring = OwnRing::default();
        for number in 0..300 {
            let long: Arc<str> = format!("{number} {}", "\u{1f30a}".repeat(10_000)).into();
            let own = Own {
                example: Some(long.clone()),
                limit: Some(u32::MAX),
                retry: Some(Duration::from_nanos(u64::MAX)),
                ..own(Some(&long))
            };
            ring.push(200, Moment(u64::MAX - 9), own, u64::from(u32::MAX));
        }
        let kept = ring.0.lock().ring.clone();
        assert_eq!(kept.len(), 200);
        for decision in kept {
            let own = decision.own;
            for words in [own.asker, own.example] {
                assert_eq!(words.expect("it is told").chars().count(), 200);
            }
        }
        let length = ring.write(true).expect("something has changed").len();
        assert!((300_000..=400_000).contains(&length), "{length}");
    }

    #[test]
    fn a_burst_keeps_its_latest_particulars_and_adds_up_the_rest() {
        let ring = OwnRing::default();
        for (fill, example) in [(61, None), (63, Some("4be19c07…90c2")), (62, None)] {
            let own = Own {
                fill: Some(fill),
                example: example.map(Into::into),
                ..own(None)
            };
            ring.push(3, Moment(0), own, 1);
        }
        let kept = ring.0.lock();
        let own = &kept.ring[0].own;
        assert_eq!((own.fill, own.concerned), (Some(62), 6));
        assert_eq!(own.example.as_deref(), Some("4be19c07…90c2"));
    }

    #[test]
    fn a_clients_times_to_come_back_are_one_burst_and_those_of_all_are_not() {
        for (asker, records, count) in [(Some("a"), 1, 2), (None, 2, 1)] {
            let ring = OwnRing::default();
            for seconds in [9, 4] {
                let own = Own {
                    retry: Some(Duration::from_secs(seconds)),
                    ..own(asker)
                };
                ring.push(3, Moment(0), own, 1);
            }
            let kept = ring.0.lock();
            let last = kept.ring.back().expect("it is kept");
            assert_eq!((kept.ring.len(), last.count), (records, count));
            assert_eq!(last.own.retry, Some(Duration::from_secs(4)));
        }
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
    fn an_outage_is_one_record_however_long_it_lasts() {
        let ring = OwnRing::default();
        let outage = |number, failed| Outage { number, failed };
        for (minute, outage) in [(0, outage(1, 2)), (45, outage(1, 5)), (90, outage(1, 4))] {
            ring.note_outage(3, Moment(minute * 60 * SECOND), outage);
        }
        ring.note_outage(3, Moment(91 * 60 * SECOND), outage(2, 3));
        let told = || -> Vec<(u64, u64, u64)> {
            let kept = ring.0.lock();
            let ring = kept.ring.iter();
            ring.map(|one| (one.number, one.count, one.own.concerned))
                .collect()
        };
        assert_eq!(told(), [(1, 3, 5), (2, 1, 3)]);
        for asker in ["a", "b", "c"] {
            ring.push(3, Moment(92 * 60 * SECOND), own(Some(asker)), 1);
        }
        ring.note_outage(3, Moment(93 * 60 * SECOND), outage(2, 3));
        assert_eq!(
            told().len(),
            3,
            "it was pushed out, and is not written again"
        );
        assert_eq!(told()[2].0, 5);
    }

    #[test]
    fn no_more_is_taken_in_than_is_kept() {
        let ring = OwnRing::default();
        for asker in ["a", "b", "c"] {
            ring.push(3, Moment(0), own(Some(asker)), 1);
        }
        let past = RestoredPast {
            text: ring.write(true).expect("something has changed"),
            shift: 0,
        };
        let again = OwnRing::default();
        again.restore(2, &past, Moment(0)..=Moment::NEVER);
        assert_eq!(told(&again), ["1 of Some(\"b\")", "1 of Some(\"c\")"]);
        again.push(2, Moment(100 * SECOND), own(None), 1);
        let kept = again.0.lock();
        let numbers: Vec<u64> = kept.ring.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [3, 4], "numbers go on");
    }

    #[test]
    fn what_a_kill_took_has_its_numbers_to_itself_and_a_stop_takes_nothing() {
        let ring = OwnRing::default();
        let next_after = |text: &str| {
            let past = RestoredPast {
                text: text.to_owned(),
                shift: 0,
            };
            let again = OwnRing::default();
            again.restore(9, &past, Moment(0)..=Moment(60 * SECOND));
            assert!(
                again
                    .0
                    .lock()
                    .ring
                    .iter()
                    .all(|one| one.last <= Moment(60 * SECOND))
            );
            again.push(9, Moment(100 * SECOND), own(None), 1);
            again.0.lock().made
        };
        ring.push(9, Moment(0), own(Some("a")), 1);
        let written = ring.write(false).expect("something has changed");
        // These are told, and lost.
        ring.push(9, Moment(100 * SECOND), own(Some("b")), 1);
        assert!(next_after(&written) > 2);
        let stopped = ring.write(true).expect("something has changed");
        assert_eq!(next_after(&stopped), 3);
        ring.push(9, Moment(200 * SECOND), own(Some("c")), 1);
        ring.write(false).expect("something has changed");
        let stopped = ring.write(true).expect("numbers are no longer kept free");
        assert_eq!(next_after(&stopped), 4);
        assert_eq!(ring.write(true), None);
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
