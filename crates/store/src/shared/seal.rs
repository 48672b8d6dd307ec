//! Seals what goes into the store with the secret that all nodes have: the store's owner reads neither passkeys nor
//! answers, and can make up none.

use super::words::UpstreamKey;
use crate::Siv;

/// Seals and opens, and makes keys that show nothing of what they stand for.
#[derive(Clone)]
pub struct Seal {
    siv: Siv,
    name: [u8; 32],
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// The seal of `store.secret`, which all nodes have in common.
    pub fn new(secret: &str) -> Self {
        let derive = |what| blake3::derive_key(what, secret.as_bytes());
        Self {
            siv: Siv::new(
                derive("weir 2026 store.secret: hide"),
                derive("weir 2026 store.secret: prove"),
            ),
            name: derive("weir 2026 store.secret: name"),
        }
    }

    /// `plain`, hidden and proved; 16 bytes longer.
    pub fn seal(&self, plain: &[u8]) -> Vec<u8> {
        self.siv.seal(plain)
    }

    /// The same of several parts, one behind the other.
    pub fn seal_parts(&self, parts: &[&[u8]]) -> Vec<u8> {
        self.siv.seal_parts(parts)
    }

    /// What was sealed with the same secret; `None` for everything else.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.siv.open(sealed)
    }

    /// The same where it is; what does not open means nothing afterwards.
    pub fn open_in_place<'a>(&self, sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        self.siv.open_in_place(sealed)
    }

    /// A key for something that all nodes know and the store does not: a keyed hash of its parts.
    pub fn name(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.name);
        for part in parts {
            // Their lengths belong to it, or "ab", "c" would be "a", "bc".
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut name = [0; 16];
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }

    /// Tells in the store which secret it is used with, and nothing of the secret itself.
    pub(super) fn check(&self) -> [u8; 16] {
        self.name(&[b"which secret"])
    }
}

impl UpstreamKey {
    /// The key of an upstream: its front, its address and the account that is used there, whatever a node calls it.
    pub fn of(seal: &Seal, front: &str, address: &str, account: &str) -> Self {
        let parts = ["upstream", front, address, account];
        Self(seal.name(&parts.map(str::as_bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_secret_opens() {
        let seal = Seal::new("a secret");
        for plain in [&b""[..], b"passkey", &[7; 1000]] {
            let sealed = seal.seal(plain);
            assert_eq!(seal.open(&sealed).as_deref(), Some(plain));
            assert_eq!(Seal::new("another").open(&sealed), None);
            for place in 0..sealed.len() {
                let mut other = sealed.clone();
                other[place] ^= 1;
                assert_eq!(seal.open(&other), None, "{place}");
            }
            assert_eq!(seal.open(&sealed[..sealed.len() - 1]), None);
        }
        assert_eq!(seal.open(b"short"), None);
        let hidden = seal.seal(b"passkey");
        assert!(!hidden.windows(4).any(|part| part == b"pass"));
        assert!(!format!("{seal:?}").contains("secret"));
    }

    #[test]
    fn keys_depend_on_every_part_and_on_the_secret() {
        let seal = Seal::new("a secret");
        let of = |front, address, account| UpstreamKey::of(&seal, front, address, account);
        let key = of("search", "https://a.example", "me");
        assert_eq!(key, of("search", "https://a.example", "me"));
        assert_ne!(key, of("news", "https://a.example", "me"));
        assert_ne!(key, of("search", "https://a.example", "you"));
        assert_ne!(of("a", "bc", ""), of("ab", "c", ""));
        let other = Seal::new("another");
        assert_ne!(
            key,
            UpstreamKey::of(&other, "search", "https://a.example", "me")
        );
        assert_ne!(seal.check(), other.check());
    }
}
