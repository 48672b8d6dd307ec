//! The signature of a message to a webhook: HMAC-SHA256 (RFC 2104) over the time and the body.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Bytes that SHA-256 takes at once.
const BLOCK: usize = 64;

/// What the header `X-Weir-Signature` says: the receiver makes the same of `X-Weir-Timestamp`, a dot and the body.
pub(crate) fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let code = hmac(
        secret.as_bytes(),
        &[timestamp.as_bytes(), b".", body.as_bytes()],
    );
    format!("v1={}", HEXLOWER.encode(&code))
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    match key.len() > BLOCK {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 1, 2 and 6.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let code = |key: &[u8], data: &[u8]| HEXLOWER.encode(&hmac(key, &[data]));
        assert_eq!(
            code(&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            code(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            code(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn time_and_body_are_both_signed() {
        let of = |time, body| signature("a secret of sixteen", time, body);
        assert_eq!(of("1", "a"), of("1", "a"));
        assert_ne!(of("1", "a"), of("2", "a"));
        assert_ne!(of("1", "a"), of("1", "b"));
        assert!(of("1", "a").starts_with("v1="));
    }
}
