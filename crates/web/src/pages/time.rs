//! Times as people read them, in the server's zone; script turns them into the browser's.

use jiff::{Timestamp, tz::TimeZone};

/// To the second, because throttling is a matter of seconds: `14:32:08`.
pub(crate) fn clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// `14:32` today, `Tue 17 Nov, 00:00` on another day.
fn moment(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = if at.date() == now.date() {
        "%H:%M"
    } else {
        "%a %-d %b, %H:%M"
    };
    at.strftime(format).to_string()
}

/// A moment on a page: for script and for people.
#[derive(Debug, Clone)]
pub struct Shown {
    /// For the attribute `datetime`.
    pub exact: String,
    /// For people.
    pub text: String,
}

impl Shown {
    /// To the minute, with the day unless it is today.
    pub fn new(at: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        Self {
            exact: at.to_string(),
            text: moment(at, now, zone),
        }
    }

    /// The same for seconds since 1970, in the system's zone; `None` for a time that cannot be.
    pub fn of_second(at: i64, now: Timestamp) -> Option<Self> {
        let at = Timestamp::from_second(at).ok()?;
        Some(Self::new(at, now, &TimeZone::system()))
    }

    /// To the second.
    pub fn exactly(at: Timestamp, zone: &TimeZone) -> Self {
        Self {
            exact: at.to_string(),
            text: clock(at, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_day_is_named() {
        let at: Timestamp = "2026-11-17T00:00:00Z".parse().unwrap();
        assert_eq!(
            moment(at, "2026-11-17T23:00:00Z".parse().unwrap(), &TimeZone::UTC),
            "00:00"
        );
        assert_eq!(
            moment(at, "2026-11-18T00:00:00Z".parse().unwrap(), &TimeZone::UTC),
            "Tue 17 Nov, 00:00"
        );
    }
}
