//! How each upstream of the day behaves.

use std::time::Duration;

use weir_dispatch::{Finish, MAX_CLASSES, Quota, Window, Windows};

use crate::watch::Numbers;

/// What is wrong with an upstream, if anything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Answers in a moment, always.
    Fast,
    /// Answers after some seconds.
    Slow,
    /// Never answers: its calls time out.
    Dead,
    /// Wants to be left alone now and then, and says for how long.
    Throttling,
    /// Wants to be left alone now and then, and does not say for how long.
    Vague,
    /// Fails every third call.
    Flaky,
    /// Refuses for good now and then.
    Rejecting,
    /// Allows so many calls per minute and hour.
    Hourly,
    /// Allows so many calls per day.
    Daily,
}

const NATURES: [Nature; 12] = [
    Nature::Fast,
    Nature::Fast,
    Nature::Fast,
    Nature::Slow,
    Nature::Dead,
    Nature::Throttling,
    Nature::Vague,
    Nature::Flaky,
    Nature::Flaky,
    Nature::Rejecting,
    Nature::Hourly,
    Nature::Daily,
];

impl Nature {
    pub(crate) fn of(number: u32) -> Self {
        NATURES[number as usize % NATURES.len()]
    }

    pub(crate) fn quota(
        self,
        number: u32,
        gaps: [Duration; MAX_CLASSES],
        reset: weir_dispatch::Moment,
    ) -> Quota {
        let query = match self {
            Self::Hourly => Windows::from([(Window::MINUTE, 3), (Window::HOUR, 10)]),
            Self::Daily if number.is_multiple_of(2) => {
                Windows::from([(Window::DAY, 40)]).resetting(reset)
            }
            Self::Daily => Windows::from([(Window::of_seconds(5 * 60), 7), (Window::DAY, 40)]),
            _ => Windows::default(),
        };
        Quota {
            gaps,
            in_flight: 1 + number % 4,
            query,
            grab: Windows::default(),
        }
    }

    /// How long a call takes and how it goes.
    pub(crate) fn answer(self, numbers: &mut Numbers) -> (Duration, Finish) {
        let ms = |ms: u32| Duration::from_millis(u64::from(ms));
        let fast = ms(20 + numbers.below(200));
        let one_in = |numbers: &mut Numbers, odds| numbers.below(odds) == 0;
        match self {
            Self::Slow => (ms(2_000 + numbers.below(15_000)), Finish::Done),
            Self::Dead => (ms(20_000), Finish::Unavailable),
            Self::Throttling if one_in(numbers, 8) => {
                let seconds = u64::from(numbers.below(3_000));
                let retry_after = Some(Duration::from_secs(seconds));
                (fast, Finish::Throttled { retry_after })
            }
            Self::Vague if one_in(numbers, 8) => (fast, Finish::Throttled { retry_after: None }),
            Self::Flaky if one_in(numbers, 3) => (fast, Finish::Unavailable),
            Self::Flaky if one_in(numbers, 50) => (fast, Finish::Panicked),
            Self::Flaky if one_in(numbers, 20) => {
                let after = Duration::from_secs(u64::from(numbers.below(600)));
                (fast, Finish::Again { after })
            }
            Self::Rejecting if one_in(numbers, 10) => (fast, Finish::Rejected { at_least: None }),
            _ if one_in(numbers, 30) => (fast, Finish::No),
            _ => (fast, Finish::Done),
        }
    }
}
