//! A connection that ends before a broken or hostile server can make us keep much: what comes is looked at as it passes,
//! and a reply that is too long, or no reply at all, is an error before it is gathered.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::shared::LONGEST_ANSWER;

/// The longest piece of a reply.
const LONGEST_PIECE: u64 = 2 * LONGEST_ANSWER as u64;

/// The longest line; those of errors are the longest.
const LONGEST_LINE: usize = 64 << 10;

/// Bytes of a whole reply.
const LONGEST_REPLY: u64 = 32 << 20;

/// Pieces of a whole reply.
const MOST_PIECES: u64 = 1_000_000;

/// Passes everything on, and reads along.
pub(super) struct Guard<S> {
    stream: S,
    eye: Eye,
}

impl<S> Guard<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            eye: Eye::default(),
        }
    }
}

/// Follows the form of replies (RESP 2) without keeping them.
#[derive(Default)]
struct Eye {
    /// The beginning of the present line: a type and a length.
    line: Vec<u8>,
    line_length: usize,
    /// Bytes of the present piece that are still to come.
    piece: u64,
    /// Pieces of the present reply that are still to come.
    pieces: u64,
    bytes: u64,
    seen: u64,
}

impl Eye {
    fn see(&mut self, mut bytes: &[u8]) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            if self.pieces == 0 {
                (self.pieces, self.bytes, self.seen) = (1, 0, 0);
            }
            let taken = if self.piece > 0 {
                let length = usize::try_from(self.piece).unwrap_or(usize::MAX);
                let taken = bytes.len().min(length);
                self.piece -= taken as u64;
                if self.piece == 0 {
                    self.pieces -= 1;
                }
                taken
            } else {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let taken = end.map_or(bytes.len(), |end| end + 1);
                self.line_length += taken;
                if self.line_length > LONGEST_LINE {
                    return Err("a line that is too long");
                }
                let room = 32_usize.saturating_sub(self.line.len());
                self.line.extend_from_slice(&bytes[..taken.min(room)]);
                if end.is_some() {
                    self.line()?;
                }
                taken
            };
            self.bytes += taken as u64;
            if self.bytes > LONGEST_REPLY {
                return Err("a reply that is too long");
            }
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    fn line(&mut self) -> Result<(), &'static str> {
        let line = std::mem::take(&mut self.line);
        self.line_length = 0;
        let kind = line.first().copied().unwrap_or_default();
        match kind {
            b'+' | b'-' | b':' => self.pieces -= 1,
            b'$' | b'*' => {
                let text = std::str::from_utf8(&line[1..]).ok();
                let length = text.and_then(|text| text.trim_end().parse::<i64>().ok());
                let length = length.filter(|length| *length >= -1);
                let length = length.ok_or("a length that is none")?;
                let length = u64::try_from(length).ok();
                self.pieces -= 1;
                match (kind, length) {
                    (_, None) => {}
                    (b'$', Some(length)) if length > LONGEST_PIECE => {
                        return Err("a piece that is too long");
                    }
                    (b'$', Some(length)) => {
                        self.pieces += 1;
                        self.piece = length + 2;
                    }
                    (_, Some(length)) if length > MOST_PIECES => return Err("too many pieces"),
                    (_, Some(length)) => {
                        self.pieces += length;
                        self.seen += length;
                        if self.seen > MOST_PIECES {
                            return Err("too many pieces");
                        }
                    }
                }
            }
            _ => return Err("something that is no reply"),
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = &read
            && let Err(what) = self.eye.see(&buf.filled()[before..])
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_pass_in_any_pieces() {
        let replies = b"+OK\r\n$5\r\na\r\nbc\r\n*3\r\n:1\r\n$-1\r\n*2\r\n$0\r\n\r\n-ERR no\r\n*0\r\n*-1\r\n:7\r\n";
        for size in 1..replies.len() {
            let mut eye = Eye::default();
            for piece in replies.chunks(size) {
                eye.see(piece).unwrap();
            }
            assert_eq!((eye.pieces, eye.piece, eye.line.len()), (0, 0, 0), "{size}");
        }
    }

    #[test]
    fn what_would_cost_much_is_an_error_at_once() {
        let bad: &[&[u8]] = &[
            b"$3000000\r\n",
            b"$99999999999999999999\r\n",
            b"$-7\r\n",
            b"$x\r\n",
            b"*1000001\r\n",
            b"*999999\r\n*999999\r\n",
            b"%1\r\n",
            b"|9\r\n",
            b"HTTP/1.1 400 Bad Request\r\n",
            b"\r\n",
            &[b'+'; LONGEST_LINE + 1],
        ];
        for bytes in bad {
            Eye::default().see(bytes).unwrap_err();
        }
        // Many pieces, each of which is short enough.
        let mut eye = Eye::default();
        eye.see(b"*1000\r\n").unwrap();
        let piece = [b"$1000000\r\n".as_slice(), &[0; 1_000_002]].concat();
        let full = (0..100).find(|_| eye.see(&piece).is_err());
        assert_eq!(full, Some(33));
    }

    #[test]
    fn nothing_is_too_odd() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..5000 {
            let odd = |random: &mut fastrand::Rng| match random.u8(0..8) {
                7 => random.u8(..),
                place => b"*$1-\r\n+"[usize::from(place)],
            };
            let bytes: Vec<_> = (0..60).map(|_| odd(&mut random)).collect();
            let _ = Eye::default().see(&bytes);
        }
    }
}
