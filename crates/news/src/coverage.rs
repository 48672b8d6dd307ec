//! Which of a server's numbers in a newsgroup have been fetched.

use std::ops::RangeInclusive;

/// Stretches of numbers, joined where they touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// First and last of each, ascending, with at least one number between two.
    stretches: Vec<(u64, u64)>,
}

impl Coverage {
    /// Numbers that have been fetched, whether or not there were articles.
    pub(crate) fn add(&mut self, range: &RangeInclusive<u64>) {
        let (mut first, mut last) = (*range.start(), *range.end());
        if last < first {
            return;
        }
        let touches = |&(start, end): &(u64, u64)| {
            start <= last.saturating_add(1) && end.saturating_add(1) >= first
        };
        let from = self
            .stretches
            .partition_point(|&(_, end)| end.saturating_add(1) < first);
        let touched = self.stretches[from..]
            .iter()
            .take_while(|one| touches(one))
            .count();
        for &(start, end) in &self.stretches[from..from + touched] {
            first = first.min(start);
            last = last.max(end);
        }
        self.stretches.splice(from..from + touched, [(first, last)]);
    }

    /// Numbers above this one count as not fetched.
    pub(crate) fn cut_above(&mut self, last: u64) {
        self.stretches.retain_mut(|(start, end)| {
            *end = last.min(*end);
            *start <= *end
        });
    }

    /// A number counts as not fetched.
    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.stretches.partition_point(|&(_, last)| last < number);
        let Some(&(first, last)) = self.stretches.get(at).filter(|one| one.0 <= number) else {
            return;
        };
        let below = (first < number).then(|| (first, number - 1));
        let above = (number < last).then(|| (number + 1, last));
        self.stretches
            .splice(at..=at, below.into_iter().chain(above));
    }

    /// The highest numbers of a range that have not been fetched, at most so many.
    pub(crate) fn highest_gap(
        &self,
        range: &RangeInclusive<u64>,
        most: u64,
    ) -> Option<RangeInclusive<u64>> {
        let (low, mut end) = (*range.start(), *range.end());
        let mut start = low;
        for &(first, last) in self.stretches.iter().rev() {
            if first > end {
                continue;
            }
            if last < end {
                start = low.max(last + 1);
                break;
            }
            end = first.checked_sub(1)?;
        }
        (start <= end).then(|| start.max((end + 1).saturating_sub(most))..=end)
    }

    /// The highest number that has been fetched.
    pub(crate) fn top(&self) -> Option<u64> {
        self.stretches.last().map(|&(_, last)| last)
    }

    /// Whether all of a range has been fetched.
    pub(crate) fn covers(&self, range: &RangeInclusive<u64>) -> bool {
        range.is_empty() || self.highest_gap(range, 1).is_none()
    }

    /// Whether a number has been fetched.
    pub(crate) fn has(&self, number: u64) -> bool {
        let at = self.stretches.partition_point(|&(_, last)| last < number);
        let stretch = self.stretches.get(at);
        stretch.is_some_and(|&(first, _)| first <= number)
    }

    /// First and last of each stretch, to be written down.
    pub(crate) fn stretches(&self) -> &[(u64, u64)] {
        &self.stretches
    }
}

impl FromIterator<(u64, u64)> for Coverage {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(stretches: I) -> Self {
        let mut coverage = Self::default();
        for (first, last) in stretches {
            coverage.add(&(first..=last));
        }
        coverage
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_that_is_taken_out_is_a_hole() {
        let mut coverage = Coverage::from_iter([(5, 9), (20, 20)]);
        for (number, rest) in [
            (7, vec![(5, 6), (8, 9), (20, 20)]),
            (20, vec![(5, 6), (8, 9)]),
            (8, vec![(5, 6), (9, 9)]),
            (6, vec![(5, 5), (9, 9)]),
            (100, vec![(5, 5), (9, 9)]),
        ] {
            coverage.remove(number);
            assert_eq!(coverage.stretches(), rest, "{number}");
        }
    }

    #[test]
    fn the_newest_come_first_and_holes_are_found() {
        let mut coverage = Coverage::default();
        assert_eq!(coverage.highest_gap(&(1..=1000), 500), Some(501..=1000));
        coverage.add(&(501..=1000));
        assert_eq!(coverage.highest_gap(&(1..=1000), 500), Some(1..=500));
        coverage.add(&(1601..=2000));
        assert_eq!(coverage.highest_gap(&(1..=2000), 500), Some(1101..=1600));
        coverage.add(&(1001..=1600));
        assert_eq!(coverage.stretches(), [(501, 2000)]);
        assert_eq!(coverage.top(), Some(2000));
        assert!(coverage.covers(&(501..=2000)) && !coverage.covers(&(500..=501)));
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_numbers(ranges in prop::collection::vec((0u64..60, 0u64..12), 0..30), most in 1u64..20) {
            let mut coverage = Coverage::default();
            let mut model = BTreeSet::new();
            for (first, length) in ranges {
                coverage.add(&(first..=first + length));
                model.extend(first..=first + length);
            }
            let mut joined = coverage.stretches().windows(2);
            prop_assert!(joined.all(|two| two[0].1 + 1 < two[1].0));
            let mut cut = coverage.clone();
            cut.cut_above(30);
            let below: Coverage = model.iter().filter(|n| **n <= 30).map(|n| (*n, *n)).collect();
            prop_assert_eq!(cut, below);
            prop_assert!((0u64..75).all(|number| coverage.has(number) == model.contains(&number)));
            let range = 5u64..=70;
            let missing = |number: &u64| !model.contains(number);
            let gap = coverage.highest_gap(&range, most);
            match range.clone().rev().find(missing) {
                None => prop_assert_eq!(gap, None),
                Some(end) => {
                    let gap = gap.expect("a gap");
                    prop_assert_eq!(*gap.end(), end);
                    prop_assert!(gap.clone().all(|number| missing(&number)));
                    let length = gap.end() - gap.start() + 1;
                    let whole = *gap.start() == 5 || model.contains(&(gap.start() - 1));
                    prop_assert!(length <= most && (length == most || whole));
                }
            }
        }
    }
}
