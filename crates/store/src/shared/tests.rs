//! The store in memory tells the story, and fails as it is told to.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::story::{Stage, tell};
use super::*;

struct Memory {
    nodes: Vec<Arc<MemoryStore>>,
    saved: Mutex<Option<Snapshot>>,
}

impl Memory {
    fn new() -> Self {
        let store = MemoryStore::default();
        Self {
            nodes: (0..3).map(|_| Arc::new(store.handle())).collect(),
            saved: Mutex::default(),
        }
    }
}

impl Stage for Memory {
    fn node(&self, number: usize) -> Arc<dyn SharedStore> {
        self.nodes[number].clone()
    }

    fn time(&self) -> StoreTime {
        self.nodes[0].time()
    }

    fn advance(&self, span: Duration) {
        self.nodes[0].advance(span);
    }

    fn save(&self) -> BoxFuture<'_, ()> {
        *self.saved.lock() = Some(self.nodes[0].snapshot());
        std::future::ready(()).boxed()
    }

    fn restore(&self) -> BoxFuture<'_, ()> {
        self.nodes[0].restore(self.saved.lock().as_ref().unwrap());
        std::future::ready(()).boxed()
    }

    fn restart_empty(&self) -> BoxFuture<'_, ()> {
        self.nodes[0].restart_empty();
        std::future::ready(()).boxed()
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        self.nodes[0].flush();
        std::future::ready(()).boxed()
    }
}

tell!(async { Memory::new() });

const UP: UpstreamKey = UpstreamKey([1; 16]);

fn beat(wished: bool) -> Beat {
    let wish = ShareWish {
        upstream: UP,
        ledger: crate::state::Ledger::Query,
        window: crate::state::Window(60),
        limit: 100,
    };
    Beat {
        node: NodeId(1),
        shares: vec![wish].into_iter().filter(|_| wished).collect(),
        new_epoch: Epoch(1),
        ..Beat::default()
    }
}

async fn join(store: &MemoryStore) {
    store.beat(beat(false)).await.unwrap();
    let hand_in = HandIn {
        node: NodeId(1),
        epoch: Epoch(1),
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    store.advance(SETTLE);
}

async fn shares(store: &MemoryStore) -> usize {
    store.rows(vec![UP]).await.unwrap()[0].shares.len()
}

#[tokio::test]
async fn a_leaving_that_arrives_late_takes_nothing_away() {
    let store = MemoryStore::default();
    join(&store).await;
    store.beat(beat(true)).await.unwrap();
    store.fail(Fault::Late(Duration::from_secs(5)));
    let leave = Leave {
        node: NodeId(1),
        starts: vec![],
    };
    store.leave(leave.clone()).await.unwrap_err();
    // It is back before that.
    store.advance(Duration::from_secs(1));
    store.beat(beat(true)).await.unwrap();
    store.advance(Duration::from_secs(5));
    assert_eq!(shares(&store).await, 1);
    store.leave(leave).await.unwrap();
    assert_eq!(shares(&store).await, 0);
}

#[tokio::test]
async fn a_beat_that_arrives_late_gives_no_share_up() {
    let store = MemoryStore::default();
    join(&store).await;
    store.fail(Fault::Again(Duration::from_secs(5)));
    store.beat(beat(false)).await.unwrap();
    store.advance(Duration::from_secs(1));
    store.beat(beat(true)).await.unwrap();
    store.advance(Duration::from_secs(5));
    assert_eq!(shares(&store).await, 1);
    // From when it has heard of that one, its word counts again.
    store.beat(beat(true)).await.unwrap();
    store.beat(beat(false)).await.unwrap();
    assert_eq!(shares(&store).await, 0);
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_the_one_asked_for() {
    let store = MemoryStore::default();
    let other = store.handle();
    let claim = |store: &MemoryStore, key: u8| {
        let claim = store.claim(vec![[key; 16]], NodeId(1), Duration::from_secs(60));
        claim.now_or_never().map(|claim| claim.is_ok())
    };
    let carried_out = |key: u8| {
        let claim = other.claim(vec![[key; 16]], NodeId(2), Duration::from_secs(60));
        claim.now_or_never().unwrap().unwrap() != [Claim::Ours]
    };
    let second = Duration::from_secs(1);
    store.fail(Fault::Unheard);
    assert_eq!((claim(&store, 1), carried_out(1)), (Some(false), false));
    store.fail(Fault::Unanswered);
    assert_eq!((claim(&store, 2), carried_out(2)), (Some(false), true));
    store.fail(Fault::Twice);
    assert_eq!((claim(&store, 3), carried_out(3)), (Some(true), true));
    store.fail(Fault::Refused("no"));
    assert_eq!((claim(&store, 4), carried_out(4)), (Some(false), false));
    store.fail(Fault::Late(second));
    assert_eq!(claim(&store, 5), Some(false));
    store.advance(second);
    assert!(carried_out(5));
    store.fail(Fault::Again(second));
    assert_eq!(claim(&store, 6), Some(true));
    // By now the first claim has ended.
    store.advance(Duration::from_secs(61));
    assert!(carried_out(6));
    // The answer takes its time, and what was asked is done.
    store.fail(Fault::Slow(second));
    assert_eq!((claim(&store, 7), carried_out(7)), (None, true));
    store.fail(Fault::Slow(second));
    let slow = store.claim(vec![[8; 16]], NodeId(1), second).await;
    assert_eq!(slow, Ok(vec![Claim::Ours]));
    store.cut(true);
    assert_eq!((claim(&store, 9), carried_out(9)), (Some(false), false));
    store.cut(false);
    assert_eq!(claim(&store, 10), Some(true));
}

#[tokio::test(start_paused = true)]
async fn time_never_falls() {
    let store = MemoryStore::new(StoreTime(1000));
    assert_eq!(store.tell(UP, vec![]).await, Ok(StoreTime(1000)));
    store.set_time(StoreTime(500));
    assert_eq!(store.tell(UP, vec![]).await, Ok(StoreTime(1000)));
    store.set_time(StoreTime(1001));
    assert_eq!(store.tell(UP, vec![]).await, Ok(StoreTime(1001)));
    let store = MemoryStore::on_tokio_time(StoreTime(1000));
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(store.tell(UP, vec![]).await, Ok(StoreTime(4000)));
}
