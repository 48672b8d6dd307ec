//! Lines in, bytes out, both packed or not (RFC 8054: raw deflate, flushed after each reply).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

/// Bytes of a line at most; a client that sends more is hung up on.
const LINE: usize = 1 << 20;

/// Bytes that are written at once.
const PIECE: usize = 64 << 10;

/// What a client sends.
pub(super) struct Inlet<R> {
    stream: R,
    lines: Lines,
}

impl<R: AsyncRead + Unpin> Inlet<R> {
    pub(super) fn new(stream: R) -> Self {
        let lines = Lines::default();
        Self { stream, lines }
    }

    /// From here on everything is packed, also what was read already.
    pub(super) fn unpack(&mut self) {
        self.lines.unpack();
    }

    /// The next line without its end; nothing when there are no more.
    pub(super) async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(line);
            }
            let mut bytes = Vec::with_capacity(PIECE);
            let room = self.lines.unread.len() <= LINE;
            if !room || self.stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            self.lines.push(&bytes);
        }
    }

    /// The lines of a block up to its end, with single dots again.
    pub(super) async fn block(&mut self) -> Option<Vec<u8>> {
        let mut block = Vec::new();
        loop {
            let line = self.line().await?;
            if line == b"." {
                return Some(block);
            }
            block.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            block.extend_from_slice(b"\r\n");
        }
    }
}

/// Lines out of bytes as they come.
#[derive(Default)]
pub(crate) struct Lines {
    unread: Vec<u8>,
    /// So many of them hold no end of a line.
    searched: usize,
    inflate: Option<Decompress>,
}

impl Lines {
    /// From here on everything is packed, also what was not yet taken.
    pub(crate) fn unpack(&mut self) {
        self.inflate = Some(Decompress::new(false));
        self.searched = 0;
        let packed = std::mem::take(&mut self.unread);
        self.push(&packed);
    }

    /// The next line without its end, if it is whole.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let new = &self.unread[self.searched..];
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.unread.len();
            return None;
        };
        let mut line: Vec<u8> = self.unread.drain(..=self.searched + end).collect();
        self.searched = 0;
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
        Some(line)
    }

    /// More bytes have come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Some(inflate) = &mut self.inflate else {
            self.unread.extend_from_slice(bytes);
            return;
        };
        let mut bytes = bytes;
        loop {
            self.unread.reserve(PIECE);
            let before = inflate.total_in();
            let done = inflate.decompress_vec(bytes, &mut self.unread, FlushDecompress::Sync);
            bytes = &bytes[usize::try_from(inflate.total_in() - before).unwrap_or(0)..];
            // Room that was left over means that nothing waits inside.
            if done.is_err() || self.unread.len() < self.unread.capacity() {
                return;
            }
        }
    }
}

/// What a client gets.
pub(super) struct Outlet<W> {
    stream: W,
    deflate: Option<Compress>,
    written: Arc<AtomicUsize>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(super) fn new(stream: W, written: Arc<AtomicUsize>) -> Self {
        Self {
            stream,
            deflate: None,
            written,
        }
    }

    /// From here on everything is packed.
    pub(super) fn pack(&mut self) {
        self.deflate = Some(Compress::new(Compression::default(), false));
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.packed(bytes) {
            Some(packed) => self.write_as_is(&packed).await,
            None => self.write_as_is(bytes).await,
        }
    }

    /// Writes past the packing.
    pub(super) async fn write_as_is(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.written.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Writes one byte at a time with a pause after each.
    pub(super) async fn drip(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        let bytes = self.packed(bytes).unwrap_or_else(|| bytes.to_vec());
        for byte in bytes {
            self.write_as_is(&[byte]).await?;
            sleep(pause).await;
        }
        Ok(())
    }

    /// Writes the same over and over, so many bytes before packing.
    pub(super) async fn flood(&mut self, refrain: &[u8], most: usize) -> io::Result<()> {
        let times = (PIECE / refrain.len()).clamp(1, most / refrain.len() + 1);
        let piece = refrain.repeat(times);
        let mut left = most;
        while left > 0 {
            let now = left.min(piece.len());
            self.write(&piece[..now]).await?;
            left -= now;
        }
        Ok(())
    }

    pub(super) async fn close(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    fn packed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let deflate = self.deflate.as_mut()?;
        let mut packed = Vec::new();
        let mut left = bytes;
        loop {
            packed.reserve(1024 + left.len() / 2);
            let before = deflate.total_in();
            let done = deflate.compress_vec(left, &mut packed, FlushCompress::Sync);
            left = &left[usize::try_from(deflate.total_in() - before).unwrap_or(0)..];
            if done.is_err() || (left.is_empty() && packed.len() < packed.capacity()) {
                return Some(packed);
            }
        }
    }
}

/// Bytes as the lines of a block: dots doubled, an end of line at the end, and the dot that ends it.
pub(super) fn block(bytes: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(bytes.len() + 8);
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|two| two == b"\r\n");
        let (line, after) = rest.split_at(end.map_or(rest.len(), |end| end + 2));
        if line.starts_with(b".") {
            block.push(b'.');
        }
        block.extend_from_slice(line);
        rest = after;
    }
    if !block.is_empty() && !block.ends_with(b"\r\n") {
        block.extend_from_slice(b"\r\n");
    }
    block.extend_from_slice(b".\r\n");
    block
}
