//! Words of lines, and text that has to stay on its line.

/// Splits off the first word; white space around it is dropped. Empty at the end of the line.
pub(crate) fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    (word, rest.trim_ascii_start())
}

/// Splits off the first word as text; nothing if it is not UTF-8.
pub(crate) fn text_word(line: &[u8]) -> Option<(&str, &[u8])> {
    let (word, rest) = word(line);
    Some((std::str::from_utf8(word).ok()?, rest))
}

/// Appends a value with spaces for what would end it or its line: tab, CR, LF and NUL
/// (RFC 3977 §8.3.2).
pub(crate) fn clean(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value);
    for byte in &mut out[start..] {
        if matches!(byte, b'\t' | b'\r' | b'\n' | 0) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_any_white_space() {
        assert_eq!(word(b"  a \t b c "), (&b"a"[..], &b"b c"[..]));
        assert_eq!(word(b"a\r\n\tb"), (&b"a"[..], &b"b"[..]));
        assert_eq!(word(b"a"), (&b"a"[..], &b""[..]));
        assert_eq!(word(b" \t"), (&b""[..], &b""[..]));
    }

    #[test]
    fn what_ends_lines_and_fields_becomes_a_space() {
        let mut out = b"a\t".to_vec();
        clean(b"b\tc\rd\ne\0f \xff", &mut out);
        assert_eq!(out, b"a\tb c d e f \xff");
    }
}
