//! Bytes made smaller where that pays, and the keys that articles are found by.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use weir_news_proto::MessageId;

/// Fewer bytes are not worth it.
const SMALL: usize = 512;
/// More are pictures and programs, which do not become smaller, or hostile; the writer has no time for them.
const LARGE: usize = 4 << 20;

/// Packed, if that saves an eighth or more; a packed block is known by being shorter than its length.
pub(super) fn pack(raw: &[u8]) -> Vec<u8> {
    if (SMALL..=LARGE).contains(&raw.len()) {
        let mut encoder =
            DeflateEncoder::new(Vec::with_capacity(raw.len() / 2), Compression::fast());
        encoder.write_all(raw).expect("memory takes everything");
        let packed = encoder.finish().expect("memory takes everything");
        if packed.len() <= raw.len() / 8 * 7 {
            return packed;
        }
    }
    raw.to_vec()
}

/// What was packed; nothing if these are not its bytes. Never takes more memory than the length says.
pub(super) fn unpack(packed: Vec<u8>, length: usize) -> Option<Bytes> {
    if packed.len() == length {
        return Some(packed.into());
    }
    let mut raw = Vec::with_capacity(length.min(LARGE));
    let decoder = DeflateDecoder::new(&packed[..]);
    decoder.take(length as u64 + 1).read_to_end(&mut raw).ok()?;
    (raw.len() == length).then(|| raw.into())
}

/// What an article is found by.
pub(super) type ArticleKey = [u8; 16];

pub(super) fn key(id: &MessageId) -> ArticleKey {
    let hash = blake3::hash(id.as_str().as_bytes());
    let (key, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("it has 32 bytes");
    *key
}

/// What an ID is found by in a newsgroup; two IDs may share it.
pub(crate) fn hash(id: &MessageId) -> i64 {
    let key = key(id);
    let (hash, _) = key.split_first_chunk().expect("it has 16 bytes");
    i64::from_le_bytes(*hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_and_only_what_pays_is_packed() {
        let text = b"> quoted words of an article\r\n".repeat(200);
        let noise: Vec<u8> = (0..9000_u32)
            .flat_map(|n| blake3::hash(&n.to_le_bytes()).as_bytes()[..4].to_vec())
            .collect();
        assert!(pack(&text).len() < text.len() / 4);
        assert_eq!(pack(&noise), noise);
        for raw in [&text[..], &noise, b"", b"short"] {
            assert_eq!(unpack(pack(raw), raw.len()).unwrap(), raw);
        }
    }

    #[test]
    fn bytes_that_are_not_what_was_packed_are_nothing() {
        let bomb = pack(&vec![0; 1 << 20]);
        assert_eq!(unpack(bomb, 1 << 19), None);
        assert_eq!(unpack(vec![0xFF; 100], 1 << 19), None);
    }
}
