//! Between the dispatcher's rows in moments and the store's rows in wall time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_dispatch::{
    Budget, Cause, Class, Cooldown, Moment, SavedHealth, SavedUpstream, SavedWindow,
};
use weir_store::state::{self, Change, Ledger, Limit, Start, Wall, Window, Windows};

use crate::keeper::{KeptUpstream, Off};
use crate::timeline::Timeline;

use super::{RestoredJob, RestoredUpstream, far};

const WINDOWS: [Window; 3] = [Window::Minute, Window::Hour, Window::Day];
const LEDGERS: [Ledger; 2] = [Ledger::Query, Ledger::Grab];

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

    fn moment(self, wall: Wall) -> Moment {
        let nanos = i128::from(wall.0) - i128::from(self.0);
        Moment(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// An upstream as the store has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Translated {
    pub(super) row: state::UpstreamRow,
    /// Per ledger and window, the last start that was written and how many starts that moment had.
    last: [[Option<(Moment, u32)>; 3]; 2],
    learned: [[Option<u32>; 3]; 2],
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
        for (at, (ledger, rows)) in LEDGERS
            .into_iter()
            .zip([&kept.row.query, &kept.row.grab])
            .enumerate()
        {
            for start in self.new_starts(at, ledger, rows, skew) {
                changes.push(Change::Started {
                    upstream: name.clone(),
                    start,
                });
            }
            for (window, row) in WINDOWS.into_iter().zip(rows) {
                if self.learned[at][window as usize] != row.learned {
                    self.learned[at][window as usize] = row.learned;
                    changes.push(match row.learned {
                        Some(calls) => Change::Learned {
                            upstream: name.clone(),
                            limit: Limit {
                                ledger,
                                window,
                                calls,
                            },
                        },
                        None => Change::Unlearned {
                            upstream: name.clone(),
                            ledger,
                            window,
                        },
                    });
                }
            }
        }
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
        let cooldown = health.cooldown.map(|Cooldown { until, cause }| {
            let until = skew.wall(until);
            let same = self.row.rest.as_ref().filter(|old| old.until == until);
            state::Rest {
                since: same.map_or_else(|| skew.wall(now), |old| old.since),
                until,
                cause: stored_cause(cause),
                reason: String::new(),
            }
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
            rest: cooldown,
            rung: health.rung,
            failures: health.failures,
            last_start: kept.row.last_start.map(|start| skew.wall(start)),
            gone: None,
        }
    }

    /// The starts since the last row. A call counts in every limited window at the same moment; usage that an
    /// upstream reported counts in one.
    fn new_starts(
        &mut self,
        at: usize,
        ledger: Ledger,
        rows: &[SavedWindow; 3],
        skew: Skew,
    ) -> Vec<Start> {
        let mut new: BTreeMap<Moment, [u32; 3]> = BTreeMap::new();
        for (window, row) in rows.iter().enumerate() {
            let last = self.last[at][window];
            for &(moment, times) in row.starts.iter().rev() {
                let known = match last {
                    Some((known, _)) if moment < known => break,
                    Some((known, before)) if moment == known => before,
                    _ => 0,
                };
                if times > known {
                    new.entry(moment).or_default()[window] = times - known;
                }
            }
            self.last[at][window] = row.starts.last().copied().or(last);
        }
        let starts = new
            .into_iter()
            .flat_map(|(moment, times)| shared(times, ledger, skew.wall(moment)));
        starts.collect()
    }

    /// The wall clock was set, and stored times move with it. After a step forward, starts that still count
    /// are written again with their new times: better counted twice for a while than forgotten early.
    pub(super) fn shift(&mut self, old: Skew, new: Skew) {
        if new.0 > old.0 {
            self.last = Default::default();
        }
        let shift = |wall: &mut Wall| *wall = new.wall(old.moment(*wall));
        if let Some(rest) = &mut self.row.rest {
            shift(&mut rest.since);
            shift(&mut rest.until);
        }
        if let Some(off) = &mut self.row.off {
            shift(&mut off.since);
        }
        self.row.last_start.iter_mut().for_each(shift);
    }
}

/// Splits the counts that one moment has per window into rows that each name the windows they count in.
fn shared(mut times: [u32; 3], ledger: Ledger, at: Wall) -> Vec<Start> {
    let mut starts = Vec::new();
    while let Some(least) = times.iter().copied().filter(|&times| times > 0).min() {
        let mut windows: Option<Windows> = None;
        for (window, left) in WINDOWS.into_iter().zip(&mut times) {
            if *left > 0 {
                *left -= least;
                windows = Some(windows.map_or(Windows::only(window), |set| set.and(window)));
            }
        }
        if let Some(windows) = windows {
            starts.push(Start {
                ledger,
                windows,
                at,
                times: least,
            });
        }
    }
    starts
}

/// An upstream's row out of the store.
pub(super) fn restore(kept: &state::KeptUpstream, skew: Skew) -> (RestoredUpstream, Translated) {
    let mut windows = [[(); 3]; 2].map(|ledger| ledger.map(|()| SavedWindow::default()));
    let mut starts = kept.starts.clone();
    starts.sort_by_key(|start| start.at);
    for start in &starts {
        for (window, row) in WINDOWS.into_iter().zip(&mut windows[start.ledger as usize]) {
            if start.windows.contains(window) {
                add(&mut row.starts, skew.moment(start.at), start.times);
            }
        }
    }
    for limit in &kept.limits {
        windows[limit.ledger as usize][limit.window as usize].learned = Some(limit.calls);
    }
    let translated = Translated {
        row: kept.row.clone(),
        last: windows
            .each_ref()
            .map(|ledger| ledger.each_ref().map(|row| row.starts.last().copied())),
        learned: windows
            .each_ref()
            .map(|ledger| ledger.each_ref().map(|row| row.learned)),
    };
    let [query, grab] = windows;
    let health = SavedHealth {
        cooldown: kept.row.rest.as_ref().map(|rest| Cooldown {
            until: skew.moment(rest.until),
            cause: cause(rest.cause),
        }),
        rung: kept.row.rung,
        failures: kept.row.failures,
        off: kept.row.off.is_some(),
    };
    let row = SavedUpstream {
        health,
        last_start: kept.row.last_start.map(|start| skew.moment(start)),
        query,
        grab,
    };
    let off = kept.row.off.as_ref().map(|off| Off {
        reason: off.reason.clone(),
        who: off.by.clone(),
        at: skew.moment(off.since),
    });
    (RestoredUpstream { row, off }, translated)
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
