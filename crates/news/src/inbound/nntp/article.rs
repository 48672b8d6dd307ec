//! An article as our own server sends it: with us in front of its path, and with our own numbers in Xref.

use memchr::memchr;

/// What a path ends with if an article has none (RFC 5536, section 3.1.5).
const TAIL: &str = "not-for-mail";

/// Where the body of an article begins: after the first empty line. At its end, if there is none.
pub(super) fn body_at(article: &[u8]) -> usize {
    let mut at = 0;
    while let Some(end) = memchr(b'\n', &article[at..]) {
        let line = &article[at..at + end];
        at += end + 1;
        if line.is_empty() || line == b"\r" {
            return at;
        }
    }
    article.len()
}

/// Appends the head of an article, without the empty line after it. `head` may go on to its body. `xref` is the value of its
/// Xref; what other servers wrote there means nothing to a reader of ours.
pub(super) fn write_head(head: &[u8], host: &str, xref: Option<&str>, out: &mut Vec<u8>) {
    let mut rest = &head[..body_at(head)];
    let mut path_is_written = false;
    while !rest.is_empty() {
        let (field, after) = rest.split_at(field_end(rest));
        rest = after;
        if field.trim_ascii().is_empty() {
            break;
        }
        if is_named(field, b"Xref") {
            continue;
        }
        match is_named(field, b"Path") && !path_is_written {
            true => {
                let value = field["Path:".len()..].trim_ascii();
                out.extend_from_slice(b"Path: ");
                out.extend_from_slice(host.as_bytes());
                out.push(b'!');
                match value {
                    [] => out.extend_from_slice(TAIL.as_bytes()),
                    value => out.extend_from_slice(value),
                }
                path_is_written = true;
            }
            false => out.extend_from_slice(field.trim_ascii_end()),
        }
        out.extend_from_slice(b"\r\n");
    }
    if !path_is_written {
        out.extend_from_slice(format!("Path: {host}!{TAIL}\r\n").as_bytes());
    }
    if let Some(xref) = xref {
        out.extend_from_slice(format!("Xref: {xref}\r\n").as_bytes());
    }
}

/// The value of a field of an article's head on one line; the first of its name.
pub(super) fn field(head: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut rest = &head[..body_at(head)];
    while !rest.is_empty() {
        let (field, after) = rest.split_at(field_end(rest));
        rest = after;
        if is_named(field, name.as_bytes()) {
            let value = field[name.len() + 1..].trim_ascii();
            let lines = value.split(|byte| *byte == b'\n');
            let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            return Some(lines.collect::<Vec<_>>().concat());
        }
    }
    None
}

/// Where the first field of a head ends, with its folds and the ends of its lines.
fn field_end(head: &[u8]) -> usize {
    let mut end = 0;
    loop {
        end += memchr(b'\n', &head[end..]).map_or(head.len() - end, |line| line + 1);
        if !matches!(head.get(end), Some(b' ' | b'\t')) {
            return end;
        }
    }
}

fn is_named(field: &[u8], name: &[u8]) -> bool {
    match field.split_at_checked(name.len()) {
        Some((start, rest)) => start.eq_ignore_ascii_case(name) && rest.starts_with(b":"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(article: &str, xref: Option<&str>) -> String {
        let mut out = Vec::new();
        write_head(article.as_bytes(), "us.example", xref, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn we_are_first_in_the_path_and_xref_is_ours() {
        let article =
            "Path: them!from\r\nXREF: them a:7\r\n b:8\r\nSubject: x\r\n\ty\r\n\r\nPath: body\r\n";
        assert_eq!(
            written(article, Some("us.example a:1")),
            "Path: us.example!them!from\r\nSubject: x\r\n\ty\r\nXref: us.example a:1\r\n"
        );
    }

    #[test]
    fn a_path_that_is_missing_or_empty_ends_as_paths_end() {
        assert_eq!(
            written("Subject: x\n\nbody", None),
            "Subject: x\r\nPath: us.example!not-for-mail\r\n"
        );
        assert_eq!(
            written("Path:\r\nPath: two\r\n", None),
            "Path: us.example!not-for-mail\r\nPath: two\r\n"
        );
        assert_eq!(written("", None), "Path: us.example!not-for-mail\r\n");
    }

    #[test]
    fn a_folded_path_stays_in_one_field() {
        assert_eq!(
            written("Path: a!\r\n b!c\r\nX: y\r\n", None),
            "Path: us.example!a!\r\n b!c\r\nX: y\r\n"
        );
    }

    #[test]
    fn bodies_begin_after_the_first_empty_line() {
        for (article, body) in [
            ("A: b\r\n\r\nc\r\n\r\nd", "c\r\n\r\nd"),
            ("A: b\n\nc", "c"),
            ("A: b\r\n", ""),
            ("A: b", ""),
            ("\r\nc", "c"),
            ("", ""),
        ] {
            assert_eq!(&article[body_at(article.as_bytes())..], body, "{article:?}");
        }
    }

    #[test]
    fn values_are_unfolded() {
        let head = b"Subject: a\r\n\tb\n c\r\nsubject: no\r\n\r\nFrom: body";
        assert_eq!(field(head, "SUBJECT").unwrap(), b"a\tb c");
        assert_eq!(field(head, "From"), None);
        assert_eq!(field(head, "Sub"), None);
    }
}
