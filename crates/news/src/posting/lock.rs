//! Cancel-Lock (RFC 8315): proof that a cancel comes from whoever posted the article.
//!
//! Each article carries the hash of a word that only we can make again, from its Message-ID and a secret in `state.db`; the
//! word itself is shown when the article is to be taken back.

use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use weir_news_proto::MessageId;

/// The secret that all locks are made with.
#[derive(Clone)]
pub(super) struct LockSecret(pub(super) [u8; 32]);

impl LockSecret {
    /// A new one.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }

    /// What `Cancel-Key` shows.
    pub(super) fn key(&self, id: &MessageId) -> String {
        format!("sha256:{}", self.word(id))
    }

    /// What `Cancel-Lock` holds.
    pub(super) fn lock(&self, id: &MessageId) -> String {
        let hash = Sha256::digest(self.word(id).as_bytes());
        format!("sha256:{}", BASE64.encode(&hash))
    }

    /// The RFC leaves to us how the word is made, as long as nobody else can.
    fn word(&self, id: &MessageId) -> String {
        let word = blake3::keyed_hash(&self.0, id.as_str().as_bytes());
        BASE64.encode(word.as_bytes())
    }
}

impl std::fmt::Debug for LockSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LockSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_opens_its_own_lock_alone() {
        let secret = LockSecret([7; 32]);
        let [one, two] = ["<1@x>", "<2@x>"].map(|id| id.parse::<MessageId>().expect("an ID"));
        let opens = |key: &str, lock: &str| {
            let word = key.strip_prefix("sha256:").expect("its scheme");
            lock == format!("sha256:{}", BASE64.encode(&Sha256::digest(word)))
        };
        assert!(opens(&secret.key(&one), &secret.lock(&one)));
        assert!(!opens(&secret.key(&one), &secret.lock(&two)));
        assert!(!opens(&LockSecret([8; 32]).key(&one), &secret.lock(&one)));
    }

    #[test]
    fn a_lock_is_made_as_the_rfc_has_it() {
        // RFC 8315, section 5: a key of "sec" … is only an example of words; the hash is what other programs check.
        let hash = BASE64.encode(&Sha256::digest(b"ExampleKey"));
        assert_eq!(hash.len(), 44);
        assert!(!format!("{:?}", LockSecret([7; 32])).contains('7'));
    }
}
