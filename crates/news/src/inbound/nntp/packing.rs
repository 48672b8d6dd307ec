//! COMPRESS DEFLATE (RFC 8054): raw deflate in both directions, each reply ended by a flush.
//!
//! Packing needs some 300 KB, which nobody keeps while it is silent: after a flush the packed stream is between two blocks,
//! and another packer, which refers to nothing that was sent before, carries on with it. Unpacking needs its window for as
//! long as the connection lives, because the client may refer to anything in it.

use bytes::{Buf, BytesMut};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::wire::Gone;

/// Bytes that are unpacked at once: what a client packs into a few bytes costs no memory before it was looked at.
const STEP: usize = 4 * 1024;

/// Overviews shrink to a tenth as well as with more effort, in a third of the time.
const LEVEL: u32 = 3;

/// Both directions.
pub(super) struct Packing {
    packer: Option<Box<Compress>>,
    unpacker: Box<Decompress>,
    /// As it arrived.
    packed: BytesMut,
}

impl Default for Packing {
    fn default() -> Self {
        Self {
            packer: None,
            unpacker: Box::new(Decompress::new(false)),
            packed: BytesMut::new(),
        }
    }
}

impl Packing {
    /// Bytes have arrived.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.packed.extend_from_slice(bytes);
    }

    /// Unpacks a step of what arrived. Says whether that brought anything; if not, more has to arrive.
    pub(super) fn unpack(&mut self, into: &mut BytesMut) -> Result<bool, Gone> {
        if self.packed.is_empty() {
            // A window that was just filled may hold more than came out of it.
            return self.step(into);
        }
        while !self.packed.is_empty() {
            if self.step(into)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step(&mut self, into: &mut BytesMut) -> Result<bool, Gone> {
        let mut step = [0; STEP];
        let (read, made) = (self.unpacker.total_in(), self.unpacker.total_out());
        let status = self
            .unpacker
            .decompress(&self.packed, &mut step, FlushDecompress::Sync);
        let status = status.map_err(|_| Gone::Damaged)?;
        let read = usize::try_from(self.unpacker.total_in() - read).unwrap_or(0);
        let made = usize::try_from(self.unpacker.total_out() - made).unwrap_or(0);
        self.packed.advance(read);
        into.extend_from_slice(&step[..made]);
        match status {
            // A stream that says it is over, while the conversation is not; or bytes that lead nowhere.
            Status::StreamEnd if made == 0 => Err(Gone::Closed),
            _ if made == 0 && read == 0 && !self.packed.is_empty() => Err(Gone::Damaged),
            _ => Ok(made > 0),
        }
    }

    /// Packs all of it, up to a flush.
    pub(super) fn pack(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Gone> {
        let packer = self
            .packer
            .get_or_insert_with(|| Box::new(Compress::new(Compression::new(LEVEL), false)));
        let mut packed = Vec::with_capacity(bytes.len() / 4 + 64);
        let before = packer.total_in();
        loop {
            if packed.len() == packed.capacity() {
                packed.reserve(bytes.len() / 4 + 256);
            }
            let used = usize::try_from(packer.total_in() - before).unwrap_or(bytes.len());
            packer
                .compress_vec(&bytes[used..], &mut packed, FlushCompress::Sync)
                .map_err(|_| Gone::Damaged)?;
            let used = usize::try_from(packer.total_in() - before).unwrap_or(bytes.len());
            // Room to spare means that the flush is complete.
            if used == bytes.len() && packed.len() < packed.capacity() {
                return Ok(packed);
            }
        }
    }

    /// Nothing is to be said for a while.
    pub(super) fn rest(&mut self) {
        self.packer = None;
        if self.packed.is_empty() {
            self.packed = BytesMut::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(parts: &[Vec<u8>]) -> Vec<u8> {
        let mut reader = Packing::default();
        let mut all = BytesMut::new();
        for part in parts {
            reader.add(part);
            while reader.unpack(&mut all).unwrap() {}
        }
        all.to_vec()
    }

    #[test]
    fn what_is_packed_after_a_rest_carries_on_the_same_stream() {
        let mut writer = Packing::default();
        let line = b"224 Overview information follows\r\n".repeat(100);
        let mut parts = Vec::new();
        for _ in 0..3 {
            parts.push(writer.pack(&line).unwrap());
            writer.rest();
        }
        assert!(parts.iter().all(|part| part.len() < line.len() / 10));
        assert_eq!(unpacked(&parts), line.repeat(3));
    }

    #[test]
    fn packed_bytes_may_come_in_any_pieces() {
        let packed = Packing::default().pack(b"DATE\r\nHELP\r\n").unwrap();
        for size in 1..packed.len() {
            let parts: Vec<_> = packed.chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(unpacked(&parts), b"DATE\r\nHELP\r\n", "{size}");
        }
    }

    #[test]
    fn a_bomb_is_unpacked_in_steps() {
        let packed = Packing::default().pack(&[b'a'; 4 << 20]).unwrap();
        assert!(packed.len() < 40_000, "{}", packed.len());
        let mut reader = Packing::default();
        reader.add(&packed);
        let mut some = BytesMut::new();
        assert!(reader.unpack(&mut some).unwrap());
        assert!(some.len() <= STEP, "{}", some.len());
    }

    #[test]
    fn nonsense_is_damage() {
        let mut reader = Packing::default();
        reader.add(&[0xff; 64]);
        let mut some = BytesMut::new();
        assert_eq!(reader.unpack(&mut some), Err(Gone::Damaged));
    }
}
