//! Multi-line blocks: the part of a reply, or of a posted article, that ends with a lone dot.
//!
//! [`BlockReader`] is given bytes in whatever pieces a connection delivers and looks at each of them
//! once: it remembers where in a line the last piece ended, so the end is never searched from the
//! start again. [`BlockWriter`] is its inverse. What the lines mean is left to others.

use memchr::memchr;

use crate::error::Error;

mod writer;

pub use writer::{BlockWriter, write_block};

/// What became of a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes of the piece that belong to this block; the others belong to the next reply.
    pub used: usize,
    /// The block is complete.
    pub done: bool,
}

/// Reads one block: undoes the stuffing of dots and finds the end.
///
/// Lines may be taken while others are still to come, or the whole block when it is complete. A
/// line that ends with a bare LF is read as one, since some servers send them.
#[derive(Clone, Debug)]
pub struct BlockReader {
    /// Content without stuffing, line ends included; what was taken lies before `taken`.
    buffer: Vec<u8>,
    taken: usize,
    /// End of the last whole line in `buffer`.
    complete: usize,
    place: Place,
    /// Bytes of content that may still be kept.
    room: usize,
    limit: usize,
    over: bool,
    #[cfg(test)]
    looked_at: usize,
}

/// Where in a line the input so far ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    /// After a dot at the start, which is never content.
    Dot,
    /// After a dot and a CR at the start.
    DotCr,
    Middle,
    /// After the block.
    End,
}

/// Taken bytes that are moved out of the way only when there are this many.
const COMPACT_FROM: usize = 16 * 1024;

impl BlockReader {
    /// A reader that keeps at most this many bytes of content, line ends included.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            taken: 0,
            complete: 0,
            place: Place::Start,
            room: limit,
            limit,
            over: false,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// Takes a piece of input up to the end of the block.
    ///
    /// Beyond the limit nothing more is kept, but the end is still found, so that whoever waits for
    /// it can go on using the connection; [`Self::is_over`] tells.
    pub fn feed(&mut self, input: &[u8]) -> Fed {
        self.compact();
        let mut at = 0;
        while let Some(byte) = input.get(at)
            && self.place != Place::End
        {
            self.look(1);
            match (self.place, byte) {
                (Place::Start, b'.') => (self.place, at) = (Place::Dot, at + 1),
                (Place::Dot, b'\r') => (self.place, at) = (Place::DotCr, at + 1),
                (Place::Dot | Place::DotCr, b'\n') => (self.place, at) = (Place::End, at + 1),
                (Place::DotCr, _) => {
                    self.keep(b"\r");
                    self.place = Place::Middle;
                }
                _ => at += self.run(&input[at..]),
            }
        }
        Fed {
            used: at,
            done: self.place == Place::End,
        }
    }

    /// The next whole line without its end, if it is there.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        let lines = self.buffer.get(self.taken..self.complete)?;
        let end = memchr(b'\n', lines)?;
        #[cfg(test)]
        {
            self.looked_at += end + 1;
        }
        self.taken += end + 1;
        let line = &lines[..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Whether the block has more bytes than may be kept. The lines before that can be taken.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether it was complete and within the limit; to be asked after the last line was taken.
    pub fn finish(&self) -> Result<(), Error> {
        if self.over {
            return Err(Error::BlockTooLong(self.limit));
        }
        if self.place != Place::End {
            return Err(Error::Incomplete);
        }
        Ok(())
    }

    /// What was not taken as lines: the whole block for an article. Line ends are as they came.
    pub fn into_bytes(mut self) -> Result<Vec<u8>, Error> {
        self.finish()?;
        self.buffer.drain(..self.taken);
        Ok(self.buffer)
    }

    /// Keeps input up to the next line that starts with a dot, and says how long that is.
    fn run(&mut self, input: &[u8]) -> usize {
        let mut end = 0;
        let mut whole = None;
        self.place = loop {
            let Some(line) = memchr(b'\n', &input[end..]) else {
                self.look(input.len() - end);
                end = input.len();
                break Place::Middle;
            };
            self.look(line + 1);
            end += line + 1;
            whole = Some(end);
            if input.get(end).is_none_or(|byte| *byte == b'.') {
                break Place::Start;
            }
        };
        let before = self.buffer.len();
        let kept = self.keep(&input[..end]);
        match whole {
            Some(whole) if whole <= kept => self.complete = before + whole,
            // Cut off by the limit: the last line end that was kept is searched for once.
            Some(_) => {
                let last = memchr::memrchr(b'\n', &input[..kept]);
                self.complete = last.map_or(self.complete, |last| before + last + 1);
            }
            None => {}
        }
        end
    }

    /// Keeps as much of this as there is room for, and says how much.
    fn keep(&mut self, content: &[u8]) -> usize {
        let kept = content.len().min(self.room);
        self.buffer.extend_from_slice(&content[..kept]);
        self.room -= kept;
        if kept < content.len() {
            self.over = true;
            // A later piece must not follow what was cut off.
            self.room = 0;
        }
        kept
    }

    /// Drops lines that were taken, once they are as many bytes as those that have to be moved.
    fn compact(&mut self) {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
        } else if self.taken >= COMPACT_FROM && self.taken >= self.buffer.len() / 2 {
            self.buffer.drain(..self.taken);
        } else {
            return;
        }
        self.complete -= self.taken;
        self.taken = 0;
    }

    /// Counts the bytes that were looked at, for the test that this is linear.
    fn look(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.looked_at += _bytes;
        }
    }
}

#[cfg(test)]
mod tests;
