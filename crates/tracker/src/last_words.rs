//! What each tracker last said about a torrent, for people who look.
//!
//! The ledger keeps what matters for the next call, in eight bytes for each tracker. This is the rest, kept for as many as
//! there is room for: the ones heard of longest ago are forgotten first, and nothing but pages depends on them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::Recent;
use weir_engine::dispatch::{Moment, UpstreamId};

/// Bytes that are kept: some thirty thousand words.
const ROOM: usize = 4 << 20;
/// What a word costs besides its letters, with its place in the table.
const COST: usize = 128;
/// Letters of a refusal that are kept.
const LETTERS: usize = 200;

/// What a tracker said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastWord {
    pub(crate) at: Moment,
    /// Seeders it counts, if it said so.
    pub(crate) seeders: Option<u32>,
    /// The same of leechers.
    pub(crate) leechers: Option<u32>,
    /// Peers it gave.
    pub(crate) peers: usize,
    /// After how long it wants to be asked again, if it answered.
    pub(crate) interval: Option<Duration>,
    /// What it refused with, or what went wrong; without secrets.
    pub(crate) trouble: Option<Arc<str>>,
}

/// The last words of all trackers.
pub(crate) struct LastWords(Mutex<Recent<([u8; 20], UpstreamId), LastWord>>);

impl Default for LastWords {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(ROOM)))
    }
}

impl LastWord {
    /// One that is no answer.
    pub(crate) fn trouble(at: Moment, words: &str) -> Self {
        let end = words.char_indices().nth(LETTERS);
        let words = &words[..end.map_or(words.len(), |(end, _)| end)];
        Self {
            at,
            seeders: None,
            leechers: None,
            peers: 0,
            interval: None,
            trouble: Some(words.into()),
        }
    }
}

impl LastWords {
    /// A tracker said this about a torrent; what it said before is forgotten.
    pub(crate) fn put(&self, hash: &[u8; 20], tracker: UpstreamId, word: LastWord) {
        let letters = word.trouble.as_ref().map_or(0, |words| words.len());
        self.0.lock().put((*hash, tracker), word, COST + letters);
    }

    /// What it said, if that is still known.
    pub(crate) fn get(&self, hash: &[u8; 20], tracker: UpstreamId) -> Option<LastWord> {
        self.0.lock().get(&(*hash, tracker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_words_go_and_long_ones_are_cut() {
        let words = LastWords::default();
        let long = "ü".repeat(10_000);
        for number in 0..100_000u32 {
            let mut hash = [0; 20];
            hash[..4].copy_from_slice(&number.to_be_bytes());
            let word = LastWord::trouble(Moment(u64::from(number)), &long);
            words.put(&hash, UpstreamId(0), word);
        }
        let (count, bytes) = words.0.lock().held();
        assert!(bytes <= ROOM && count > 5_000, "{count} in {bytes} bytes");
        assert_eq!(words.get(&[0; 20], UpstreamId(0)), None);
        let mut last = [0; 20];
        last[..4].copy_from_slice(&99_999u32.to_be_bytes());
        let kept = words.get(&last, UpstreamId(0)).unwrap().trouble.unwrap();
        assert_eq!(kept.chars().count(), LETTERS);
        assert_eq!(words.get(&last, UpstreamId(1)), None, "another tracker");
    }
}
