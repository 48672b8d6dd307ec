//! Message-IDs, names of newsgroups and dates in headers that people wrote by hand or worse.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Zones by name, in hours from UTC. RFC 5322 has the American ones.
const ZONES: [(&str, i64); 16] = [
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("bst", 1),
    ("cet", 1),
    ("met", 1),
    ("cest", 2),
    ("mest", 2),
    ("eet", 2),
    ("msk", 3),
    ("edt", -4),
    ("est", -5),
    ("cst", -6),
    ("pdt", -7),
    ("pst", -8),
];

/// Whether this is a Message-ID with its brackets: 3 to 250 printable characters (RFC 3977).
pub(super) fn is_message_id(text: &str) -> bool {
    let inner = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|inner| {
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
        (1..=248).contains(&inner.len()) && inner.bytes().all(fits)
    })
}

/// All Message-IDs in a header, in its order; other words are skipped.
pub(super) fn message_ids(header: &[u8]) -> impl Iterator<Item = String> {
    let pieces = header.split(|byte| *byte == b'<').skip(1);
    pieces.filter_map(|piece| {
        let end = piece.iter().take(249).position(|byte| *byte == b'>')?;
        let id = format!("<{}>", std::str::from_utf8(&piece[..end]).ok()?);
        is_message_id(&id).then_some(id)
    })
}

/// All names in a list of newsgroups, in its order.
pub(super) fn newsgroups(header: &str) -> impl Iterator<Item = String> {
    let names = header.split(',').map(str::trim);
    let is_name = |name: &&str| {
        let odd = |c: char| c.is_whitespace() || c.is_control() || "!*?[]\\<>\"".contains(c);
        (1..=200).contains(&name.len()) && !name.contains(odd)
    };
    names.filter(is_name).map(str::to_owned)
}

/// A date header in Unix seconds, if it is a date at all.
pub(super) fn date(text: &str) -> Option<i64> {
    let text = super::characters::cut(text, 100);
    let text = text.split('(').next().unwrap_or_default();
    let (mut day, mut month, mut year, mut clock, mut zone) = (None, None, None, None, 0);
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        match word.as_bytes() {
            [b'+' | b'-', ..] => zone = offset(word)?,
            _ if word.contains(':') => clock = Some(time(word)?),
            [b'0'..=b'9', ..] if day.is_none() => day = number(word),
            [b'0'..=b'9', ..] => year = number(word),
            _ => match MONTHS.iter().position(|name| lower.starts_with(name)) {
                Some(index) => month = Some(index as i64 + 1),
                None => {
                    zone = ZONES
                        .iter()
                        .find(|(name, _)| *name == lower)
                        .map_or(zone, |(_, hours)| hours * 3_600)
                }
            },
        }
    }
    let year = match year? {
        short @ 0..50 => short + 2_000,
        short @ 50..1_000 => short + 1_900,
        year => year,
    };
    let (day, month) = (day?, month?);
    if !(1970..=9_999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days(year, month, day) * 86_400 + clock.unwrap_or_default() - zone)
}

/// Year, month and day of a day since 1970-01-01.
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that the leap day is the last one of its year; eras have 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_month)
}

/// Days from 1970-01-01 to a date; the reverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn time(word: &str) -> Option<i64> {
    let mut parts = word.split(':').map(number);
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    let is_time = hour < 24 && minute < 60 && second <= 60;
    is_time.then_some(hour * 3_600 + minute * 60 + second)
}

fn offset(word: &str) -> Option<i64> {
    let (sign, digits) = word.split_at(1);
    let number = number(digits).filter(|number| *number <= 1_400)?;
    let seconds = number / 100 * 3_600 + number % 100 * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

fn number(digits: &str) -> Option<i64> {
    let short = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    short.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_several_forms() {
        for text in [
            "Sun, 15 Nov 2026 10:00:00 +0000",
            "Sun, 15 Nov 2026 10:00:00 GMT",
            "15 Nov 26 11:00 +0100 (CET)",
            "Sunday, 15 November 2026 05:00:00 EST",
            "Sun Nov 15 10:00:00 2026",
        ] {
            assert_eq!(date(text), Some(1_794_736_800), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "Sun, 99 Nov 2026 10:00:00",
            "15 Nov 2026 25:00",
            "15 Nov 2026 10:00 +9999",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn days_and_dates_are_each_others_reverse() {
        for day in (-1_000..200_000).step_by(37) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
        assert_eq!(civil(0), (1970, 1, 1));
    }

    #[test]
    fn ids_are_found_among_other_words() {
        let header =
            b"your message of Monday <a@b.example> <bad id@x> (see <c@d.example>) <\xFF@x> <e";
        assert_eq!(
            message_ids(header).collect::<Vec<_>>(),
            ["<a@b.example>", "<c@d.example>"]
        );
        let long = format!("<{}>", "x".repeat(249));
        assert_eq!(message_ids(long.as_bytes()).count(), 0);
    }

    #[test]
    fn newsgroups_have_names_that_can_be_sent() {
        let names: Vec<String> = newsgroups("a.b, c.d,,e f,*,<x>").collect();
        assert_eq!(names, ["a.b", "c.d"]);
    }
}
