//! Replies that wait for what other trackers say (`first_wait`).

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::swarm::PeerEndpoint;

/// A reply that waits; see [`Tracker::wait_for`](crate::tracker::Tracker::wait_for).
#[derive(Debug)]
pub(crate) struct HeldReply {
    pub(crate) hash: [u8; 20],
    /// Whose reply it is.
    pub(crate) at: PeerEndpoint,
    /// Ends when a tracker brought a peer, or when none will.
    pub(crate) wake: oneshot::Receiver<()>,
}

/// All replies that wait.
#[derive(Debug)]
pub(super) struct HeldReplies {
    /// So many may wait at once.
    most: usize,
    waiting: Mutex<WaitingReplies>,
}

#[derive(Debug, Default)]
struct WaitingReplies {
    count: usize,
    by_hash: HashMap<[u8; 20], Vec<oneshot::Sender<()>>>,
}

impl HeldReplies {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: Mutex::default(),
        }
    }

    /// `None` if too many wait already.
    pub(super) fn hold(&self, hash: &[u8; 20], at: PeerEndpoint) -> Option<HeldReply> {
        let mut waiting = self.waiting.lock();
        if waiting.count >= self.most {
            return None;
        }
        let (sender, wake) = oneshot::channel();
        waiting.count += 1;
        waiting.by_hash.entry(*hash).or_default().push(sender);
        Some(HeldReply {
            hash: *hash,
            at,
            wake,
        })
    }

    /// Forgets those of a swarm that wait no longer.
    pub(super) fn tidy(&self, hash: &[u8; 20]) {
        let mut waiting = self.waiting.lock();
        let Some(all) = waiting.by_hash.get_mut(hash) else {
            return;
        };
        let before = all.len();
        all.retain(|wake| !wake.is_closed());
        let gone = before - all.len();
        if all.is_empty() {
            waiting.by_hash.remove(hash);
        }
        waiting.count -= gone;
    }

    /// Wakes all who wait for a swarm. Whose time was over long ago is taken out here at the latest: every call ends,
    /// and every end wakes.
    pub(super) fn wake(&self, hash: &[u8; 20]) {
        let mut waiting = self.waiting.lock();
        if let Some(all) = waiting.by_hash.remove(hash) {
            waiting.count -= all.len();
            for wake in all {
                let _ = wake.send(()); // it may have gone meanwhile
            }
        }
    }
}
