//! Several nodes on one store: each an engine of its own, on a store in memory that fails as the test says.

#[path = "nodes/again.rs"]
mod again;
#[path = "nodes/clocks.rs"]
mod clocks;
#[path = "nodes/histories.rs"]
mod histories;
#[path = "nodes/late.rs"]
mod late;
#[path = "nodes/together.rs"]
mod together;
#[path = "nodes/told.rs"]
mod told;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::policy::{Budget, Quota, Usage, Window, Windows};
use weir_engine::dispatch::{Availability, FullWindow, Job, UpstreamId, Wait, What};
use weir_engine::{
    Call, DifferingLimit, Ended, Engine, Flights, Got, KeptNode, Node, NodeKeeper, NodeOptions,
    NodeStanding, Options, Outcome, Permit, Reason, Record, Rows, SharedQuestion, Timeline,
    Weather,
};
use weir_store::shared::{
    Answer, Ask, AskId, Fault, Lost, MemoryStore, NodeId, Question, Seal, SharedStore, StoreTime,
    Stream, UpstreamKey,
};
use weir_store::state::MemoryState;

use crate::kit::*;

/// What reached the upstream, from whichever node.
#[derive(Clone)]
struct World {
    store: Arc<MemoryStore>,
    calls: Arc<Mutex<Vec<(usize, Budget, Instant)>>>,
    seal: Seal,
    quota: Quota,
}

/// One node, which may be started again with what it kept.
struct Party {
    number: usize,
    world: World,
    store: Arc<MemoryStore>,
    kept: Arc<Mutex<KeptNode>>,
    rows: Arc<MemoryState>,
    /// How far its wall clock is off.
    offset: Duration,
    /// Nothing can be made safe on its disk.
    disk_fails: bool,
    running: Option<Running>,
}

struct TestKeeper(Arc<Mutex<KeptNode>>, bool);

impl NodeKeeper for TestKeeper {
    fn keep(&self, kept: &KeptNode) {
        *self.0.lock() = kept.clone();
    }

    fn keep_safe(&self, kept: &KeptNode) -> BoxFuture<'static, bool> {
        let (to, kept, fails) = (self.0.clone(), kept.clone(), self.1);
        async move {
            // As slow as a disk.
            tokio::time::sleep(millis(50)).await;
            if !fails {
                *to.lock() = kept;
            }
            !fails
        }
        .boxed()
    }
}

thread_local!(static SLEPT: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) });

/// How long the machine of all nodes has slept.
fn slept() -> Duration {
    SLEPT.get()
}

/// Everybody else's time passes, and none here.
fn sleep(world: &World, time: Duration) {
    SLEPT.set(slept() + time);
    world
        .store
        .follow_tokio_time(world.store.time().after(time));
}

struct Running {
    engine: Engine,
    upstream: UpstreamId,
    node: Node,
    stop: CancellationToken,
    beat: JoinSet<()>,
}

/// A call that notes that it was made, and has an answer for others.
struct Noted {
    number: usize,
    world: World,
    budget: Budget,
    question: Option<&'static str>,
    outcome: Outcome,
    taken: Arc<Mutex<Vec<Vec<u8>>>>,
    takes: Duration,
    /// It makes two requests.
    twice: bool,
}

impl Call for Noted {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        let call = (self.number, self.budget, Instant::now());
        self.world.calls.lock().push(call);
        async move {
            tokio::time::sleep(self.takes).await;
            if self.twice && permit.another(self.budget).await {
                let call = (self.number, self.budget, Instant::now());
                self.world.calls.lock().push(call);
            }
            self.outcome
        }
        .boxed()
    }

    fn question(&self) -> Option<SharedQuestion> {
        self.question.map(|text| SharedQuestion {
            text: text.into(),
            fresh: secs(60),
            keep: secs(60),
        })
    }

    fn pack(&self) -> Option<Vec<u8>> {
        Some(b"the answer".to_vec())
    }

    fn take(&self, packed: &[u8]) -> bool {
        self.taken.lock().push(packed.to_vec());
        packed == b"the answer"
    }
}

impl World {
    fn new(gap: Duration, query: Windows) -> Self {
        Self {
            store: Arc::new(MemoryStore::on_tokio_time(StoreTime(1_800_000_000_000))),
            calls: Arc::default(),
            seal: Seal::new("the secret of these nodes"),
            quota: Quota {
                gaps: [gap; 4],
                in_flight: 1,
                query,
                grab: Windows::default(),
            },
        }
    }

    async fn party(&self, number: usize) -> Party {
        let mut party = self.absent(number);
        party.start();
        pass(millis(10)).await;
        party
    }

    /// A node that was never there.
    fn absent(&self, number: usize) -> Party {
        Party {
            number,
            world: self.clone(),
            store: Arc::new(self.store.handle()),
            kept: Arc::default(),
            rows: Arc::new(MemoryState::new()),
            offset: secs(300 * number as u64),
            disk_fails: false,
            running: None,
        }
    }

    /// The shares that are recorded.
    async fn shares(&self) -> Vec<u32> {
        let rows = self.store.rows(vec![self.key()]).await;
        let shares = rows.expect("it answers").remove(0).shares;
        shares.into_iter().map(|(.., starts)| starts).collect()
    }

    /// How many starts the store counts.
    async fn counted(&self) -> usize {
        let rows = self.store.rows(vec![self.key()]).await;
        rows.expect("it answers").remove(0).starts.len()
    }

    fn key(&self) -> UpstreamKey {
        UpstreamKey::of(&self.seal, "test", "http://up", "me")
    }

    fn calls_of(&self, number: usize) -> usize {
        let calls = self.calls.lock();
        calls.iter().filter(|(by, ..)| *by == number).count()
    }

    fn calls(&self) -> usize {
        self.calls.lock().len()
    }

    /// The most queries in any window of this length.
    fn most(&self, window: Duration) -> usize {
        self.most_of(Budget::Query, window)
    }

    /// The most calls of a budget in any window of this length.
    fn most_of(&self, budget: Budget, window: Duration) -> usize {
        let mut calls = self.calls.lock().clone();
        calls.retain(|(_, of, _)| *of == budget);
        let within = |at: Instant| {
            let later = calls.iter().filter(|(_, _, other)| *other >= at);
            later.filter(|(_, _, other)| *other < at + window).count()
        };
        calls
            .iter()
            .map(|(_, _, at)| within(*at))
            .max()
            .unwrap_or(0)
    }

    /// The shortest time between two calls.
    fn closest(&self) -> Duration {
        let mut times: Vec<Instant> = self.calls.lock().iter().map(|(_, _, at)| *at).collect();
        times.sort();
        let gaps = times.windows(2).map(|two| two[1] - two[0]);
        gaps.min().unwrap_or(Duration::MAX)
    }
}

impl Party {
    fn start(&mut self) {
        let start = wall() + self.offset + Instant::now().duration_since(began());
        let timeline = Timeline::starting_at(start).with_sleep(slept);
        let (kept, before) = (self.kept.clone(), self.kept.lock().clone());
        let node = Node::new(NodeOptions {
            name: format!("node {}", self.number),
            version: "1".to_owned(),
            store: self.store.clone(),
            seal: self.world.seal.clone(),
            timeline,
            kept: before,
            keeper: Box::new(TestKeeper(kept, self.disk_fails)),
        });
        let clock = Arc::new(move || timeline.wall(timeline.now()));
        let (rows, restored) =
            Rows::load("test", self.rows.clone(), timeline, clock).expect("memory can be read");
        let engine = Engine::new(
            "test",
            policy(),
            Options {
                keeper: Some(rows),
                node: Some(node.clone()),
                seed: Some(self.number as u64),
                ..Options::new(timeline, Weather::default())
            },
        );
        let upstream = engine.add_upstream("up", self.world.quota.clone(), secs(30));
        engine.share(upstream, self.world.key());
        if let Some(kept) = restored.upstreams.get("up") {
            engine.restore(upstream, kept);
        }
        let stop = CancellationToken::new();
        let mut beat = JoinSet::new();
        let (beats, stops) = (node.clone(), stop.clone());
        beat.spawn(async move { beats.run(stops).await });
        self.running = Some(Running {
            engine,
            upstream,
            node,
            stop,
            beat,
        });
    }

    fn it(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    /// Stops as on SIGTERM.
    async fn stop(&mut self) {
        let mut running = self.running.take().expect("it runs");
        running.engine.shutdown(secs(1)).await;
        running.stop.cancel();
        running.beat.join_next().await;
    }

    /// Stops as on SIGKILL.
    async fn kill(&mut self) {
        let mut running = self.running.take().expect("it runs");
        running.beat.abort_all();
        while running.beat.join_next().await.is_some() {}
        // Its calls are cut off, and nobody hears a goodbye.
        running.engine.shutdown(Duration::ZERO).await;
    }

    fn call(&self, question: Option<&'static str>) -> Noted {
        Noted {
            number: self.number,
            world: self.world.clone(),
            budget: Budget::Query,
            question,
            outcome: Outcome::Done,
            taken: Arc::default(),
            takes: millis(5),
            twice: false,
        }
    }

    fn ask(&self, count: usize) {
        for _ in 0..count {
            let job = Job::new(self.it().upstream, COMPLETION);
            self.it()
                .engine
                .submit_detached(job, Arc::new(self.call(None)));
        }
    }

    /// Calls that make two requests.
    fn ask_twice(&self, count: usize) {
        for _ in 0..count {
            let job = Job::new(self.it().upstream, COMPLETION);
            let call = Noted {
                twice: true,
                ..self.call(None)
            };
            self.it().engine.submit_detached(job, Arc::new(call));
        }
    }

    fn grab(&self, count: usize) {
        for _ in 0..count {
            let job = Job {
                budget: Budget::Grab,
                ..Job::new(self.it().upstream, COMPLETION)
            };
            let call = Noted {
                budget: Budget::Grab,
                ..self.call(None)
            };
            self.it().engine.submit_detached(job, Arc::new(call));
        }
    }

    /// What its jobs had to wait for, oldest first.
    fn waits(&self) -> Vec<(Wait, Option<FullWindow>)> {
        let is_wait = |record: &Record| matches!(record.what, What::Waits { .. });
        let records = self.it().engine.records(self.it().upstream, is_wait, 100);
        let waits = records.iter().rev().map(|record| match record.what {
            What::Waits { reason, full, .. } => (reason, full),
            _ => unreachable!("only these were wanted"),
        });
        waits.collect()
    }

    fn is_alone(&self) -> bool {
        let view = self.it().node.view();
        matches!(view.standing, NodeStanding::Alone { .. })
    }
}

/// When this test began; tokio's clock is paused, so nothing passes by itself.
fn began() -> Instant {
    thread_local!(static BEGAN: Instant = Instant::now());
    BEGAN.with(|began| *began)
}

/// A few are tried with all other tests; more with `WEIR_SEEDS=0..100`.
fn seeds() -> std::ops::Range<u64> {
    let wanted = std::env::var("WEIR_SEEDS").ok();
    let range = wanted.as_deref().and_then(|wanted| wanted.split_once(".."));
    let numbers = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    numbers.unwrap_or(0..9)
}

fn hourly(limit: u32) -> Windows {
    Windows::from([(Window::HOUR, limit)])
}
