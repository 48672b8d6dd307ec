//! Headers as bytes: where each begins and ends, and where the body starts.
//!
//! What they mean is left to others. Each byte is looked at once, whatever the number and length of
//! headers; what is over a limit is skipped, not kept.

use super::characters;
use super::damage::{Damage, Report};
use super::limits;

/// One header as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Printable ASCII without a colon.
    pub(super) name: &'a str,
    /// What comes after the colon, with the line ends of a folded header.
    pub(super) value: &'a [u8],
}

/// The headers of an article or of a part.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    pub(super) fields: Vec<Field<'a>>,
    /// Where the body starts.
    pub(super) body: usize,
}

impl<'a> Section<'a> {
    /// Reads headers from `start` to an empty line, to a line for which `is_end` is true, or to one
    /// that is no header: that one starts the body, so that nothing is hidden from the reader.
    pub(super) fn read(
        raw: &'a [u8],
        start: usize,
        most: usize,
        is_end: impl Fn(&[u8]) -> bool,
        report: &mut Report,
    ) -> Self {
        let mut section = Self {
            fields: Vec::new(),
            body: start,
        };
        let mut kept = 0;
        while section.body < raw.len() {
            let (line, next) = line_at(raw, section.body);
            if line.is_empty() {
                section.body = next;
                break;
            }
            if is_end(line) {
                break;
            }
            let Some(name) = name_of(line) else {
                // The envelope of a mailbox is not part of the article.
                if section.body == start && line.starts_with(b"From ") {
                    section.body = next;
                    continue;
                }
                report.add(Damage::BrokenHeader);
                break;
            };
            let end = end_of_folds(raw, next);
            let value = &raw[section.body + name.len()..end];
            let value = value
                .trim_ascii_start()
                .strip_prefix(b":")
                .unwrap_or(value)
                .trim_ascii();
            section.body = end;
            if section.fields.len() == most || kept >= limits::HEAD_BYTES {
                report.add(Damage::TooManyHeaders);
                continue;
            }
            if value.len() > limits::HEADER_BYTES {
                report.add(Damage::LongHeader(characters::token(name.as_bytes())));
            }
            let value = &value[..value.len().min(limits::HEADER_BYTES)];
            kept += value.len();
            section.fields.push(Field { name, value });
        }
        section
    }

    /// The first header of this name; a second one of the same name is not believed.
    pub(super) fn first(&self, name: &str) -> Option<&'a [u8]> {
        let found = self
            .fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| field.value)
    }
}

/// The line that starts here, without its end, and where the next one starts.
pub(super) fn line_at(raw: &[u8], start: usize) -> (&[u8], usize) {
    let rest = &raw[start..];
    let (line, length) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&rest[..end], end + 1),
        None => (rest, rest.len()),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), start + length)
}

/// The name that a line starts with, if it is a header. White space before the colon is wrong but
/// seen.
fn name_of(line: &[u8]) -> Option<&str> {
    let length = line
        .iter()
        .position(|byte| !byte.is_ascii_graphic() || *byte == b':')?;
    let (name, rest) = line.split_at(length);
    let is_header = (1..=128).contains(&length) && rest.trim_ascii_start().starts_with(b":");
    is_header.then(|| std::str::from_utf8(name).ok()).flatten()
}

/// Skips the lines that begin with white space: they belong to the header before them.
fn end_of_folds(raw: &[u8], mut next: usize) -> usize {
    while matches!(raw.get(next), Some(b' ' | b'\t')) {
        next = line_at(raw, next).1;
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> (Vec<(String, String)>, Vec<u8>, Vec<Damage>) {
        let mut report = Report::default();
        let section = Section::read(raw, 0, 3, |line| line == b"--end", &mut report);
        let fields = section.fields.iter().map(|field| {
            (
                field.name.to_owned(),
                String::from_utf8_lossy(field.value).into_owned(),
            )
        });
        (
            fields.collect(),
            raw[section.body..].to_vec(),
            report.into_list(),
        )
    }

    #[test]
    fn headers_end_at_an_empty_line() {
        let (fields, body, damage) = read(b"A: 1\r\nB : 2\r\n  3\r\n\r\nbody");
        assert_eq!(
            fields,
            [("A".into(), "1".into()), ("B".into(), "2\r\n  3".into())]
        );
        assert_eq!((body.as_slice(), damage), (b"body".as_slice(), vec![]));
    }

    #[test]
    fn a_line_that_is_no_header_starts_the_body() {
        let (fields, body, damage) = read(b"A: 1\nhello there\nB: 2\n");
        assert_eq!(
            (fields.len(), body.as_slice()),
            (1, b"hello there\nB: 2\n".as_slice())
        );
        assert_eq!(damage, [Damage::BrokenHeader]);
    }

    #[test]
    fn what_ends_a_part_ends_its_headers() {
        assert_eq!(read(b"A: 1\n--end\nB: 2\n").1, b"--end\nB: 2\n");
    }

    #[test]
    fn headers_over_the_limit_are_skipped_and_reported() {
        let (fields, body, damage) = read(b"A: 1\nB: 2\nC: 3\nD: 4\n\nbody");
        assert_eq!((fields.len(), body.as_slice()), (3, b"body".as_slice()));
        assert_eq!(damage, [Damage::TooManyHeaders]);
        let long = format!("Subject: {}\n\nbody", "x".repeat(limits::HEADER_BYTES + 1));
        let (fields, _, damage) = read(long.as_bytes());
        assert_eq!(fields[0].1.len(), limits::HEADER_BYTES);
        assert_eq!(damage, [Damage::LongHeader("Subject".into())]);
    }

    #[test]
    fn the_envelope_of_a_mailbox_is_skipped() {
        assert_eq!(
            read(b"From me Thu Jan  1 00:00:00 1970\nA: 1\n\nx").0.len(),
            1
        );
    }
}
