//! Numbers, sizes and times as people read them.

use std::time::Duration;

use jiff::Timestamp;
use weir_engine::dispatch::Moment;

/// Unknown is never zero.
pub(crate) const UNKNOWN: &str = "–";

/// `1,204`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 result`, `2 results`.
pub(crate) fn counted(number: usize, one: &str, more: &str) -> String {
    let word = if number == 1 { one } else { more };
    format!("{} {word}", grouped(number))
}

/// Decimal: `658 MB`, `3.4 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // What would be rounded to 1000 is one of the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match value < 99.95 && unit > 1 {
        true => format!("{value:.1} {}", UNITS[unit]),
        false => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// How old something is: `12 min`, `2 h`, `6 d`, `3 years`.
pub(crate) fn age(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match seconds.max(0) {
        s if s < 90 => format!("{s} s"),
        s if s < 90 * MINUTE => format!("{} min", s / MINUTE),
        s if s < 24 * HOUR => format!("{} h", s / HOUR),
        s if s < 730 * DAY => format!("{} d", grouped(usize::try_from(s / DAY).unwrap_or(0))),
        s => format!("{} years", s / (365 * DAY)),
    }
}

/// How long something took, never zero: `58 ms`, `0.8 s`, `12 s`.
pub(crate) fn took(time: Duration) -> String {
    match time.as_millis() {
        millis if millis < 100 => format!("{millis} ms"),
        millis if millis < 10_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{:.0} s", time.as_secs_f64()),
    }
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
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
    fn sizes_are_decimal() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (658_400_000, "658 MB"),
            (999_600_000, "1.0 GB"),
            (3_440_000_000, "3.4 GB"),
            (999_990_000_000, "1.0 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn ages_and_times_read_as_the_look_asks() {
        let ages = [30, 720, 7200, 6 * 86_400, 800 * 86_400].map(age);
        assert_eq!(ages, ["30 s", "12 min", "2 h", "6 d", "2 years"]);
        let times = [58, 800, 12_000].map(|millis| took(Duration::from_millis(millis)));
        assert_eq!(times, ["58 ms", "0.8 s", "12 s"]);
        assert_eq!(counted(1, "result", "results"), "1 result");
        assert_eq!(counted(1204, "result", "results"), "1,204 results");
        assert_eq!(capital("it answered 429"), "It answered 429");
    }
}
