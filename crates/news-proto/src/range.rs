//! Ranges of article numbers, as OVER, HDR, XPAT and LISTGROUP take them.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::error::Error;
use crate::number::number;

/// One article number, or those from one on, or those between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArticleRange {
    /// `n`
    One(u64),
    /// `n-`
    From(u64),
    /// `n-m`; none if the second is below the first, which RFC 3977 allows.
    Between(u64, u64),
}

impl ArticleRange {
    /// Whether a number lies in it.
    pub fn contains(self, number: u64) -> bool {
        let (low, high) = self.ends();
        (low..=high).contains(&number)
    }

    /// The part of a newsgroup's numbers that lies in it; nothing if they do not meet.
    pub fn within(self, numbers: RangeInclusive<u64>) -> Option<RangeInclusive<u64>> {
        let (low, high) = self.ends();
        let (low, high) = (low.max(*numbers.start()), high.min(*numbers.end()));
        (low <= high).then_some(low..=high)
    }

    fn ends(self) -> (u64, u64) {
        match self {
            Self::One(number) => (number, number),
            Self::From(low) => (low, u64::MAX),
            Self::Between(low, high) => (low, high),
        }
    }
}

impl From<RangeInclusive<u64>> for ArticleRange {
    fn from(numbers: RangeInclusive<u64>) -> Self {
        Self::Between(*numbers.start(), *numbers.end())
    }
}

impl FromStr for ArticleRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let read = |digits: &str| number(digits.as_bytes()).ok_or(Error::Range);
        match text.split_once('-') {
            None => Ok(Self::One(read(text)?)),
            Some((low, "")) => Ok(Self::From(read(low)?)),
            Some((low, high)) => Ok(Self::Between(read(low)?, read(high)?)),
        }
    }
}

impl Display for ArticleRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(number) => write!(f, "{number}"),
            Self::From(low) => write!(f, "{low}-"),
            Self::Between(low, high) => write!(f, "{low}-{high}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back() {
        for (text, range) in [
            ("1", ArticleRange::One(1)),
            ("3000-", ArticleRange::From(3_000)),
            ("7-9", ArticleRange::Between(7, 9)),
            ("9-7", ArticleRange::Between(9, 7)),
            ("0-18446744073709551615", ArticleRange::Between(0, u64::MAX)),
        ] {
            assert_eq!(text.parse(), Ok(range));
            assert_eq!(range.to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "-",
            "-5",
            "1--2",
            "1-2-3",
            "a",
            "1-a",
            "+1",
            " 1",
            "1-18446744073709551616",
        ] {
            assert_eq!(text.parse::<ArticleRange>(), Err(Error::Range), "{text}");
        }
    }

    #[test]
    fn ends_belong_to_a_range() {
        let range = ArticleRange::Between(7, 9);
        assert_eq!(
            [6, 7, 9, 10].map(|n| range.contains(n)),
            [false, true, true, false]
        );
        assert!(ArticleRange::From(7).contains(u64::MAX));
        assert!(!ArticleRange::From(7).contains(6));
        assert!(ArticleRange::One(7).contains(7) && !ArticleRange::One(7).contains(8));
        assert!(!ArticleRange::Between(9, 7).contains(8));
    }

    #[test]
    fn range_is_cut_to_the_numbers_of_a_newsgroup() {
        assert_eq!(ArticleRange::From(5).within(1..=9), Some(5..=9));
        assert_eq!(ArticleRange::Between(1, 20).within(5..=9), Some(5..=9));
        assert_eq!(ArticleRange::One(9).within(5..=9), Some(9..=9));
        assert_eq!(ArticleRange::From(10).within(5..=9), None);
        assert_eq!(ArticleRange::Between(9, 7).within(5..=9), None);
        assert_eq!(ArticleRange::from(3..=4), ArticleRange::Between(3, 4));
    }
}
