//! One answer of a server: a line with a code and, after some, a block.

use bytes::{Buf, Bytes, BytesMut};
use weir_news_proto::reply::MAX_READ;
use weir_news_proto::{BlockReader, Reply, Verb};

use crate::judge::NewsFault;

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// What follows the code.
    pub(crate) text: Bytes,
    /// The block without its end and its stuffing; empty where there is none.
    pub(crate) block: Bytes,
}

impl Answer {
    /// The line, for what the protocol crate reads from it.
    pub(crate) fn reply(&self) -> Reply<'_> {
        Reply {
            code: self.code,
            text: &self.text,
        }
    }

    /// The fault that it tells of.
    pub(crate) fn fault(&self) -> NewsFault {
        NewsFault::of_code(self.code, self.reply().message())
    }

    /// The block, if the code is the good one.
    pub(crate) fn block_of(self, code: u16) -> Result<Bytes, NewsFault> {
        match self.code == code {
            true => Ok(self.block),
            false => Err(self.fault()),
        }
    }

    /// The lines of the block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines(&self.block)
    }
}

/// The lines of a block without their ends.
pub fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = block.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// Reads one answer from what arrives.
pub(super) struct AnswerReader {
    verb: Verb,
    limit: usize,
    /// Bytes beyond the limit that are skipped so that the connection can go on; then it is cheaper to open another.
    skips: usize,
    line: Option<(u16, Bytes)>,
    block: BlockReader,
}

impl AnswerReader {
    /// For the answer to a command; a block has at most `limit` bytes.
    pub(super) fn new(verb: Verb, limit: usize) -> Self {
        Self {
            verb,
            limit,
            skips: limit.max(1 << 20),
            line: None,
            block: BlockReader::new(limit),
        }
    }

    /// Takes what has arrived, up to the end of the answer. `Ok(None)` if more is to come; an answer that is too long is
    /// a fault of its own, after which the connection can go on.
    ///
    /// # Errors
    /// What makes the connection useless: nobody knows where the next answer begins.
    pub(super) fn take(
        &mut self,
        arrived: &mut BytesMut,
    ) -> Result<Option<Result<Answer, NewsFault>>, NewsFault> {
        let (code, text) = match &self.line {
            Some(line) => line.clone(),
            None => {
                let Some(end) = arrived.iter().position(|byte| *byte == b'\n') else {
                    return match arrived.len() > MAX_READ {
                        true => Err(NewsFault::Garbled("a line has no end".to_owned())),
                        false => Ok(None),
                    };
                };
                let line = arrived.split_to(end + 1).freeze();
                let reply = Reply::parse(&line);
                let reply = reply.map_err(|error| NewsFault::Garbled(error.to_string()))?;
                let text = line.slice_ref(reply.text);
                self.line.insert((reply.code, text)).clone()
            }
        };
        if !self.verb.carries_block(code) {
            return Ok(Some(Ok(self.whole(code, text, Vec::new()))));
        }
        let fed = self.block.feed(arrived);
        arrived.advance(fed.used);
        if self.block.is_over() {
            self.skips = self.skips.saturating_sub(fed.used);
            if self.skips == 0 && !fed.done {
                return Err(NewsFault::Garbled(format!(
                    "a block does not end within {} bytes",
                    self.limit
                )));
            }
        }
        if !fed.done {
            return Ok(None);
        }
        let block = std::mem::replace(&mut self.block, BlockReader::new(0));
        Ok(Some(match block.into_bytes() {
            Ok(block) => Ok(self.whole(code, text, block)),
            Err(_) => Err(NewsFault::TooLong(self.limit)),
        }))
    }

    fn whole(&self, code: u16, text: Bytes, block: Vec<u8>) -> Answer {
        Answer {
            code,
            text,
            block: block.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the bytes one by one, and returns every answer with what is left.
    fn read(verb: Verb, limit: usize, bytes: &[u8]) -> (Vec<String>, usize) {
        let mut reader = AnswerReader::new(verb, limit);
        let mut arrived = BytesMut::new();
        let mut told = Vec::new();
        for (place, byte) in bytes.iter().enumerate() {
            arrived.extend_from_slice(&[*byte]);
            match reader.take(&mut arrived) {
                Ok(None) => continue,
                Ok(Some(Ok(answer))) => told.push(format!(
                    "{} {:?}",
                    answer.code,
                    String::from_utf8_lossy(&answer.block)
                )),
                Ok(Some(Err(fault))) | Err(fault) => told.push(fault.to_string()),
            }
            return (told, bytes.len() - place - 1);
        }
        (told, 0)
    }

    #[test]
    fn a_block_follows_only_where_the_command_has_one() {
        let bytes = b"211 3 1 3 a.b\r\n1\r\n.\r\n";
        let (told, left) = read(Verb::Group, 100, bytes);
        assert_eq!((told, left), (vec!["211 \"\"".to_owned()], 6));
        let (told, left) = read(Verb::ListGroup, 100, bytes);
        assert_eq!((told, left), (vec!["211 \"1\\r\\n\"".to_owned()], 0));
    }

    #[test]
    fn what_is_too_long_is_skipped_and_the_next_answer_is_found() {
        let bytes = b"222 0 <a@b>\r\n1234567890\r\n.\r\n430 no\r\n";
        let (told, left) = read(Verb::Body, 8, bytes);
        assert_eq!(told, ["its answer is longer than 8 bytes"]);
        assert_eq!(left, b"430 no\r\n".len());
    }

    #[test]
    fn a_line_without_end_makes_the_connection_useless() {
        let bytes = vec![b'2'; MAX_READ + 10];
        let (told, left) = read(Verb::Date, 8, &bytes);
        assert_eq!(told, ["its answer cannot be read: a line has no end"]);
        assert_eq!(left, 9);
    }
}
