//! While our own network is down, a front makes no calls: how long everybody waits for that, and who waited.
//!
//! The dispatcher judges jobs without it (rules 23 and 40): a pause is short, and a job that it holds is neither skipped nor
//! dropped for that. Whoever asks when the next call is possible wants to know of it all the same.

use std::time::Duration;

use weir_dispatch::{Budget, Class, Moment, Start, UpstreamId, Wait};

use crate::shared::Effects;
use crate::state::State;

/// A time in which no call started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    from: Moment,
    until: Moment,
}

impl State {
    /// How long the next call would have to wait, and for what: what the dispatcher judges jobs by, or the rest of a pause.
    pub(crate) fn next_wait(
        &self,
        now: Moment,
        upstream: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let (wait, reason) = self.dispatcher.next_wait(now, upstream, class, budget);
        let paused = self.dispatcher.paused_until(now);
        match paused.map(|until| now.until(until)) {
            Some(rest) if rest > wait => (rest, Some(Wait::Network)),
            _ => (wait, reason),
        }
    }

    /// A call has ended. If calls pause for longer since then, whoever was told a time is told another.
    pub(crate) fn look_for_pause(&mut self, now: Moment, effects: &mut Effects) {
        let Some(until) = self.dispatcher.paused_until(now) else {
            return;
        };
        let before = self.pause.filter(|pause| pause.until >= now);
        if before.is_some_and(|pause| pause.until >= until) {
            return;
        }
        let from = before.map_or(now, |pause| pause.from);
        self.pause = Some(Pause { from, until });
        for number in 0..self.sides.len() as u32 {
            self.move_turn(UpstreamId(number), effects);
            self.put_off_probe(UpstreamId(number), now, effects);
        }
    }

    /// What a job that starts has waited for: the pause, if that was most of it.
    pub(crate) fn waited_for(&self, start: &Start, now: Moment) -> Option<Wait> {
        let held = self.pause.map_or(Duration::ZERO, |pause| {
            pause.from.max(start.since).until(pause.until.min(now))
        });
        match held * 2 > start.since.until(now) {
            true => Some(Wait::Network),
            false => start.reason,
        }
    }
}
