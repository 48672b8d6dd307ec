//! One node alone asks another tracker about an info hash: it claims the two for the time of the call, and once there is
//! an answer until the tracker may be asked again. So a node that was away, or is new, learns of that time when it wants to
//! ask, and not before.
//!
//! What is claimed while the store has yet to answer goes there with the next question, all of it in one.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weir_engine::Node;
use weir_store::shared::Claim;

/// Claims that wait for the store at most; who finds no place goes ahead.
pub(super) const WAITING: usize = 4096;
/// Claims in one question.
const AT_ONCE: usize = 512;
/// How long a call waits for its claim. A store that takes longer does not keep announces from trackers.
const PATIENCE: Duration = Duration::from_secs(1);

/// A claim that is wanted.
#[derive(Debug)]
pub(super) struct ClaimWish {
    pub(super) key: [u8; 16],
    pub(super) span: Duration,
    /// Who waits for it.
    pub(super) tell: Option<oneshot::Sender<Claim>>,
}

/// The way to the task that claims.
#[derive(Debug)]
pub(super) struct Claims(pub(super) mpsc::Sender<ClaimWish>);

impl Claims {
    /// Claims a key. Gives how long another node still has it; nothing if it is ours, or if the store does not say.
    pub(super) async fn claim(&self, key: [u8; 16], span: Duration) -> Option<Duration> {
        let (tell, told) = oneshot::channel();
        let tell = Some(tell);
        self.0.try_send(ClaimWish { key, span, tell }).ok()?;
        match tokio::time::timeout(PATIENCE, told).await.ok()?.ok()? {
            Claim::Ours => None,
            Claim::Theirs { left, .. } => Some(left),
        }
    }

    /// Holds a key for longer, if it is ours or nobody's.
    pub(super) fn hold(&self, key: [u8; 16], span: Duration) {
        // Whole minutes, so that many go in one question. Nobody else asks a little later than they might have.
        let minutes = span.as_secs().div_ceil(60).max(1);
        let span = Duration::from_secs(minutes * 60);
        let tell = None;
        let _ = self.0.try_send(ClaimWish { key, span, tell });
    }
}

/// Claims until nobody wants anything any more.
pub(super) async fn run(node: &Node, wishes: &mut mpsc::Receiver<ClaimWish>) {
    let mut batch = Vec::with_capacity(AT_ONCE);
    while wishes.recv_many(&mut batch, AT_ONCE).await > 0 {
        let mut spans: BTreeMap<Duration, Vec<ClaimWish>> = BTreeMap::new();
        for wish in batch.drain(..) {
            spans.entry(wish.span).or_default().push(wish);
        }
        for (span, wishes) in spans {
            let keys = wishes.iter().map(|wish| wish.key).collect();
            let me = node.id();
            // Without an answer those who wait go ahead.
            let Ok(claims) = node.call(|store| store.claim(keys, me, span)).await else {
                continue;
            };
            for (wish, claim) in wishes.into_iter().zip(claims) {
                if let Some(tell) = wish.tell {
                    let _ = tell.send(claim);
                }
            }
        }
    }
}
