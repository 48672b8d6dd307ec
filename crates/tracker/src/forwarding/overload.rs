//! What a tracker does not do, mostly because it is overloaded: counted by whoever does not do it, and reported once a
//! second.
//!
//! Listener threads count here and nothing else; the forwarders' task turns what was counted into records and lines of
//! the log, and keeps the last minute for the card.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::{About, Own, OwnKind, OwnReason, about};
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::Household;

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
    /// An announce of a torrent that is not in `allow_file` was refused.
    NotAllowed,
    /// An announce of a torrent that is in `deny_file` was refused.
    Denied,
}

impl Overload {
    pub(crate) const ALL: [Self; 14] = [
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
        Self::NotAllowed,
        Self::Denied,
    ];

    /// Whether it shows that the tracker has more to do than it can. An address that has too many peers, a torrent that is
    /// not served and a slow forwarder do not: else a single client could make the tracker look overloaded, and its operator
    /// be told so.
    fn is_trouble(self) -> bool {
        let others = [Self::Slow, Self::Crowded, Self::NotAllowed, Self::Denied];
        !others.contains(&self)
    }

    pub(crate) fn own(self) -> Own {
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
            Self::NotAllowed => (Refused, OwnReason::NotAllowed, about::ANNOUNCE),
            Self::Denied => (Refused, OwnReason::Denied, about::ANNOUNCE),
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
    example: Mutex<Option<Example>>,
}

/// One of many.
#[derive(Clone, Copy, Debug)]
struct Example {
    hash: InfoHash,
    peer_id: PeerId,
    /// Where it came from, if that is why.
    from: Option<Household>,
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
    unlogged: Option<(Own, u64)>,
    logged: Option<u32>,
}

/// What is to be told, each with how often it happened.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Since the last report.
    pub(crate) happened: Vec<(Own, u64)>,
    /// Since the last line of the log about the same, where it is time for another.
    pub(crate) log: Vec<(Own, u64)>,
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
        self.count(what, (announce, None), retry);
    }

    /// Counts one that was refused because of the address it came from.
    pub(crate) fn note_crowded(&self, announce: &Announce, from: IpAddr, retry: u32) {
        self.count(Overload::Crowded, (announce, Some(from)), retry);
    }

    #[inline]
    fn count(&self, what: Overload, example: (&Announce, Option<IpAddr>), retry: u32) {
        let tally = &self.tallies[what as usize];
        tally.retry.store(retry, Ordering::Relaxed);
        if !tally.has_example.load(Ordering::Relaxed) {
            tally.keep(example);
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

    /// What happened since this was last asked. The forwarders' task asks once a second, and a last time when it `ends`.
    pub(crate) fn take(&self, second: u32, ends: bool) -> Reports {
        let mut told = self.told.lock();
        let log_every = match ends {
            true => 0,
            false => self.log_every.load(Ordering::Relaxed),
        };
        let mut reports = Reports::default();
        for (what, told) in Overload::ALL.into_iter().zip(&mut *told) {
            let tally = &self.tallies[what as usize];
            let times = tally.times.load(Ordering::Relaxed);
            let left_out = tally.left_out.load(Ordering::Relaxed);
            let (count, concerned) = (times - told.times, left_out - told.left_out);
            if count > 0 {
                (told.times, told.left_out) = (times, left_out);
                let own = Own {
                    concerned,
                    ..self.own(what)
                };
                told.happened(second, &own, count);
                reports.happened.push((own, count));
            }
            // The end of a burst too: nothing further need happen.
            reports.log.extend(told.log(second, log_every));
        }
        reports
    }

    /// What happened in the last minute; nothing of a tracker that copes.
    pub(crate) fn lately(&self, second: u32) -> Vec<Lately> {
        let told = self.told.lock();
        let all = Overload::ALL.into_iter().zip(&*told);
        let all = all.filter(|(what, _)| what.is_trouble());
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
            OwnReason::QueueFilling => Some(tally.asked.load(Ordering::Relaxed)),
            _ => None,
        };
        let example = tally.example.lock().take();
        tally.has_example.store(false, Ordering::Relaxed);
        Own {
            limit,
            fill: (own.reason == OwnReason::QueueFilling)
                .then(|| tally.fill.load(Ordering::Relaxed)),
            retry: (retry > 0).then(|| Duration::from_secs(retry.into())),
            example: example.map(|example| example.words().into()),
            ..own
        }
    }
}

impl OverloadTally {
    /// Keeps an announce as the example of this second.
    #[cold]
    fn keep(&self, (announce, from): (&Announce, Option<IpAddr>)) {
        if let Some(mut example) = self.example.try_lock() {
            *example = Some(Example {
                hash: announce.info_hash,
                peer_id: announce.peer_id,
                from: from.map(Household::of),
            });
            self.has_example.store(true, Ordering::Relaxed);
        }
    }
}

impl Told {
    fn happened(&mut self, second: u32, own: &Own, count: u64) {
        self.recent.retain(|(at, _)| at + LASTS > second);
        if self.recent.is_empty() {
            self.since = second;
        }
        self.recent.push_back((second, count.max(own.concerned)));
        let mut latest = (own.clone(), count);
        if let Some((before, count)) = self.unlogged.take() {
            latest.0.concerned += before.concerned;
            latest.0.example = latest.0.example.or(before.example);
            latest.1 += count;
        }
        self.unlogged = Some(latest);
    }

    fn log(&mut self, second: u32, every: u32) -> Option<(Own, u64)> {
        let is_time = self.logged.is_none_or(|logged| second >= logged + every);
        let line = self.unlogged.take_if(|_| is_time)?;
        self.logged = Some(second);
        Some(line)
    }
}

impl Example {
    /// `4be19c07…90c2 (qBittorrent 4.6.5) from 203.0.113.7`: the torrent as records tell it.
    fn words(&self) -> String {
        let mut words = About::torrent(&self.hash.0).words().unwrap_or_default();
        if let Some(program) = self.peer_id.program() {
            words += &format!(" ({program})");
        }
        if let Some(from) = self.from {
            words += &format!(" from {from}");
        }
        words
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

    fn happened(overloads: &Overloads, second: u32) -> Vec<(Own, u64)> {
        overloads.take(second, false).happened
    }

    /// How each kind is told: once, and twice.
    fn sentences(what: Overload) -> [String; 2] {
        [1, 2].map(|times| {
            let overloads = Overloads::new(LIMITS);
            for _ in 0..times {
                let left_out = |left_out| LeftOut {
                    left_out,
                    asked: 20,
                    fill: 63,
                };
                match what {
                    Overload::LeftOut => {
                        overloads.note_left_out(what, &announce(), left_out(80));
                    }
                    Overload::LastPlaces | Overload::Slow => {
                        overloads.note_left_out(what, &announce(), left_out(1));
                    }
                    Overload::Crowded => {
                        let from = "203.0.113.7".parse().expect("an address");
                        overloads.note_crowded(&announce(), from, 1800);
                    }
                    Overload::NoToken | Overload::NoTokenAnswered => {
                        overloads.note(what, &announce(), 300);
                    }
                    Overload::FirstFull | Overload::FirstFullAnswered | Overload::Full => {
                        overloads.note(what, &announce(), 1800);
                    }
                    _ => overloads.note(what, &announce(), 0),
                }
            }
            let (own, count) = happened(&overloads, 0).remove(0);
            let decision = weir_engine::OwnDecision {
                number: 1,
                at: weir_engine::dispatch::Moment(0),
                last: weir_engine::dispatch::Moment(0),
                count,
                own,
            };
            decision.sentence()
        })
    }

    #[test]
    fn each_kind_has_its_sentences() {
        let all = Overload::ALL.map(sentences);
        let all: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
        assert_eq!(
            all,
            [
                "First announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) refused: the limit of 10 per second was reached. The client was told to retry in 300 s.",
                "2 first announces refused: the limit of 10 per second was reached; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5). The clients were told to retry in 300 s.",
                "First announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) refused: queue full (10,000). The client was told to retry in 30 minutes.",
                "2 first announces refused: queue full (10,000); most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5). The clients were told to retry in 30 minutes.",
                "First announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) answered with known peers but not forwarded: the limit of 10 per second was reached. The client was told to wait at least 300 s.",
                "2 first announces answered with known peers but not forwarded: the limit of 10 per second was reached; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5). The clients were told to wait at least 300 s.",
                "First announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) answered with known peers but not forwarded: queue full (10,000). The client was told to wait at least 30 minutes.",
                "2 first announces answered with known peers but not forwarded: queue full (10,000); most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5). The clients were told to wait at least 30 minutes.",
                "Re-announce of 4b4b4b4b…4b4b (qBittorrent 4.6.5) dropped: queue full (10,000).",
                "2 re-announces dropped: queue full (10,000); most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5).",
                "Announce of 4b4b4b4b…4b4b (qBittorrent 4.6.5) sent to only 20 forwarders, 80 left out: queue at 63 %.",
                "2 announces sent to only 20 forwarders each (160 left out in all): queue at 63 %.",
                "Announce of 4b4b4b4b…4b4b (qBittorrent 4.6.5) not sent to 1 forwarder: queue full (10,000).",
                "2 announces not sent to all forwarders (2 left out in all): queue full (10,000).",
                "Slow forwarders already fill half the queue: the announce of 4b4b4b4b…4b4b (qBittorrent 4.6.5) was not sent to them.",
                "Slow forwarders already fill half the queue: 2 announces were not sent to them.",
                "1 completed event was not forwarded: 110,000 events were already waiting.",
                "2 completed events were not forwarded: 110,000 events were already waiting; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5).",
                "1 stopped event will be sent to trackers later: 110,000 events were already waiting.",
                "2 stopped events will be sent to trackers later: 110,000 events were already waiting.",
                "New peer for torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) refused: the tracker is full (max_peers or max_swarms reached). The client was told to retry in 30 minutes.",
                "2 new peers refused: the tracker is full (max_peers or max_swarms reached); most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5). The clients were told to retry in 30 minutes.",
                "New peer for torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) from 203.0.113.7 refused: too many peers from one address. The client was told to retry in 30 minutes.",
                "2 new peers refused: too many peers from one address; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5) from 203.0.113.7. The clients were told to retry in 30 minutes.",
                "Announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) refused: torrents not in allow_file are not served.",
                "2 announces refused: torrents not in allow_file are not served; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5).",
                "Announce of torrent 4b4b4b4b…4b4b (qBittorrent 4.6.5) refused: torrents in deny_file are not served.",
                "2 announces refused: torrents in deny_file are not served; most recently 4b4b4b4b…4b4b (qBittorrent 4.6.5).",
            ]
        );
    }

    #[test]
    fn only_what_the_tracker_cannot_cope_with_is_trouble() {
        let all = Overload::ALL.into_iter();
        let copes: Vec<_> = all.filter(|what| !what.is_trouble()).collect();
        let client = [Overload::Crowded, Overload::NotAllowed, Overload::Denied];
        assert_eq!(copes, [&[Overload::Slow][..], &client].concat());
    }

    #[test]
    fn what_happened_is_reported_once_with_an_example() {
        let overloads = Overloads::new(LIMITS);
        assert!(happened(&overloads, 0).is_empty());
        refuse(&overloads, 3);
        let reports = happened(&overloads, 1);
        let [(own, count)] = &reports[..] else {
            panic!("one kind");
        };
        assert_eq!((*count, own.limit), (3, Some(10)));
        assert_eq!(own.retry, Some(Duration::from_secs(300)));
        assert_eq!(own.fill, None);
        let example = own.example.as_deref();
        assert_eq!(example, Some("4b4b4b4b…4b4b (qBittorrent 4.6.5)"));
        assert!(happened(&overloads, 2).is_empty());
        refuse(&overloads, 1);
        assert_eq!(happened(&overloads, 3)[0].1, 1);
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
            happened(&overloads, second);
        }
        assert_eq!(lately(180), [(80, 4)], "the first are a minute ago");
        assert_eq!(lately(239), [(139, 2)]);
        assert_eq!(lately(240), []);
        refuse(&overloads, 1);
        happened(&overloads, 300);
        assert_eq!(lately(301), [(1, 1)]);
    }

    #[test]
    fn lines_of_the_log_keep_their_distance_and_lose_nothing() {
        let overloads = Overloads::new(LIMITS);
        overloads.set_log_every(5);
        let logged = |second, ends| {
            let log = overloads.take(second, ends).log;
            log.first().map(|(_, count)| *count)
        };
        refuse(&overloads, 2);
        assert_eq!(logged(10, false), Some(2));
        for second in 11..15 {
            refuse(&overloads, 2);
            assert_eq!(logged(second, false), None);
        }
        assert_eq!(logged(15, false), Some(8), "the rest, when it is time");
        assert_eq!(logged(90, false), None, "nothing more has happened");
        refuse(&overloads, 1);
        assert_eq!(logged(91, false), Some(1));
        refuse(&overloads, 3);
        assert_eq!(logged(92, false), None);
        assert_eq!(logged(93, true), Some(3), "there is no later time");
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
        let reports = happened(&overloads, 0);
        let (own, count) = &reports[0];
        assert_eq!((*count, own.concerned), (2, 160));
        assert_eq!((own.limit, own.fill), (Some(20), Some(63)));
        assert_eq!(overloads.lately(0)[0].count, 160);
    }
}
