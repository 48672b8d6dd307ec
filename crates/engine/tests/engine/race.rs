//! Many threads at once, in real time: every job ends exactly once, and the counts agree.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use weir_engine::dispatch::{Class, UpstreamId};
use weir_engine::{Call, Ended, Flights, Kind, Landing, Outcome, Permit};

use crate::kit::*;

/// Counts its calls; every seventh panics, some yield first.
struct Busy(Arc<AtomicU64>);

impl Call for Busy {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        async {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            if number.is_multiple_of(3) {
                tokio::task::yield_now().await;
            }
            assert!(!number.is_multiple_of(7), "every seventh");
            Outcome::Done
        }
        .boxed()
    }
}

struct Answers(Landing<u64, u64>);

impl Call for Answers {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        async {
            tokio::task::yield_now().await;
            self.0.put(Arc::new(*self.0.key()));
            Outcome::Done
        }
        .boxed()
    }
}

fn crowd() -> (Desk, Vec<UpstreamId>) {
    let desk = Desk::new(policy());
    let upstreams = (0..20).map(|index| desk.upstream(&format!("upstream-{index}"), secs(0), 3));
    let upstreams = upstreams.collect();
    (desk, upstreams)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_job_ends_once_whoever_submits_drops_raises_and_cancels() {
    let (desk, upstreams) = crowd();
    let calls = Arc::new(AtomicU64::new(0));
    let told = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..4_u64)
        .map(|seed| {
            let (engine, upstreams) = (desk.engine.clone(), upstreams.clone());
            let (calls, told) = (calls.clone(), told.clone());
            // Outside the runtime, as listeners are.
            std::thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                let gate = engine.gate();
                let mut tickets = Vec::new();
                for _ in 0..2000 {
                    let mut job = job(upstreams[rng.usize(..20)], Class(rng.u8(..4)));
                    job.pending = key(rng.u64(..300));
                    let call = Arc::new(Busy(calls.clone()));
                    match rng.u8(..5) {
                        0 => drop(engine.submit(job, call)),
                        1 => engine.submit(job, call).keep(),
                        2 => {
                            let ticket = engine.submit(job, call);
                            if let Some(id) = ticket.job() {
                                engine.raise(id, Class(0));
                                engine.cancel(id);
                            }
                            tickets.push(ticket);
                        }
                        3 if gate.reserve(1) == 1 => {
                            engine.submit_reserved([(job, call as _)]);
                        }
                        _ => tickets.push(engine.submit(job, call)),
                    }
                }
                told.fetch_add(tickets.len() as u64, Ordering::Relaxed);
                tickets
            })
        })
        .collect();
    let tickets: Vec<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().expect("it does not panic"))
        .collect();
    let all = tickets.len() as u64;
    let ended = futures_util::future::join_all(tickets).await;
    assert_eq!(
        (ended.len() as u64, told.load(Ordering::Relaxed)),
        (all, all)
    );
    assert!(!ended.contains(&Ended::Shutdown));
    // On a busy machine a call may take so long that it no longer holds a worker.
    let is_under_way = || {
        let status = desk.engine.status();
        status.counters.waiting() > 0 || status.counts.busy + status.counts.waiting > 0
    };
    while is_under_way() {
        tokio::task::yield_now().await;
    }
    let status = desk.engine.status();
    assert_eq!((status.counts.queued, desk.engine.gate().queued()), (0, 0));
    assert_eq!(status.counters.asked, 8000);
    let made: u64 = desk
        .engine
        .upstreams(0, 20)
        .iter()
        .map(|upstream| upstream.requests.iter().sum::<u64>())
        .sum();
    assert_eq!(
        (made, status.counters.sent),
        (calls.load(Ordering::Relaxed), made)
    );
    let panicked = desk
        .engine
        .upstreams(0, 20)
        .iter()
        .map(|upstream| upstream.requests[Kind::Panicked as usize])
        .sum::<u64>();
    assert_eq!(panicked, made.div_ceil(7));
    desk.engine.shutdown(secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_never_hang_while_others_come_and_go() {
    let (desk, upstreams) = crowd();
    let flights = Flights::<u64, u64>::new(desk.engine.clone());
    let threads: Vec<_> = (0..4_u64)
        .map(|seed| {
            let (flights, upstreams) = (flights.clone(), upstreams.clone());
            std::thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut followers = Vec::new();
                for _ in 0..2000 {
                    let key = rng.u64(..10);
                    let job = job(upstreams[key as usize], Class(rng.u8(..4)));
                    let follower =
                        flights.join(key, job, |landing| Some(Arc::new(Answers(landing))));
                    if rng.bool() {
                        followers.push((key, follower));
                    }
                }
                followers
            })
        })
        .collect();
    let followers: Vec<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().expect("it does not panic"))
        .collect();
    for (key, follower) in followers {
        assert_eq!(follower.await, Ok(Arc::new(key)));
    }
    while !flights.is_empty() {
        tokio::task::yield_now().await;
    }
    desk.engine.shutdown(secs(1)).await;
    assert_eq!(desk.engine.status().counters.waiting(), 0);
}
