//! Dates as feeds have them, to and from Unix seconds.
//!
//! Read in any form that indexers write; written in the one that all clients read. Our own, since a
//! crate that reaches no clock cannot use one that has a clock.

use std::fmt::Write;

const DAY: i64 = 86_400;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Zones by name, hours from UTC; RFC 2822 knows the American ones, the rest is seen in feeds.
const ZONES: [(&str, i64); 22] = [
    ("Z", 0),
    ("GMT", 0),
    ("UTC", 0),
    ("UT", 0),
    ("WET", 0),
    ("BST", 1),
    ("CET", 1),
    ("MET", 1),
    ("WEST", 1),
    ("CEST", 2),
    ("MEST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("EDT", -4),
    ("EST", -5),
    ("CDT", -5),
    ("CST", -6),
    ("MDT", -6),
    ("MST", -7),
    ("PDT", -7),
    ("PST", -8),
];

/// The latest second of the year 9999.
const LAST: i64 = 253_402_300_799;

/// Reads RFC 2822, ISO 8601 or Unix seconds; nothing if it is none of them.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return unix(text);
    }
    match text.as_bytes() {
        [
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b'-' | b'/',
            ..,
        ] => iso(text),
        _ => mail(text),
    }
}

/// Writes a date with a weekday and a numeric zone: `Sun, 15 Nov 2026 10:00:00 +0000`.
pub(crate) fn write(seconds: i64, out: &mut String) {
    let seconds = seconds.clamp(0, LAST);
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let weekday = WEEKDAYS[(days % 7) as usize];
    let month = MONTHS[month as usize - 1];
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    write!(
        out,
        "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} +0000"
    )
    .expect("writing to a string does not fail");
}

/// Writes a time as ISO 8601: `2026-11-15T10:00:00Z`.
pub(crate) fn iso_form(seconds: i64) -> String {
    let seconds = seconds.clamp(0, LAST);
    let (year, month, day) = civil(seconds / DAY);
    let second = seconds % DAY;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn unix(digits: &str) -> Option<i64> {
    let number: i64 = digits.parse().ok()?;
    // Thirteen digits are milliseconds.
    let seconds = if number > LAST {
        number / 1_000
    } else {
        number
    };
    (seconds <= LAST).then_some(seconds)
}

/// `2026-11-15T10:00:00.5+01:00`, `2026-11-15 10:00:00`, `2026-11-15`.
fn iso(text: &str) -> Option<i64> {
    let date = text.get(..10)?;
    let mut parts = date.split(['-', '/']).map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let rest = text[10..].trim_start_matches(['T', 't', ' ']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | ',');
    let end = rest.find(|c| !digits(c)).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let clock = clock.split(['.', ',']).next().unwrap_or_default();
    at(year, month, day, clock, zone.trim())
}

/// `Sun, 15 Nov 2026 10:00:00 +0100`, and the same words in other orders or with some missing.
fn mail(text: &str) -> Option<i64> {
    let (mut day, mut month, mut year, mut clock, mut zone) = (None, None, None, "", "");
    for word in text.split([' ', ',']) {
        // `15-Nov-2026` is three words, `-0500` is one.
        let dashed = word.starts_with(|c: char| c.is_ascii_digit());
        for part in word.split(|c| dashed && c == '-') {
            match part.as_bytes().first() {
                None => {}
                Some(b'+' | b'-') => zone = part,
                Some(b'0'..=b'9') if part.contains(':') => clock = part,
                Some(b'0'..=b'9') if day.is_none() => day = Some(number(part)?),
                Some(b'0'..=b'9') => year = Some(number(part)?),
                Some(_) if month.is_none() && month_of(part).is_some() => month = month_of(part),
                Some(_) if weekday(part) => {}
                Some(_) => zone = part,
            }
        }
    }
    let year = match year? {
        short @ 0..50 => short + 2_000,
        short @ 50..100 => short + 1_900,
        year => year,
    };
    at(year, month?, day?, clock, zone)
}

/// Puts a date, a time of day such as `10:00:00` and a zone together.
fn at(year: i64, month: i64, day: i64, clock: &str, zone: &str) -> Option<i64> {
    if !(1..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut parts = clock.split(':').filter(|part| !part.is_empty()).map(number);
    let mut part = || parts.next().unwrap_or(Some(0));
    let (hour, minute, second) = (part()?, part()?, part()?);
    // A leap second is the next one.
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second;
    let seconds = seconds - offset(zone)?;
    (0..=LAST).contains(&seconds).then_some(seconds)
}

/// Seconds east of UTC; a zone that nobody knows is taken for UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => {
            let named = ZONES
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(zone));
            return Some(named.map_or(0, |(_, hours)| hours * 3_600));
        }
    };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let number: i64 = match digits.len() {
        1 | 2 => digits.parse::<i64>().ok()? * 100,
        4 => digits.parse().ok()?,
        _ => return None,
    };
    Some(sign * (number / 100 * 3_600 + number % 100 * 60))
}

fn number(digits: &str) -> Option<i64> {
    let short = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    short.then(|| digits.parse().ok())?
}

/// The number of a month by its first three letters.
fn month_of(name: &str) -> Option<i64> {
    let start = name.get(..3)?;
    let found = MONTHS
        .iter()
        .position(|month| month.eq_ignore_ascii_case(start))?;
    Some(found as i64 + 1)
}

fn weekday(part: &str) -> bool {
    let Some(start) = part.get(..3) else {
        return false;
    };
    WEEKDAYS.iter().any(|day| day.eq_ignore_ascii_case(start))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; years begin in March, so that the
/// leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that many days after 1970-01-01: the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-15 10:00:00 UTC, a Sunday; from `date -u -d @1794736800`.
    const TIME: i64 = 1_794_736_800;

    #[test]
    fn every_form_that_indexers_write_is_read() {
        for text in [
            "Sun, 15 Nov 2026 10:00:00 +0000",
            "Sun, 15 Nov 2026 10:00:00 GMT",
            "15 Nov 2026 10:00:00 +0000",
            "Sunday, 15 November 2026 10:00:00 UTC",
            "Sun, 15 Nov 2026 11:00:00 +0100",
            "Sun, 15 Nov 2026 11:00:00 +01:00",
            "Sun, 15 Nov 2026 05:00:00 -0500",
            "Sun, 15 Nov 2026 05:00:00 EST",
            "sun, 15 nov 2026 11:00:00 cet",
            "Sun, 15 Nov 2026 10:00 +0000",
            "Sun, 15 Nov 2026 10:00:00",
            "Sun, 15 Nov 26 10:00:00 +0000",
            "Sun, 15-Nov-2026 10:00:00 GMT",
            "Sun, 15-Nov-2026 05:00:00 -0500",
            "Sun Nov 15 10:00:00 2026",
            "Sun Nov 15 10:00:00 UTC 2026",
            "Nov 15, 2026 10:00:00",
            "Sun,  15 Nov 2026  10:00:00  Z",
            "2026-11-15T10:00:00Z",
            "2026-11-15T10:00:00.123Z",
            "2026-11-15T11:00:00+01:00",
            "2026-11-15T11:00:00+0100",
            "2026-11-15T05:00:00-05",
            "2026-11-15 10:00:00",
            "2026-11-15 10:00:00 +0000",
            "2026-11-15 10:00:00 UTC",
            "2026/11/15 10:00:00",
            "2026-11-15T10:00",
            " 1794736800 ",
            "1794736800000",
        ] {
            assert_eq!(parse(text), Some(TIME), "{text}");
        }
        assert_eq!(parse("2026-11-15"), Some(TIME - 10 * 3_600));
        assert_eq!(parse("15 Nov 2026"), Some(TIME - 10 * 3_600));
        assert_eq!(parse("29 Feb 2024 00:00:00 +0000"), Some(1_709_164_800));
        assert_eq!(parse("Sun, 15 Nov 2026 10:00:00 XYZ"), Some(TIME));
    }

    #[test]
    fn american_zones_are_read_in_summer_and_in_winter() {
        // RFC 2822 §4.3.
        for (winter, summer, hour) in [
            ("EST", "EDT", 5),
            ("CST", "CDT", 4),
            ("MST", "MDT", 3),
            ("PST", "PDT", 2),
        ] {
            let text = format!("Sun, 15 Nov 2026 {hour:02}:00:00 {winter}");
            assert_eq!(parse(&text), Some(TIME), "{text}");
            let text = format!("Sun, 15 Nov 2026 {:02}:00:00 {summer}", hour + 1);
            assert_eq!(parse(&text), Some(TIME), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            ",",
            "yesterday",
            "Sun, 15 Nov",
            "32 Nov 2026 10:00:00",
            "15 Foo 2026 10:00:00",
            "2026-13-01",
            "2026-11-15T25:00:00Z",
            "2026-11-1",
            "0000-00-00 00:00:00",
            "0001-01-01T00:00:00",
            "99999999999999999999",
            "2026-11-15T10:00:00+1",
            "15 Nov 2026 10:00:00 +012345",
            "Süd, 15 Nov 2026",
            "1 1 1 1",
        ] {
            let expected = (text == "2026-11-15T10:00:00+1").then_some(TIME - 3_600);
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut written = String::new();
        write(TIME, &mut written);
        assert_eq!(written, "Sun, 15 Nov 2026 10:00:00 +0000");
        assert_eq!(iso_form(TIME), "2026-11-15T10:00:00Z");
        let step = 86_400 * 17 + 3_661;
        for seconds in (0..LAST)
            .step_by(step * 101)
            .chain([0, LAST, 951_782_400, 951_868_799])
        {
            let mut written = String::new();
            write(seconds, &mut written);
            assert_eq!(parse(&written), Some(seconds), "{written}");
            assert_eq!(parse(&iso_form(seconds)), Some(seconds));
        }
    }

    #[test]
    fn times_outside_of_the_calendar_are_pulled_into_it() {
        let mut written = String::new();
        write(i64::MIN, &mut written);
        assert_eq!(written, "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(iso_form(i64::MAX), "9999-12-31T23:59:59Z");
    }
}
