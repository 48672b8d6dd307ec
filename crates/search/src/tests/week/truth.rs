//! What an indexer did, from what it saw itself: which of its answers were failures, and what follows from that.

use weir_engine::dispatch::Moment;
use weir_testkit::zoo::indexer::{Asked, Behaviour, RetryAfter};

use super::super::*;

/// How an indexer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Good,
    /// 503, to come back after so many seconds.
    Busy(u64),
    /// 429, without a time.
    Throttles,
    Fails,
    Hangs,
    WrongKey,
    Garbage,
    /// An answer after so many seconds.
    Slow(u64),
}

impl Mood {
    pub(super) fn behaviour(self) -> Behaviour {
        match self {
            Self::Good => Behaviour::Good,
            Self::Busy(seconds) => Behaviour::Status(503, RetryAfter::Seconds(seconds)),
            Self::Throttles => Behaviour::Status(429, RetryAfter::None),
            Self::Fails => Behaviour::Status(500, RetryAfter::None),
            Self::Hangs => Behaviour::Hang,
            Self::WrongKey => Behaviour::Error(100, "Incorrect key".to_owned()),
            Self::Garbage => Behaviour::Html,
            Self::Slow(seconds) => Behaviour::Slow(Duration::from_secs(seconds)),
        }
    }

    /// What is said of it, if it is a failure.
    fn cause(self) -> Option<&'static str> {
        match self {
            // In time for the call, if not for whoever asked.
            Self::Good | Self::Slow(_) => None,
            Self::Busy(_) | Self::Throttles => Some("it says we ask too often"),
            Self::Fails => Some("it answered 500"),
            Self::Hangs => Some("it did not answer within 12 s"),
            Self::WrongKey => Some("it rejected our API key: Incorrect key"),
            Self::Garbage => Some("its answer cannot be read"),
        }
    }

    /// When a call that began then has failed.
    fn failed_at(self, began: Moment) -> Moment {
        match self {
            Self::Hangs => began + 12 * SECOND,
            _ => began,
        }
    }
}

/// The cooldowns that follow failures in a row, in minutes.
const LADDER: [u32; 9] = [1, 5, 15, 30, 60, 180, 360, 720, 1440];

/// One indexer, as it knows itself.
pub(super) struct Truth {
    moods: Vec<(Moment, Mood)>,
    /// So many calls in so many seconds.
    pub(super) limit: Option<(usize, u64)>,
    /// An operator has switched it off, for this reason.
    pub(super) off: Option<&'static str>,
    /// When an operator ended its cooldown.
    clears: Vec<Moment>,
}

/// Why it may not be called, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cooling {
    pub(super) until: Moment,
    pub(super) cause: &'static str,
}

impl Truth {
    pub(super) fn new(world: &World, limit: Option<(usize, u64)>) -> Self {
        let moods = vec![(world.timeline.now(), Mood::Good)];
        Self {
            moods,
            limit,
            off: None,
            clears: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self, now: Moment) {
        self.clears.push(now);
    }

    pub(super) fn behave(&mut self, now: Moment, mood: Mood) {
        self.moods.push((now, mood));
    }

    fn mood_at(&self, at: Moment) -> Mood {
        let before = self.moods.iter().rev().find(|(since, _)| *since <= at);
        before.map_or(Mood::Good, |(_, mood)| *mood)
    }

    /// The cooldown that its answers up to a moment have brought, if one is not over then.
    pub(super) fn cooling(&self, searches: &[Moment], now: Moment) -> Option<Cooling> {
        let (mut cooling, mut rung) = (None::<Cooling>, 0);
        let mut clears = self.clears.iter().copied().peekable();
        for &began in searches {
            let mood = self.mood_at(began);
            let failed = mood.failed_at(began);
            if failed > now {
                continue;
            }
            while clears.next_if(|at| *at <= failed).is_some() {
                rung = 0;
            }
            let Some(cause) = mood.cause() else {
                (cooling, rung) = (None, 0);
                continue;
            };
            let time = match mood {
                Mood::Busy(seconds) => Duration::from_secs(seconds),
                _ => {
                    rung = (rung + 1).min(LADDER.len());
                    MINUTE * LADDER[rung - 1]
                }
            };
            cooling = Some(Cooling {
                until: failed + time,
                cause,
            });
        }
        let is_cleared = clears.next_if(|at| *at <= now).is_some();
        cooling.filter(|cooling| !is_cleared && cooling.until > now)
    }

    /// When its window has room again, if it is used up at this moment.
    pub(super) fn full(&self, calls: &[Moment], now: Moment) -> Option<Moment> {
        let (limit, seconds) = self.limit?;
        let window = Duration::from_secs(seconds);
        let recent: Vec<Moment> = calls
            .iter()
            .copied()
            .filter(|at| *at <= now && *at + window > now)
            .collect();
        let over = recent.len().checked_sub(limit)?;
        Some(recent[over] + window)
    }
}

impl World {
    /// When an indexer saw these.
    pub(super) fn moments(&self, asked: &[Asked]) -> Vec<Moment> {
        let now = self.timeline.now();
        asked.iter().map(|asked| now - asked.at.elapsed()).collect()
    }
}
