//! How many starts an upstream allows in each window, and when the next one fits (rules 48 to 51).
//!
//! Windows count exactly: each start is kept until it has left, not sorted into buckets. An upstream that bans
//! for one call too many in an hour counts exactly as well.

use crate::job::Wait;
use crate::moment::Moment;
use crate::policy::{Window, Windows};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The windows of one budget of one upstream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowance {
    /// Whether any window has a limit, or is held. Few upstreams have one, and every decision asks: so it is told without
    /// following the pointer.
    bound: bool,
    books: Box<Books>,
}

/// What there is to know of the windows of one budget.
#[derive(Clone, Debug, Default)]
struct Books {
    day_reset: Option<Moment>,
    /// Those that have a limit, shortest first. Few, so they are looked through.
    tallies: Vec<WindowTally>,
    /// What other nodes left of the windows: nothing until then (rule 63). Not kept across a restart.
    held: Option<Held>,
}

/// All windows are taken for full, as the nodes that share the upstream see it.
#[derive(Clone, Copy, Debug)]
struct Held {
    until: Moment,
    reason: Wait,
    /// The window that is, if it was named.
    full: Option<FullWindow>,
}

impl Held {
    /// Whether a start is thought to fit then. Otherwise that is merely when it is asked again.
    fn is_slot(&self) -> bool {
        match self.reason {
            Wait::Agreeing | Wait::Claimed | Wait::Off | Wait::Network => false,
            Wait::Share => self.full.is_some_and(|full| full.kept > 0),
            Wait::Window | Wait::Gap | Wait::Cooldown => true,
        }
    }
}

/// One window that has a limit, and its starts.
#[derive(Clone, Debug)]
struct WindowTally {
    window: Window,
    configured: Option<u32>,
    learned: Option<Learned>,
    starts: Starts,
}

/// A limit that the upstream told.
#[derive(Clone, Copy, Debug)]
struct Learned {
    limit: u32,
    /// It holds no longer than this unless it is told again: a limit that is kept to is never seen to be wrong.
    until: Moment,
}

impl Learned {
    fn told(limit: u32, window: Window, now: Moment) -> Self {
        // Rule 51: two windows, so that an upstream which tells once in each is never forgotten in between.
        let until = now + window.length().saturating_mul(2);
        Self { limit, until }
    }

    /// One from before a restart. When it was told is not known; a machine that is started every day must forget it
    /// as well.
    fn kept(limit: u32, window: Window, now: Moment) -> Self {
        let until = now + window.length() / 2;
        Self { limit, until }
    }
}

/// What is kept of a window across a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedWindow {
    /// Its length.
    pub window: Window,
    /// A limit that the upstream told.
    pub learned: Option<u32>,
    /// When starts were made, and how many at that moment; oldest first.
    pub starts: Vec<(Moment, u32)>,
}

/// A window that has no room: what it held and might hold when that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullWindow {
    /// Its length.
    pub window: Window,
    /// How many starts it held.
    pub used: u32,
    /// How many it might hold.
    pub limit: u32,
    /// How many of these are kept for nodes that are alone; with [`Wait::Share`] for this one.
    #[serde(default)]
    pub kept: u32,
}

/// One window as a person sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUse {
    /// Its length.
    pub window: Window,
    /// How many starts it holds. After a limit was lowered, or a probe, that may be more than the limit.
    pub used: u32,
    /// How many it may hold.
    pub limit: u32,
    /// Whether the upstream told the limit; otherwise it is configured.
    pub learned: bool,
    /// When the next start fits: now or earlier if there is room.
    pub next: Moment,
}

impl Allowance {
    /// Other limits. A window that keeps a limit keeps its starts.
    pub(crate) fn configure(&mut self, configured: &Windows) {
        self.books.day_reset = configured.day_reset;
        // It was said of other limits, perhaps: asking again is cheap.
        self.books.held = None;
        for tally in &mut self.books.tallies {
            tally.configured = None;
        }
        for (window, limit) in configured.iter() {
            self.tally_mut(window).configured = Some(limit);
        }
        self.forget_unlimited();
    }

    /// Whether any window is limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.bound && !self.books.tallies.is_empty()
    }

    /// Whether a window may keep a call waiting: one is limited, or all are held.
    pub(crate) fn may_hold(&self) -> bool {
        self.bound
    }

    /// Takes all windows for full until then, in place of what was held before.
    pub(crate) fn hold(&mut self, until: Moment, reason: Wait, full: Option<FullWindow>) {
        self.books.held = Some(Held {
            until,
            reason,
            full,
        });
        self.bound = true;
    }

    /// What the next start waits for. Asked only while it waits.
    pub(crate) fn reason(&self) -> Wait {
        let next = self.next();
        let held = self.books.held.filter(|held| held.until == next);
        held.map_or(Wait::Window, |held| held.reason)
    }

    /// Forgets that.
    pub(crate) fn release(&mut self) {
        self.books.held = None;
        self.forget_unlimited();
    }

    /// Counts a start in every window that has a limit.
    pub(crate) fn record(&mut self, now: Moment) {
        if !self.bound {
            return;
        }
        // Rule 51: old limits are forgotten here and not by a timer. Between two starts nobody would notice.
        self.unlearn(now);
        for WindowTally { window, starts, .. } in &mut self.books.tallies {
            // Each start is forgotten once, so this costs O(1) on average. Where the day resets, its length
            // is still right: no start counts for longer than that.
            starts.forget(now - window.length());
            starts.add(now, 1);
        }
    }

    /// When the next start fits into every window: now or earlier if there is room. Takes no `now`, so that the
    /// answer holds until a start or a limit changes it.
    #[inline]
    pub(crate) fn next(&self) -> Moment {
        if self.bound {
            self.next_of_all()
        } else {
            Moment(0)
        }
    }

    fn next_of_all(&self) -> Moment {
        let tallies = self.books.tallies.iter();
        let held = self.books.held.map(|held| held.until);
        tallies
            .map(|tally| self.next_in(tally))
            .chain(held)
            .max()
            .unwrap_or_default()
    }

    /// The window that the next start waits for longest, of equal ones the shortest. Asked only while it waits for one.
    pub(crate) fn full(&self, now: Moment) -> Option<FullWindow> {
        let next = self.next();
        // Where they end together, what all nodes see is the better reason.
        if let Some(held) = self.books.held
            && held.until == next
        {
            return held.full;
        }
        let longest = self.uses(now).find(|window| window.next == next)?;
        Some(FullWindow {
            window: longest.window,
            used: longest.used,
            limit: longest.limit,
            kept: 0,
        })
    }

    /// Takes in what the upstream said of a limit, unless we have one of our own.
    pub(crate) fn learn(&mut self, window: Window, limit: u32, used: Option<u32>, now: Moment) {
        let begins = self.begins(window, now);
        let tally = self.tally_mut(window);
        if tally.configured.is_none() {
            // Rule 50: a told limit of 0 would never be lifted, since only a call can tell of another one.
            tally.learned = Some(Learned::told(limit.max(1), window, now));
            // Starts of others with the same account. When they were made is not known; now is the safe guess.
            let unknown = used.unwrap_or(0).saturating_sub(tally.starts.since(begins));
            if unknown > 0 {
                tally.starts.add(now, unknown);
            }
        }
        self.bound = true;
    }

    /// Forgets what was told, by the upstream or by other nodes, and holds no longer than this.
    pub(crate) fn unlearn(&mut self, until: Moment) {
        for tally in &mut self.books.tallies {
            if tally.learned.is_some_and(|learned| learned.until <= until) {
                tally.learned = None;
            }
        }
        self.books.held = self.books.held.filter(|held| held.until > until);
        self.forget_unlimited();
    }

    /// Rule 48: what has no limit remembers nothing, or an upstream without limits would cost memory per call.
    fn forget_unlimited(&mut self) {
        let tallies = &mut self.books.tallies;
        tallies.retain(|tally| tally.limit().is_some());
        self.bound = !tallies.is_empty() || self.books.held.is_some();
    }

    /// Each limited window, for a person; shortest first.
    pub(crate) fn uses(&self, now: Moment) -> impl Iterator<Item = WindowUse> + '_ {
        let held = self
            .books
            .held
            .filter(|held| held.until > now && held.is_slot());
        self.books.tallies.iter().filter_map(move |tally| {
            let mut shown = WindowUse {
                window: tally.window,
                used: tally.starts.since(self.begins(tally.window, now)),
                limit: tally.limit()?,
                learned: tally.configured.is_none(),
                next: self.next_in(tally),
            };
            match held {
                // Rule 63: what all nodes used together. The limit stays our own: nodes may keep to different ones.
                Some(Held { until, full, .. })
                    if full.is_none_or(|full| full.window == tally.window) =>
                {
                    let used = full.map_or(0, |full| full.used);
                    shown.used = shown.used.max(used);
                    shown.next = shown.next.max(until);
                }
                _ => {}
            }
            Some(shown)
        })
    }

    /// What to keep: the windows that have a limit, shortest first.
    pub(crate) fn rows(&self) -> Vec<SavedWindow> {
        let tallies = self.books.tallies.iter();
        let row = |tally: &WindowTally| SavedWindow {
            window: tally.window,
            learned: tally.learned.map(|learned| learned.limit),
            starts: tally.starts.times().collect(),
        };
        tallies.map(row).collect()
    }

    /// Takes stored rows in. A start in the future counts as now; one that no longer counts is
    /// forgotten, also where another quota would count it again.
    pub(crate) fn restore(&mut self, rows: &[SavedWindow], now: Moment) {
        for row in rows {
            let mut starts = Starts::default();
            for &(start, times) in &row.starts {
                // Rule 52: the wall clock was set back since. A start in the future would block for longer
                // than a window.
                let start = start.min(now);
                if self.leaves(row.window, start) > now {
                    starts.add(start, times);
                }
            }
            let tally = self.tally_mut(row.window);
            let learned = |limit| Learned::kept(limit, row.window, now);
            tally.learned = row.learned.map(learned);
            tally.starts = starts;
        }
        // Rows of windows that have no limit any more go with this.
        self.forget_unlimited();
    }

    /// What is known of a window. One that has no limit yet must be given one, or be forgotten again.
    fn tally_mut(&mut self, window: Window) -> &mut WindowTally {
        let tallies = &mut self.books.tallies;
        let place = tallies.binary_search_by_key(&window, |tally| tally.window);
        let place = place.unwrap_or_else(|place| {
            let new = WindowTally {
                window,
                configured: None,
                learned: None,
                starts: Starts::default(),
            };
            tallies.insert(place, new);
            place
        });
        &mut tallies[place]
    }

    /// When the next start fits into one window.
    fn next_in(&self, tally: &WindowTally) -> Moment {
        match tally.limit() {
            None => Moment(0),
            // Configured: an operator allows no calls of this budget.
            Some(0) => Moment::NEVER,
            Some(limit) => match tally.starts.blocking(limit) {
                Some(start) => self.leaves(tally.window, start),
                None => Moment(0),
            },
        }
    }

    /// The earliest start that still counts at `now`.
    fn begins(&self, window: Window, now: Moment) -> Moment {
        match self.resets(window) {
            // Rule 49: a start at the reset itself belongs to the day that begins there.
            Some(reset) => period_end(reset, now) - Window::DAY.length(),
            // One more, since a start exactly one window ago has left.
            None => Moment((now - window.length()).0.saturating_add(1)),
        }
    }

    /// When a start that counts no longer does.
    fn leaves(&self, window: Window, start: Moment) -> Moment {
        match self.resets(window) {
            Some(reset) => period_end(reset, start),
            None => start + window.length(),
        }
    }

    /// One of the moments at which a window empties, if it is not a sliding one.
    fn resets(&self, window: Window) -> Option<Moment> {
        self.books.day_reset.filter(|_| window == Window::DAY)
    }
}

impl WindowTally {
    /// What holds: what is configured, else what was told.
    fn limit(&self) -> Option<u32> {
        let learned = self.learned.map(|learned| learned.limit);
        self.configured.or(learned)
    }
}

/// Starts in order of time, each with how many there were up to and with it: running totals, so that any stretch is
/// counted with two look-ups instead of a walk.
#[derive(Clone, Debug, Default)]
struct Starts {
    /// One per moment. A full window stops further starts, so there are hardly more than its limit: operators'
    /// probes start all the same, and a call may tell of starts that others made.
    entries: VecDeque<(Moment, u64)>,
    /// How many were forgotten.
    before: u64,
}

impl Starts {
    fn total(&self) -> u64 {
        self.entries.back().map_or(self.before, |&(_, total)| total)
    }

    fn add(&mut self, at: Moment, times: u32) {
        let total = self.total() + u64::from(times);
        match self.entries.back_mut() {
            // Of the same moment, or from before a restart that was in the future and now counts as now.
            Some(last) if last.0 >= at => last.1 = total,
            _ => self.entries.push_back((at, total)),
        }
    }

    /// Forgets what was made before `begins`.
    fn forget(&mut self, begins: Moment) {
        while let Some(&(at, total)) = self.entries.front() {
            if at >= begins {
                break;
            }
            self.before = total;
            self.entries.pop_front();
        }
    }

    /// How many were made from `begins` on.
    fn since(&self, begins: Moment) -> u32 {
        u32::try_from(self.total() - self.until(begins)).unwrap_or(u32::MAX)
    }

    /// The start that is `limit`th from the last: once it has left, the next one fits.
    fn blocking(&self, limit: u32) -> Option<Moment> {
        // Fewer than `limit` in all, or as few since the forgotten ones: nothing blocks.
        let surplus = self.total().checked_sub(u64::from(limit))?;
        if surplus < self.before {
            return None;
        }
        let at = self.entries.partition_point(|&(_, total)| total <= surplus);
        self.entries.get(at).map(|&(at, _)| at)
    }

    /// How many were ever made before `begins`.
    fn until(&self, begins: Moment) -> u64 {
        let first = self.entries.partition_point(|&(at, _)| at < begins);
        match first.checked_sub(1) {
            Some(last) => self.entries[last].1,
            None => self.before,
        }
    }

    /// Each moment with how many starts were made at it.
    fn times(&self) -> impl Iterator<Item = (Moment, u32)> + '_ {
        let mut before = self.before;
        self.entries.iter().map(move |&(at, total)| {
            let times = total - std::mem::replace(&mut before, total);
            (at, u32::try_from(times).unwrap_or(u32::MAX))
        })
    }
}

/// The first reset after `at`, given one of them.
fn period_end(reset: Moment, at: Moment) -> Moment {
    let day = (Moment(0) + Window::DAY.length()).0;
    // Resets lie whole days apart in both directions, so only the time of day of the given one matters.
    let since = (at.0 % day + day - reset.0 % day) % day;
    Moment(at.0.saturating_add(day - since))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_start_that_left_its_window_before_a_restart_does_not_come_back() {
        let reset = Moment(0) + 2 * Window::DAY.length();
        let sliding = Windows::from([(Window::DAY, 1)]);
        let by_reset = sliding.clone().resetting(reset);
        let mut before = Allowance::default();
        before.configure(&by_reset);
        before.record(reset - Duration::from_secs(33));
        let mut after = Allowance::default();
        after.configure(&by_reset);
        after.restore(&before.rows(), reset);
        after.configure(&sliding);
        assert!(after.next() <= reset);
    }

    #[test]
    fn a_reset_after_the_end_of_time_is_never() {
        assert_eq!(period_end(Moment(7), Moment::NEVER), Moment::NEVER);
    }
}
