//! The same random calls to a store in memory and to a real server must give the same answers, whatever they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use weir_testkit::redis::Redis;

use super::super::story::id;
use super::super::{Configured, HandedStart, MemoryStore, Share, ShareWish, Switched, ToldLimit};
use super::tests::open;
use super::*;
use crate::state::{Ledger, Window};

/// Histories, and calls in each.
const HISTORIES: u64 = 25;
const CALLS: u64 = 200;

fn upstream(random: &mut Rng) -> UpstreamKey {
    UpstreamKey([random.u8(0..2); 16])
}

fn ledger(random: &mut Rng) -> Ledger {
    *random
        .choice(&[Ledger::Query, Ledger::Query, Ledger::Grab])
        .unwrap()
}

fn window(random: &mut Rng) -> Window {
    Window(*random.choice(&[10_u32, 60, 3600, 86_400]).unwrap())
}

fn limit(random: &mut Rng) -> u32 {
    *random.choice(&[1_u32, 2, 3, 5, 8, 40, 1000]).unwrap()
}

fn node(random: &mut Rng) -> NodeId {
    NodeId(random.u64(1..5))
}

fn span(random: &mut Rng) -> Duration {
    Duration::from_millis(match random.u8(0..4) {
        0 => random.u64(0..50),
        1 => random.u64(0..5000),
        2 => random.u64(0..100_000),
        _ => random.u64(0..100_000_000),
    })
}

fn question(random: &mut Rng) -> Question {
    Question {
        key: [random.u8(0..3); 16],
        claim: span(random),
        fresh: span(random),
    }
}

/// Now, a while ago, or unknown.
fn at(random: &mut Rng, now: u64) -> StoreTime {
    match random.u8(0..5) {
        0 => StoreTime::default(),
        _ => StoreTime((now + 100).saturating_sub(random.u64(0..4000))),
    }
}

fn told_limit(random: &mut Rng, now: u64) -> ToldLimit {
    ToldLimit {
        ledger: ledger(random),
        window: window(random),
        limit: limit(random),
        used: random.bool().then(|| limit(random)),
        at: at(random, now),
    }
}

fn switched(random: &mut Rng, now: u64) -> Switched {
    Switched {
        // Rarely off, or nothing is ever granted.
        off: random.u8(0..4) == 0,
        node: node(random),
        by: "somebody".into(),
        reason: "why\0not".into(),
        at: StoreTime((now + 100).saturating_sub(random.u64(0..1000))),
    }
}

fn told(random: &mut Rng, now: u64, next: u64) -> Told {
    match random.u8(0..9) {
        8 => Told::Configured(
            node(random),
            some(random, 3, |random| Configured {
                ledger: ledger(random),
                window: window(random),
                limit: limit(random),
            }),
        ),
        0 => Told::Unused(id(random.u64(1..5), random.u64(0..next + 1))),
        1..=3 => Told::Started {
            id: id(random.u64(1..5), 1_000_000 + random.u64(0..40)),
            ledger: ledger(random),
            age: span(random),
            spaced: random.bool(),
        },
        4 => Told::Throttled {
            span: span(random),
            by: node(random),
            reason: "busy".into(),
            at: at(random, now),
        },
        5 => Told::Limit(told_limit(random, now)),
        6 => Told::Switched(switched(random, now)),
        _ => Told::Cleared(at(random, now)),
    }
}

fn handed(random: &mut Rng) -> HandedStart {
    HandedStart {
        upstream: upstream(random),
        id: id(random.u64(1..5), 2_000_000 + random.u64(0..40)),
        ledger: ledger(random),
        age: span(random),
        spaced: random.bool(),
    }
}

fn share(random: &mut Rng) -> Share {
    Share {
        upstream: upstream(random),
        ledger: ledger(random),
        window: window(random),
        starts: random.u32(0..3),
    }
}

/// So many of them.
fn some<T>(random: &mut Rng, most: usize, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..random.usize(0..=most)).map(|_| one(random)).collect()
}

/// One call, made of the same random numbers whoever is called; its answer as text.
async fn call(
    store: &dyn SharedStore,
    random: &mut Rng,
    now: u64,
    next: u64,
    epoch: Epoch,
) -> String {
    match random.u8(0..40) {
        0..=14 => {
            let mut windows = some(random, 3, |random| (window(random), limit(random)));
            windows.sort_unstable();
            windows.dedup_by_key(|(window, _)| *window);
            let again = random.u8(0..10) == 0;
            let ask = Ask {
                id: id(random.u64(1..5), if again { next / 2 } else { next }),
                upstream: upstream(random),
                ledger: ledger(random),
                windows,
                day_begins: (random.u8(0..4) == 0).then(|| random.u32(0..86_400)),
                gap: random
                    .bool()
                    .then(|| Duration::from_millis(random.u64(0..5000))),
                question: (random.u8(0..4) == 0).then(|| question(random)),
                wanted_until: StoreTime((now + 100).saturating_sub(random.u64(0..110))),
            };
            format!("{ask:?} => {:?}", store.ask(ask.clone()).await)
        }
        15..=19 => {
            let upstream = upstream(random);
            let told = some(random, 3, |random| told(random, now, next));
            format!("{told:?} => {:?}", store.tell(upstream, told.clone()).await)
        }
        20..=24 => {
            let beat = Beat {
                node: node(random),
                name: "a node".into(),
                shares: some(random, 3, |random| ShareWish {
                    upstream: upstream(random),
                    ledger: ledger(random),
                    window: window(random),
                    limit: limit(random),
                }),
                new_epoch: Epoch(next),
                distrusts: match random.u8(0..20) {
                    0 => epoch,
                    _ => Epoch(0),
                },
                ..Beat::default()
            };
            format!("{beat:?} => {:?}", store.beat(beat.clone()).await)
        }
        25..=28 => {
            let hand_in = HandIn {
                node: node(random),
                epoch,
                known: some(random, 1, node),
                starts: some(random, 3, handed),
                shares: some(random, 2, share),
                throttled: some(random, 1, |random| {
                    (upstream(random), span(random), "x".into())
                }),
                limits: some(random, 1, |random| {
                    (upstream(random), told_limit(random, now))
                }),
                switched: some(random, 1, |random| {
                    (upstream(random), switched(random, now))
                }),
            };
            format!("{hand_in:?} => {:?}", store.hand_in(hand_in.clone()).await)
        }
        29 => {
            let leave = Leave {
                node: node(random),
                starts: some(random, 2, handed),
            };
            format!("{leave:?} => {:?}", store.leave(leave.clone()).await)
        }
        30 => {
            let (question, claim) = (question(random), id(random.u64(1..5), random.u64(0..=next)));
            let body = random.bool().then(|| vec![1, 2, 0, 255]);
            let answer = store.answer(question, claim, body, span(random)).await;
            format!("{question:?} {claim:?} => {answer:?}")
        }
        31..=32 => {
            let keys = some(random, 3, |random| [random.u8(0..3); 16]);
            let (by, span) = (node(random), span(random));
            let answer = store.claim(keys.clone(), by, span).await;
            format!("{keys:?} {by:?} => {answer:?}")
        }
        33..=34 => {
            let entries = some(random, 3, |random| {
                (
                    vec![random.u8(0..4)],
                    random.bool().then(|| vec![random.u8(..)]),
                )
            });
            let keep = span(random) + Duration::from_millis(1);
            let version = store.put(Table::Keys, entries.clone(), keep).await;
            format!("{entries:?} => {version:?}")
        }
        35 => {
            let since = Version::of(epoch, random.u64(0..next));
            let since = *random.choice(&[since, Version::NONE]).unwrap();
            format!("{since:?} => {:?}", store.changes(Table::Keys, since).await)
        }
        36 => {
            let account = upstream(random);
            let (by, open, limit) = (node(random), random.u32(0..6), random.u32(0..10));
            let lease = store.lease(account, by, open, limit).await;
            format!("{by:?} {open} {limit} => {lease:?}")
        }
        37 => {
            let stream = Stream::Forwarded(node(random));
            let place = store
                .append(stream, vec![random.u8(..)], span(random))
                .await;
            let read = store.read(vec![(stream, Place::START)], random.usize(1..5));
            format!("{place:?} {:?}", read.await)
        }
        _ => {
            let upstreams = vec![UpstreamKey([0; 16]), UpstreamKey([1; 16])];
            format!("{:?}", store.rows(upstreams).await)
        }
    }
}

#[tokio::test]
async fn both_stores_say_the_same() {
    let server = Redis::start().await.unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let real = open(&server.url()).with_clock(clock.clone());
    real.ready().await.unwrap();
    for seed in 0..HISTORIES {
        server.ask(&["FLUSHALL"]).unwrap();
        real.heard.store(0, Ordering::SeqCst);
        let begin = StoreTime(1_800_000_000_000 + seed * 1000);
        clock.store(begin.0, Ordering::SeqCst);
        let memory = MemoryStore::new(begin);
        let mut random = Rng::with_seed(seed);
        let mut lines = Vec::new();
        for next in 1..CALLS {
            let wait = match random.u8(0..30) {
                0 => 90_000_000,
                1..=3 => random.u64(0..100_000),
                4..=15 => random.u64(0..4000),
                _ => 0,
            };
            memory.advance(Duration::from_millis(wait));
            clock.fetch_add(wait, Ordering::SeqCst);
            let now = memory.time().0;
            if random.u8(0..60) == 0 {
                // Another life of the server, with the same data.
                memory.restart();
                server
                    .ask(&["HSET", "{weir}:meta", "run", "other"])
                    .unwrap();
            }
            let epoch = memory.epoch();
            let mut same = random.clone();
            let ours = call(&memory, &mut random, now, next, epoch).await;
            let theirs = call(&real, &mut same, now, next, epoch).await;
            lines.push(ours.clone());
            let last = lines[lines.len().saturating_sub(30)..].join("\n");
            assert_eq!(ours, theirs, "seed {seed}, call {next}, after\n{last}");
        }
    }
}
