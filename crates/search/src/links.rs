//! Download links: indexer and upstream address, sealed so that they show no secret, need no key and stay the same.
//!
//! Clients tell releases apart by their links and come back days later, so a link is no number in a table: it holds
//! everything, and the same release always gets the same one. The seal is a synthetic IV: a keyed hash of the content
//! starts the stream that hides it and proves on opening that it is ours.

use data_encoding::BASE64URL_NOPAD;

/// Bytes of the IV, which is also the proof.
const IV: usize = 16;
/// Longer links are not ours: addresses of files are shorter, and what is not ours costs no hashing.
const LONGEST: usize = 8192;

/// Makes and opens links.
pub(crate) struct Links {
    hide: [u8; 32],
    prove: [u8; 32],
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The indexer's name.
    pub(crate) indexer: String,
    /// The address that it gave.
    pub(crate) url: String,
}

impl Links {
    /// Links under this key, which must outlive the process.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let derive = |what: &str| {
            let mut hasher = blake3::Hasher::new_keyed(key);
            hasher.update(what.as_bytes());
            *hasher.finalize().as_bytes()
        };
        Self {
            hide: derive("weir search link: hide"),
            prove: derive("weir search link: prove"),
        }
    }

    /// The token of a link.
    pub(crate) fn seal(&self, indexer: &str, url: &str) -> String {
        let plain = [indexer.as_bytes(), url.as_bytes()].join(&0);
        let iv = self.iv(&plain);
        let mut sealed = Vec::with_capacity(IV + plain.len());
        sealed.extend_from_slice(&iv);
        sealed.extend_from_slice(&plain);
        self.mask(&iv, &mut sealed[IV..]);
        BASE64URL_NOPAD.encode(&sealed)
    }

    /// What a token leads to, if it is ours.
    pub(crate) fn open(&self, token: &str) -> Option<Link> {
        if token.len() > LONGEST {
            return None;
        }
        let mut sealed = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let (iv, plain) = sealed.split_first_chunk_mut::<IV>()?;
        // Unmasked before it is proved, as a synthetic IV must be; nothing is done with it until the proof holds.
        self.mask(iv, plain);
        let proof = blake3::Hash::from_bytes(padded(&self.iv(plain)));
        // Compared in constant time.
        if proof != blake3::Hash::from_bytes(padded(iv)) {
            return None;
        }
        let text = std::str::from_utf8(plain).ok()?;
        let (indexer, url) = text.split_once('\0')?;
        Some(Link {
            indexer: indexer.to_owned(),
            url: url.to_owned(),
        })
    }

    fn iv(&self, plain: &[u8]) -> [u8; IV] {
        let hash = blake3::keyed_hash(&self.prove, plain);
        let mut iv = [0; IV];
        iv.copy_from_slice(&hash.as_bytes()[..IV]);
        iv
    }

    fn mask(&self, iv: &[u8; IV], bytes: &mut [u8]) {
        let mut stream = blake3::Hasher::new_keyed(&self.hide);
        let mut stream = stream.update(iv).finalize_xof();
        let mut block = [0; 64];
        for piece in bytes.chunks_mut(64) {
            stream.fill(&mut block);
            for (byte, mask) in piece.iter_mut().zip(block) {
                *byte ^= mask;
            }
        }
    }
}

fn padded(iv: &[u8; IV]) -> [u8; 32] {
    let mut padded = [0; 32];
    padded[..IV].copy_from_slice(iv);
    padded
}

/// A title as the name of a file, with this ending.
pub(crate) fn file_name(title: &str, ending: &str) -> String {
    const LONGEST: usize = 120;
    let mut name = String::new();
    for letter in title.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            '.' | '-' | '_' | '(' | ')' => name.push(letter),
            _ if name.ends_with('.') => {}
            _ => name.push('.'),
        }
        if name.len() >= LONGEST {
            break;
        }
    }
    let name = name.trim_matches('.');
    let name = if name.is_empty() { "release" } else { name };
    format!("{name}.{ending}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_link_is_always_the_same_and_shows_nothing() {
        let links = Links::new(&[7; 32]);
        let url = "https://indexer.example/get/1?apikey=verysecret";
        let token = links.seal("one", url);
        assert_eq!(token, links.seal("one", url));
        assert_ne!(token, links.seal("two", url));
        assert!(!token.contains("secret") && !token.contains("indexer"));
        let raw = BASE64URL_NOPAD.decode(token.as_bytes()).unwrap();
        let shown = raw.windows(6).any(|part| part == b"secret");
        assert!(!shown);
        let link = links.open(&token).unwrap();
        assert_eq!((link.indexer.as_str(), link.url.as_str()), ("one", url));
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let links = Links::new(&[7; 32]);
        let token = links.seal("one", "http://a.example/1");
        assert_eq!(Links::new(&[8; 32]).open(&token), None);
        for place in 0..token.len() {
            let mut other = token.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(links.open(&other), None, "{place}");
        }
        for token in ["", "A", "not base64!", &"A".repeat(LONGEST + 1)] {
            assert_eq!(links.open(token), None);
        }
    }

    #[test]
    fn file_names_are_plain() {
        assert_eq!(
            file_name("Some Show S01E02", "torrent"),
            "Some.Show.S01E02.torrent"
        );
        assert_eq!(file_name("../../etc/passwd", "nzb"), "etc.passwd.nzb");
        assert_eq!(file_name("日本", "nzb"), "release.nzb");
        assert!(file_name(&"x".repeat(999), "nzb").len() < 130);
    }

    proptest! {
        #[test]
        fn any_link_opens_again(indexer in "[a-z]{1,20}", url in "\\PC{0,300}") {
            let links = Links::new(&[1; 32]);
            let link = links.open(&links.seal(&indexer, &url)).unwrap();
            prop_assert_eq!(link, Link { indexer, url });
        }
    }
}
