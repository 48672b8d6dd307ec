//! Swarms and other trackers' answers, shared with the other nodes.
//!
//! Each node writes a stream of what its own clients did, and reads those of all others; so every node holds all swarms
//! and answers from memory. Listener threads leave what changed in the [`Outlet`], under the lock of the swarm; a task
//! ([`task`]) writes and reads five times a second. One node alone has none of this: its swarms have no outlet.
//!
//! A peer that another node told of is a peer like any other: it is given out, counted, kept in the files, and forgotten
//! after `age`. Entries have no room for a mark of where a peer came from, and need none:
//! - *Caps.* `max_swarms` and `max_peers` hold for all peers. What one address may have was judged by the node that heard
//!   it: peers of others count for their address, and are never refused because of it.
//! - *Leaving.* Whichever node hears `stopped`, all take the peer out; other trackers hear it from the node that told them
//!   of the peer. The last peer of a swarm is the last one anywhere.
//! - *Two events of one peer* are taken in the order in which they happened, as far as the store's clock tells
//!   ([`lately`], and the minute of each peer's last announce beyond that).
//! - *Downloads.* A `completed` counts once: who hears of it twice knows by the mark that each peer has for that. With each
//!   peer goes how many downloads its swarm had, so that a new node does not begin at none.
//! - *Who comes late* reads all streams from their beginning. What these lack after a leaving or a loss is told again then ([`losses`]).
//! - *Silence.* Nobody is told that a peer went without a word: each node notices by itself, and a node that tells of a peer
//!   again does so once in each third of `age`.

mod answers;
mod claims;
mod figures;
mod following;
mod lately;
mod losses;
mod outlet;
mod places;
mod task;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weir_engine::Node;
use weir_store::shared::Stream;
use weir_tracker_proto::nodes::ToldAnswer;

use self::claims::{ClaimWish, Claims};
use self::task::SharingTask;
use crate::exchange::Exchange;
use crate::swarm::Age;
use crate::upstreams::Forwarder;

pub(crate) use self::answers::TrackerSaid;
pub(crate) use self::figures::{SharingCount, SharingFigures};
#[cfg(feature = "bench")]
pub(crate) use self::lately::Lately;
pub(crate) use self::outlet::{Outlet, TakenEvents, ToldPeerState, compact};
pub(crate) use self::places::{Places, read as read_places};

/// A claim outlives its call by so much: what the tracker said has to reach the others.
const BEYOND_CALL: Duration = Duration::from_secs(10);
/// Answers that wait to be told; more are dropped, and counted.
const ANSWERS: usize = 4096;
/// How long a stop waits until the others can read what happened last.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What all parts of the tracker need of the other nodes.
pub(crate) struct Sharing {
    node: Node,
    pub(crate) outlet: Arc<Outlet>,
    pub(crate) figures: SharingFigures,
    pub(crate) places: Arc<Places>,
    claims: Claims,
    answers: mpsc::Sender<ToldAnswer>,
    /// A third of the age.
    third: Duration,
    /// Seconds between announces of a client; written by reloads.
    interval: AtomicU32,
}

/// What tasks take from.
#[derive(Debug)]
pub(crate) struct SharingRings {
    wishes: mpsc::Receiver<ClaimWish>,
    answers: mpsc::Receiver<ToldAnswer>,
}

/// By which rules swarms are shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharingRules {
    pub(crate) age: Age,
    /// Whether private addresses are told, and believed.
    pub(crate) private: bool,
}

impl Sharing {
    /// `noted` is how far streams had been read when the files were written, and in which epoch.
    pub(crate) fn new(
        node: Node,
        rules: SharingRules,
        interval: u32,
        noted: Places,
    ) -> (Arc<Self>, SharingRings) {
        let (claims, wishes) = mpsc::channel(claims::WAITING);
        let (tell, answers) = mpsc::channel(ANSWERS);
        let sharing = Self {
            node,
            outlet: Arc::new(Outlet::new(rules.age, rules.private)),
            figures: SharingFigures::default(),
            places: Arc::new(noted),
            claims: Claims(claims),
            answers: tell,
            third: Duration::from_secs(u64::from(rules.age.0) * 60) / 3,
            interval: AtomicU32::new(interval),
        };
        (Arc::new(sharing), SharingRings { wishes, answers })
    }

    /// This node.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Clients announce so often from now on, in seconds.
    pub(crate) fn set_interval(&self, interval: u32) {
        self.interval.store(interval, Ordering::Relaxed);
    }

    /// For so long a place in a stream says which of it is known: what is older tells of nobody who is still there.
    fn age(&self) -> Duration {
        3 * self.third
    }

    /// How long the others can read what happened: every peer that still announces is told of more often.
    fn keep(&self) -> Duration {
        let interval = Duration::from_secs(self.interval.load(Ordering::Relaxed).into());
        self.third + 2 * interval
    }

    /// A tracker as all nodes know it, whatever each of them calls it.
    fn tracker_key(&self, forwarder: &Forwarder) -> [u8; 16] {
        *forwarder.shared_key.get_or_init(|| {
            let (seal, uri) = (self.node.seal(), &forwarder.config.uri);
            seal.name(&[b"tracker", uri.expose().as_bytes()])
        })
    }

    /// An info hash at a tracker, to claim it.
    fn claim_key(&self, hash: &[u8; 20], forwarder: &Forwarder) -> [u8; 16] {
        let (seal, tracker) = (self.node.seal(), self.tracker_key(forwarder));
        seal.name(&[b"announce", &tracker, hash])
    }

    /// Claims an info hash at a tracker for a call of this length. Gives how long another node still has it.
    pub(crate) async fn claim(
        &self,
        hash: &[u8; 20],
        forwarder: &Forwarder,
        time_out: Duration,
    ) -> Option<Duration> {
        if self.node.is_alone() {
            return None;
        }
        let key = self.claim_key(hash, forwarder);
        let left = self.claims.claim(key, time_out + BEYOND_CALL).await;
        if left.is_some() {
            self.figures.count(SharingCount::Elsewhere, 1);
        }
        left
    }

    /// The call was not made: the other node's answer had come meanwhile.
    pub(crate) fn count_elsewhere(&self) {
        self.figures.count(SharingCount::Elsewhere, 1);
    }

    /// The addresses at which clients of the other nodes are seen from outside.
    pub(crate) fn others_addresses(&self) -> Vec<IpAddr> {
        let view = self.node.view();
        let others = view.members.iter();
        let others = others.filter(|member| member.node != self.node.id());
        let addresses = others.flat_map(|member| member.addresses.iter());
        addresses.map(IpAddr::to_canonical).collect()
    }

    /// What became of events, by name.
    pub(crate) fn events(&self) -> [(&'static str, u64); 5] {
        let count = |what| self.figures.get(what);
        [
            ("written", count(SharingCount::Written)),
            ("read", count(SharingCount::Read)),
            ("came", count(SharingCount::Came)),
            ("dropped", self.outlet.dropped()),
            ("ignored", count(SharingCount::Ignored)),
        ]
    }

    /// Whether the store answers, so that others hear of what happens here.
    pub(crate) fn is_alone(&self) -> bool {
        self.node.is_alone()
    }

    /// How many other nodes there are, as far as is known.
    pub(crate) fn others(&self) -> usize {
        let view = self.node.view();
        let others = view.members.iter();
        others
            .filter(|member| member.node != self.node.id())
            .count()
    }

    /// How far this node is behind each of the others, by their names.
    pub(crate) fn lags(&self) -> Vec<(Arc<str>, Duration)> {
        let lags = self.figures.lags().into_iter();
        let mut named: BTreeMap<Arc<str>, Duration> = BTreeMap::new();
        for (node, lag) in lags {
            // Two nodes may have one name: the worst counts.
            let worst = named.entry(self.node.name_of(node)).or_default();
            *worst = lag.max(*worst);
        }
        named.into_iter().collect()
    }
}

/// The tasks, running.
pub(crate) struct RunningSharing {
    pub(crate) sharing: Arc<Sharing>,
    stop: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl RunningSharing {
    /// Writes and reads from now on.
    pub(crate) fn start(
        sharing: Arc<Sharing>,
        exchange: Arc<Exchange>,
        rings: SharingRings,
    ) -> Self {
        let stop = CancellationToken::new();
        let SharingRings { wishes, answers } = rings;
        let vitals = exchange.engine.vitals().clone();
        let runtime = tokio::runtime::Handle::current();
        let (node, ends) = (sharing.node.clone(), stop.clone());
        let claims = vitals
            .add("tracker", "claims")
            .drive(wishes, move |wishes| {
                let (node, ends) = (node.clone(), ends.clone());
                Box::pin(async move {
                    tokio::select! {
                        () = claims::run(&node, wishes) => {}
                        () = ends.cancelled() => {}
                    }
                })
            });
        let task = SharingTask::new(Arc::clone(&sharing), exchange, &vitals);
        let tasks = vec![
            runtime.spawn(claims),
            runtime.spawn(task.run(answers, stop.clone())),
        ];
        Self {
            sharing,
            stop,
            tasks: Mutex::new(tasks),
        }
    }

    /// Lets the others read what happened last, if the store answers soon.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for mut task in tasks {
            if tokio::time::timeout(2 * LAST_WORDS, &mut task)
                .await
                .is_err()
            {
                task.abort();
            }
        }
    }
}

impl Drop for RunningSharing {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A stream as batches name it.
pub(crate) fn name_of(stream: Stream) -> [u8; 9] {
    let (kind, node) = match stream {
        Stream::Swarm(node) => (1, node),
        Stream::Forwarded(node) => (2, node),
    };
    let mut name = [kind; 9];
    name[1..].copy_from_slice(&node.0.to_le_bytes());
    name
}
