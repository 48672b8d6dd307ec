//! Time as swarms keep it: whole minutes, of which each peer stores the lowest fourteen bits.

/// A minute, counted from some moment before Weir began, so that earlier ones can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute(pub u32);

/// After how many minutes without an announce a peer is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age(pub u16);

/// Stamps wrap after this many minutes.
const WRAP: u16 = 1 << 14;

/// Stamps may be ahead by fewer minutes than this.
const AHEAD: u16 = 64;

/// The minutes that lie too far back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    /// The last of them.
    latest: u32,
    /// How many there are before those that count as ahead.
    span: u32,
}

impl Past {
    /// Whether a stamp is one of them; bits above the stamp do not matter. One comparison: listeners ask for each peer
    /// they give.
    #[inline]
    pub(crate) fn has(self, stamp: u16) -> bool {
        self.latest.wrapping_sub(stamp.into()) & u32::from(WRAP - 1) < self.span
    }
}

impl Age {
    /// The longest that can be told from the wrap of the stamps with the sweep's time to spare.
    pub const MAX: Self = Self(10_000);
}

impl Minute {
    /// The first one of this process: any age lies behind it.
    pub const START: Self = Self(WRAP as u32);

    /// The minute so many after this one.
    #[must_use]
    pub fn plus(self, minutes: u32) -> Self {
        Self(self.0.wrapping_add(minutes))
    }

    /// The minute so many before this one.
    #[must_use]
    pub fn minus(self, minutes: u32) -> Self {
        Self(self.0.wrapping_sub(minutes))
    }

    #[inline]
    pub(crate) fn stamp(self) -> u16 {
        (self.0 & u32::from(WRAP - 1)) as u16
    }

    /// The lowest sixteen bits, for what is visited more often than they wrap.
    #[inline]
    pub(crate) fn short(self) -> u16 {
        (self.0 & 0xffff) as u16
    }

    /// Tells stamps that lie further back than an age.
    #[inline]
    pub(crate) fn past(self, age: Age) -> Past {
        Past {
            latest: self.0.wrapping_sub(u32::from(age.0) + 1),
            span: u32::from((WRAP - AHEAD).saturating_sub(age.0)),
        }
    }

    /// Minutes since a stamp. One that lies a little ahead is of now: each thread reads the clock once for all that it
    /// has at hand, so another may have been a minute further.
    #[inline]
    pub(crate) fn since_stamp(self, stamp: u16) -> u16 {
        let since = self.stamp().wrapping_sub(stamp) & (WRAP - 1);
        if since > WRAP - AHEAD { 0 } else { since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_is_longer_ago_than_the_age() {
        for now in [0, 1, 9_999, 16_000, 16_383].map(Minute) {
            for age in [0, 1, 180, Age::MAX.0].map(Age) {
                let past = now.past(age);
                for stamp in 0..WRAP {
                    let is_past = now.since_stamp(stamp) > age.0;
                    assert_eq!(past.has(stamp), is_past, "{now:?} {stamp} {age:?}");
                    assert_eq!(past.has(stamp | WRAP), is_past, "with a flag");
                }
            }
        }
    }
}
