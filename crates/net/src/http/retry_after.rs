//! `Retry-After`: seconds or a date (RFC 9110 §10.2.3).

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// No upstream can keep us away for longer.
const MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// The three forms that a recipient must understand (RFC 9110 §5.6.7).
const DATES: [&str; 3] = [
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
];

/// How long to wait; `None` for what is neither a number nor a date. A date in the past is zero.
pub(super) fn parse(text: &str, now: impl FnOnce() -> Timestamp) -> Option<Duration> {
    let text = text.trim();
    let wait = match seconds(text) {
        Some(wait) => wait,
        None => {
            let wait = date(text)?.duration_since(now());
            Duration::try_from(wait).unwrap_or_default()
        }
    };
    Some(wait.min(MOST))
}

/// Whole seconds; fractions, which some servers send, are rounded up.
fn seconds(text: &str) -> Option<Duration> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    if negative {
        return Some(Duration::ZERO);
    }
    // A number too large for `u64` is cut to `MOST` anyway.
    let seconds = whole.parse().unwrap_or(u64::MAX);
    let more = part.bytes().any(|byte| byte != b'0');
    Some(Duration::from_secs(seconds.saturating_add(u64::from(more))))
}

fn date(text: &str) -> Option<Timestamp> {
    let read = |form| {
        let parsed = strtime::parse(form, text).ok()?;
        let civil: DateTime = parsed.to_datetime().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    DATES.into_iter().find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(text: &str) -> Option<u64> {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = Timestamp::from_second(784_111_777).expect("a time");
        parse(text, || now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_understood() {
        for (text, expected) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("+5", Some(5)),
            ("1.2", Some(2)),
            ("3.000", Some(3)),
            ("-5", Some(0)),
            ("86400", Some(86_400)),
            ("86401", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("Sun Nov  6 08:50:37 1994", Some(60)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("Fri, 06 Nov 2099 08:49:37 GMT", Some(86_400)),
            ("", None),
            ("soon", None),
            (".", None),
            ("1e3", None),
            ("5 minutes", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(wait(text), expected, "{text:?}");
        }
    }
}
