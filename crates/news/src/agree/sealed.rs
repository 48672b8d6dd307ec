//! A log as it lies in the store.

use weir_store::shared::{LogAnswer, LogKey, Seal};

/// The name of a log and the place of an entry, in front of each entry.
const HEAD: usize = 16 + 8;

/// Seals the entries of one log and opens them.
pub(crate) struct SealedLog<'a> {
    seal: &'a Seal,
    name: [u8; 16],
}

impl<'a> SealedLog<'a> {
    pub(crate) fn new(seal: &'a Seal, log: &str) -> Self {
        let name = seal.name(&[b"log of article numbers", log.as_bytes()]);
        Self { seal, name }
    }

    pub(crate) fn key(&self) -> LogKey {
        LogKey::Numbers(self.name)
    }

    /// Entries that are to have the places from this one on.
    pub(crate) fn seal(&self, from: u64, entries: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let entries = (from..).zip(entries);
        let sealed = entries.map(|(place, entry)| {
            let head = self.head(place);
            self.seal.seal(&[&head, &entry[..]].concat())
        });
        sealed.collect()
    }

    /// What was told from this place on. An entry that nobody of us wrote there is empty, which means nothing.
    pub(crate) fn open(&self, from: u64, mut answer: LogAnswer) -> LogAnswer {
        for (place, entry) in (from..).zip(&mut answer.entries) {
            let opened = self.seal.open(entry);
            let plain = opened.as_deref();
            let plain = plain.and_then(|plain| plain.strip_prefix(&self.head(place)));
            *entry = plain.unwrap_or_default().to_vec();
        }
        answer
    }

    fn head(&self, place: u64) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..16].copy_from_slice(&self.name);
        head[16..].copy_from_slice(&place.to_le_bytes());
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(entries: Vec<Vec<u8>>) -> LogAnswer {
        LogAnswer {
            appended: true,
            length: entries.len() as u64,
            entries,
        }
    }

    #[test]
    fn an_entry_is_believed_in_its_own_place_alone() {
        let seal = Seal::new("a secret");
        let log = SealedLog::new(&seal, "misc.test");
        let plain = vec![b"one".to_vec(), b"two".to_vec(), b"three".to_vec()];
        let sealed = log.seal(5, plain.clone());
        let open = |from, entries| log.open(from, answer(entries)).entries;
        assert_eq!(open(5, sealed.clone()), plain);
        assert_eq!(open(6, sealed[1..].to_vec()), plain[1..]);
        let text = sealed.concat();
        assert!(!text.windows(3).any(|part| part == b"two"));
        // Two that were swapped, one that was changed, one of another log, another secret, or nobody's.
        let mut swapped = sealed.clone();
        swapped.swap(0, 2);
        assert_eq!(open(5, swapped), [&b""[..], b"two", b""]);
        let mut changed = sealed.clone();
        changed[1][20] ^= 1;
        assert_eq!(open(5, changed), [&b"one"[..], b"", b"three"]);
        let other = SealedLog::new(&seal, "misc.other");
        assert_ne!(other.key(), log.key());
        let strangers = Seal::new("another secret");
        let stranger = SealedLog::new(&strangers, "misc.test");
        for forged in [
            other.seal(5, plain.clone()),
            stranger.seal(5, plain.clone()),
            plain,
        ] {
            assert_eq!(open(5, forged), [b"", b"", b""]);
        }
    }
}
