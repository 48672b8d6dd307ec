//! Blocks as they are sent: dots stuffed, every line ended with CRLF.

use memchr::memchr;

/// Writes one block, in as many pieces as there are, into buffers that are sent in between.
///
/// A bare LF becomes CRLF: a receiver that takes it for a line end and one that does not would
/// otherwise disagree on where the block ends.
#[derive(Clone, Debug)]
pub struct BlockWriter {
    at_start: bool,
    after_cr: bool,
}

impl Default for BlockWriter {
    fn default() -> Self {
        Self {
            at_start: true,
            after_cr: false,
        }
    }
}

impl BlockWriter {
    /// A writer at the start of a block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a piece of content, which may begin and end anywhere in a line.
    pub fn piece(&mut self, content: &[u8], out: &mut Vec<u8>) {
        out.reserve(content.len());
        let mut rest = content;
        while let Some(first) = rest.first() {
            if self.at_start && *first == b'.' {
                out.push(b'.');
            }
            let Some(end) = memchr(b'\n', rest) else {
                out.extend_from_slice(rest);
                self.at_start = false;
                self.after_cr = rest.ends_with(b"\r");
                return;
            };
            let line = &rest[..end];
            out.extend_from_slice(line);
            let ended = if end == 0 {
                self.after_cr
            } else {
                line.ends_with(b"\r")
            };
            out.extend_from_slice(if ended { b"\n" } else { b"\r\n" });
            (self.at_start, self.after_cr) = (true, false);
            rest = &rest[end + 1..];
        }
    }

    /// Appends one line, given without its end.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        self.piece(line, out);
        self.piece(b"\r\n", out);
    }

    /// Ends the last line if need be, and the block.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if !self.at_start {
            self.piece(b"\n", out);
        }
        out.extend_from_slice(b".\r\n");
    }
}

/// Appends a whole block.
pub fn write_block(content: &[u8], out: &mut Vec<u8>) {
    let mut writer = BlockWriter::new();
    writer.piece(content, out);
    writer.finish(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_block(content, &mut out);
        out
    }

    #[test]
    fn dots_at_line_starts_are_doubled() {
        assert_eq!(
            written(b".\r\n..a\r\na.b\r\n"),
            b"..\r\n...a\r\na.b\r\n.\r\n"
        );
    }

    #[test]
    fn empty_block_is_a_lone_dot() {
        assert_eq!(written(b""), b".\r\n");
    }

    #[test]
    fn body_without_a_final_line_end_gets_one() {
        assert_eq!(written(b"a"), b"a\r\n.\r\n");
        assert_eq!(written(b"a\r"), b"a\r\n.\r\n");
        assert_eq!(written(b"a\r\n\r\n"), b"a\r\n\r\n.\r\n");
    }

    #[test]
    fn bare_lf_cannot_end_the_block_early() {
        assert_eq!(written(b"a\n.\nPOST\n"), b"a\r\n..\r\nPOST\r\n.\r\n");
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let content = b"a\r\n.b\n..\r\r\n\n.c\r\n.";
        for first in 0..=content.len() {
            for second in first..=content.len() {
                let (mut writer, mut out) = (BlockWriter::new(), Vec::new());
                for piece in [
                    &content[..first],
                    &content[first..second],
                    &content[second..],
                ] {
                    writer.piece(piece, &mut out);
                }
                writer.finish(&mut out);
                assert_eq!(out, written(content), "{first} {second}");
            }
        }
    }

    #[test]
    fn lines_are_ended_and_stuffed() {
        let (mut writer, mut out) = (BlockWriter::new(), Vec::new());
        writer.line(b".hidden", &mut out);
        writer.line(b"", &mut out);
        writer.finish(&mut out);
        assert_eq!(out, b"..hidden\r\n\r\n.\r\n");
    }
}
