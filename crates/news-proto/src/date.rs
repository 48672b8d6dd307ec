//! Dates of articles and of NNTP itself, to and from Unix seconds.
//!
//! Date headers are read as forty years of software wrote them; what makes no sense is no date,
//! never a wrong one by a guess at its day or month. Our own code, since a crate that reaches no
//! clock cannot use one that has a clock.

use std::fmt::Write;

use crate::error::Error;

mod calendar;
mod header;

use calendar::{DAY, LAST, at, civil};
pub use header::parse;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Writes a Date header's value in UTC: `Sun, 15 Nov 2026 10:00:00 +0000`. Times outside of the years
/// 1970 to 9999 are pulled into them.
pub fn write(seconds: i64) -> String {
    let (days, (hour, minute, second)) = split(seconds);
    let (year, month, day) = civil(days);
    let (weekday, month) = names(days, month);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} +0000")
}

/// Writes a time as mailboxes have it before each message: `Sun Nov 15 10:00:00 2026`. Times outside
/// of the calendar are pulled into it as well.
pub(crate) fn asctime(seconds: i64) -> String {
    let (days, (hour, minute, second)) = split(seconds);
    let (year, month, day) = civil(days);
    let (weekday, month) = names(days, month);
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year:04}")
}

/// Reads the fourteen digits that answer `DATE`: `20261115100000`.
pub fn parse_compact(text: &[u8]) -> Result<i64, Error> {
    match text.split_at_checked(8) {
        Some((date, time)) => parse_stamp(date, time),
        None => Err(Error::Date),
    }
}

/// Writes the fourteen digits that answer `DATE`.
pub fn write_compact(seconds: i64) -> String {
    stamp(seconds, "")
}

/// Reads the date and time of `NEWGROUPS` and `NEWNEWS`: `20261115 100000`, or with a year of two
/// digits, which is taken to lie between 1970 and 2069. Without `GMT` after it, the time is the
/// server's own, and ours is UTC as well.
pub fn parse_stamp(date: &[u8], time: &[u8]) -> Result<i64, Error> {
    let pair = |digits: &[u8], at: usize| {
        let pair = digits.get(at..at + 2)?;
        let digits = pair.iter().all(u8::is_ascii_digit);
        digits.then(|| i64::from(pair[0] - b'0') * 10 + i64::from(pair[1] - b'0'))
    };
    let seconds = || {
        let (year, rest) = match date.len() {
            8 => (pair(date, 0)? * 100 + pair(date, 2)?, &date[4..]),
            6 => {
                let short = pair(date, 0)?;
                (short + if short < 70 { 2_000 } else { 1_900 }, &date[2..])
            }
            _ => return None,
        };
        if time.len() != 6 {
            return None;
        }
        let clock = (pair(time, 0)?, pair(time, 2)?, pair(time, 4)?);
        at((year, pair(rest, 0)?, pair(rest, 2)?), clock, 0)
    };
    seconds().ok_or(Error::Date)
}

/// Writes the date and time of `NEWGROUPS` and `NEWNEWS`: `20261115 100000 GMT`.
pub fn write_stamp(seconds: i64) -> String {
    stamp(seconds, " ") + " GMT"
}

fn stamp(seconds: i64, between: &str) -> String {
    let (days, (hour, minute, second)) = split(seconds);
    let (year, month, day) = civil(days);
    let mut text = String::with_capacity(20);
    write!(
        text,
        "{year:04}{month:02}{day:02}{between}{hour:02}{minute:02}{second:02}"
    )
    .expect("writing to a string does not fail");
    text
}

/// Whole days since 1970, and hour, minute and second of the last one.
fn split(seconds: i64) -> (i64, (i64, i64, i64)) {
    let seconds = seconds.clamp(0, LAST);
    let (days, second) = (seconds / DAY, seconds % DAY);
    (days, (second / 3_600, second / 60 % 60, second % 60))
}

/// The names that headers have for the weekday of a day and for a month.
fn names(days: i64, month: i64) -> (&'static str, &'static str) {
    (WEEKDAYS[(days % 7) as usize], MONTHS[month as usize - 1])
}

#[cfg(test)]
mod tests;
