//! Decompresses bodies, never beyond the caller's limit, and large ones away from the threads that serve connections.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::{Error, LONG, aside};

/// What we request and can decompress.
pub(super) const ACCEPTED: &str = "gzip, deflate";

/// Maximum members of a gzip file. Each needs a new decoder, however small it is; real servers send one.
const MEMBERS: usize = 64;

/// How a body is compressed.
#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zlib,
    Deflate,
}

/// Decompresses a body according to its `Content-Encoding`.
pub(super) async fn unpack(
    encoding: Option<&str>,
    body: Bytes,
    limit: usize,
) -> Result<Bytes, Error> {
    let Some(packing) = packing(encoding.unwrap_or_default(), &body)? else {
        return Ok(body);
    };
    if body.len() <= LONG {
        // A small body may still become large, which is only known once it does. Then it starts again elsewhere.
        match packing.unpack(&body, limit.min(LONG)) {
            Err(Error::TooLarge { .. }) if limit > LONG => {}
            unpacked => return unpacked,
        }
    }
    aside(move || packing.unpack(&body, limit)).await
}

/// How a body with this `Content-Encoding` is compressed; `None` if it is plain.
fn packing(encoding: &str, body: &[u8]) -> Result<Option<Packing>, Error> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(None),
        // Servers that announce gzip and send plain text are common, and the first bytes leave no doubt.
        "gzip" | "x-gzip" => Ok(body.starts_with(&GZIP).then_some(Packing::Gzip)),
        "deflate" if body.is_empty() => Ok(None),
        // By the standard, `deflate` is zlib; some servers send a raw deflate stream.
        "deflate" if is_zlib(body) => Ok(Some(Packing::Zlib)),
        "deflate" => Ok(Some(Packing::Deflate)),
        _ => Err(Error::Unreadable),
    }
}

impl Packing {
    fn unpack(self, body: &[u8], limit: usize) -> Result<Bytes, Error> {
        match self {
            Self::Gzip => gzip(body, limit),
            Self::Zlib => capped(ZlibDecoder::new(body), limit),
            Self::Deflate => capped(DeflateDecoder::new(body), limit),
        }
    }
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// All members of a gzip file; anything after them is ignored, as in browsers.
fn gzip(mut packed: &[u8], limit: usize) -> Result<Bytes, Error> {
    let mut whole = Vec::new();
    for _ in 0..MEMBERS {
        if !packed.starts_with(&GZIP) {
            return Ok(whole.into());
        }
        append(GzDecoder::new(&mut packed), limit, &mut whole)?;
    }
    match packed.starts_with(&GZIP) {
        true => Err(Error::TooMany("gzip members")),
        false => Ok(whole.into()),
    }
}

fn capped(decoder: impl Read, limit: usize) -> Result<Bytes, Error> {
    let mut whole = Vec::new();
    append(decoder, limit, &mut whole)?;
    Ok(whole.into())
}

/// Stops one byte past the limit, however large the content would become.
fn append(decoder: impl Read, limit: usize, whole: &mut Vec<u8>) -> Result<(), Error> {
    let left = (limit - whole.len()) as u64;
    let unpacked = decoder.take(left + 1).read_to_end(whole);
    if whole.len() > limit {
        return Err(Error::TooLarge { limit });
    }
    unpacked.map(drop).map_err(|_| Error::Unreadable)
}

/// RFC 1950: method 8, and a checksum over the first two bytes.
fn is_zlib(body: &[u8]) -> bool {
    let [first, second, ..] = body else {
        return false;
    };
    first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    async fn unpacked(
        encoding: &str,
        body: impl Into<Bytes>,
        limit: usize,
    ) -> Result<Bytes, Error> {
        unpack(Some(encoding), body.into(), limit).await
    }

    #[tokio::test]
    async fn every_form_that_servers_send_is_unpacked() {
        let text = b"d8:intervali1800ee";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(text).expect("memory");
        let zlib = zlib.finish().expect("memory");
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
        bare.write_all(text).expect("memory");
        let bare = bare.finish().expect("memory");
        let two = [gzipped(&text[..5]), gzipped(&text[5..])].concat();
        let trailed = [&gzipped(text)[..], b"\0\0\0junk"].concat();
        for (encoding, body) in [
            ("", text.to_vec()),
            ("identity", text.to_vec()),
            ("gzip", text.to_vec()),
            ("gzip", gzipped(text)),
            ("X-GZIP ", gzipped(text)),
            ("gzip", two),
            ("gzip", trailed),
            ("deflate", zlib),
            ("deflate", bare),
        ] {
            let plain = unpacked(encoding, body, 100).await.expect(encoding);
            assert_eq!(&plain[..], text, "{encoding}");
        }
        assert_eq!(unpacked("gzip", &b""[..], 1).await, Ok(Bytes::new()));
        assert_eq!(unpacked("deflate", &b""[..], 1).await, Ok(Bytes::new()));
    }

    #[tokio::test]
    async fn a_bomb_stops_at_the_limit() {
        let bomb = gzipped(&vec![0; 10 << 20]);
        assert!(bomb.len() < 20_000);
        let limit = 1 << 20;
        assert_eq!(
            unpacked("gzip", bomb, limit).await,
            Err(Error::TooLarge { limit })
        );
        let members = gzipped(&[1; 60]).repeat(2);
        let limit = 100;
        assert_eq!(
            unpacked("gzip", members, limit).await,
            Err(Error::TooLarge { limit })
        );
        assert!(unpacked("gzip", gzipped(&[1; 100]), 100).await.is_ok());
    }

    #[tokio::test]
    async fn members_are_counted() {
        let members = |count| gzipped(b"").repeat(count);
        assert_eq!(
            unpacked("gzip", members(MEMBERS), 9).await,
            Ok(Bytes::new())
        );
        let trailed = [members(MEMBERS), b"junk".to_vec()].concat();
        assert_eq!(unpacked("gzip", trailed, 9).await, Ok(Bytes::new()));
        let too_many = Err(Error::TooMany("gzip members"));
        assert_eq!(unpacked("gzip", members(MEMBERS + 1), 9).await, too_many);
        // As many as fit into an answer end where the few do.
        assert_eq!(unpacked("gzip", members(1 << 20), 9).await, too_many);
    }

    #[tokio::test]
    async fn long_bodies_come_out_whole() {
        let mut state = 7_u64;
        let noise = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(3 * LONG).collect();
        let zeros = vec![0; 3 * LONG];
        // One is long when it is packed, one when it is unpacked.
        for text in [noise, zeros] {
            let unpacked = unpacked("gzip", gzipped(&text), text.len()).await;
            assert!(unpacked.expect("a text") == text);
        }
    }

    #[test]
    fn nothing_is_unpacked_past_the_limit() {
        let mut whole = vec![1; 4];
        let endless = append(std::io::repeat(0), 10, &mut whole);
        assert_eq!(endless, Err(Error::TooLarge { limit: 10 }));
        assert_eq!(whole.len(), 11);
    }

    #[tokio::test]
    async fn what_cannot_be_unpacked_is_unreadable() {
        let cut = gzipped(b"some text that is long enough");
        let cut = cut[..cut.len() - 9].to_vec();
        assert_eq!(unpacked("gzip", cut, 100).await, Err(Error::Unreadable));
        assert_eq!(
            unpacked("deflate", &b"\x78\x9cjunk"[..], 100).await,
            Err(Error::Unreadable)
        );
        assert_eq!(
            unpacked("br", &b"text"[..], 100).await,
            Err(Error::Unreadable)
        );
        assert_eq!(
            unpacked("gzip, gzip", gzipped(b""), 100).await,
            Err(Error::Unreadable)
        );
    }
}
