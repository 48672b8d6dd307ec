//! Several nodes on one store: each an engine of its own, on a store in memory that fails as the test says.

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

#[tokio::test(start_paused = true)]
async fn a_row_of_a_newer_weir_makes_a_node_alone_once() {
    // Spacing alone: the beat wishes for nothing there.
    let world = World::new(secs(1), Windows::default());
    let party = world.party(1).await;
    pass(secs(10)).await;
    let view = || party.it().node.view();
    assert_eq!(
        (view().standing.clone(), view().returns),
        (NodeStanding::Together, 1)
    );
    world.store.renew(world.key(), true);
    pass(secs(60)).await;
    let NodeStanding::Alone { since, why } = view().standing.clone() else {
        panic!("{:?}", view());
    };
    assert!(why.contains("upgrade this node"), "{why}");
    assert_eq!(view().returns, 1);
    pass(secs(60)).await;
    let alone = NodeStanding::Alone { since, why };
    assert_eq!((view().standing.clone(), view().returns), (alone, 1));
    world.store.renew(world.key(), false);
    pass(secs(5)).await;
    assert_eq!(
        (view().standing.clone(), view().returns),
        (NodeStanding::Together, 2)
    );
    // What is too long for any store is no reason to be alone.
    let long = vec![0; 2 << 20];
    let stream = Stream::Swarm(party.it().node.id());
    let append = party
        .it()
        .node
        .call(|store| store.append(stream, long, secs(60)));
    assert!(matches!(append.await, Err(Lost::TooLong(_))));
    assert!(!party.it().node.is_alone());
}

#[tokio::test(start_paused = true)]
async fn three_nodes_keep_one_window_and_use_nearly_all_of_it() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    all.iter().for_each(|party| party.ask(100));
    pass(secs(60)).await;
    // Five for each of the three are kept for when they are alone.
    assert_eq!(world.calls(), 85);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    assert!(world.calls() >= 2 * 85, "{}", world.calls());
    // A member that leaves gives its share back.
    all[2].stop().await;
    all[1].stop().await;
    pass(secs(7200)).await;
    let before = world.calls();
    all[0].ask(200);
    pass(secs(60)).await;
    assert_eq!(world.calls() - before, 95);
}

#[tokio::test(start_paused = true)]
async fn three_nodes_keep_one_distance() {
    began();
    let world = World::new(secs(2), Windows::default());
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    all.iter().for_each(|party| party.ask(10));
    pass(secs(120)).await;
    assert_eq!(world.calls(), 30);
    assert!(world.closest() >= millis(1990), "{:?}", world.closest());
}

#[tokio::test(start_paused = true)]
async fn an_equal_question_of_three_nodes_is_one_call() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    let mut tickets = Vec::new();
    let taken = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    for party in &all {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            taken: taken.clone(),
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        tickets.push(party.it().engine.submit(job, Arc::new(call)));
    }
    let mut ends = Vec::new();
    for ticket in tickets {
        ends.push(ticket.await);
    }
    assert_eq!(world.calls(), 1);
    let answered = ends.iter().filter(|end| **end == Ended::Answered);
    assert_eq!(answered.count(), 2, "{ends:?}");
    assert_eq!(*taken.lock(), vec![b"the answer".to_vec(); 2]);
    // Counted as shared, and told so.
    let counters: Vec<_> = all
        .iter()
        .map(|party| party.it().engine.status().counters)
        .collect();
    assert_eq!(counters.iter().map(|one| one.shared).sum::<u64>(), 2);
    assert_eq!(counters.iter().map(|one| one.sent).sum::<u64>(), 1);
    for one in counters {
        assert_eq!(one.asked, one.shared + one.sent);
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_equal_searches_on_each_node_are_one_call_also_if_it_fails() {
    began();
    let refused = Outcome::Rejected {
        reason: Reason::Refused,
    };
    // At once, and after a while.
    for (outcome, takes) in [
        (Outcome::Unavailable, secs(3)),
        (Outcome::Broken, Duration::ZERO),
        (refused, millis(300)),
    ] {
        let world = World::new(Duration::ZERO, Windows::default());
        let mut all = Vec::new();
        for number in 1..=3 {
            all.push(world.party(number).await);
        }
        pass(secs(10)).await;
        let flights: Vec<Flights<&str, ()>> = all
            .iter()
            .map(|party| Flights::new(party.it().engine.clone()))
            .collect();
        let mut followers = Vec::new();
        for (party, flights) in all.iter().zip(&flights) {
            for _ in 0..50 {
                let job = Job {
                    claims: true,
                    ..Job::new(party.it().upstream, INTERACTIVE)
                };
                let call = Noted {
                    outcome,
                    takes,
                    ..party.call(Some("debian"))
                };
                followers.push(flights.join("debian", job, |_| Some(Arc::new(call))));
            }
        }
        pass(secs(6)).await;
        assert_eq!(world.calls(), 1);
        for follower in followers {
            let ended = follower.await.expect_err("it failed");
            assert_eq!(ended, Ended::Finished(outcome));
        }
        let counters = all.iter().map(|party| party.it().engine.status().counters);
        for one in counters {
            assert_eq!((one.asked, one.shared + one.sent), (50, 50));
        }
        // It failed for whoever asked, and counts where it failed.
        let troubled = all.iter().filter(|party| {
            let view = party.it().engine.upstream(party.it().upstream);
            view.expect("there").trouble.is_some()
        });
        assert_eq!(troubled.count(), 1);
        let records = all.iter().flat_map(|party| {
            let is_shared = |record: &Record| matches!(record.what, What::Shared { .. });
            party
                .it()
                .engine
                .records(party.it().upstream, is_shared, 100)
        });
        assert!(
            records
                .into_iter()
                .all(|record| record.got == Some(Got::Nothing))
        );
        // Who asks now wants to know how it is now.
        let well = all.iter().find(|party| {
            let view = party.it().engine.upstream(party.it().upstream);
            view.expect("there").trouble.is_none()
        });
        let well = well.expect("two of them");
        let job = Job {
            claims: true,
            ..Job::new(well.it().upstream, INTERACTIVE)
        };
        let call = Arc::new(well.call(Some("debian")));
        let again = well.it().engine.submit(job, call);
        assert_eq!(again.await, Ended::Finished(Outcome::Done));
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_knows_better_than_the_store_asks_now_and_then() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(1)).await;
    one.it().node.hurry();
    pass(millis(10)).await;
    // The store hears late that it is on again, and answers in a hundredth of a second.
    one.store.fail(Fault::Held(millis(900)));
    one.it().engine.switch_on(one.it().upstream, "me");
    pass(millis(1)).await;
    let before = one.it().node.figures().calls();
    for _ in 0..80 {
        one.store.fail(Fault::Slow(millis(10)));
    }
    one.ask(1);
    pass(millis(800)).await;
    let asked = one.it().node.figures().calls() - before;
    assert!((2..=6).contains(&asked), "{asked} questions");
    assert_eq!(world.calls(), 0);
    pass(secs(3)).await;
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claimer_that_dies_costs_the_others_no_more_than_its_claim() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    let ask = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    let first = ask(&one);
    pass(secs(1)).await;
    let began = Instant::now();
    let second = ask(&two);
    pass(millis(10)).await;
    one.kill().await;
    drop(first);
    assert_eq!(second.await, Ended::Finished(Outcome::Done));
    // The claim is as long as the call's time-out, of which one second had passed.
    assert!(began.elapsed() <= secs(29 + 4), "{:?}", began.elapsed());
    assert_eq!(world.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn alone_a_node_spends_its_share_and_says_why_the_rest_waits() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.store.cut(true);
    pass(secs(3)).await;
    assert!(one.is_alone() && !two.is_alone());
    one.ask(50);
    two.ask(200);
    pass(secs(60)).await;
    let by = |number| {
        let calls = world.calls.lock();
        calls.iter().filter(|(by, ..)| *by == number).count()
    };
    assert_eq!((by(1), by(2)), (5, 90));
    let (wait, why) = one
        .it()
        .engine
        .next_wait(one.it().upstream, COMPLETION, Budget::Query);
    assert_eq!(why, Some(Wait::Share));
    assert!(wait > secs(3000) && wait <= secs(3600), "{wait:?}");
    // The record says so, with the limit that the page shows.
    let full = FullWindow {
        window: Window::HOUR,
        used: 5,
        limit: 100,
        kept: 5,
    };
    assert_eq!(one.waits().last(), Some(&(Wait::Share, Some(full))));
    let full = FullWindow {
        used: 90,
        kept: 10,
        ..full
    };
    assert_eq!(two.waits().last(), Some(&(Wait::Window, Some(full))));
    // Together again, what it did alone is counted once, and nothing is exceeded.
    one.store.cut(false);
    pass(secs(7200)).await;
    assert!(!one.is_alone());
    assert!(world.most(secs(3600)) <= 100);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_nobody_knows_the_end_of_leaves_one_record() {
    began();
    let world = World::new(Duration::ZERO, hourly(3));
    let all = [
        world.party(1).await,
        world.party(2).await,
        world.party(3).await,
    ];
    pass(secs(10)).await;
    let alone = &all[2];
    alone.store.cut(true);
    pass(secs(3)).await;
    alone.ask(1);
    pass(secs(3600)).await;
    let none = FullWindow {
        window: Window::HOUR,
        used: 0,
        limit: 3,
        kept: 0,
    };
    assert_eq!(alone.waits(), [(Wait::Share, Some(none))]);
    let shown = alone.it().engine.upstream(alone.it().upstream);
    let shown = shown.expect("there").status.query[0];
    assert!(shown.next <= alone.it().node.timeline().now(), "{shown:?}");
    // A store that has lost everything: all say what they used, and nobody is told that a quota is used up.
    let one = &all[0];
    world.store.restart_empty();
    pass(millis(2500)).await;
    one.ask(1);
    pass(secs(20)).await;
    assert_eq!(one.waits(), [(Wait::Agreeing, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_too_late_and_an_answer_of_no_use_leave_no_record() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(secs(59)));
    one.ask(1);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 1);
    assert_eq!(one.waits(), []);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_is_off_elsewhere_is_switched_off_and_has_no_other_reason() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(millis(20)).await;
    // Before it has read so.
    two.ask(1);
    pass(millis(20)).await;
    let view = two.it().engine.upstream(two.it().upstream).expect("there");
    assert_eq!(view.status.state, Availability::Off);
    let whats = two.it().engine.records(two.it().upstream, |_| true, 10);
    let whats: Vec<_> = whats.into_iter().map(|record| record.what).collect();
    assert!(
        matches!(whats[..], [What::Skipped(skip), What::SwitchedOff] if skip.reason == Wait::Off),
        "{whats:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_another_nodes_call_says_so_and_who_gets_a_kept_answer_how_old_it_is() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    let first = search(&one);
    pass(secs(1)).await;
    let joined = search(&two);
    assert_eq!(first.await, Ended::Finished(Outcome::Done));
    assert_eq!(joined.await, Ended::Answered);
    let records = |most| two.it().engine.records(two.it().upstream, |_| true, most);
    let told = records(10);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(matches!(told[0].what, What::Shared { .. }));
    assert_eq!(told[0].got, Some(Got::Fresh));
    assert!(
        matches!(
            told[1].what,
            What::Waits {
                reason: Wait::Claimed,
                ..
            }
        ),
        "{told:?}"
    );
    assert_eq!(told[1].cause.as_deref(), Some("node 1"));
    // Asked a while later, it is an old answer.
    pass(secs(30)).await;
    assert_eq!(search(&two).await, Ended::Answered);
    let told = records(1).remove(0);
    let What::Kept { by } = told.what else {
        panic!("{told:?}");
    };
    assert_eq!(two.it().engine.asker_name(by).as_deref(), Some("node 1"));
    let Some(Got::Cached { age }) = told.got else {
        panic!("{told:?}");
    };
    assert!(age >= secs(30) && age < secs(33), "{age:?}");
    let counters = two.it().engine.status().counters;
    assert_eq!((counters.shared, counters.from_memory), (1, 1));
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_one_node_is_told_holds_for_all() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let throttled = Noted {
        outcome: Outcome::Throttled {
            retry_after: Some(secs(600)),
        },
        ..one.call(None)
    };
    let job = Job::new(one.it().upstream, COMPLETION);
    one.it().engine.submit_detached(job, Arc::new(throttled));
    pass(secs(1)).await;
    // Heard when it asks, and by one that asks nothing too.
    two.ask(1);
    pass(secs(1)).await;
    let view = two.it().engine.upstream(two.it().upstream).expect("there");
    assert!(
        matches!(view.status.state, Availability::Cooldown { .. }),
        "{:?}",
        view.status.state
    );
    let reason = view.trouble.expect("it is told why").reason;
    assert!(reason.contains("node 1"), "{reason}");
    assert_eq!(world.calls(), 1);
    let three = world.party(3).await;
    pass(secs(30)).await;
    let view = three
        .it()
        .engine
        .upstream(three.it().upstream)
        .expect("there");
    assert!(matches!(view.status.state, Availability::Cooldown { .. }));
    pass(secs(600)).await;
    assert_eq!(world.calls(), 2, "the job that waited was made");
}

#[tokio::test(start_paused = true)]
async fn off_here_is_off_everywhere_and_on_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let state = |party: &Party| {
        let view = party.it().engine.upstream(party.it().upstream);
        view.expect("there").status.state
    };
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(20)).await;
    assert_eq!(state(&two), Availability::Off);
    let off = two
        .it()
        .engine
        .upstream(two.it().upstream)
        .expect("there")
        .off;
    let off = off.expect("it is told who");
    assert!(
        off.who.contains("Ada") && off.who.contains("node 1"),
        "{}",
        off.who
    );
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    assert_ne!(state(&one), Availability::Off);
}

#[tokio::test(start_paused = true)]
async fn what_was_switched_on_meanwhile_stays_on() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let mut one = world.party(1).await;
    let mut two = world.party(2).await;
    pass(secs(10)).await;
    let off = |party: &Party| {
        let view = party.it().engine.upstream(party.it().upstream);
        view.expect("there").off
    };
    let switched = one.it().node.timeline().now();
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(3600)).await;
    // Heard with the time at which it happened.
    let heard = off(&two).expect("it is off");
    assert_eq!((&*heard.who, &*heard.reason), ("Ada on node 1", "it moves"));
    let ago = heard.at.until(two.it().node.timeline().now());
    assert!(ago > secs(3598) && ago < secs(3602), "{ago:?}");
    assert!(switched.until(one.it().node.timeline().now()) >= secs(3600));
    // Told with who and where.
    let off_record = |record: &Record| record.what == What::SwitchedOff;
    let engine = &two.it().engine;
    let records = engine.records(two.it().upstream, off_record, 10);
    let by = engine.asker_name(records[0].asker);
    assert_eq!(by.as_deref(), Some("Ada on node 1"));
    one.kill().await;
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    one.start();
    pass(secs(30)).await;
    assert_eq!((off(&one), off(&two)), (None, None));
    // The other way round, and with a store that lost everything, and nodes that were started anew.
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves again", "Ada");
    pass(secs(20)).await;
    assert!(off(&two).is_some());
    one.kill().await;
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    world.store.restart_empty();
    two.kill().await;
    two.start();
    pass(secs(30)).await;
    one.start();
    pass(secs(60)).await;
    assert_eq!((off(&one), off(&two)), (None, None));
    // What was switched off later, while it was alone, counts.
    one.store.cut(true);
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "for good", "Ada");
    pass(secs(10)).await;
    world.store.restart_empty();
    one.store.cut(false);
    pass(secs(60)).await;
    assert!(off(&one).is_some() && off(&two).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_one_node_learns_holds_for_all() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let usage = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 40,
        used: Some(30),
    };
    one.it().engine.observe(one.it().upstream, usage);
    // Who asks nothing hears of it all the same.
    pass(secs(20)).await;
    one.ask(30);
    pass(secs(60)).await;
    two.ask(30);
    pass(secs(60)).await;
    // Ten are left, of which each node has two for when it is alone.
    assert_eq!(world.calls(), 6);
}

#[tokio::test(start_paused = true)]
async fn who_was_away_does_not_undo_what_the_others_were_told_meanwhile() {
    began();
    // Nor where the store has lost everything, and is told by all.
    for flushed in [false, true] {
        let world = World::new(
            Duration::ZERO,
            Windows::from([(Window::of_seconds(60), 1000)]),
        );
        let one = world.party(1).await;
        let two = world.party(2).await;
        let three = world.party(3).await;
        pass(secs(20)).await;
        one.store.cut(true);
        pass(secs(3)).await;
        assert!(one.is_alone());
        let limit = |limit| Usage {
            budget: Budget::Query,
            window: Window::HOUR,
            limit,
            used: None,
        };
        one.it().engine.clear(one.it().upstream, "me");
        one.it().engine.observe(one.it().upstream, limit(1000));
        pass(secs(10)).await;
        let throttled = Noted {
            outcome: Outcome::Throttled {
                retry_after: Some(secs(600)),
            },
            ..two.call(None)
        };
        let job = Job::new(two.it().upstream, COMPLETION);
        two.it().engine.submit_detached(job, Arc::new(throttled));
        two.it().engine.observe(two.it().upstream, limit(100));
        pass(secs(5)).await;
        if flushed {
            world.store.flush();
            two.it().node.hurry();
            three.it().node.hurry();
            pass(millis(100)).await;
        }
        one.store.cut(false);
        pass(millis(700)).await;
        assert!(!one.is_alone());
        let row = async || {
            let rows = world.store.rows(vec![world.key()]).await;
            rows.expect("it answers").remove(0)
        };
        assert!(row().await.throttled.is_some());
        assert_eq!(row().await.limits[0].limit, 100);
        pass(secs(30)).await;
        assert_eq!(row().await.limits[0].limit, 100);
        three.ask(1);
        pass(secs(30)).await;
        assert_eq!(world.calls(), 1);
        // Cleared once more, by somebody who knows all of this, it is called again.
        one.it().engine.clear(one.it().upstream, "me");
        two.it().engine.clear(two.it().upstream, "me");
        three.it().engine.clear(three.it().upstream, "me");
        pass(secs(30)).await;
        assert_eq!(world.calls(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn limits_that_differ_between_nodes_are_told() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let mut other = world.clone();
    other.quota.query = hourly(200);
    let two = other.party(2).await;
    let differing = |party: &Party| {
        let seen = party.it().engine.shared_use(party.it().upstream);
        seen.expect("it was read").differing
    };
    pass(secs(40)).await;
    let said = |here, there, node: &str| DifferingLimit {
        budget: Budget::Query,
        window: Window::HOUR,
        here: Some(here),
        there: Some(there),
        node: node.into(),
    };
    assert_eq!(differing(&one), [said(100, 200, "node 2")]);
    assert_eq!(differing(&two), [said(200, 100, "node 1")]);
    // Each keeps to its own; the same everywhere is nothing to tell.
    let same = world.quota.clone();
    two.it().engine.set_quota(two.it().upstream, same);
    pass(secs(40)).await;
    assert_eq!((differing(&one), differing(&two)), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_nobody_wants_any_more_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    let job = Job::new(one.it().upstream, COMPLETION);
    let ticket = one.it().engine.submit(job, Arc::new(one.call(None)));
    pass(millis(100)).await;
    drop(ticket);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 0, "it was withdrawn while it asked");
    one.ask(30);
    pass(secs(60)).await;
    // One is kept for when it is alone.
    assert_eq!(world.calls(), 19);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_a_stopped_node_hears_of_when_it_wakes_is_given_back() {
    began();
    let minute = secs(60);
    let world = World::new(Duration::ZERO, Windows::from([(Window::of_seconds(60), 1)]));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    one.ask(1);
    pass(millis(100)).await;
    // The answer lies there; nobody on this node reads it.
    let asleep = Instant::now();
    tokio::time::advance(minute + secs(5)).await;
    two.ask(1);
    pass(secs(5)).await;
    assert_eq!(world.calls(), 1, "after {:?}", asleep.elapsed());
    pass(secs(600)).await;
    assert_eq!(world.calls(), 2, "the call is made all the same, later");
    assert_eq!(world.most(minute), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_of_a_store_that_lost_everything_before_its_answer_arrived_counts() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(900)));
    one.ask(1);
    pass(millis(100)).await;
    world.store.restart_empty();
    one.it().node.hurry();
    pass(millis(100)).await;
    assert_eq!(world.calls(), 0, "its answer is still on its way");
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    one.ask(30);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 19);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_reaches_a_store_after_it_was_handed_in_is_no_permission() {
    began();
    for twice in [false, true] {
        let world = World::new(Duration::ZERO, hourly(20));
        let one = world.party(1).await;
        pass(secs(10)).await;
        one.ask(18);
        pass(secs(10)).await;
        assert_eq!(world.calls(), 18);
        if twice {
            // Of its two requests, the second is asked for as the store loses everything.
            let job = Job::new(one.it().upstream, COMPLETION);
            let call = Noted {
                twice,
                takes: millis(50),
                ..one.call(None)
            };
            one.it().engine.submit_detached(job, Arc::new(call));
            pass(millis(20)).await;
        } else {
            one.ask(1);
            pass(millis(20)).await;
        }
        assert_eq!(world.calls(), 19);
        one.store.fail(Fault::Held(millis(500)));
        if !twice {
            one.ask(1);
        }
        pass(millis(100)).await;
        world.store.flush();
        one.it().node.hurry();
        pass(secs(10)).await;
        // One is kept for when it is alone.
        assert_eq!(world.calls(), 19);
        pass(secs(30)).await;
        assert_eq!(world.counted().await, 19);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_request_whose_call_was_cut_off_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let job = Job::new(one.it().upstream, COMPLETION);
    let call = Noted {
        twice: true,
        takes: millis(29_500),
        ..one.call(None)
    };
    let ticket = one.it().engine.submit(job, Arc::new(call));
    pass(millis(29_400)).await;
    // So that the beat is not what is slow.
    one.it().node.hurry();
    pass(millis(10)).await;
    one.store.fail(Fault::Slow(millis(900)));
    assert_eq!(ticket.await, Ended::TimedOut);
    pass(secs(10)).await;
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    world.store.flush();
    pass(secs(30)).await;
    assert_eq!(world.counted().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_request_hears_that_the_clock_has_jumped() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let job = Job::new(one.it().upstream, COMPLETION);
    let call = Noted {
        twice: true,
        takes: millis(100),
        ..one.call(None)
    };
    one.it().node.hurry();
    pass(millis(10)).await;
    one.it().engine.submit_detached(job, Arc::new(call));
    pass(millis(50)).await;
    let returns = one.it().node.view().returns;
    world
        .store
        .follow_tokio_time(world.store.time().after(secs(2 * 3600)));
    // Well before its next beat.
    pass(millis(100)).await;
    assert_eq!(one.it().node.view().returns, returns + 1);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_restarted_alone_has_what_is_left_of_its_share() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.store.cut(true);
    pass(secs(3)).await;
    one.ask(2);
    pass(secs(3)).await;
    assert_eq!(world.calls_of(1), 2);
    one.kill().await;
    one.start();
    one.ask(50);
    two.ask(200);
    pass(secs(60)).await;
    // Neither forgotten nor had twice.
    assert_eq!(world.calls_of(1), 5);
    assert_eq!(world.calls_of(2), 90);
    one.kill().await;
    one.start();
    one.ask(50);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(1), 5);
    one.store.cut(false);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 100);
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_the_share_of_a_node_that_was_restarted() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    pass(secs(10)).await;
    one.kill().await;
    world.store.restart_empty();
    one.start();
    // Not given anew, which takes longer.
    pass(millis(50)).await;
    assert_eq!(world.shares().await, [5]);
    // After a day it is no longer its own: others may have it.
    one.kill().await;
    world.store.restart_empty();
    pass(secs(24 * 3600)).await;
    one.start();
    pass(millis(50)).await;
    assert!(!one.is_alone());
    assert!(world.shares().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_queries_that_are_older_than_the_windows_of_downloads() {
    began();
    let mut world = World::new(Duration::ZERO, Windows::from([(Window::DAY, 100)]));
    world.quota.grab = hourly(10);
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(80);
    pass(secs(2 * 3600)).await;
    one.grab(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 81);
    world.store.flush();
    pass(secs(60)).await;
    assert_eq!(world.counted().await, 81);
    one.ask(100);
    pass(secs(600)).await;
    // Five are kept for when it is alone.
    assert_eq!(world.most(secs(24 * 3600)), 95);
}

#[tokio::test(start_paused = true)]
async fn a_restart_makes_no_start_count_twice() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(60);
    pass(secs(30)).await;
    assert_eq!((world.calls(), world.counted().await), (60, 60));
    for _ in 0..2 {
        one.stop().await;
        one.start();
        pass(secs(10)).await;
    }
    // Of an earlier run, what may have been in its share is told when that is given back, by other names: five.
    assert_eq!(world.counted().await, 65);
    one.ask(50);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 60 + 30);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_gave_its_share_back_has_none_when_it_is_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.stop().await;
    pass(secs(3)).await;
    two.ask(200);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(2), 95);
    one.store.cut(true);
    two.store.cut(true);
    one.start();
    pass(secs(3)).await;
    one.ask(10);
    pass(secs(60)).await;
    assert_eq!((world.calls_of(1), world.calls_of(2)), (0, 100));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_stopped_while_it_beats_leaves() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.store.fail(Fault::Slow(millis(500)));
    one.it().node.hurry();
    pass(millis(100)).await;
    one.stop().await;
    assert_eq!(world.shares().await, [5]);
    pass(secs(3)).await;
    assert_eq!(two.it().node.view().members.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_restarted_alone_keeps_the_distance_of_all() {
    began();
    let gap = secs(2);
    // Known from the window, and where there is none.
    for windows in [hourly(1000), Windows::default()] {
        let world = World::new(gap, windows);
        let mut one = world.party(1).await;
        let _others = [world.party(2).await, world.party(3).await];
        pass(secs(10)).await;
        one.ask(1);
        pass(millis(100)).await;
        assert_eq!(world.calls_of(1), 1);
        one.kill().await;
        one.store.cut(true);
        one.start();
        assert_eq!(one.it().node.view().count(), 3);
        one.ask(2);
        pass(secs(60)).await;
        assert_eq!(world.calls_of(1), 3);
        assert!(world.closest() >= gap * 3, "{:?}", world.closest());
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_given_back_late_is_not_that_of_the_next_try() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(5),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    one.store.fail(Fault::Slow(millis(1500)));
    let first = search(&one);
    pass(secs(2)).await;
    assert_eq!(world.calls(), 1, "it asked once more");
    let second = search(&two);
    assert_eq!(first.await, Ended::Finished(Outcome::Done));
    assert_eq!(second.await, Ended::Answered);
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_its_time_does_not_shorten_the_distance() {
    began();
    let gap = secs(2);
    let world = World::new(gap, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    for slow in [millis(90), millis(150), millis(900)] {
        one.store.fail(Fault::Slow(slow));
        one.ask(1);
        pass(millis(50)).await;
        two.ask(1);
        pass(secs(30)).await;
    }
    assert_eq!(world.calls(), 6);
    assert!(world.closest() >= gap * 95 / 100, "{:?}", world.closest());
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a part that comes after the first beat")]
async fn a_part_that_the_first_beat_would_not_see_is_a_mistake() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let options = Options {
        node: Some(one.it().node.clone()),
        ..Options::new(one.it().node.timeline(), Weather::default())
    };
    let _late = Engine::new("late", policy(), options);
}

#[tokio::test(start_paused = true)]
async fn the_second_request_of_a_call_keeps_to_the_window() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    all.iter().for_each(|party| party.ask_twice(10));
    pass(secs(60)).await;
    // One is kept for each of the three.
    assert_eq!(world.calls(), 17);
    assert_eq!(world.counted().await, 17);
    all[0].store.cut(true);
    pass(secs(10)).await;
    all[0].ask_twice(3);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 18, "its share is one, not two");
    all[0].store.cut(false);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 20);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_late_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    // As for a node that was stopped while it asked, and woken.
    one.store.fail(Fault::Slow(secs(59)));
    let asked = Instant::now();
    one.ask(1);
    pass(secs(60)).await;
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    let at = world.calls.lock()[0].2;
    assert!(at >= asked + secs(59), "{:?}", at - asked);
    // What the store counts is the second grant, not the first.
    let rows = world.store.rows(vec![world.key()]).await;
    let start = rows.expect("it answers").remove(0).starts[0].1;
    assert!(start.until(world.store.time()) < secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_loses_everything_while_it_is_told_is_told_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(19);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 19);
    world.store.flush();
    // It hears of the new epoch, and before it has said anything there is another one, begun by somebody new.
    one.store.fail(Fault::Slow(millis(500)));
    one.it().node.hurry();
    pass(millis(100)).await;
    world.store.flush();
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert!(!one.is_alone() && !two.is_alone());
    assert_eq!(world.counted().await, 19);
    two.ask(10);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(2), 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_clock_jumps_ahead_is_told_how_long_ago_everything_was() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.ask(45);
    two.ask(45);
    pass(secs(20)).await;
    assert_eq!(world.calls(), 90);
    let ahead = world.store.time().after(secs(2 * 3600));
    world.store.follow_tokio_time(ahead);
    for _ in 0..30 {
        one.ask(10);
        two.ask(10);
        pass(millis(500)).await;
    }
    pass(secs(60)).await;
    assert!(!one.is_alone() && !two.is_alone());
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    pass(secs(3600)).await;
    assert!(world.calls() > 120, "{}", world.calls());
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_slept_does_not_take_it_for_a_jump_of_the_clock() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let epoch = one.it().node.epoch();
    sleep(&world, secs(600));
    pass(secs(5)).await;
    let view = one.it().node.view();
    assert_eq!((view.returns, one.it().node.epoch()), (1, epoch));
    // A jump is one all the same.
    sleep(&world, secs(600));
    world
        .store
        .follow_tokio_time(world.store.time().after(secs(60)));
    pass(secs(5)).await;
    let view = one.it().node.view();
    assert_eq!(view.returns, 2);
    assert_ne!(one.it().node.epoch(), epoch);
}

#[tokio::test(start_paused = true)]
async fn what_was_granted_before_a_machine_slept_is_not_used_after() {
    began();
    let window = Windows::from([(Window::of_seconds(60), 1)]);
    let world = World::new(Duration::ZERO, window);
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    one.ask(1);
    pass(millis(100)).await;
    sleep(&world, secs(55));
    pass(secs(1)).await;
    assert_eq!(world.calls(), 1);
    // What the store counts is the second grant.
    let rows = world.store.rows(vec![world.key()]).await;
    let starts = rows.expect("it answers").remove(0).starts;
    let ages: Vec<_> = starts
        .iter()
        .map(|start| start.1.until(world.store.time()))
        .collect();
    assert!(ages.len() == 1 && ages[0] < secs(2), "{ages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_share_ends_also_where_its_machine_sleeps() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.cut(true);
    pass(secs(3)).await;
    sleep(&world, secs(22 * 3600));
    one.ask(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    sleep(&world, secs(3600));
    one.ask(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    // Nor does an emptied store hear of one.
    world.store.flush();
    one.store.cut(false);
    pass(millis(600)).await;
    assert!(!one.is_alone());
    assert!(world.shares().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_share_is_given_back_when_it_is_off_the_disk() {
    began();
    for fails in [false, true] {
        let world = World::new(Duration::ZERO, hourly(100));
        let mut one = world.absent(1);
        one.disk_fails = fails;
        one.start();
        pass(secs(10)).await;
        assert_eq!(world.shares().await, [5]);
        let kept = one.kept.clone();
        let watch = async {
            pass(millis(40)).await;
            // It is still on the disk, and so it is with the store.
            let shares = world.shares().await;
            assert_eq!((kept.lock().shares.len(), shares), (1, vec![5]));
        };
        futures_util::join!(one.stop(), watch);
        let (left, shares) = (usize::from(fails), world.shares().await.len());
        assert_eq!((kept.lock().shares.len(), shares), (left, left));
    }
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_calls_to_an_upstream_that_was_removed() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.ask(60);
    pass(secs(10)).await;
    one.it().engine.remove_upstream(one.it().upstream);
    pass(secs(10)).await;
    world.store.flush();
    pass(secs(20)).await;
    two.ask(100);
    pass(secs(60)).await;
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    assert!(two.is_alone() || world.calls_of(2) > 20);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_when_it_was_told_to_is_answered_at_any_node() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    let search = |node: usize| {
        let job = Job::new(all[node].it().upstream, RSS);
        let call = Arc::new(all[node].call(None));
        all[node].it().engine.submit(job, call)
    };
    // One is kept for each of the three.
    for number in 0..17 {
        let ended = search(number % 3).await;
        assert_eq!(ended, Ended::Finished(Outcome::Done));
        pass(secs(60)).await;
    }
    for number in 0..9 {
        let Ended::Skipped(skipped) = search(number % 3).await else {
            panic!("there is no room");
        };
        let wait = skipped.skip.wait.expect("a time is told");
        assert!(wait > secs(15) && wait < secs(3605), "{wait:?}");
        pass(wait).await;
        // Told by one, and at that one or another.
        let ended = search((number + number / 3) % 3).await;
        assert_eq!(ended, Ended::Finished(Outcome::Done), "{number}");
    }
    assert!(world.most(secs(3600)) <= 17);
}

#[tokio::test(start_paused = true)]
async fn a_clock_of_the_store_that_was_set_back_is_told_with_what_to_do() {
    began();
    weir_testkit::log::listen();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    let trouble = || one.it().node.store_trouble().map(|it| it.to_string());
    pass(secs(10)).await;
    assert_eq!(trouble(), None);
    let now = world.store.time();
    world.store.follow_tokio_time(now.before(secs(20)));
    pass(secs(5)).await;
    let told = trouble().expect("it is told");
    assert_eq!(
        told,
        "The store's clock was set back. Shared limits and waits do not end until it reaches the time that it showed before. \
         If the clock is wrong now, set it right (with NTP, for example); otherwise wait."
    );
    let log = weir_testkit::log::all();
    let mut lines = log.lines().filter(|line| line.contains(&told));
    assert!(lines.any(|line| line.contains("WARN")), "{log}");
    pass(secs(20)).await;
    assert_eq!(trouble(), None);
    assert_eq!(one.it().node.view().returns, 1);
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_is_away_nothing_is_told_about_its_clock() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    let trouble = || one.it().node.store_trouble();
    pass(secs(10)).await;
    let now = world.store.time();
    world.store.follow_tokio_time(now.before(secs(60)));
    pass(secs(5)).await;
    let before = trouble();
    assert!(before.is_some());
    one.store.cut(true);
    pass(secs(5)).await;
    assert!(one.it().node.is_alone());
    assert_eq!(trouble(), None);
    one.store.cut(false);
    pass(secs(2)).await;
    assert!(!one.it().node.is_alone());
    assert_eq!(trouble(), before, "it was set back still");
}

#[tokio::test(start_paused = true)]
async fn a_node_and_its_copy_ask_different_questions() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let mut copy = world.absent(2);
    copy.kept = Arc::new(Mutex::new(KeptNode {
        runs: 0,
        ..one.kept.lock().clone()
    }));
    copy.start();
    let (mine, copied) = (one.it().node.ask_id(), copy.it().node.ask_id());
    assert_eq!(mine.node, copied.node);
    assert_ne!(mine.number, copied.number);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_another_question_is_not_believed() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party, text| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Arc::new(party.call(Some(text)));
        party.it().engine.submit(job, call)
    };
    assert_eq!(search(&one, "debian").await, Ended::Finished(Outcome::Done));
    pass(secs(1)).await;
    // Whoever runs the store gives what it holds for one question as the answer to another.
    let question = |text: &str| Question {
        key: world
            .seal
            .name(&[b"question", &world.key().0, text.as_bytes()]),
        claim: secs(60),
        fresh: secs(60),
    };
    let ask = |number, text| Ask {
        id: AskId {
            node: NodeId(99),
            number,
        },
        upstream: world.key(),
        ledger: weir_store::state::Ledger::Query,
        windows: vec![],
        day_begins: None,
        gap: None,
        question: Some(question(text)),
        wanted_until: world.store.time(),
    };
    let Ok(Answer::Answered { body, .. }) = world.store.ask(ask(1, "debian")).await else {
        panic!("it is answered");
    };
    let claimed = world.store.ask(ask(2, "fedora")).await;
    assert!(matches!(claimed, Ok(Answer::Granted(_))), "{claimed:?}");
    let body = Some(body.to_vec());
    let swapped = world
        .store
        .answer(question("fedora"), ask(2, "fedora").id, body, secs(60));
    swapped.await.expect("it takes it");
    assert_eq!(search(&two, "fedora").await, Ended::Finished(Outcome::Done));
    assert_eq!(world.calls(), 2);
    assert_eq!(search(&two, "debian").await, Ended::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_share_lasts_from_when_the_beat_was_sent() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(secs(3600)));
    one.it().node.hurry();
    pass(millis(1)).await;
    let sent = one.it().node.timeline().now();
    pass(secs(3600)).await;
    let heard = one.it().node.view().heard.expect("it was heard");
    assert!(heard <= sent, "{heard:?} {sent:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_store_did_not_hear_is_told_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    // Just after a beat, so that what is lost is the word about the throttling.
    one.it().node.hurry();
    pass(millis(10)).await;
    let throttled = Noted {
        outcome: Outcome::Throttled {
            retry_after: Some(secs(600)),
        },
        takes: secs(1),
        ..one.call(None)
    };
    let job = Job::new(one.it().upstream, COMPLETION);
    one.it().engine.submit_detached(job, Arc::new(throttled));
    pass(millis(500)).await;
    one.store.fail(Fault::Unheard);
    pass(secs(10)).await;
    assert!(!one.is_alone());
    two.ask(1);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_not_heard_of_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Unanswered);
    one.ask(1);
    pass(millis(100)).await;
    // Counted, and made in the share of a node that is alone.
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    pass(secs(10)).await;
    assert!(!one.is_alone());
    let rows = world.store.rows(vec![world.key()]).await;
    let starts = rows.expect("it answers").remove(0).starts;
    assert_eq!(starts.len(), 1);
    one.ask(30);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 19);
}

/// Whatever goes wrong, no window is exceeded: nodes that are cut off, killed, stopped and started again, calls that are
/// lost, late or repeated, stores that are restarted with all, some or none of what they held.
#[tokio::test(start_paused = true)]
async fn windows_hold_whatever_goes_wrong() {
    began();
    let mut called = 0;
    for seed in seeds() {
        let limit = [10, 25, 60, 100][seed as usize % 4];
        let windows = Windows::from([(Window::HOUR, limit), (Window::of_seconds(300), limit / 2)]);
        let mut world = World::new(Duration::ZERO, windows);
        // Now shorter, now longer than those of queries.
        let (grabs, grab_window) = [(4, secs(120)), (30, secs(2 * 3600))][seed as usize / 2 % 2];
        let length = Window::of_seconds(grab_window.as_secs() as u32);
        world.quota.grab = Windows::from([(length, grabs)]);
        let mut random = fastrand::Rng::with_seed(seed);
        // One asks only when it is alone: of its share nothing is spent before.
        let quiet = seed as usize % 3;
        let mut all = Vec::new();
        for number in 1..=2 {
            all.push(world.party(number).await);
        }
        // The third one comes whenever it comes, or is there from the beginning.
        all.push(match seed % 2 {
            0 => world.party(3).await,
            _ => world.absent(3),
        });
        let mut snapshot = world.store.snapshot();
        let mut said = Vec::new();
        for step in 0..250 {
            let which = random.usize(0..3);
            let party = &mut all[which];
            let what = random.u32(0..100);
            said.push((step, which, what));
            if party.running.is_none() {
                match what {
                    0..40 => party.start(),
                    40..50 => party.store.cut(true),
                    50..56 => party.store.cut(false),
                    _ => {}
                }
            } else {
                match what {
                    0..40 if which == quiet && !party.is_alone() => {}
                    0..40 => party.ask(random.usize(1..8)),
                    40..50 => party.grab(random.usize(1..4)),
                    50..56 => party.store.cut(true),
                    56..66 => party.store.cut(false),
                    66..70 => party.store.fail(Fault::Unheard),
                    70..74 => party.store.fail(Fault::Unanswered),
                    74..77 => party.store.fail(Fault::Late(secs(random.u64(1..30)))),
                    77..80 => party.store.fail(Fault::Twice),
                    80..82 => party.store.fail(Fault::Again(secs(random.u64(1..30)))),
                    82..84 => party.store.fail(Fault::Slow(millis(random.u64(1..900)))),
                    84..86 => party.kill().await,
                    86..88 => party.stop().await,
                    88..90 => snapshot = world.store.snapshot(),
                    90..91 => world.store.restore(&snapshot),
                    91..92 => world.store.restart_empty(),
                    92..93 => world.store.flush(),
                    93..94 => world.store.restart(),
                    94..97 => party.store.fail(Fault::Held(millis(random.u64(1..900)))),
                    97..100 => party.ask_twice(random.usize(1..4)),
                    _ => {}
                }
            }
            pass(millis(random.u64(1..60_000))).await;
        }
        let (hour, minutes) = (world.most(secs(3600)), world.most(secs(300)));
        assert!(
            hour <= limit as usize,
            "seed {seed}: {hour} of {limit}: {said:?}"
        );
        assert!(
            minutes <= limit as usize / 2,
            "seed {seed}: {minutes} in five minutes"
        );
        let grabbed = world.most_of(Budget::Grab, grab_window);
        assert!(
            grabbed <= grabs as usize,
            "seed {seed}: {grabbed} downloads of {grabs}: {said:?}"
        );
        // With a tiny limit and a store that forgets, little is certain and little is called, but something is.
        assert!(world.calls() > 3, "seed {seed}: {} calls", world.calls());
        called += world.calls();
        for mut party in all {
            if party.running.is_some() {
                party.kill().await;
            }
        }
    }
    assert!(called > 100, "hardly anything was called");
}
