//! How many upstreams are in which state: the same numbers on the overview, on the list and on every card.

use crate::brief::Brief;
use crate::side::Standing;
use crate::words::{counted, grouped};

/// Upstreams by their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// All of them.
    pub all: usize,
    /// Those that are called as usual.
    pub open: usize,
    /// Those of them that have answered none of a day's calls.
    pub failing: usize,
    /// Never called, and called without an answer so far.
    pub untried: [usize; 2],
    /// Left alone for a while.
    pub cooldown: usize,
    /// The next request tests them.
    pub probing: usize,
    /// Left alone for long.
    pub disabled: usize,
    /// Switched off by an operator.
    pub manual: usize,
}

impl StateCounts {
    /// Counts these.
    pub fn of<'a>(briefs: impl IntoIterator<Item = &'a Brief>) -> Self {
        let mut counts = Self::default();
        for brief in briefs {
            counts.add(brief.standing, brief.called, brief.silent);
        }
        counts
    }

    /// One more: whether it was called before, and whether it has answered none of a day's calls.
    pub fn add(&mut self, standing: Standing, is_called: bool, is_silent: bool) {
        self.all += 1;
        self.failing += usize::from(is_silent && standing == Standing::Open);
        *match standing {
            Standing::Open => &mut self.open,
            Standing::Untried => &mut self.untried[usize::from(is_called)],
            Standing::Cooldown => &mut self.cooldown,
            Standing::Probing => &mut self.probing,
            Standing::Disabled => &mut self.disabled,
            Standing::Manual => &mut self.manual,
        } += 1;
    }

    /// Whether the next request may be answered: one of them is open, or it is not known yet that it is not.
    pub fn may_answer(&self) -> bool {
        self.open + self.probing + self.untried[0] > 0
    }

    /// `13 of 17 indexers are open. 2 have not been tried yet.`
    pub fn sentence(&self, one: &str, more: &str) -> String {
        let number = |count: usize| grouped(count as u64);
        let (open, all) = (number(self.open), number(self.all));
        let failing = match (self.failing, self.open) {
            (0, _) => String::new(),
            (1, 1) => ", but failing".to_owned(),
            (failing, open) if failing == open => ", but all of them are failing".to_owned(),
            (1, _) => ", but 1 is failing".to_owned(),
            (failing, _) => format!(", but {} are failing", number(failing)),
        };
        match (self.open, self.all) {
            (1, 1) => return format!("The only {one} is open{failing}."),
            (0, 1) if self.untried[0] == 1 => {
                return format!("The only {one} has not been tried yet.");
            }
            (0, 1) if self.untried[1] == 1 => {
                return format!("The only {one} has not answered yet.");
            }
            (0, 1) => return format!("The only {one} is not open."),
            (open, total) if open == total => {
                return format!("All {all} {more} are open{failing}.");
            }
            (_, total) if self.untried[0] == total => {
                return format!("None of the {all} {more} has been tried yet.");
            }
            _ => {}
        }
        let are = if self.open == 1 { "is" } else { "are" };
        let untried = [
            ("has not been tried yet.", "have not been tried yet."),
            ("has not answered yet.", "have not answered yet."),
        ];
        let untried: String = (self.untried.into_iter().zip(untried))
            .filter(|(count, _)| *count > 0)
            .map(|(count, (one, more))| format!(" {}", counted(count as u64, one, more)))
            .collect();
        format!("{open} of {all} {more} {are} open{failing}.{untried}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(standings: &[(Standing, bool)]) -> (String, bool) {
        let mut counts = StateCounts::default();
        for (standing, called) in standings {
            counts.add(*standing, *called, false);
        }
        (counts.sentence("indexer", "indexers"), counts.may_answer())
    }

    #[test]
    fn those_that_are_open_and_fail_are_told() {
        use Standing::{Cooldown, Open, Untried};

        for (standings, words) in [
            (
                &[(Open, true)][..],
                "The only tracker is open, but failing.",
            ),
            (
                &[(Open, true), (Open, false), (Open, false)],
                "All 3 trackers are open, but 1 is failing.",
            ),
            (
                &[(Open, true); 3],
                "All 3 trackers are open, but all of them are failing.",
            ),
            (
                &[(Open, true), (Open, true), (Open, false), (Cooldown, true)],
                "3 of 4 trackers are open, but 2 are failing.",
            ),
            (
                &[(Open, true), (Untried, true)],
                "1 of 2 trackers is open, but failing. 1 has not answered yet.",
            ),
        ] {
            let mut counts = StateCounts::default();
            for (standing, silent) in standings {
                counts.add(*standing, true, *silent);
            }
            assert_eq!(counts.sentence("tracker", "trackers"), words);
        }
    }

    #[test]
    fn whoever_is_not_open_is_not_counted_as_open() {
        use Standing::{Cooldown, Disabled, Manual, Open, Probing, Untried};

        for (standings, words, may_answer) in [
            (&[(Open, true)][..], "The only indexer is open.", true),
            (&[(Open, true); 3], "All 3 indexers are open.", true),
            (
                &[(Untried, false)],
                "The only indexer has not been tried yet.",
                true,
            ),
            (
                &[(Untried, false); 10],
                "None of the 10 indexers has been tried yet.",
                true,
            ),
            (
                &[(Untried, true)],
                "The only indexer has not answered yet.",
                false,
            ),
            (&[(Manual, true)], "The only indexer is not open.", false),
            (
                &[(Open, true), (Probing, true), (Untried, false)],
                "1 of 3 indexers is open. 1 has not been tried yet.",
                true,
            ),
            (
                &[(Probing, true), (Cooldown, true)],
                "0 of 2 indexers are open.",
                true,
            ),
            (
                &[(Manual, true), (Disabled, true)],
                "0 of 2 indexers are open.",
                false,
            ),
        ] {
            assert_eq!(told(standings), (words.to_owned(), may_answer));
        }
    }
}
