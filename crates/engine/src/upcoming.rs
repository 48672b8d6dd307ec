//! One upstream by its name, and the calls that are to be made to it later.

use weir_dispatch::{Class, Moment, UpstreamId};

use crate::engine::Engine;
use crate::record::About;

/// A call that waits for its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledCall {
    /// When it is due; the upstream may make it wait longer.
    pub due: Moment,
    /// The class it will be queued in.
    pub class: Class,
    /// Which attempt it will be, from 1.
    pub attempt: u8,
    /// What it is about.
    pub about: About,
}

impl Engine {
    /// The upstream of this name, if there is one.
    pub fn named(&self, name: &str) -> Option<UpstreamId> {
        let state = self.shared.state.lock();
        let ids = (0..).map(UpstreamId).zip(&state.sides);
        let mut there = ids.filter(|(_, side)| !side.gone);
        there
            .find(|(_, side)| *side.name == *name)
            .map(|(upstream, _)| upstream)
    }

    /// How many calls to an upstream are scheduled, and the next of them, at most so many; soonest first. It costs no more
    /// where many are.
    pub fn scheduled(&self, upstream: UpstreamId, most: usize) -> (usize, Vec<ScheduledCall>) {
        let now = self.shared.timeline.now();
        let state = &mut *self.shared.state.lock();
        let (count, rows) = state.dispatcher.agenda_of(now, upstream, most);
        let calls = rows.into_iter().map(|row| ScheduledCall {
            due: row.due,
            class: row.class,
            attempt: row.attempts_made.saturating_add(1),
            about: state
                .payloads
                .find(row.job)
                .map_or(About::Nothing, |payload| payload.call.about()),
        });
        (count, calls.collect())
    }
}
