//! What a server did, from what it saw itself: which of its answers were failures, and what follows from that.

use std::time::Duration;

use weir_engine::dispatch::Moment;

use super::super::Mood;
use super::super::story::Story;
use crate::tests::world::MINUTE;

/// The cooldowns that follow failures in a row, in minutes.
const LADDER: [u32; 9] = [1, 5, 15, 30, 60, 180, 360, 720, 1440];
/// How long a connection may take to begin: a third of what a call may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One server, as it knows itself.
pub(super) struct Truth {
    moods: Vec<(Moment, Mood)>,
    /// An operator has switched it off.
    pub(super) off: bool,
    /// When an operator ended its cooldown.
    clears: Vec<Moment>,
}

/// How a server stands at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Good,
    /// It may be called, and does not answer as it should.
    Fails {
        cause: &'static str,
    },
    Cooling {
        until: Moment,
        cause: &'static str,
    },
    Off,
}

impl Condition {
    pub(super) fn is_away(&self) -> bool {
        matches!(self, Self::Cooling { .. } | Self::Off)
    }
}

/// What is said of it, if it is a failure.
fn cause(mood: Mood) -> Option<&'static str> {
    match mood {
        Mood::Busy => Some("it cannot answer now: Going down"),
        Mood::Hangs => Some("it did not answer"),
        Mood::Closes => Some("the connection was closed before the answer was complete"),
        _ => None,
    }
}

impl Truth {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            moods: vec![(now, Mood::Good)],
            off: false,
            clears: Vec::new(),
        }
    }

    pub(super) fn behave(&mut self, now: Moment, mood: Mood) {
        self.moods.push((now, mood));
    }

    pub(super) fn clear(&mut self, now: Moment) {
        self.clears.push(now);
    }

    /// When somebody came: connections, and what was asked on them. Those of one moment are one call.
    pub(super) fn seen(&self, story: &Story, whom: usize) -> Vec<Moment> {
        let (now, server) = (story.world().timeline.now(), &story.servers[whom]);
        let moment = |at: tokio::time::Instant| now - at.elapsed();
        let connections = server.connections().into_iter();
        let connections = connections.map(|one| moment(one.opened));
        let commands = server.commands().into_iter().map(|one| moment(one.at));
        let mut all: Vec<Moment> = connections.chain(commands).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn mood_at(&self, at: Moment) -> Mood {
        let before = self.moods.iter().rev().find(|(since, _)| *since <= at);
        before.map_or(Mood::Good, |(_, mood)| *mood)
    }

    pub(super) fn condition(&self, seen: &[Moment], now: Moment) -> Condition {
        if self.off {
            return Condition::Off;
        }
        let (mut cooling, mut rung) = (None, 0);
        let mut clears = self.clears.iter().copied().peekable();
        for &began in seen {
            let mood = self.mood_at(began);
            let failed = match mood {
                Mood::Hangs => began + TIMEOUT,
                _ => began,
            };
            if failed > now {
                continue;
            }
            while clears.next_if(|at| *at <= failed).is_some() {
                rung = 0;
            }
            let Some(cause) = cause(mood) else {
                (cooling, rung) = (None, 0);
                continue;
            };
            rung = (rung + 1).min(LADDER.len());
            cooling = Some((failed + MINUTE * LADDER[rung - 1], cause));
        }
        let is_cleared = clears.next_if(|at| *at <= now).is_some();
        match cooling.filter(|(until, _)| !is_cleared && *until > now) {
            Some((until, cause)) => Condition::Cooling { until, cause },
            None => match cause(self.mood_at(now)) {
                Some(cause) => Condition::Fails { cause },
                None => Condition::Good,
            },
        }
    }
}
