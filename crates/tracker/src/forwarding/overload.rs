//! What an overloaded tracker does not do: counted by whoever does not do it, and reported once a second.
//!
//! Listener threads count here and nothing else; the forwarders' task turns what was counted into records and lines of
//! the log, and keeps the last minute for the card.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::{About, Own, OwnKind, OwnReason, about};
use weir_tracker_proto::{Announce, InfoHash, PeerId};

/// Overload lasts as long as something of it happened in so many seconds.
const LASTS: u32 = 60;

/// What was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overload {
    /// A first announce found no token, and was refused.
    NoToken,
    /// A first announce found the queue full, and was refused.
    FirstFull,
    /// The same two where clients get the known peers instead (`overload_reply: peers`).
    NoTokenAnswered,
    FirstFullAnswered,
    /// A re-announce found the queue full. Its client does not notice.
    AgainFull,
    /// Forwarders were left out because the queue is filling.
    LeftOut,
    /// Forwarders were left out because the last places were taken.
    LastPlaces,
    /// Forwarders were left out because those that answer slowly have used up their part of the queue. That is their
    /// trouble: the tracker copes.
    Slow,
    /// A `completed` found too many events waiting, and reaches nobody.
    CompletedLost,
    /// A `stopped` did; trackers are told later.
    StoppedLate,
    /// A new peer found the tracker full, and was refused.
    Full,
    /// A new peer came from an address that has as many as it may have, and was refused.
    Crowded,
}

impl Overload {
    pub(crate) const ALL: [Self; 12] = [
        Self::NoToken,
        Self::FirstFull,
        Self::NoTokenAnswered,
        Self::FirstFullAnswered,
        Self::AgainFull,
        Self::LeftOut,
        Self::LastPlaces,
        Self::Slow,
        Self::CompletedLost,
        Self::StoppedLate,
        Self::Full,
        Self::Crowded,
    ];

    fn own(self) -> Own {
        use OwnKind::{Dropped, Refused, Throttled};
        let (kind, reason, about) = match self {
            Self::NoToken => (Refused, OwnReason::NoToken, about::FIRST),
            Self::FirstFull => (Refused, OwnReason::QueueFull, about::FIRST),
            Self::NoTokenAnswered => (Dropped, OwnReason::NoToken, about::FIRST),
            Self::FirstFullAnswered => (Dropped, OwnReason::QueueFull, about::FIRST),
            Self::AgainFull => (Dropped, OwnReason::QueueFull, about::AGAIN),
            Self::LeftOut => (Throttled, OwnReason::QueueFilling, about::FORWARDERS),
            Self::LastPlaces => (Throttled, OwnReason::QueueFull, about::FORWARDERS),
            Self::Slow => (Throttled, OwnReason::Slow, about::FORWARDERS),
            Self::CompletedLost => (Dropped, OwnReason::EventsFull, about::COMPLETED),
            Self::StoppedLate => (Throttled, OwnReason::EventsFull, about::STOPPED),
            Self::Full => (Refused, OwnReason::Full, about::NEW_PEER),
            Self::Crowded => (Refused, OwnReason::Crowded, about::NEW_PEER),
        };
        Own::new(kind, reason, about)
    }
}

/// How many forwarders were left out of an announce.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftOut {
    pub(crate) left_out: u32,
    /// How many were asked instead.
    pub(crate) asked: u32,
    /// Percent of the queue that were taken.
    pub(crate) fill: u32,
}

/// One kind of overload in the last minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lately {
    pub(crate) what: Overload,
    /// How long it has gone on.
    pub(crate) since: Duration,
    /// How often in the last minute; forwarders, where these were left out.
    pub(crate) count: u64,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Overloads {
    /// By [`Overload::ALL`].
    tallies: [OverloadTally; Overload::ALL.len()],
    /// Tokens per second, places in the queue, and events that may wait.
    limits: Limits,
    /// Seconds between two lines of the log about one kind; written by reloads.
    log_every: AtomicU32,
    /// For the forwarders' task and for readers.
    told: Mutex<[Told; Overload::ALL.len()]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) tokens: u32,
    pub(crate) queue: u32,
    pub(crate) events: u32,
}

/// What listener threads write. Only ever on the way to a refusal, so all of them in one place.
#[derive(Debug, Default)]
struct OverloadTally {
    times: AtomicU64,
    left_out: AtomicU64,
    /// The latest of each.
    retry: AtomicU32,
    asked: AtomicU32,
    fill: AtomicU32,
    /// There is an example already; the rest need not bring one.
    has_example: AtomicBool,
    example: Mutex<Option<(InfoHash, PeerId)>>,
}

/// How far one kind was reported.
#[derive(Debug, Default)]
struct Told {
    times: u64,
    left_out: u64,
    /// Of the last minute, by second.
    recent: VecDeque<(u32, u64)>,
    /// When it began, while it lasts.
    since: u32,
    /// What no line of the log has told, and when the last one was.
    unlogged: (u64, u64),
    logged: Option<u32>,
}

/// What is to be reported of one kind.
pub(crate) struct Report {
    pub(crate) own: Own,
    pub(crate) count: u64,
    /// How often, and of how many forwarders, since the last line of the log, if it is time for another.
    pub(crate) log: Option<(u64, u64)>,
}

impl Overloads {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            tallies: Default::default(),
            limits,
            log_every: AtomicU32::new(1),
            told: Mutex::default(),
        }
    }

    pub(crate) fn set_log_every(&self, seconds: u32) {
        self.log_every.store(seconds, Ordering::Relaxed);
    }

    /// Counts one announce, whose client was told to wait for so many seconds, or nothing. Never waits.
    #[inline]
    pub(crate) fn note(&self, what: Overload, announce: &Announce, retry: u32) {
        let tally = &self.tallies[what as usize];
        tally.retry.store(retry, Ordering::Relaxed);
        if !tally.has_example.load(Ordering::Relaxed) {
            tally.keep(announce);
        }
        tally.times.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one announce that not all forwarders heard of.
    pub(crate) fn note_left_out(&self, what: Overload, announce: &Announce, left_out: LeftOut) {
        let tally = &self.tallies[what as usize];
        tally.asked.store(left_out.asked, Ordering::Relaxed);
        tally.fill.store(left_out.fill, Ordering::Relaxed);
        tally
            .left_out
            .fetch_add(left_out.left_out.into(), Ordering::Relaxed);
        self.note(what, announce, 0);
    }

    /// How often it happened since the start.
    #[cfg(test)]
    pub(crate) fn total(&self, what: Overload) -> u64 {
        self.tallies[what as usize].times.load(Ordering::Relaxed)
    }

    /// What happened since this was last asked. The forwarders' task asks once a second.
    pub(crate) fn take(&self, second: u32) -> Vec<Report> {
        let mut told = self.told.lock();
        let log_every = self.log_every.load(Ordering::Relaxed);
        let mut reports = Vec::new();
        for (what, told) in Overload::ALL.into_iter().zip(&mut *told) {
            let tally = &self.tallies[what as usize];
            let times = tally.times.load(Ordering::Relaxed);
            let left_out = tally.left_out.load(Ordering::Relaxed);
            let (count, concerned) = (times - told.times, left_out - told.left_out);
            if count > 0 {
                (told.times, told.left_out) = (times, left_out);
                told.happened(second, count.max(concerned));
                told.unlogged.0 += count;
                told.unlogged.1 += concerned;
                let own = Own {
                    concerned,
                    ..self.own(what)
                };
                reports.push(Report {
                    own,
                    count,
                    log: told.log(second, log_every),
                });
            }
        }
        reports
    }

    /// What happened in the last minute; nothing of a tracker that copes. One address that has too many peers is no sign of
    /// overload: else a single client could make the tracker look overloaded, and its operator be told so.
    pub(crate) fn lately(&self, second: u32) -> Vec<Lately> {
        let told = self.told.lock();
        let all = Overload::ALL.into_iter().zip(&*told);
        let all = all.filter(|(what, _)| !matches!(what, Overload::Slow | Overload::Crowded));
        let lately = all.map(|(what, told)| {
            let recent = told.recent.iter();
            let recent = recent.filter(|(at, _)| at + LASTS > second);
            Lately {
                what,
                since: Duration::from_secs(second.saturating_sub(told.since).into()),
                count: recent.map(|(_, count)| count).sum(),
            }
        });
        lately.filter(|lately| lately.count > 0).collect()
    }

    /// The record of one kind, with its latest particulars.
    fn own(&self, what: Overload) -> Own {
        let tally = &self.tallies[what as usize];
        let own = what.own();
        let retry = tally.retry.load(Ordering::Relaxed);
        let limit = match own.reason {
            OwnReason::NoToken => Some(self.limits.tokens),
            OwnReason::QueueFull | OwnReason::Slow => Some(self.limits.queue),
            OwnReason::EventsFull => Some(self.limits.events),
            OwnReason::Full | OwnReason::Crowded => None,
            _ => Some(tally.asked.load(Ordering::Relaxed)),
        };
        let example = tally.example.lock().take();
        tally.has_example.store(false, Ordering::Relaxed);
        Own {
            limit,
            fill: (own.reason == OwnReason::QueueFilling)
                .then(|| tally.fill.load(Ordering::Relaxed)),
            retry: (retry > 0).then(|| Duration::from_secs(retry.into())),
            example: example.map(in_words),
            ..own
        }
    }
}

impl OverloadTally {
    /// Keeps an announce as the example of this second.
    #[cold]
    fn keep(&self, announce: &Announce) {
        if let Some(mut example) = self.example.try_lock() {
            *example = Some((announce.info_hash, announce.peer_id));
            self.has_example.store(true, Ordering::Relaxed);
        }
    }
}

impl Told {
    fn happened(&mut self, second: u32, count: u64) {
        self.recent.retain(|(at, _)| at + LASTS > second);
        if self.recent.is_empty() {
            self.since = second;
        }
        self.recent.push_back((second, count));
    }

    fn log(&mut self, second: u32, every: u32) -> Option<(u64, u64)> {
        let is_time = self.logged.is_none_or(|logged| second >= logged + every);
        is_time.then(|| {
            self.logged = Some(second);
            std::mem::take(&mut self.unlogged)
        })
    }
}

/// `4be19c07…90c2 (qBittorrent 4.6.5)`: the torrent as records tell it.
fn in_words((hash, peer_id): (InfoHash, PeerId)) -> Arc<str> {
    let digits = About::torrent(&hash.0).words().unwrap_or_default();
    match peer_id.program() {
        Some(program) => format!("{digits} ({program})").into(),
        None => digits.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    const LIMITS: Limits = Limits {
        tokens: 10,
        queue: 10_000,
        events: 110_000,
    };

    fn announce() -> Announce {
        let id = PeerId(*b"-qB4650-abcdefghijkl");
        Announce::new(InfoHash([0x4b; 20]), id, NonZeroU16::MIN)
    }

    fn refuse(overloads: &Overloads, times: usize) {
        for _ in 0..times {
            overloads.note(Overload::NoToken, &announce(), 300);
        }
    }

    #[test]
    fn what_happened_is_reported_once_with_an_example() {
        let overloads = Overloads::new(LIMITS);
        assert!(overloads.take(0).is_empty());
        refuse(&overloads, 3);
        let reports = overloads.take(1);
        let [report] = &reports[..] else {
            panic!("one kind");
        };
        assert_eq!((report.count, report.own.limit), (3, Some(10)));
        assert_eq!(report.own.retry, Some(Duration::from_secs(300)));
        assert_eq!(report.own.fill, None);
        let example = report.own.example.as_deref();
        assert_eq!(example, Some("4b4b4b4b…4b4b (qBittorrent 4.6.5)"));
        assert!(overloads.take(2).is_empty());
        refuse(&overloads, 1);
        assert_eq!(overloads.take(3)[0].count, 1);
        assert_eq!(overloads.total(Overload::NoToken), 4);
    }

    #[test]
    fn it_lasts_a_minute_and_begins_anew_after_that() {
        let overloads = Overloads::new(LIMITS);
        let lately = |second| {
            let lately = overloads.lately(second);
            let all = lately.iter();
            all.map(|one| (one.since.as_secs(), one.count))
                .collect::<Vec<_>>()
        };
        for second in [100, 130, 180] {
            refuse(&overloads, 2);
            overloads.take(second);
        }
        assert_eq!(lately(180), [(80, 4)], "the first are a minute ago");
        assert_eq!(lately(239), [(139, 2)]);
        assert_eq!(lately(240), []);
        refuse(&overloads, 1);
        overloads.take(300);
        assert_eq!(lately(301), [(1, 1)]);
    }

    #[test]
    fn lines_of_the_log_keep_their_distance_and_lose_nothing() {
        let overloads = Overloads::new(LIMITS);
        overloads.set_log_every(5);
        let logged = |second| {
            refuse(&overloads, 2);
            overloads.take(second)[0].log
        };
        assert_eq!(logged(10), Some((2, 0)));
        for second in 11..15 {
            assert_eq!(logged(second), None);
        }
        assert_eq!(logged(15), Some((10, 0)));
    }

    #[test]
    fn forwarders_that_were_left_out_add_up() {
        let overloads = Overloads::new(LIMITS);
        for fill in [61, 63] {
            let left_out = LeftOut {
                left_out: 80,
                asked: 20,
                fill,
            };
            overloads.note_left_out(Overload::LeftOut, &announce(), left_out);
        }
        let reports = overloads.take(0);
        let own = &reports[0].own;
        assert_eq!((reports[0].count, own.concerned), (2, 160));
        assert_eq!((own.limit, own.fill), (Some(20), Some(63)));
        assert_eq!(overloads.lately(0)[0].count, 160);
    }
}
