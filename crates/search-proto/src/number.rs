//! Numbers as feeds have them: plain, with separators, decimals or units.

/// Reads a size in bytes: `1234`, `1234.0`, `1,234,567`, `1.4 GB`, `700 MiB`; zero is no size.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u64>() {
        return (number > 0).then_some(number);
    }
    if text.len() > 40 || !text.is_ascii() || text.starts_with(['-', '+']) {
        return None;
    }
    let (digits, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(end) if !text[end..].starts_with(['e', 'E']) => text.split_at(end),
        _ => (text, ""),
    };
    let bytes = decimal(digits)? * factor(unit.trim())?;
    // The cast stops at both ends.
    (bytes >= 1.0).then_some(bytes.round() as u64)
}

/// Reads a count, such as of seeders.
pub(crate) fn count(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.min(u32::MAX.into()) as u32);
    }
    if text.trim_matches(['0', '.', ',']).is_empty() && text.starts_with('0') {
        return Some(0);
    }
    size(text).map(|number| number.min(u32::MAX.into()) as u32)
}

/// A number with points, commas, spaces or apostrophes; the last one that cannot separate
/// thousands is the decimal point.
fn decimal(text: &str) -> Option<f64> {
    let compact: String = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '\'' | '_'))
        .collect();
    let (points, commas) = (compact.matches('.').count(), compact.matches(',').count());
    let plain = match (points, commas) {
        (2.., 0) => compact.replace('.', ""),
        (0, 1) if !thousands(&compact, ',') => compact.replace(',', "."),
        (1, 1..) if compact.rfind(',') > compact.find('.') => {
            compact.replace('.', "").replace(',', ".")
        }
        _ => compact.replace(',', ""),
    };
    let number: f64 = plain.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn thousands(text: &str, separator: char) -> bool {
    text.split(separator).skip(1).all(|group| group.len() == 3)
}

fn factor(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let power = match unit.as_str() {
        "" | "b" | "byte" | "bytes" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return None,
    };
    // Indexers that write units count in 1,024s, whatever they call it.
    Some(1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_all_forms() {
        for (text, expected) in [
            ("1234567", 1_234_567),
            (" 1234567 ", 1_234_567),
            ("18446744073709551615", u64::MAX),
            ("1234567.0", 1_234_567),
            ("1234567.6", 1_234_568),
            ("1,234,567", 1_234_567),
            ("1.234.567", 1_234_567),
            ("1 234 567", 1_234_567),
            ("1'234'567", 1_234_567),
            ("1,234", 1_234),
            ("1,234.0", 1_234),
            ("1.234,0", 1_234),
            ("1.5E9", 1_500_000_000),
            ("1.5 GB", 1_610_612_736),
            ("1,5 GiB", 1_610_612_736),
            ("700MB", 734_003_200),
            ("12 bytes", 12),
            ("99999999999999999999", u64::MAX),
        ] {
            assert_eq!(size(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_none() {
        for text in [
            "", "0", "-1", "+1.0", "GB", "N/A", "1 parsec", "1e999", "nan", "inf", "0.2", "١٢",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn counts_may_be_zero_and_stop_at_the_top() {
        assert_eq!(count("0"), Some(0));
        assert_eq!(count("0.0"), Some(0));
        assert_eq!(count("1,234"), Some(1_234));
        assert_eq!(count("99999999999"), Some(u32::MAX));
        assert_eq!(count("-5"), None);
        assert_eq!(count("many"), None);
    }
}
