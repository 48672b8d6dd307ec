//! Unpacks bodies, never beyond what the caller takes.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use crate::Error;

/// What we ask for and can read.
pub(super) const ACCEPTED: &str = "gzip, deflate";

/// Unpacks a body as its `Content-Encoding` says.
pub(super) fn unpack(encoding: Option<&str>, body: Bytes, limit: usize) -> Result<Bytes, Error> {
    let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "" | "identity" => Ok(body),
        // Servers that say gzip and send the plain text are common, and there is no doubt which it is.
        "gzip" | "x-gzip" if !body.starts_with(&GZIP) => Ok(body),
        "gzip" | "x-gzip" => gzip(&body, limit),
        "deflate" if body.is_empty() => Ok(body),
        // The standard means zlib; some servers send the bare stream.
        "deflate" if is_zlib(&body) => capped(ZlibDecoder::new(&body[..]), limit),
        "deflate" => capped(DeflateDecoder::new(&body[..]), limit),
        _ => Err(Error::Unreadable),
    }
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// All members of a gzip file; what follows them and is no member is ignored, as browsers do.
fn gzip(mut packed: &[u8], limit: usize) -> Result<Bytes, Error> {
    let mut whole = Vec::new();
    while packed.starts_with(&GZIP) {
        let member = append(GzDecoder::new(&mut packed), limit, &mut whole);
        member?;
    }
    Ok(whole.into())
}

fn capped(decoder: impl Read, limit: usize) -> Result<Bytes, Error> {
    let mut whole = Vec::new();
    append(decoder, limit, &mut whole)?;
    Ok(whole.into())
}

/// Stops one byte past the limit, whatever the packed bytes promise.
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

    fn unpacked(encoding: &str, body: impl Into<Bytes>, limit: usize) -> Result<Bytes, Error> {
        unpack(Some(encoding), body.into(), limit)
    }

    #[test]
    fn every_form_that_servers_send_is_unpacked() {
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
            let plain = unpacked(encoding, body, 100).expect(encoding);
            assert_eq!(&plain[..], text, "{encoding}");
        }
        assert_eq!(unpacked("gzip", &b""[..], 1), Ok(Bytes::new()));
        assert_eq!(unpacked("deflate", &b""[..], 1), Ok(Bytes::new()));
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = gzipped(&vec![0; 10 << 20]);
        assert!(bomb.len() < 20_000);
        let limit = 1 << 20;
        assert_eq!(
            unpacked("gzip", bomb, limit),
            Err(Error::TooLarge { limit })
        );
        let members = gzipped(&[1; 60]).repeat(2);
        let limit = 100;
        assert_eq!(
            unpacked("gzip", members, limit),
            Err(Error::TooLarge { limit })
        );
        assert!(unpacked("gzip", gzipped(&[1; 100]), 100).is_ok());
    }

    #[test]
    fn nothing_is_unpacked_past_the_limit() {
        let mut whole = vec![1; 4];
        let endless = append(std::io::repeat(0), 10, &mut whole);
        assert_eq!(endless, Err(Error::TooLarge { limit: 10 }));
        assert_eq!(whole.len(), 11);
    }

    #[test]
    fn what_cannot_be_unpacked_is_unreadable() {
        let cut = gzipped(b"some text that is long enough");
        let cut = cut[..cut.len() - 9].to_vec();
        assert_eq!(unpacked("gzip", cut, 100), Err(Error::Unreadable));
        assert_eq!(
            unpacked("deflate", &b"\x78\x9cjunk"[..], 100),
            Err(Error::Unreadable)
        );
        assert_eq!(unpacked("br", &b"text"[..], 100), Err(Error::Unreadable));
        assert_eq!(
            unpacked("gzip, gzip", gzipped(b""), 100),
            Err(Error::Unreadable)
        );
    }
}
