//! Time as `dispatch` sees it: a number that only grows, given by the caller.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since a start that the caller chose. No clock stands behind it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(pub u64);

impl Moment {
    /// Later than every call: what "until an operator acts" compares as. Sums that would go beyond it end here,
    /// five centuries after the start.
    pub const NEVER: Self = Self(u64::MAX);

    /// How long from `self` until `later`; nothing if that has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

/// `span` in nanoseconds; five centuries where that does not fit. In 64 bits throughout, where
/// `as_nanos` computes in 128: every decision makes such sums.
fn nanos(span: Duration) -> u64 {
    span.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(span.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_saturate_at_both_ends() {
        assert_eq!(Moment::NEVER + Duration::from_secs(1), Moment::NEVER);
        assert_eq!(Moment(5) - Duration::from_secs(1), Moment(0));
        assert_eq!(Moment(9) - Duration::from_nanos(4), Moment(5));
        assert_eq!(Moment(9).until(Moment(4)), Duration::ZERO);
    }
}
