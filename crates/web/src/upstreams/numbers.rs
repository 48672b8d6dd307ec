//! Numbers and texts as people read them.

use std::time::Duration;

pub(super) use weir_engine::span;
pub(super) use weir_engine::words::{capital, counted, grouped};

/// Unknown is never zero.
pub(super) const UNKNOWN: &str = "–";

/// An answer time, finer than [`span`] below a second: `340 ms`.
pub(crate) fn answer_time(time: Option<Duration>) -> String {
    match time {
        None => UNKNOWN.to_owned(),
        Some(time) if time < Duration::from_millis(400) => format!("{} ms", time.as_millis()),
        Some(time) if time < Duration::from_secs(10) => format!("{:.1} s", time.as_secs_f64()),
        Some(time) => format!("{:.0} s", time.as_secs_f64()),
    }
}

/// `96.1 %`; a hundred only where nothing failed.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (_, 0) => UNKNOWN.to_owned(),
        (part, whole) if part == whole => "100 %".to_owned(),
        _ => {
            let tenths = part.saturating_mul(1000) / whole;
            format!("{}.{} %", tenths / 10, tenths % 10)
        }
    }
}

/// As text in HTML, also between quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '"' | '\'' => safe.push_str(&format!("&#{};", u32::from(letter))),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_look_asks() {
        assert_eq!(percent(961, 1000), "96.1 %");
        assert_eq!(percent(99_999, 100_000), "99.9 %");
        assert_eq!(percent(0, 0), UNKNOWN);
        assert_eq!(percent(7, 7), "100 %");
        let millis = |millis| answer_time(Some(Duration::from_millis(millis)));
        assert_eq!(
            [millis(58), millis(700), millis(12_000)],
            ["58 ms", "0.7 s", "12 s"]
        );
        assert_eq!(answer_time(None), UNKNOWN);
        assert_eq!(escape("<a href='x'>&"), "&#60;a href=&#39;x&#39;&#62;&#38;");
    }
}
