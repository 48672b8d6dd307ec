//! An indexer's answer on its way to other nodes: when it was given, in which character set, and what was sent, packed.
//!
//! It is read by whatever version of Weir the other node has, so it holds what the indexer sent and not what we made of it.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The form of what follows; another Weir may use another one.
const FORM: u8 = 1;

/// An answer for other nodes.
pub(crate) struct Packed {
    pub(crate) body: Vec<u8>,
    /// How long it is served without asking again, in seconds.
    pub(crate) life: i64,
}

/// Packs an answer.
pub(crate) fn packed(at: i64, charset: Option<&str>, body: &[u8]) -> Vec<u8> {
    let charset = charset.unwrap_or_default();
    // No character set has a longer name; one that has is not known to anybody.
    let charset = charset.get(..charset.len().min(255)).unwrap_or_default();
    let mut packed = vec![FORM];
    packed.extend_from_slice(&at.to_le_bytes());
    packed.push(u8::try_from(charset.len()).unwrap_or_default());
    packed.extend_from_slice(charset.as_bytes());
    let mut encoder = GzEncoder::new(packed, Compression::fast());
    // A vector takes everything that is written.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// The same unpacked, at most `limit` bytes of it; `None` for what is not of this form.
pub(crate) fn unpacked(packed: &[u8], limit: u64) -> Option<(i64, Option<String>, Vec<u8>)> {
    let (&form, rest) = packed.split_first()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let (&length, rest) = rest.split_first()?;
    let (charset, rest) = rest.split_at_checked(length.into())?;
    let charset = std::str::from_utf8(charset).ok()?;
    let mut body = Vec::new();
    let mut decoder = GzDecoder::new(rest).take(limit.saturating_add(1));
    decoder.read_to_end(&mut body).ok()?;
    let fits = body.len() as u64 <= limit && form == FORM;
    let charset = (!charset.is_empty()).then(|| charset.to_owned());
    fits.then(|| (i64::from_le_bytes(*at), charset, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_nothing_else() {
        let body = b"<rss/>".repeat(1000);
        let sent = packed(1_700_000_000, Some("iso-8859-1"), &body);
        assert!(sent.len() < body.len());
        let charset = Some("iso-8859-1".to_owned());
        let expected = Some((1_700_000_000, charset, body.clone()));
        assert_eq!(unpacked(&sent, 6000), expected);
        assert_eq!(unpacked(&sent, 5999), None, "too long");
        for cut in 0..sent.len() {
            assert_eq!(unpacked(&sent[..cut], 6000), None, "cut at {cut}");
        }
        let mut other = sent;
        other[0] = 2;
        assert_eq!(unpacked(&other, 6000), None, "another form");
    }
}
