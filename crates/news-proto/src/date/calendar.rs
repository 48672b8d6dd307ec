//! The Gregorian calendar in whole days and seconds since 1970.

pub(super) const DAY: i64 = 86_400;

/// The latest second of the year 9999.
pub(super) const LAST: i64 = 253_402_300_799;

/// Puts a date, a time of day and seconds east of UTC together; nothing if there is no such day,
/// or if it lies before 1970 or after 9999.
pub(super) fn at(
    (year, month, day): (i64, i64, i64),
    (hour, minute, second): (i64, i64, i64),
    east: i64,
) -> Option<i64> {
    // A leap second is the next one.
    let clock = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    if !clock || !(1..=9_999).contains(&year) || !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    if day > month_days(year, month) {
        return None;
    }
    let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second - east;
    (0..=LAST).contains(&seconds).then_some(seconds)
}

fn month_days(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date; years begin in March, so that the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that many days after 1970-01-01: the inverse of [`days`].
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}
