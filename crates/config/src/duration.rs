//! Durations (`1h30m`, `500ms`, plain seconds) and sizes (`64MiB`, plain bytes).

use std::time::Duration;

use crate::{Node, Setting, Value, Wrong, from_text};

/// The longest duration, so that adding one to any moment stays in range.
const LONGEST: Duration = Duration::from_secs(3650 * DAY);
const DAY: u64 = 86_400;

impl Setting for Duration {
    fn wanted() -> String {
        "a duration such as 30m, 90s, 1h30m or plain seconds".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        let duration = match &node.value {
            Value::Int(seconds) => u64::try_from(*seconds).ok().map(Self::from_secs),
            Value::Float(seconds) => Self::try_from_secs_f64(*seconds).ok(),
            _ => Some(from_text(node, parse_duration)?),
        };
        duration
            .filter(|duration| *duration <= LONGEST)
            .ok_or_else(|| Wrong::kind::<Self>(node))
    }

    fn show(&self) -> String {
        show_duration(*self)
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let mut rest = text;
    let mut sum = Duration::ZERO;
    let mut last_unit = Duration::MAX;
    while !rest.is_empty() {
        let (number, behind) = split_number(rest)?;
        let (unit, behind) = behind.split_at(
            behind
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(behind.len()),
        );
        let unit = match unit.trim() {
            "d" => Duration::from_secs(DAY),
            "h" => Duration::from_secs(3600),
            "m" | "min" => Duration::from_secs(60),
            "s" => Duration::from_secs(1),
            "ms" => Duration::from_millis(1),
            _ => return None,
        };
        // `30m1h` and `5m5m` are typing mistakes.
        if unit >= last_unit {
            return None;
        }
        last_unit = unit;
        sum = sum.checked_add(unit.checked_mul(number)?)?;
        rest = behind;
    }
    (last_unit != Duration::MAX).then_some(sum)
}

fn split_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let millis = duration.subsec_millis();
    if seconds == 0 && millis > 0 {
        return format!("{millis}ms");
    }
    // Days are used from two days on; 24h reads better than 1d.
    let days = if seconds >= 2 * DAY { seconds / DAY } else { 0 };
    let rest = seconds - days * DAY;
    let parts = [
        (days, "d"),
        (rest / 3600, "h"),
        (rest / 60 % 60, "m"),
        (rest % 60, "s"),
        (millis.into(), "ms"),
    ];
    let shown: String = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    if shown.is_empty() {
        "0s".to_owned()
    } else {
        shown
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

const UNITS: [(&str, u64); 7] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];

impl Size {
    /// The bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// The bytes as a length in memory, at most `usize::MAX`.
    pub fn len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Whether it is zero.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<u64> for Size {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl Setting for Size {
    fn wanted() -> String {
        "a size such as 64MiB, 512KiB or plain bytes".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        match &node.value {
            Value::Int(bytes) => u64::try_from(*bytes)
                .map(Self)
                .map_err(|_| Wrong::kind::<Self>(node)),
            _ => from_text(node, parse_size),
        }
    }

    fn show(&self) -> String {
        let binary = UNITS.iter().filter(|(name, _)| name.ends_with("iB"));
        let mut fitting = binary.filter(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit));
        match fitting.next() {
            Some((name, unit)) => format!("{}{name}", self.0 / unit),
            None => self.0.to_string(),
        }
    }
}

fn parse_size(text: &str) -> Option<Size> {
    let unit = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let (number, unit) = unit.unwrap_or((text, 1));
    number
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)
        .map(Size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let seconds = |text| parse_duration(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("30m"), Some(1800.0));
        assert_eq!(seconds("1h30m"), Some(5400.0));
        assert_eq!(seconds("1h 30m"), Some(5400.0));
        assert_eq!(seconds("500ms"), Some(0.5));
        assert_eq!(seconds("300"), Some(300.0));
        assert_eq!(seconds("0s"), Some(0.0));
        for bad in [
            "",
            "m",
            "5",
            "-5s",
            "5x",
            "30m1h",
            "5m5m",
            "1.5h",
            "99999999999h",
            "s5",
        ] {
            assert_eq!(seconds(bad), (bad == "5").then_some(5.0), "{bad}");
        }
    }

    #[test]
    fn a_shown_duration_is_read_back() {
        for text in [
            "0s", "500ms", "1s500ms", "1m30s", "24h", "30d", "2d3h", "1h",
        ] {
            let duration = parse_duration(text).expect("readable");
            assert_eq!(show_duration(duration), text);
        }
    }

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(parse_size("64MiB").map(Size::bytes), Some(64 << 20));
        assert_eq!(parse_size("2 kB").map(Size::bytes), Some(2000));
        assert_eq!(parse_size("MiB"), None);
        assert_eq!(parse_size("99999999999TiB"), None);
        assert_eq!(Size(64 << 20).show(), "64MiB");
        assert_eq!(Size(1000).show(), "1000");
    }
}
