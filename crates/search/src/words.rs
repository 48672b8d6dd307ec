//! Numbers, sizes and times as people read them.

use std::time::Duration;

use jiff::Timestamp;
use weir_engine::dispatch::Moment;
use weir_engine::words;

pub(crate) use weir_engine::words::{capital, size};

/// Unknown is never zero.
pub(crate) const UNKNOWN: &str = "–";

/// `1,204`.
pub(crate) fn grouped(number: usize) -> String {
    words::grouped(number as u64)
}

/// `1 result`, `2 results`.
pub(crate) fn counted(number: usize, one: &str, more: &str) -> String {
    words::counted(number as u64, one, more)
}

/// How old something is: `12 min`, `2 h`, `6 d`, `3 years`.
pub(crate) fn age(seconds: i64) -> String {
    words::age(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// How long something took, never zero: `58 ms`, `0.8 s`, `12 s`.
pub(crate) fn took(time: Duration) -> String {
    match time.as_millis() {
        millis if millis < 100 => format!("{millis} ms"),
        millis if millis < 10_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{:.0} s", time.as_secs_f64()),
    }
}

/// Whole seconds.
pub(crate) fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

/// A moment as seconds since 1970.
pub(crate) fn unix(moment: Moment) -> i64 {
    seconds(Moment(0).until(moment))
}

/// The wall time of a moment.
pub(crate) fn at(moment: Moment) -> Timestamp {
    let millis = Moment(0).until(moment).as_millis();
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

/// Seconds since 1970 as a time.
pub(crate) fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_times_read_as_the_look_asks() {
        let ages = [30, 720, 7200, 6 * 86_400, 800 * 86_400].map(age);
        assert_eq!(ages, ["30 s", "12 min", "2 h", "6 d", "2 years"]);
        let times = [58, 800, 12_000].map(|millis| took(Duration::from_millis(millis)));
        assert_eq!(times, ["58 ms", "0.8 s", "12 s"]);
    }
}
