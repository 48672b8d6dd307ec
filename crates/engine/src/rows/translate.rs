//! Between the dispatcher's rows in moments and the store's rows in wall time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_dispatch::{
    Budget, Cause, Class, Cooldown, Moment, SavedHealth, SavedUpstream, SavedWindow, Window,
};
use weir_store::state::{self, Change, Ledger, Limit, Start, Wall};

use crate::keeper::{KeptUpstream, Memory, Off};
use crate::side::UpstreamTrouble;
use crate::timeline::Timeline;

use super::{RestoredJob, RestoredPast, RestoredUpstream, far};

/// How far the wall clock is ahead of the timeline, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skew(i64);

impl Skew {
    pub(super) fn between(clock: SystemTime, timeline: &Timeline) -> Self {
        let wall = clock
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let ours = i128::from(timeline.now().0);
        Self(
            far(i128::try_from(wall)
                .unwrap_or(i128::MAX)
                .saturating_sub(ours))
            .0,
        )
    }

    pub(super) fn differs(self, other: Self, by: i64) -> bool {
        self.0.saturating_sub(other.0).unsigned_abs() > by.unsigned_abs()
    }

    pub(super) fn wall(self, moment: Moment) -> Wall {
        far(i128::from(moment.0) + i128::from(self.0))
    }

    pub(super) fn nanos(self) -> i64 {
        self.0
    }

    fn moment(self, wall: Wall) -> Moment {
        let nanos = i128::from(wall.0) - i128::from(self.0);
        Moment(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// An upstream as the store has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Translated {
    pub(super) row: state::UpstreamRow,
    /// Per window, the last start that was written and how many starts that moment had.
    last: BTreeMap<(Ledger, Window), (Moment, u32)>,
    learned: BTreeMap<(Ledger, Window), u32>,
}

impl Translated {
    /// Takes over the engine's row and adds to `changes` what the store has to be told.
    pub(super) fn take_over(
        &mut self,
        kept: &KeptUpstream,
        skew: Skew,
        now: Moment,
        changes: &mut Vec<Change>,
    ) {
        let name = &kept.name;
        let mut learned = BTreeMap::new();
        for (ledger, row) in windows(&kept.row) {
            let key = (ledger, row.window);
            for start in self.new_starts(key, row, skew) {
                changes.push(Change::Started {
                    upstream: name.clone(),
                    start,
                });
            }
            learned.extend(row.learned.map(|calls| (key, calls)));
        }
        for (&(ledger, window), &calls) in &learned {
            if self.learned.insert((ledger, window), calls) != Some(calls) {
                changes.push(Change::Learned {
                    upstream: name.clone(),
                    limit: Limit {
                        ledger,
                        window: stored_window(window),
                        calls,
                    },
                });
            }
        }
        for &(ledger, window) in self.learned.keys() {
            if !learned.contains_key(&(ledger, window)) {
                changes.push(Change::Unlearned {
                    upstream: name.clone(),
                    ledger,
                    window: stored_window(window),
                });
            }
        }
        self.learned = learned;
        let row = self.stored(kept, skew, now);
        if row != self.row {
            self.row = row.clone();
            changes.push(Change::Upstream {
                name: name.clone(),
                row,
            });
        }
    }

    fn stored(&self, kept: &KeptUpstream, skew: Skew, now: Moment) -> state::UpstreamRow {
        let health = kept.row.health;
        let memory = &kept.memory;
        let trouble = memory.trouble.as_ref();
        let cooldown = health
            .cooldown
            .map(|Cooldown { until, cause }| state::Rest {
                since: skew.wall(trouble.map_or(now, |trouble| trouble.since)),
                began: skew.wall(trouble.map_or(now, |trouble| trouble.began)),
                until: skew.wall(until),
                cause: stored_cause(cause),
                reason: trouble.map_or_else(String::new, |trouble| trouble.reason.to_string()),
            });
        let off = health.off.then(|| match &kept.off {
            Some(off) => state::Off {
                since: skew.wall(off.at),
                by: off.who.clone(),
                reason: off.reason.clone(),
            },
            None => state::Off::default(),
        });
        state::UpstreamRow {
            off,
            on: memory.on.map(|on| skew.wall(on)),
            rest: cooldown,
            rung: health.rung,
            failures: health.failures,
            answered: health.answered,
            last_start: kept.row.last_start.map(|start| skew.wall(start)),
            last_call: memory.last_call.map(|call| skew.wall(call)),
            last_error: memory
                .last_error
                .as_ref()
                .map(|(at, words)| (skew.wall(*at), words.to_string())),
            own: memory.own.to_vec(),
            gone: None,
        }
    }

    /// The starts of a window since its last row.
    fn new_starts(
        &mut self,
        (ledger, window): (Ledger, Window),
        row: &SavedWindow,
        skew: Skew,
    ) -> Vec<Start> {
        let last = self.last.get(&(ledger, window)).copied();
        let mut new = Vec::new();
        for &(moment, times) in row.starts.iter().rev() {
            let known = match last {
                Some((known, _)) if moment < known => break,
                Some((known, before)) if moment == known => before,
                _ => 0,
            };
            if times > known {
                new.push(Start {
                    ledger,
                    window: stored_window(window),
                    at: skew.wall(moment),
                    times: times - known,
                });
            }
        }
        if let Some(&newest) = row.starts.last() {
            self.last.insert((ledger, window), newest);
        }
        new.reverse();
        new
    }

    /// The wall clock was set, and stored times move with it. After a step forward, starts that still count
    /// are written again with their new times: better counted twice for a while than forgotten early.
    pub(super) fn shift(&mut self, old: Skew, new: Skew) {
        if new.0 > old.0 {
            self.last.clear();
        }
        let shift = |wall: &mut Wall| *wall = new.wall(old.moment(*wall));
        if let Some(rest) = &mut self.row.rest {
            for time in [&mut rest.since, &mut rest.began, &mut rest.until] {
                shift(time);
            }
        }
        if let Some(off) = &mut self.row.off {
            shift(&mut off.since);
        }
        if let Some(on) = &mut self.row.on {
            shift(on);
        }
        self.row.last_start.iter_mut().for_each(shift);
        self.row.last_call.iter_mut().for_each(shift);
        if let Some((at, _)) = &mut self.row.last_error {
            shift(at);
        }
    }
}

/// The windows of a row with the ledger that each counts in.
fn windows(row: &SavedUpstream) -> impl Iterator<Item = (Ledger, &SavedWindow)> {
    let query = row.query.iter().map(|row| (Ledger::Query, row));
    query.chain(row.grab.iter().map(|row| (Ledger::Grab, row)))
}

/// An upstream's row out of the store.
pub(super) fn restore(kept: &state::KeptUpstream, skew: Skew) -> (RestoredUpstream, Translated) {
    let mut row = SavedUpstream::default();
    let mut starts = kept.starts.clone();
    starts.sort_by_key(|start| start.at);
    for start in &starts {
        let saved = saved(&mut row, start.ledger, start.window);
        add(&mut saved.starts, skew.moment(start.at), start.times);
    }
    for limit in &kept.limits {
        saved(&mut row, limit.ledger, limit.window).learned = Some(limit.calls);
    }
    let mut translated = Translated {
        row: kept.row.clone(),
        ..Translated::default()
    };
    for (ledger, row) in windows(&row) {
        let key = (ledger, row.window);
        let last = row.starts.last();
        translated.last.extend(last.map(|&last| (key, last)));
        translated
            .learned
            .extend(row.learned.map(|calls| (key, calls)));
    }
    let health = SavedHealth {
        cooldown: kept.row.rest.as_ref().map(|rest| Cooldown {
            until: skew.moment(rest.until),
            cause: cause(rest.cause),
        }),
        rung: kept.row.rung,
        failures: kept.row.failures,
        off: kept.row.off.is_some(),
        answered: kept.row.answered,
    };
    let trouble = kept.row.rest.as_ref().map(|rest| UpstreamTrouble {
        since: skew.moment(rest.since),
        began: skew.moment(rest.began),
        disables: cause(rest.cause).disables(),
        reason: rest.reason.as_str().into(),
    });
    let memory = Memory {
        trouble,
        last_error: kept
            .row
            .last_error
            .as_ref()
            .map(|(at, words)| (skew.moment(*at), words.as_str().into())),
        last_call: kept.row.last_call.map(|call| skew.moment(call)),
        on: kept.row.on.map(|on| skew.moment(on)),
        own: kept.row.own.as_slice().into(),
    };
    let past = kept.past.as_ref().map(|past| self::past(past, skew));
    row.health = health;
    row.last_start = kept.row.last_start.map(|start| skew.moment(start));
    let off = kept.row.off.as_ref().map(|off| Off {
        reason: off.reason.clone(),
        who: off.by.clone(),
        at: skew.moment(off.since),
    });
    let restored = RestoredUpstream {
        row,
        off,
        memory,
        past,
    };
    (restored, translated)
}

/// The row of one window; it is added if there is none yet.
fn saved(row: &mut SavedUpstream, ledger: Ledger, window: state::Window) -> &mut SavedWindow {
    let rows = match ledger {
        Ledger::Query => &mut row.query,
        Ledger::Grab => &mut row.grab,
    };
    let window = Window::of_seconds(window.0);
    let found = rows.iter().position(|row| row.window == window);
    let place = found.unwrap_or_else(|| {
        rows.push(SavedWindow {
            window,
            learned: None,
            starts: Vec::new(),
        });
        rows.len() - 1
    });
    &mut rows[place]
}

/// What was written about the latest past, and by what its times are to be moved.
pub(super) fn past(stored: &state::Past, skew: Skew) -> RestoredPast {
    RestoredPast {
        text: stored.text.clone(),
        shift: stored.skew.saturating_sub(skew.0),
    }
}

fn add(starts: &mut Vec<(Moment, u32)>, at: Moment, times: u32) {
    match starts.last_mut() {
        Some(last) if last.0 == at => last.1 = last.1.saturating_add(times),
        _ => starts.push((at, times)),
    }
}

/// A scheduled job out of the store.
pub(super) fn job(row: &state::AgendaRow, skew: Skew) -> RestoredJob {
    RestoredJob {
        upstream: Arc::clone(&row.upstream),
        class: Class(row.class),
        budget: budget(row.budget),
        due: skew.moment(row.due),
        attempts_made: row.attempts,
        kept: row.payload.bytes().to_vec(),
    }
}

fn stored_window(window: Window) -> state::Window {
    state::Window(window.seconds())
}

pub(super) fn stored_budget(budget: Budget) -> state::Budget {
    match budget {
        Budget::Query => state::Budget::Query,
        Budget::Side => state::Budget::Side,
        Budget::Grab => state::Budget::Grab,
    }
}

fn budget(stored: state::Budget) -> Budget {
    match stored {
        state::Budget::Query => Budget::Query,
        state::Budget::Side => Budget::Side,
        state::Budget::Grab => Budget::Grab,
    }
}

fn stored_cause(cause: Cause) -> state::Cause {
    match cause {
        Cause::Throttled => state::Cause::Throttled,
        Cause::Failed => state::Cause::Failed,
        Cause::FailedOften => state::Cause::FailedOften,
        Cause::Rejected => state::Cause::Rejected,
    }
}

fn cause(stored: state::Cause) -> Cause {
    match stored {
        state::Cause::Throttled => Cause::Throttled,
        state::Cause::Failed => Cause::Failed,
        state::Cause::FailedOften => Cause::FailedOften,
        state::Cause::Rejected => Cause::Rejected,
    }
}
