//! The fields of an article's head as bytes, enough to make an overview of them. Articles for people
//! are read by [`crate::article`].

use memchr::memchr;

/// The fields of a head in order: name, and raw value with its folds. Ends at the empty
/// line before a body, if there is one; lines that belong to no field are skipped.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = head;
    std::iter::from_fn(move || {
        loop {
            let line = &rest[..line_end(rest)];
            if line.trim_ascii_end().is_empty() {
                return None;
            }
            let mut end = line.len();
            while let Some(b' ' | b'\t') = rest.get(end) {
                end += line_end(&rest[end..]);
            }
            let field = &rest[..end];
            rest = &rest[end..];
            // A fold without a field before it has its white space in front of any colon.
            if let Some(colon) = memchr(b':', line)
                && !line[..colon].is_empty()
                && line[..colon].iter().all(u8::is_ascii_graphic)
            {
                return Some((&field[..colon], field[colon + 1..].trim_ascii()));
            }
        }
    })
}

/// Appends a value on one line: a fold loses its line end and keeps its white space, and what else
/// would end the line or the field becomes a space (RFC 3977 §8.3.2).
pub(crate) fn unfold(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(end) = memchr(b'\n', rest) {
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        crate::text::clean(line, out);
        rest = &rest[end + 1..];
    }
    crate::text::clean(rest, out);
}

/// Where the first line ends, its LF included.
fn line_end(bytes: &[u8]) -> usize {
    memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(head: &str) -> Vec<(String, String)> {
        let fields = fields(head.as_bytes()).map(|(name, value)| {
            let mut line = Vec::new();
            unfold(value, &mut line);
            (
                String::from_utf8_lossy(name).into_owned(),
                String::from_utf8_lossy(&line).into_owned(),
            )
        });
        fields.collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn folds_belong_to_their_field_and_the_body_to_none() {
        let head = "Subject: a\r\n long\r\n\t one\r\nFrom:b\nX-Empty:\r\n\r\nBody: no\r\n";
        let expected = [
            pair("Subject", "a long  one"),
            pair("From", "b"),
            pair("X-Empty", ""),
        ];
        assert_eq!(all(head), expected);
        assert_eq!(all("A: b"), [pair("A", "b")]);
        assert_eq!(all(""), []);
    }

    #[test]
    fn lines_that_are_no_field_are_skipped() {
        let head = " fold: of nothing\r\nno colon\r\n: no name\r\nodd name: x\r\nA: b:c\r\n";
        assert_eq!(all(head), [pair("A", "b:c")]);
    }

    #[test]
    fn tabs_and_controls_in_values_become_spaces() {
        assert_eq!(all("A: b\tc\rd\0e\r\n"), [pair("A", "b c d e")]);
    }
}
