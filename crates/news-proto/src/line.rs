//! Single lines from a connection: the first line of an answer, and commands.
//!
//! The counterpart of [`crate::block::BlockReader`] for what is one line long; what the line means
//! is left to [`crate::reply`] and [`crate::command`].

use memchr::memchr;

use crate::block::Fed;
use crate::error::Error;

/// Reads one line that arrives in pieces, looking at each byte once. A line that is too long is
/// skipped to its end, so that it can be answered and the next one be read.
#[derive(Clone, Debug)]
pub struct LineReader {
    line: Vec<u8>,
    max: usize,
    over: bool,
    done: bool,
}

impl LineReader {
    /// A reader of lines of at most this many octets, their ends included.
    pub fn new(max: usize) -> Self {
        Self {
            line: Vec::new(),
            max,
            over: false,
            done: false,
        }
    }

    /// Takes a piece of input up to the end of the line; nothing more after that.
    pub fn feed(&mut self, input: &[u8]) -> Fed {
        if self.done {
            return Fed {
                used: 0,
                done: true,
            };
        }
        let end = memchr(b'\n', input);
        let used = end.map_or(input.len(), |end| end + 1);
        self.done = end.is_some();
        let room = self.max - self.line.len();
        self.over |= used > room;
        self.line.extend_from_slice(&input[..used.min(room)]);
        Fed {
            used,
            done: self.done,
        }
    }

    /// The line without its end, once it is there.
    pub fn line(&self) -> Result<&[u8], Error> {
        if self.over {
            return Err(Error::LineTooLong);
        }
        let line = self.line.strip_suffix(b"\n").ok_or(Error::Incomplete)?;
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Forgets the line and begins with the next one, in the same memory.
    pub fn clear(&mut self) {
        self.line.clear();
        (self.over, self.done) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_be_cut_anywhere() {
        let input = b"GROUP a\r\nOVER\n\r\n";
        for size in 1..=input.len() {
            let mut reader = LineReader::new(9);
            let mut lines = Vec::new();
            for mut piece in input.chunks(size) {
                while !piece.is_empty() {
                    let fed = reader.feed(piece);
                    piece = &piece[fed.used..];
                    if fed.done {
                        lines.push(reader.line().unwrap().to_vec());
                        reader.clear();
                    }
                }
            }
            assert_eq!(lines, [&b"GROUP a"[..], b"OVER", b""], "{size}");
        }
    }

    #[test]
    fn too_long_line_is_skipped_and_costs_no_memory() {
        let mut reader = LineReader::new(8);
        for _ in 0..1_000 {
            assert!(!reader.feed(b"no end ").done);
        }
        assert_eq!(reader.line(), Err(Error::LineTooLong));
        let end = Fed {
            used: 5,
            done: true,
        };
        assert_eq!(reader.feed(b"end\r\nDATE\r\n"), end);
        assert_eq!(reader.feed(b"DATE\r\n").used, 0);
        assert_eq!(reader.line(), Err(Error::LineTooLong));
        assert!(reader.line.capacity() < 100);
        reader.clear();
        assert!(reader.feed(b"DATE\r\n").done);
        assert_eq!(reader.line(), Ok(&b"DATE"[..]));
    }

    #[test]
    fn line_of_exactly_the_limit_is_read() {
        let mut reader = LineReader::new(6);
        assert!(reader.feed(b"DATE\r\n").done && reader.line().is_ok());
        let mut reader = LineReader::new(5);
        assert!(reader.feed(b"DATE\r\n").done && reader.line().is_err());
    }

    #[test]
    fn half_a_line_is_not_handed_out() {
        let mut reader = LineReader::new(100);
        assert!(!reader.feed(b"DATE\r").done);
        assert_eq!(reader.line(), Err(Error::Incomplete));
    }
}
