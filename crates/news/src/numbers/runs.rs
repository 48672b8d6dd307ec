//! Which own number is which number of one server, as runs: both ascend by one within a run.
//!
//! Runs overlap neither in own numbers nor in the server's, and both are looked up. Two that continue
//! each other become one, so a server that is read alone has a single run.

use std::collections::{BTreeMap, BTreeSet};

/// The runs of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    by_own: BTreeMap<u64, Run>,
    /// Their start to our start.
    by_their: BTreeMap<u64, u64>,
    /// All numbers in runs.
    numbers: u64,
    /// Starts of runs that came, changed or went since somebody last asked.
    changed: BTreeSet<u64>,
}

/// A run, without its own start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) theirs: u64,
    pub(super) length: u64,
}

impl Runs {
    /// Adds a run, unless one of its numbers is taken. Says whether it did.
    pub(super) fn add(&mut self, own: u64, theirs: u64, length: u64) -> bool {
        if length == 0 || !self.is_free(own, theirs, length) {
            return false;
        }
        self.numbers += length;
        let mut start = own;
        let mut run = Run { theirs, length };
        if let Some((before, left)) = self.last_up_to(own)
            && before + left.length == own
            && left.theirs + left.length == theirs
        {
            self.take(before);
            start = before;
            run = Run {
                theirs: left.theirs,
                length: left.length + length,
            };
        }
        let next = own + length;
        if let Some(&right) = self.by_own.get(&next)
            && right.theirs == theirs + length
        {
            self.take(next);
            run.length += right.length;
        }
        self.put(start, run);
        true
    }

    /// Takes one own number out of its run.
    pub(super) fn remove(&mut self, own: u64) {
        let Some((start, run)) = self.last_up_to(own) else {
            return;
        };
        let before = own - start;
        if before >= run.length {
            return;
        }
        self.take(start);
        self.numbers -= 1;
        self.put(
            start,
            Run {
                length: before,
                ..run
            },
        );
        let theirs = run.theirs + before + 1;
        let length = run.length - before - 1;
        self.put(own + 1, Run { theirs, length });
    }

    /// Forgets what the server has no longer: its numbers below this one.
    pub(super) fn forget_below(&mut self, low: u64) {
        while let Some((&theirs, &own)) = self.by_their.first_key_value() {
            if theirs >= low {
                return;
            }
            let Some(run) = self.take(own) else {
                return;
            };
            let gone = run.length.min(low - theirs);
            self.numbers -= gone;
            let rest = Run {
                theirs: theirs + gone,
                length: run.length - gone,
            };
            self.put(own + gone, rest);
        }
    }

    pub(super) fn clear(&mut self) {
        self.changed.extend(self.by_own.keys());
        self.by_own.clear();
        self.by_their.clear();
        self.numbers = 0;
    }

    pub(super) fn own_of(&self, theirs: u64) -> Option<u64> {
        let (&start, &own) = self.by_their.range(..=theirs).next_back()?;
        let offset = theirs - start;
        (offset < self.by_own.get(&own)?.length).then_some(own + offset)
    }

    pub(super) fn their_of(&self, own: u64) -> Option<u64> {
        let (start, run) = self.last_up_to(own)?;
        let offset = own - start;
        (offset < run.length).then_some(run.theirs + offset)
    }

    /// Runs with numbers between two own numbers, cut to them, ascending.
    pub(super) fn between(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, Run)> {
        let start = self.last_up_to(first).map_or(first, |(start, _)| start);
        let runs = self.by_own.range(start..=last.max(start));
        runs.filter_map(move |(&start, run)| {
            let from = start.max(first);
            let end = (start + run.length).min(last + 1);
            let length = end.checked_sub(from).filter(|&length| length > 0)?;
            let theirs = run.theirs + (from - start);
            Some((from, Run { theirs, length }))
        })
    }

    /// The first own number in a run, from this one on.
    pub(super) fn next_own(&self, own: u64) -> Option<u64> {
        if self.their_of(own).is_some() {
            return Some(own);
        }
        self.by_own.range(own..).next().map(|(&start, _)| start)
    }

    /// The last own number in a run, up to this one.
    pub(super) fn previous_own(&self, own: u64) -> Option<u64> {
        let (start, run) = self.last_up_to(own)?;
        Some(own.min(start + run.length - 1))
    }

    pub(super) fn lowest(&self) -> Option<u64> {
        self.by_own.first_key_value().map(|(&start, _)| start)
    }

    /// The server's highest number in a run; 0 if there is none.
    pub(super) fn highest_theirs(&self) -> u64 {
        let last = self.by_their.last_key_value();
        let end = last.and_then(|(&theirs, own)| Some(theirs + self.by_own.get(own)?.length - 1));
        end.unwrap_or(0)
    }

    pub(super) fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Numbers in runs that the server calls by this number or a lower one.
    pub(super) fn numbers_up_to(&self, theirs: u64) -> u64 {
        let starts = self.by_their.range(..=theirs);
        let runs = starts.filter_map(|(_, own)| self.by_own.get(own));
        runs.map(|run| run.length.min(theirs - run.theirs + 1))
            .sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Run)> {
        self.by_own.iter().map(|(&start, &run)| (start, run))
    }

    /// Starts of all runs that somebody may have written down.
    pub(super) fn into_starts(mut self) -> BTreeSet<u64> {
        self.clear();
        self.changed
    }

    /// Starts that somebody should look at again, with the run that is there now, if there is one.
    pub(super) fn take_changed(&mut self) -> Vec<(u64, Option<Run>)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        changed
            .map(|start| (start, self.by_own.get(&start).copied()))
            .collect()
    }

    fn is_free(&self, own: u64, theirs: u64, length: u64) -> bool {
        let before = self.last_up_to(own + length - 1);
        let free = before.is_none_or(|(start, run)| start + run.length <= own);
        let before = self.by_their.range(..theirs + length).next_back();
        let run = before.and_then(|(_, own)| self.by_own.get(own));
        free && run.is_none_or(|run| run.theirs + run.length <= theirs)
    }

    fn last_up_to(&self, own: u64) -> Option<(u64, Run)> {
        let (&start, &run) = self.by_own.range(..=own).next_back()?;
        Some((start, run))
    }

    fn take(&mut self, start: u64) -> Option<Run> {
        let run = self.by_own.remove(&start)?;
        self.by_their.remove(&run.theirs);
        self.changed.insert(start);
        Some(run)
    }

    fn put(&mut self, start: u64, run: Run) {
        if run.length > 0 {
            self.by_own.insert(start, run);
            self.by_their.insert(run.theirs, start);
            self.changed.insert(start);
        }
    }
}
