//! Bytes to and from one server, as they come or compressed.
//!
//! Unpacking goes in steps of a bounded size, so what a server packs into a few bytes costs no memory before somebody
//! has looked at it.

use std::io;

use bytes::{Buf, BytesMut};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_net::{Error, Stream};

use crate::judge::NewsFault;

/// Bytes read or unpacked at once.
const STEP: usize = 16 * 1024;

/// One connection to a server.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    deflate: Option<Box<Deflate>>,
    /// What arrived and nobody has used.
    arrived: BytesMut,
}

/// Both directions of RFC 8054: raw deflate, each reply and command ended by a flush.
struct Deflate {
    packer: Compress,
    unpacker: Decompress,
    /// As it arrived.
    packed: BytesMut,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            deflate: None,
            arrived: BytesMut::new(),
        }
    }

    /// The stream below, to be secured. Whatever had arrived is thrown away: it was not encrypted, so anybody may have
    /// sent it (RFC 4642, section 2.2.2).
    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        self.stream
    }

    /// From now on both directions are compressed. Nothing of the server's may have arrived since its consent; what has
    /// belongs to the compressed stream.
    pub(super) fn compress(&mut self) {
        self.deflate = Some(Box::new(Deflate {
            packer: Compress::new(Compression::default(), false),
            unpacker: Decompress::new(false),
            packed: std::mem::take(&mut self.arrived),
        }));
    }

    /// What arrived and was not used.
    pub(super) fn arrived(&mut self) -> &mut BytesMut {
        &mut self.arrived
    }

    /// Waits for more to arrive.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped before it is ready.
    pub(super) async fn fill(&mut self) -> Result<(), NewsFault> {
        loop {
            let read = match &mut self.deflate {
                None => {
                    self.arrived.reserve(STEP);
                    let read = self.stream.read_buf(&mut self.arrived).await.map_err(cut)?;
                    if read > 0 {
                        return Ok(());
                    }
                    read
                }
                Some(deflate) => {
                    if deflate.unpack(&mut self.arrived)? {
                        return Ok(());
                    }
                    deflate.packed.reserve(STEP);
                    self.stream
                        .read_buf(&mut deflate.packed)
                        .await
                        .map_err(cut)?
                }
            };
            if read == 0 {
                return Err(Error::Cut.into());
            }
        }
    }

    /// Sends all of it.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), NewsFault> {
        match &mut self.deflate {
            None => self.stream.write_all(bytes).await.map_err(cut)?,
            Some(deflate) => {
                let packed = deflate.pack(bytes)?;
                self.stream.write_all(&packed).await.map_err(cut)?;
            }
        }
        self.stream.flush().await.map_err(cut)?;
        Ok(())
    }
}

impl Deflate {
    /// Unpacks a step of what arrived. Says whether that brought anything; if not, more has to arrive.
    fn unpack(&mut self, into: &mut BytesMut) -> Result<bool, NewsFault> {
        let mut step = [0; STEP];
        let (read, made) = (self.unpacker.total_in(), self.unpacker.total_out());
        let status = self
            .unpacker
            .decompress(&self.packed, &mut step, FlushDecompress::Sync);
        let status = status.map_err(|_| damaged())?;
        let read = usize::try_from(self.unpacker.total_in() - read).unwrap_or(0);
        let made = usize::try_from(self.unpacker.total_out() - made).unwrap_or(0);
        self.packed.advance(read);
        into.extend_from_slice(&step[..made]);
        match status {
            // A stream that says it is over, while the conversation is not.
            Status::StreamEnd if made == 0 => Err(Error::Cut.into()),
            _ => Ok(made > 0),
        }
    }

    fn pack(&mut self, bytes: &[u8]) -> Result<Vec<u8>, NewsFault> {
        // Commands are short; whatever does not fit makes the buffer grow.
        let mut packed = Vec::with_capacity(bytes.len() + 64);
        let before = self.packer.total_in();
        loop {
            let used = usize::try_from(self.packer.total_in() - before).unwrap_or(bytes.len());
            let full = packed.len() == packed.capacity();
            if full {
                packed.reserve(256);
            }
            self.packer
                .compress_vec(&bytes[used..], &mut packed, FlushCompress::Sync)
                .map_err(|_| damaged())?;
            let used = usize::try_from(self.packer.total_in() - before).unwrap_or(bytes.len());
            // Room to spare means that the flush is complete.
            if used == bytes.len() && packed.len() < packed.capacity() {
                return Ok(packed);
            }
        }
    }
}

fn damaged() -> NewsFault {
    NewsFault::Garbled("the compressed data is damaged".to_owned())
}

/// What the system says about a connection in the middle of a conversation.
fn cut(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut => Error::TimedOut,
        io::ErrorKind::InvalidData => Error::Untrusted(error.to_string()),
        _ => Error::Cut,
    }
}
