//! Download links: indexer and upstream address, sealed so that they show no secret, need no key and stay the same.
//!
//! Clients tell releases apart by their links and come back days later, so a link is no number in a table: it holds
//! everything, and the same release always gets the same one ([`Siv`]). Several nodes open one another's links.

use std::sync::Arc;

use arc_swap::ArcSwap;
use data_encoding::BASE64URL_NOPAD;
use weir_store::Siv;

/// Longer links are not ours: addresses of files are shorter, and what is not ours costs no hashing.
const LONGEST: usize = 8192;

/// Keys that are held; more are not taken over. Each costs some hashing for every link that is not ours.
const KEYS: usize = 64;

/// Makes and opens links.
pub(crate) struct Links {
    /// The oldest first, which makes new ones.
    keys: ArcSwap<Vec<LinkKey>>,
}

/// What links are made with.
#[derive(Clone)]
pub(crate) struct LinkKey {
    /// When it was made, in seconds since 1970; 0 for one from before several nodes had any.
    pub(crate) made: i64,
    pub(crate) key: [u8; 32],
    siv: Siv,
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
    /// Links under these keys, which must outlive the process.
    pub(crate) fn new(mut keys: Vec<LinkKey>) -> Self {
        keys.sort_by_key(|one| (one.made, one.key));
        keys.dedup_by_key(|one| one.key);
        Self {
            keys: ArcSwap::from_pointee(keys),
        }
    }

    /// All keys, the oldest first.
    pub(crate) fn keys(&self) -> Arc<Vec<LinkKey>> {
        self.keys.load_full()
    }

    /// Whether a key is held already.
    pub(crate) fn has(&self, (_, key): &(i64, [u8; 32])) -> bool {
        self.keys.load().iter().any(|one| one.key == *key)
    }

    /// Takes over the key of another node; false if it is held already, or there are too many.
    pub(crate) fn add(&self, key: LinkKey) -> bool {
        let mut keys = (*self.keys()).clone();
        if keys.len() >= KEYS || self.has(&(key.made, key.key)) {
            return false;
        }
        let place = keys.partition_point(|one| (one.made, one.key) < (key.made, key.key));
        keys.insert(place, key);
        self.keys.store(Arc::new(keys));
        true
    }

    /// The token of a link.
    pub(crate) fn seal(&self, indexer: &str, url: &str) -> String {
        let keys = self.keys.load();
        keys.first()
            .map_or_else(String::new, |key| key.seal(indexer, url))
    }

    /// What a token leads to, if it is ours.
    pub(crate) fn open(&self, token: &str) -> Option<Link> {
        if token.len() > LONGEST {
            return None;
        }
        let sealed = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let keys = self.keys.load();
        keys.iter().find_map(|key| key.open(&sealed))
    }
}

impl LinkKey {
    pub(crate) fn new(made: i64, key: [u8; 32]) -> Self {
        let derive = |what: &str| {
            let mut hasher = blake3::Hasher::new_keyed(&key);
            hasher.update(what.as_bytes());
            *hasher.finalize().as_bytes()
        };
        let hide = derive("weir search link: hide");
        let siv = Siv::new(hide, derive("weir search link: prove"));
        Self { made, key, siv }
    }

    fn seal(&self, indexer: &str, url: &str) -> String {
        let plain = [indexer.as_bytes(), url.as_bytes()].join(&0);
        BASE64URL_NOPAD.encode(&self.siv.seal(&plain))
    }

    fn open(&self, sealed: &[u8]) -> Option<Link> {
        let plain = self.siv.open(sealed)?;
        let text = std::str::from_utf8(&plain).ok()?;
        let (indexer, url) = text.split_once('\0')?;
        Some(Link {
            indexer: indexer.to_owned(),
            url: url.to_owned(),
        })
    }
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
        let links = Links::new(vec![LinkKey::new(0, [7; 32])]);
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
        let links = Links::new(vec![LinkKey::new(0, [7; 32])]);
        let token = links.seal("one", "http://a.example/1");
        assert_eq!(
            Links::new(vec![LinkKey::new(0, [8; 32])]).open(&token),
            None
        );
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
    fn links_of_all_keys_open_and_the_oldest_key_makes_new_ones() {
        let (young, old) = (LinkKey::new(20, [2; 32]), LinkKey::new(10, [3; 32]));
        let (a, b) = (
            Links::new(vec![young.clone()]),
            Links::new(vec![old.clone()]),
        );
        let before = a.seal("one", "http://a.example/1");
        assert_eq!(b.open(&before), None);
        assert!(a.add(old) && b.add(young.clone()) && !b.add(young));
        let after = a.seal("one", "http://a.example/1");
        assert_ne!(after, before);
        assert_eq!(
            after,
            b.seal("one", "http://a.example/1"),
            "the same on both"
        );
        for token in [&before, &after] {
            assert!(a.open(token).is_some() && b.open(token).is_some());
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
            let links = Links::new(vec![LinkKey::new(0, [1; 32])]);
            let link = links.open(&links.seal(&indexer, &url)).unwrap();
            prop_assert_eq!(link, Link { indexer, url });
        }
    }
}
