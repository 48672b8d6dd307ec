//! Which clients have announced lately, for the page *Connect*: by the first letters of their peer IDs, which both protocols
//! carry and anybody can claim.
//!
//! An announce costs a comparison of three bytes and a look at one number, which is written at most every [`APART`] seconds,
//! so threads do not take its cache line from one another. All others are not noted at all.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weir_tracker_proto::PeerId;

use crate::clock::Now;

/// Seconds between two notes of the same client.
const APART: u32 = 10;

/// Clients that have steps on the page, by the first bytes of their peer IDs.
const KNOWN: [(&[u8; 3], HeardClient); 5] = [
    (b"-qB", HeardClient::QBittorrent),
    (b"-TR", HeardClient::Transmission),
    (b"-DE", HeardClient::Deluge),
    (b"-lt", HeardClient::Rtorrent),
    (b"A2-", HeardClient::Aria2),
];

/// A client that has steps on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeardClient {
    QBittorrent,
    Transmission,
    Deluge,
    Rtorrent,
    Aria2,
}

/// When each was heard: seconds of the clock, plus one; 0 for never.
#[derive(Debug, Default)]
pub(crate) struct HeardClients([AtomicU32; KNOWN.len()]);

impl HeardClients {
    /// Notes who announced.
    #[inline]
    pub(crate) fn note(&self, id: &PeerId, now: Now) {
        let Some(begin) = id.0.first_chunk::<3>() else {
            return;
        };
        let Some((_, client)) = KNOWN.iter().find(|(known, _)| *known == begin) else {
            return;
        };
        let at = now.seconds.saturating_add(1);
        let noted = &self.0[*client as usize];
        let before = noted.load(Ordering::Relaxed);
        if before == 0 || at.saturating_sub(before) >= APART {
            noted.store(at, Ordering::Relaxed);
        }
    }

    /// How long ago a client was heard.
    pub(crate) fn ago(&self, client: HeardClient, now: Now) -> Option<Duration> {
        let noted = self.0[client as usize].load(Ordering::Relaxed);
        let ago = now.seconds.saturating_add(1).saturating_sub(noted);
        (noted > 0).then(|| Duration::from_secs(ago.into()))
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::dispatch::Moment;

    use super::*;
    use crate::clock::Minute;

    fn now(seconds: u32) -> Now {
        Now {
            minute: Minute(0),
            seconds,
            moment: Moment(0),
        }
    }

    fn id(begin: &[u8]) -> PeerId {
        let mut id = [b'x'; 20];
        id[..begin.len()].copy_from_slice(begin);
        PeerId(id)
    }

    #[test]
    fn clients_are_heard_by_their_peer_ids() {
        let heard = HeardClients::default();
        heard.note(&id(b"-XX1234-"), now(0));
        heard.note(&id(b"-qB5000-"), now(0));
        heard.note(&id(b"A2-1-37-0-"), now(7));
        let ago = |client, second| heard.ago(client, now(second)).map(|ago| ago.as_secs());
        assert_eq!(ago(HeardClient::QBittorrent, 5), Some(5));
        assert_eq!(ago(HeardClient::Aria2, 7), Some(0));
        assert_eq!(ago(HeardClient::Transmission, 7), None);
        // Within a few seconds nothing is written.
        heard.note(&id(b"-qB5000-"), now(9));
        assert_eq!(ago(HeardClient::QBittorrent, 9), Some(9));
        heard.note(&id(b"-qB5000-"), now(10));
        assert_eq!(ago(HeardClient::QBittorrent, 10), Some(0));
    }
}
