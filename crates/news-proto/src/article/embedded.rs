//! Files inside the text itself, in uuencode or yEnc: found and named, neither decoded nor shown.
//!
//! Works on bytes, before a character set is chosen: a file in yEnc would spoil any guess.

use std::ops::Range;

use super::attachment::safe_name;
use super::charset;
use super::field::line_at;

/// Full lines of uuencode in a row that are taken for a file without its first line: the middle of
/// one that was posted in several articles.
const LINES: usize = 8;

/// A file inside a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// How it is encoded.
    pub encoding: Encoding,
    /// Its name, as safe as that of an attachment; empty if it is not said here.
    pub name: String,
    /// How many bytes the whole file has as yEnc says, or this piece of it by its lines.
    pub size: Option<u64>,
    /// Which piece of the file this is, from 1, if it was split.
    pub part: Option<u32>,
    /// How many pieces there are, if that is said.
    pub total: Option<u32>,
    /// Whether its last line is there.
    pub is_complete: bool,
}

/// How a file was put into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `begin 644 name`
    Uuencode,
    /// `=ybegin line=128 size=… name=…`
    Yenc,
}

/// A stretch of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    Text(Range<usize>),
    File(Embedded),
}

/// Splits a body into text and files.
pub(super) fn split(body: &[u8]) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < body.len() {
        let (line, next) = line_at(body, at);
        let found = match line {
            [b'=', b'y', b'b', ..] => yenc(body, line, next),
            [b'b', b'e', b'g', ..] => uuencode(body, line, next),
            [b'M', ..] => headless(body, at),
            _ => None,
        };
        let Some((file, end)) = found else {
            at = next;
            continue;
        };
        if start < at {
            stretches.push(Stretch::Text(start..at));
        }
        stretches.push(Stretch::File(file));
        (start, at) = (end, end);
    }
    if start < body.len() {
        stretches.push(Stretch::Text(start..body.len()));
    }
    stretches
}

/// `=ybegin part=1 total=3 line=128 size=500000 name=a file.bin`
fn yenc(body: &[u8], line: &[u8], next: usize) -> Option<(Embedded, usize)> {
    let parameters = line.strip_prefix(b"=ybegin ")?;
    // The name comes last and may hold anything.
    let at = parameters.windows(5).position(|five| five == b"name=")?;
    let (numbers, name) = (&parameters[..at], &parameters[at + 5..]);
    let number = |name: &str| {
        let words = numbers.split(|byte| *byte == b' ');
        let mut values =
            words.filter_map(|word| std::str::from_utf8(word).ok()?.strip_prefix(name));
        values.next()?.strip_prefix('=')?.parse::<u64>().ok()
    };
    let (size, _) = (number("size")?, number("line")?);
    // Without an end, no more is taken for the file than it can have, two characters a byte and
    // the line ends: what comes after it is text that must not be hidden.
    let most = size.saturating_mul(3).saturating_add(1_024);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut end, mut is_complete) = (next, false);
    while end < body.len() && end - next < most && !is_complete {
        let (line, after) = line_at(body, end);
        is_complete = line.starts_with(b"=yend");
        end = after;
    }
    let small = |number: u64| u32::try_from(number).ok();
    let file = Embedded {
        encoding: Encoding::Yenc,
        name: name_of(name),
        size: Some(size),
        part: number("part").and_then(small),
        total: number("total").and_then(small),
        is_complete,
    };
    Some((file, end))
}

/// `begin 644 name`, followed by at least one line that can be uuencode: plain text also has lines
/// that start with "begin".
fn uuencode(body: &[u8], line: &[u8], next: usize) -> Option<(Embedded, usize)> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (begin, mode, name) = (words.next()?, words.next()?, words.next()?);
    let is_mode =
        (3..=4).contains(&mode.len()) && mode.iter().all(|byte| matches!(byte, b'0'..=b'7'));
    if begin != b"begin" || !is_mode || name.trim_ascii().is_empty() {
        return None;
    }
    let (first, _) = line_at(body, next);
    (first == b"end" || encoded(first).is_some()).then(|| lines(body, next, name_of(name)))
}

/// Lines of uuencode without their first one.
fn headless(body: &[u8], start: usize) -> Option<(Embedded, usize)> {
    let mut at = start;
    for _ in 0..LINES {
        let (line, next) = line_at(body, at);
        let is_full = line.first() == Some(&b'M') && encoded(line) == Some(45);
        if !is_full {
            return None;
        }
        at = next;
    }
    Some(lines(body, start, String::new()))
}

/// Takes lines as long as they are uuencode.
fn lines(body: &[u8], start: usize, name: String) -> (Embedded, usize) {
    let (mut end, mut size, mut is_complete) = (start, 0, false);
    while end < body.len() {
        let (line, next) = line_at(body, end);
        if line.trim_ascii_end() == b"end" {
            (end, is_complete) = (next, true);
            break;
        }
        // The empty line before the end may have lost its space.
        match encoded(line) {
            Some(bytes) => size += bytes,
            None if line.is_empty() && body[next..].starts_with(b"end") => {}
            None => break,
        }
        end = next;
    }
    let (part, total) = (None, None);
    let file = Embedded {
        encoding: Encoding::Uuencode,
        name,
        size: Some(size),
        part,
        total,
        is_complete,
    };
    (file, end)
}

/// How many bytes a line of uuencode holds, if it is one.
fn encoded(line: &[u8]) -> Option<u64> {
    let (length, text) = line.split_first()?;
    let fits = |byte: &u8| matches!(byte, b' '..=b'`');
    if !fits(length) || !text.iter().all(fits) {
        return None;
    }
    let bytes = usize::from((length - b' ') & 0x3F);
    let characters = bytes.div_ceil(3) * 4;
    // Some programs add a check character, others lose spaces at the end of a line.
    let is_right = text.len() <= characters + 2 && text.len() + 4 >= characters;
    is_right.then_some(bytes as u64)
}

fn name_of(raw: &[u8]) -> String {
    let raw = &raw[..raw.len().min(1_000)];
    safe_name(&charset::unlabelled(raw, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(body: &[u8]) -> (String, Vec<Embedded>) {
        let (mut text, mut files) = (String::new(), Vec::new());
        for stretch in split(body) {
            match stretch {
                Stretch::Text(range) => text.push_str(&String::from_utf8_lossy(&body[range])),
                Stretch::File(file) => files.push(file),
            }
        }
        (text, files)
    }

    #[test]
    fn yenc_is_named_with_its_part() {
        let body = b"see:\r\n=ybegin part=2 total=3 line=128 size=900 name=../a b.bin\r\n\
                     =ypart begin=301 end=600\r\n\xAA\xBB=n\xCC\r\n=yend size=300 part=2\r\nbye";
        let (text, files) = files(body);
        assert_eq!(text, "see:\r\nbye");
        let expected = Embedded {
            encoding: Encoding::Yenc,
            name: "a b.bin".into(),
            size: Some(900),
            part: Some(2),
            total: Some(3),
            is_complete: true,
        };
        assert_eq!(files, [expected]);
    }

    #[test]
    fn yenc_without_an_end_hides_no_more_than_its_size() {
        let body = format!(
            "=ybegin line=128 size=10 name=x\n{}",
            "text\n".repeat(1_000)
        );
        let (text, files) = files(body.as_bytes());
        assert!(!files[0].is_complete);
        assert!(text.len() > 3_900, "{}", text.len());
    }

    #[test]
    fn uuencode_is_named_and_measured() {
        let body = b"hello\nbegin 644 a.txt\n%:&5L;&\\\n`\nend\nbye\n";
        let (text, files) = files(body);
        assert_eq!(text, "hello\nbye\n");
        assert_eq!(
            (files[0].name.as_str(), files[0].size, files[0].is_complete),
            ("a.txt", Some(5), true)
        );
    }

    #[test]
    fn text_that_begins_with_begin_stays_text() {
        for body in [
            "begin 644 the day\nwith a walk\n",
            "begin  with\n",
            "begin\n",
            "=ybegin \n",
            "Mmm\n",
            "My\nM\n",
        ] {
            assert_eq!(files(body.as_bytes()), (body.to_owned(), vec![]), "{body}");
        }
    }

    #[test]
    fn the_middle_of_a_file_is_recognised() {
        let line = format!("M{}\n", "A".repeat(60));
        let (text, files) = files(format!("x\n{}y\n", line.repeat(20)).as_bytes());
        assert_eq!(text, "x\ny\n");
        assert_eq!(
            (files[0].name.as_str(), files[0].size, files[0].is_complete),
            ("", Some(900), false)
        );
    }
}
