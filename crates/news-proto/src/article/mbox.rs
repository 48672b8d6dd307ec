//! Articles as a mailbox, so that a mail program opens a whole thread.
//!
//! The form is mboxrd: every line of `From ` with any number of `>` before it gets one more, so
//! that a reader can take it off again and nothing is lost.

use crate::date::asctime;

/// Adds an article to a mailbox. `sender` and `seconds` are what mail programs show for it in the
/// line before it; a sender that does not fit there is left out.
///
/// Line ends become single line feeds, as files on Unix have them.
pub fn write_mbox(out: &mut Vec<u8>, raw: &[u8], sender: &str, seconds: i64) {
    let fits =
        (1..=320).contains(&sender.len()) && sender.bytes().all(|byte| byte.is_ascii_graphic());
    let sender = if fits { sender } else { "MAILER-DAEMON" };
    out.extend_from_slice(format!("From {sender} {}\n", asctime(seconds)).as_bytes());
    let mut lines = raw.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        // What comes after the last line feed is no line.
        if line.is_empty() && lines.peek().is_none() {
            break;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let marks = line.iter().take_while(|byte| **byte == b'>').count();
        if line[marks..].starts_with(b"From ") {
            out.push(b'>');
        }
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_has_an_envelope_and_no_other_line_looks_like_one() {
        let mut out = Vec::new();
        let raw = b"Subject: x\r\n\r\nFrom me\r\n>From you\r\nfrom all";
        write_mbox(&mut out, raw, "mira@river.example", 1_794_736_800);
        let expected = "From mira@river.example Sun Nov 15 10:00:00 2026\nSubject: x\n\n>From me\n>>From you\nfrom all\n\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn a_sender_cannot_add_lines() {
        let mut out = Vec::new();
        write_mbox(&mut out, b"", "a b\nFrom c", i64::MIN);
        assert_eq!(out, b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n\n");
    }
}
