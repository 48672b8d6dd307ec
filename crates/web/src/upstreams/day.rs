//! How an upstream did over the last 24 hours: calls by outcome and answer times.

use std::time::Duration;

use weir_engine::{Point, dispatch::Moment};

/// Points of a sparkline.
pub(super) const SPARK: usize = 24;
const HOUR: Duration = Duration::from_secs(3600);

/// Figures of 24 hours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Day {
    /// Answered, refused, failed, timed out.
    pub(super) calls: [u64; 4],
    /// The answer time that about half of the calls did not exceed.
    pub(super) p50: Option<Duration>,
    /// The time that about 95 in 100 did not exceed.
    pub(super) p95: Option<Duration>,
    /// The median answer time of each hour, oldest first.
    pub(super) hours: [Option<Duration>; SPARK],
}

impl Day {
    pub(super) fn of(points: &[Point], now: Moment) -> Self {
        let mut day = Self::default();
        let mut times = Vec::new();
        let mut of_hours: [Vec<(Duration, u64)>; SPARK] = Default::default();
        for point in points {
            for (sum, calls) in day.calls.iter_mut().zip(point.calls) {
                *sum += u64::from(calls);
            }
            let Some((p50, p95)) = answer_times(point) else {
                continue;
            };
            let calls: u64 = point.calls.iter().copied().map(u64::from).sum();
            // Only two percentiles of a step are known: it is treated as if half of its calls took the one time, a few
            // the other, and the rest something in between. That is exact for steps of one call and for even ones.
            times.extend([
                (p50, calls * 50),
                ((p50 + p95) / 2, calls * 44),
                (p95, calls * 6),
            ]);
            let ago = point.at.until(now).as_secs() / HOUR.as_secs();
            let hour = usize::try_from(ago).unwrap_or(SPARK);
            if let Some(hour) = (SPARK - 1).checked_sub(hour) {
                of_hours[hour].push((p50, calls));
            }
        }
        day.p50 = quantile(&mut times, 50);
        day.p95 = quantile(&mut times, 95);
        day.hours = of_hours.map(|mut times| quantile(&mut times, 50));
        day
    }

    /// All calls that ended.
    pub(super) fn total(&self) -> u64 {
        self.calls.iter().sum()
    }

    /// Those of them that were answered.
    pub(super) fn answered(&self) -> u64 {
        self.calls[0]
    }

    /// Answered calls in thousandths, for sorting.
    pub(super) fn success(&self) -> Option<u64> {
        (self.total() > 0).then(|| self.answered() * 1000 / self.total())
    }
}

/// The two percentiles of a step, if it was answered: the time an upstream takes to refuse is not an answer time.
pub(super) fn answer_times(point: &Point) -> Option<(Duration, Duration)> {
    point.p50.zip(point.p95).filter(|_| point.calls[0] > 0)
}

/// The time that `percent` do not exceed, by weight.
fn quantile(times: &mut [(Duration, u64)], percent: u64) -> Option<Duration> {
    times.sort_unstable();
    let total: u64 = times.iter().map(|(_, weight)| weight).sum();
    let wanted = (total * percent).div_ceil(100).max(1);
    let mut seen = 0;
    times
        .iter()
        .find(|(_, weight)| {
            seen += weight;
            seen >= wanted
        })
        .map(|(time, _)| *time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(minutes_ago: u64, calls: [u32; 4], p50: u64, p95: u64) -> Point {
        let now = Moment(0) + HOUR * 100;
        Point {
            at: now - Duration::from_secs(minutes_ago * 60),
            calls,
            p50: Some(Duration::from_millis(p50)),
            p95: Some(Duration::from_millis(p95)),
            fill: 0,
            used: [0; 2],
        }
    }

    fn day(points: &[Point]) -> Day {
        Day::of(points, Moment(0) + HOUR * 100)
    }

    #[test]
    fn nothing_asked_is_unknown_and_not_zero() {
        let none = day(&[]);
        assert_eq!((none.p50, none.p95, none.success()), (None, None, None));
    }

    #[test]
    fn refusals_have_no_answer_time() {
        let day = day(&[point(5, [0, 3, 0, 0], 10, 10)]);
        assert_eq!((day.p50, day.success()), (None, Some(0)));
    }

    #[test]
    fn steps_of_one_call_give_exact_percentiles() {
        let points: Vec<Point> = (1..=100)
            .map(|index| point(index, [1, 0, 0, 0], index * 10, index * 10))
            .collect();
        let day = day(&points);
        assert_eq!(day.p50, Some(Duration::from_millis(500)));
        assert_eq!(day.p95, Some(Duration::from_millis(950)));
        assert_eq!(day.success(), Some(1000));
    }

    #[test]
    fn even_steps_keep_their_percentiles() {
        let points = [
            point(10, [90, 5, 4, 1], 60, 140),
            point(70, [100, 0, 0, 0], 60, 140),
        ];
        let day = day(&points);
        assert_eq!(day.p50, Some(Duration::from_millis(60)));
        assert_eq!(day.p95, Some(Duration::from_millis(140)));
        assert_eq!((day.total(), day.answered()), (200, 190));
        assert_eq!(day.hours[SPARK - 1], Some(Duration::from_millis(60)));
        assert_eq!(day.hours[SPARK - 2], Some(Duration::from_millis(60)));
        assert_eq!(day.hours[0], None);
    }
}
