//! Times on pages that are written once and read by anybody, at any time: they never say "today". Script writes them in the
//! browser's zone and in the same form.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time as `<time datetime="…" data-form="…">…</time>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct When {
    /// For `datetime`.
    pub(crate) exact: String,
    /// In which form script shows it.
    pub(crate) form: &'static str,
    /// For people, in the server's zone.
    pub(crate) text: String,
}

/// Writes the times of one page.
pub(crate) struct Times {
    zone: TimeZone,
    /// The year that needs no mention: that in which the page's content was fetched.
    year: Option<i16>,
}

impl Times {
    /// For a page whose content is from this time, if that is known.
    pub(crate) fn new(present: Option<i64>) -> Self {
        Self::in_zone(present, TimeZone::system())
    }

    fn in_zone(present: Option<i64>, zone: TimeZone) -> Self {
        let year = present.map(|seconds| stamp(seconds).to_zoned(zone.clone()).year());
        Self { zone, year }
    }

    /// `Tue 10 Nov, 09:12`.
    pub(crate) fn full(&self, seconds: i64) -> When {
        self.write(
            seconds,
            [("d", "%a %-d %b, %H:%M"), ("dy", "%a %-d %b %Y, %H:%M")],
        )
    }

    /// `10 Nov`.
    pub(crate) fn day(&self, seconds: i64) -> When {
        self.write(seconds, [("m", "%-d %b"), ("my", "%-d %b %Y")])
    }

    /// `09:12`, or the day if it is not that of the time before.
    pub(crate) fn brief(&self, seconds: i64, before: Option<i64>) -> When {
        let date = |seconds| stamp(seconds).to_zoned(self.zone.clone()).date();
        if before.is_some_and(|before| date(before) == date(seconds)) {
            return self.write(seconds, [("c", "%H:%M"); 2]);
        }
        self.write(seconds, [("s", "%-d %b, %H:%M"), ("my", "%-d %b %Y")])
    }

    /// Whether both are on one day.
    pub(crate) fn same_day(&self, one: i64, other: i64) -> bool {
        self.day(one).text == self.day(other).text
    }

    fn write(&self, seconds: i64, forms: [(&'static str, &str); 2]) -> When {
        let at = stamp(seconds);
        let zoned = at.to_zoned(self.zone.clone());
        let is_present = self.year == Some(zoned.year());
        let (form, format) = forms[usize::from(!is_present)];
        When {
            exact: at.to_string(),
            form,
            text: zoned.strftime(format).to_string(),
        }
    }
}

/// Seconds since 1970 as a time; dates of articles may be anything.
pub(crate) fn stamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOV: i64 = 1_794_301_920;

    #[test]
    fn another_year_is_named_and_no_time_depends_on_now() {
        let times = Times::in_zone(Some(NOV), TimeZone::UTC);
        assert_eq!(times.full(NOV).text, "Tue 10 Nov, 09:12");
        assert_eq!(times.full(NOV - 366 * 86_400).text, "Sun 9 Nov 2025, 09:12");
        assert_eq!(times.full(NOV).exact, "2026-11-10T09:12:00Z");
        let unknown = Times::in_zone(None, TimeZone::UTC);
        assert_eq!(unknown.full(NOV).form, "dy");
    }

    #[test]
    fn a_row_of_the_same_day_has_its_clock_alone() {
        let times = Times::in_zone(Some(NOV), TimeZone::UTC);
        assert_eq!(times.brief(NOV, None).text, "10 Nov, 09:12");
        assert_eq!(times.brief(NOV + 60, Some(NOV)).text, "09:13");
        assert_eq!(times.brief(NOV + 86_400, Some(NOV)).text, "11 Nov, 09:12");
    }

    #[test]
    fn a_date_out_of_this_world_is_written_all_the_same() {
        let times = Times::in_zone(None, TimeZone::UTC);
        for odd in [i64::MIN, i64::MAX, -1] {
            assert!(!times.full(odd).text.is_empty());
        }
    }
}
