//! Date headers: RFC 5322 with its obsolete forms, and what else is found in old articles.

use super::calendar::at;
use super::{MONTHS, WEEKDAYS};

/// Bytes of a header that are looked at; no date is longer, comments included.
const MAX: usize = 256;

/// Zones by name, hours from UTC: those of RFC 5322 §4.3, and others that old software wrote.
/// Single letters are not among them, since RFC 5322 has them read as UTC.
const ZONES: [(&str, i64); 24] = [
    ("UT", 0),
    ("UTC", 0),
    ("GMT", 0),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("WEST", 1),
    ("BST", 1),
    ("CET", 1),
    ("MET", 1),
    ("MEZ", 1),
    ("CEST", 2),
    ("MEST", 2),
    ("MESZ", 2),
    ("EET", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("MSD", 4),
    ("JST", 9),
];

/// Reads the value of a Date header; nothing if it makes no sense.
///
/// The words may come in any order that is clear, as `Sun, 15 Nov 2026 10:00:00 +0100` and
/// `Sun Nov 15 10:00:00 2026` are. Comments are skipped, years of two digits are those of RFC 5322,
/// and a zone that nobody knows is UTC.
pub fn parse(header: &[u8]) -> Option<i64> {
    if header.len() > MAX {
        return None;
    }
    let mut words = Words::default();
    for word in header.split(|byte| byte.is_ascii_whitespace() || *byte == b',') {
        words.take(word)?;
    }
    words.seconds()
}

/// What the words of a date were found to be.
#[derive(Default)]
struct Words {
    day: Option<i64>,
    month: Option<i64>,
    year: Option<i64>,
    clock: Option<(i64, i64, i64)>,
    east: Option<i64>,
    /// Comments that are open, which may lie in each other.
    depth: u32,
}

impl Words {
    /// Takes one word; nothing if it cannot be part of a date.
    fn take(&mut self, word: &[u8]) -> Option<()> {
        let (start, inside) = (self.depth, memchr::memchr2(b'(', b')', word));
        if let Some(bracket) = inside {
            // The word is a date's up to its comment, as in `+0100(CET)`.
            if start == 0 && bracket > 0 {
                self.part(&word[..bracket])?;
            }
            for byte in &word[bracket..] {
                match byte {
                    b'(' => self.depth += 1,
                    b')' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            return Some(());
        }
        if start > 0 || word.is_empty() {
            return Some(());
        }
        // `15-Nov-26` is three words, `-0500` is one.
        if word[0].is_ascii_digit() && !word.contains(&b':') {
            return word
                .split(|byte| *byte == b'-')
                .try_for_each(|part| self.part(part));
        }
        self.part(word)
    }

    fn part(&mut self, part: &[u8]) -> Option<()> {
        match part.first()? {
            b'+' | b'-' => self.east = Some(offset(part)?),
            b'0'..=b'9' if part.contains(&b':') => self.clock = Some(self.clock(part)?),
            b'0'..=b'9' if self.day.is_none() && part.len() <= 2 => self.day = number(part),
            b'0'..=b'9' if self.year.is_none() => self.year = Some(year(part)?),
            b'0'..=b'9' => return None,
            _ if self.month.is_none() && position(&MONTHS, part).is_some() => {
                self.month = position(&MONTHS, part).map(|month| month + 1);
            }
            _ if position(&WEEKDAYS, part).is_some() => {}
            // A number before a name wins: `+0200 MEST` and `GMT+0200` say the same twice.
            _ => self.named(part),
        }
        Some(())
    }

    fn named(&mut self, name: &[u8]) {
        if name.eq_ignore_ascii_case(b"DST") {
            self.east = self.east.map(|east| east + 3_600);
        } else if self.east.is_none() {
            let (name, sign) = match name.iter().position(|byte| matches!(byte, b'+' | b'-')) {
                Some(sign) => name.split_at(sign),
                None => (name, &[][..]),
            };
            let known = ZONES
                .iter()
                .find(|(zone, _)| zone.as_bytes().eq_ignore_ascii_case(name));
            // Any other word, as in `at 10:00 EST`, leaves its place to a zone that may follow.
            self.east = offset(sign).or(known.map(|(_, hours)| hours * 3_600));
        }
    }

    /// Reads `10:00` or `10:00:00`, with a fraction or a zone's letter at its end.
    fn clock(&mut self, part: &[u8]) -> Option<(i64, i64, i64)> {
        let mut parts = part.split(|byte| *byte == b':');
        let (hour, minute) = (number(parts.next()?)?, parts.next()?);
        let Some(second) = parts.next() else {
            return Some((hour, number(minute)?, 0));
        };
        if parts.next().is_some() {
            return None;
        }
        let end = second.iter().position(|byte| !byte.is_ascii_digit());
        let (second, rest) = second.split_at(end.unwrap_or(second.len()));
        if let Some(b'+' | b'-') = rest.first() {
            self.east = offset(rest);
        }
        Some((hour, number(minute)?, number(second)?))
    }

    fn seconds(self) -> Option<i64> {
        // An article without a time of day is somewhere in its day; without a zone, near UTC.
        let clock = self.clock.unwrap_or_default();
        let date = (self.year?, self.month?, self.day?);
        at(date, clock, self.east.unwrap_or_default())
    }
}

/// Years of two digits end with 2049, those of three digits count from 1900 (RFC 5322 §4.3).
fn year(digits: &[u8]) -> Option<i64> {
    let year = number(digits)?;
    Some(match digits.len() {
        2 if year < 50 => year + 2_000,
        2 | 3 => year + 1_900,
        _ => year,
    })
}

/// Seconds east of UTC: `+0100`, `+01:00` or `+1`.
fn offset(zone: &[u8]) -> Option<i64> {
    let sign = match zone.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: Vec<u8> = zone[1..]
        .iter()
        .copied()
        .filter(|byte| *byte != b':')
        .collect();
    let number = match digits.len() {
        1 | 2 => number(&digits)? * 100,
        3 | 4 => number(&digits)?,
        _ => return None,
    };
    let (hours, minutes) = (number / 100, number % 100);
    // Offsets of a day or more are garbage, but the rest of such a date is usually right.
    if hours > 23 || minutes > 59 {
        return Some(0);
    }
    Some(sign * (hours * 3_600 + minutes * 60))
}

fn number(digits: &[u8]) -> Option<i64> {
    let short = (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    short.then(|| {
        digits
            .iter()
            .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    })
}

/// The place of a name in a table, by its first three letters.
fn position(table: &[&str], name: &[u8]) -> Option<i64> {
    let start = name.get(..3)?;
    let letters = name
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'.');
    let found = table
        .iter()
        .position(|entry| entry.as_bytes().eq_ignore_ascii_case(start))?;
    letters.then_some(found as i64)
}
