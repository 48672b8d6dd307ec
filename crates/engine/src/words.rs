//! Numbers and texts as people read them, the same in every log, on every page and in every terminal.

use std::time::Duration;

/// `1,204,331`.
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 call`, `1,204 calls`.
pub fn counted(number: impl Into<u64>, one: &str, more: &str) -> String {
    let number = number.into();
    let what = if number == 1 { one } else { more };
    format!("{} {what}", grouped(number))
}

/// How old something is: `12 min`, `2 h`, `6 d`, `3 years`. Rounded down, as ages are.
pub fn age(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match age.as_secs() {
        s if s < 90 => format!("{s} s"),
        s if s < 90 * MINUTE => format!("{} min", s / MINUTE),
        s if s < 24 * HOUR => format!("{} h", s / HOUR),
        s if s < 730 * DAY => format!("{} d", grouped(s / DAY)),
        s => format!("{} years", s / (365 * DAY)),
    }
}

/// Decimal: `658 MB`, `3.4 GB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // What would round to 1000 becomes 1 of the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match value < 99.95 && unit > 1 {
        true => format!("{value:.1} {}", UNITS[unit]),
        false => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// With a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_words_a_number() {
        assert_eq!(
            [0_u32, 999, 1000, 1_204_331].map(grouped),
            ["0", "999", "1,000", "1,204,331"]
        );
        assert_eq!(counted(1_u32, "result", "results"), "1 result");
        assert_eq!(counted(1204_u32, "result", "results"), "1,204 results");
        assert_eq!(capital("it answered 429"), "It answered 429");
        assert_eq!(capital(""), "");
    }

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
}
