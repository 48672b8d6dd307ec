//! How fast a backlog drains, and how soon an urgent job starts behind one.
//!
//! `--jobs N --upstreams M --workers W`: all jobs are submitted with the crew held, then released;
//! rounds repeat until a second has been measured, and the median round is printed.
//! `--backlog N`: N jobs wait for their upstreams' spacing; printed is how long an interactive job for
//! one of them takes from its submission to its start, and what a status and a page of rows cost.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_engine::dispatch::policy::{
    Class, ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow, Policy, Quota, Windows,
};
use weir_engine::dispatch::{Job, UpstreamId};
use weir_engine::{Call, Engine, Options, Outcome, Permit, Timeline, Weather};

fn main() {
    let jobs = number("--jobs").unwrap_or(100_000);
    let upstreams = number("--upstreams").unwrap_or(100);
    let workers = number("--workers").unwrap_or(10);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .expect("a runtime can be built");
    match number("--backlog") {
        Some(backlog) => runtime.block_on(backlogged(backlog, upstreams, workers)),
        None => runtime.block_on(drain(jobs, upstreams, workers)),
    }
}

fn number(flag: &str) -> Option<u32> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    let value = arguments.nth(1)?;
    Some(value.parse().expect("a whole number"))
}

/// A call that is answered at once.
struct Ready {
    left: AtomicU64,
    done: Notify,
}

impl Call for Ready {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        async {
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.done.notify_one();
            }
            Outcome::Done
        }
        .boxed()
    }
}

async fn drain(jobs: u32, upstreams: u32, workers: u32) {
    let engine = engine(jobs, workers);
    let ids: Vec<UpstreamId> = (0..upstreams)
        .map(|index| {
            engine.add_upstream(
                &format!("upstream-{index}"),
                quota(Duration::ZERO, workers),
                Duration::from_secs(30),
            )
        })
        .collect();
    let call = Arc::new(Ready {
        left: AtomicU64::new(0),
        done: Notify::new(),
    });
    let (mut submits, mut drains) = (Vec::new(), Vec::new());
    let mut bytes_per_job = None;
    while drains.iter().sum::<Duration>() < Duration::from_secs(1) {
        call.left.store(u64::from(jobs), Ordering::Release);
        engine.hold();
        let before = resident();
        let begun = Instant::now();
        for (number, &upstream) in (0..jobs).zip(ids.iter().cycle()) {
            let class = Class((number % 4) as u8);
            engine.submit_detached(job(upstream, class), call.clone());
        }
        submits.push(begun.elapsed());
        assert_eq!(engine.status().counts.queued, jobs, "all of them wait");
        // The first round is the one that has to find the memory.
        bytes_per_job
            .get_or_insert_with(|| resident().saturating_sub(before) / u64::from(jobs.max(1)));
        let begun = Instant::now();
        engine.release();
        call.done.notified().await;
        while engine.status().counts.busy > 0 {
            tokio::task::yield_now().await;
        }
        drains.push(begun.elapsed());
    }
    let (submit, drain) = (median(submits), median(drains));
    println!(
        "jobs={jobs} upstreams={upstreams} workers={workers} submit_s={:.6} drain_s={:.6} jobs_per_s={:.0} bytes_per_job={}",
        submit.as_secs_f64(),
        drain.as_secs_f64(),
        f64::from(jobs) / drain.as_secs_f64(),
        bytes_per_job.unwrap_or(0),
    );
    engine.shutdown(Duration::from_secs(1)).await;
}

/// A call that notes when it starts.
struct Stamp {
    submitted: Instant,
    took: Mutex<Duration>,
}

impl Call for Stamp {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        *self.took.lock() = self.submitted.elapsed();
        std::future::ready(Outcome::Done).boxed()
    }
}

/// How many interactive jobs are measured.
const SAMPLES: usize = 20_000;

async fn backlogged(backlog: u32, upstreams: u32, workers: u32) {
    let engine = engine(backlog + 1000, workers);
    let ids: Vec<UpstreamId> = (0..upstreams)
        .map(|index| {
            engine.add_upstream(
                &format!("upstream-{index}"),
                quota(Duration::from_secs(3600), 4),
                Duration::from_secs(30),
            )
        })
        .collect();
    let idle = Arc::new(Ready {
        left: AtomicU64::new(u64::MAX),
        done: Notify::new(),
    });
    for (_, &upstream) in (0..backlog).zip(ids.iter().cycle()) {
        engine.submit_detached(job(upstream, Class(3)), idle.clone());
    }
    let mut times = Vec::with_capacity(SAMPLES);
    for &upstream in ids.iter().cycle().take(SAMPLES) {
        let call = Arc::new(Stamp {
            submitted: Instant::now(),
            took: Mutex::default(),
        });
        engine.submit(job(upstream, Class(0)), call.clone()).await;
        times.push(*call.took.lock());
    }
    let begun = Instant::now();
    let queued = engine.status().counts.queued;
    let rows = engine.upstreams(0, 50).len();
    let status = begun.elapsed();
    assert!(rows > 0, "there is a page of rows");
    times.sort_unstable();
    let micros = |percent: usize| times[SAMPLES * percent / 100].as_secs_f64() * 1e6;
    println!(
        "backlog={queued} upstreams={upstreams} workers={workers} interactive_p50_us={:.1} interactive_p99_us={:.1} status_us={:.1}",
        micros(50),
        micros(99),
        status.as_secs_f64() * 1e6,
    );
    engine.shutdown(Duration::from_secs(1)).await;
}

fn engine(capacity: u32, workers: u32) -> Engine {
    let unix_start = wall();
    let options = Options::new(Timeline::starting_at(unix_start), Weather::default());
    Engine::new("example", policy(capacity, workers), options)
}

fn policy(capacity: u32, workers: u32) -> Policy {
    let class = ClassPolicy {
        max_wait: None,
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    };
    Policy {
        classes: vec![class; 4],
        capacity,
        agenda_capacity: capacity,
        backlog_floor: 32,
        aging: Duration::from_secs(10),
        put_off: Duration::from_secs(10),
        crew: CrewPolicy {
            base: workers,
            max: workers,
            grow_at: 60,
            shrink_below: 40,
            step: Duration::from_secs(1),
            slot_time: Duration::from_secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: vec![Duration::from_secs(60)],
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: Duration::from_secs(86_400),
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_millis(500),
        records: 64,
    }
}

fn quota(spacing: Duration, in_flight: u32) -> Quota {
    // Interactive jobs wait for no spacing here, so that what is measured is the engine alone.
    Quota {
        gaps: [Duration::ZERO, spacing, spacing, spacing],
        in_flight,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

fn job(upstream: UpstreamId, class: Class) -> Job {
    Job::new(upstream, class)
}

/// Any wall time will do here.
fn wall() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Memory in use, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
