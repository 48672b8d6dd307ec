//! How fast a backlog drains, and how soon an urgent job starts behind one.
//!
//! `--jobs N --upstreams M --workers W`: all jobs are submitted with the crew held, then released;
//! rounds repeat until a second has been measured, and the median round is printed.
//! `--backlog N`: N jobs wait for their upstreams' spacing; printed is how long an interactive job for
//! one of them takes from its submission to its start, and what a status and a page of rows cost.
//! `--cost ROUNDS`: drains with records that are kept, and without any, by turns; printed is the processor time of
//! each, their ratio, and that of the times by the clock. `--records N` sets how many are kept per upstream. `--udp 1` makes
//! real calls: a packet over loopback, answered by another process.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_engine::dispatch::policy::{
    Class, ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow, Policy, Quota, Windows,
};
use weir_engine::dispatch::{Job, UpstreamId};
use weir_engine::{Call, Ended, Engine, Options, Outcome, Permit, Rows, Timeline, Weather};
use weir_store::state::MemoryState;

fn main() {
    if std::env::args().any(|argument| argument == "--echo") {
        return echo();
    }
    let jobs = number("--jobs").unwrap_or(100_000);
    let upstreams = number("--upstreams").unwrap_or(100);
    let workers = number("--workers").unwrap_or(10);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    match (number("--backlog"), number("--cost")) {
        (Some(backlog), _) => runtime.block_on(backlogged(backlog, upstreams, workers)),
        (_, Some(rounds)) => runtime.block_on(cost(rounds, jobs, upstreams, workers)),
        _ => runtime.block_on(drain(jobs, upstreams, workers)),
    }
}

fn number(flag: &str) -> Option<u32> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    let value = arguments.nth(1)?;
    Some(value.parse().expect("a whole number"))
}

/// A call that is answered at once. Its last step counts, so that nobody has to look whether all have ended: looking takes the
/// engine's lock, and a processor from whoever is still at work.
struct Ready {
    left: AtomicU64,
    done: Notify,
    /// Asked in each call, if there is one.
    server: Option<Arc<Server>>,
}

impl Ready {
    fn new(left: u64) -> Arc<Self> {
        Self::asking(left, None)
    }

    fn asking(left: u64, server: Option<Arc<Server>>) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(left),
            done: Notify::new(),
            server,
        })
    }
}

impl Call for Ready {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        match &self.server {
            Some(server) => server.ask().boxed(),
            None => std::future::ready(Outcome::Done).boxed(),
        }
    }

    fn ended(&self, _: Ended) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}

/// Answers whatever it gets, in a process of its own: its time is not ours.
struct Server {
    process: Child,
    address: SocketAddr,
    /// Used again and again, as a front does; no two calls use one at the same time.
    sockets: Mutex<Vec<UdpSocket>>,
}

impl Server {
    fn start() -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut process = Command::new(program)
            .arg("--echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started again");
        let said = process.stdout.take().expect("it is read");
        let mut line = String::new();
        let read = BufReader::new(said).read_line(&mut line);
        read.expect("it says where it is");
        Self {
            process,
            address: line.trim().parse().expect("an address"),
            sockets: Mutex::default(),
        }
    }

    async fn ask(&self) -> Outcome {
        let kept = self.sockets.lock().pop();
        let socket = match kept {
            Some(socket) => socket,
            None => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
                let socket = socket.expect("there is a free port");
                let connected = socket.connect(self.address).await;
                connected.expect("loopback can be reached");
                socket
            }
        };
        // The size of an announce and of a short answer.
        let sent = socket.send(&[7; 98]).await;
        sent.expect("loopback takes it");
        let read = socket.recv(&mut [0; 200]).await;
        read.expect("it is answered");
        self.sockets.lock().push(socket);
        Outcome::Done
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

/// What the other process does, until it is ended.
fn echo() {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    println!("{}", socket.local_addr().expect("it is bound"));
    std::io::stdout().flush().expect("somebody reads");
    let mut packet = [0; 200];
    while let Ok((length, from)) = socket.recv_from(&mut packet) {
        let _ = socket.send_to(&packet[..length], from); // it may be gone
    }
}

async fn drain(jobs: u32, upstreams: u32, workers: u32) {
    let engine = engine(jobs, workers, Kept::Nothing);
    let ids = add(&engine, upstreams, quota(Duration::ZERO, workers));
    let call = Ready::new(0);
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

/// What records cost, in processor time per job. Both engines keep their rows, one of them records as well.
async fn cost(rounds: u32, jobs: u32, upstreams: u32, workers: u32) {
    let engines = [Kept::Rows, Kept::Records].map(|kept| {
        let engine = engine(jobs, workers, kept);
        let ids = add(&engine, upstreams, quota(Duration::ZERO, workers));
        (engine, ids)
    });
    let server = number("--udp").map(|_| Arc::new(Server::start()));
    let mut times = [Vec::new(), Vec::new()];
    let mut walls = [Vec::new(), Vec::new()];
    // The first round has to find the memory, and fills the rings.
    for round in 0..=rounds {
        // By turns, and each as often first as second.
        for turn in [round % 2, (round + 1) % 2].map(|turn| turn as usize) {
            let (engine, ids) = &engines[turn];
            let begun = Instant::now();
            let took = used(drained(engine, ids, jobs, server.clone())).await;
            times[turn].extend((round > 0).then_some(took));
            walls[turn].extend((round > 0).then(|| begun.elapsed()));
        }
    }
    // Of two that ran one after the other, so that a load that comes and goes disturbs both alike.
    let (ratio, slower) = (median_ratio(&times), median_ratio(&walls));
    let [without, with] = times.map(median);
    let [(bare, _), (engine, _)] = engines;
    let per_job = |time: Duration| time.as_nanos() as f64 / f64::from(jobs);
    bare.shutdown(Duration::from_secs(1)).await;
    // A stop writes all records, as is done once a minute.
    let written = used(engine.shutdown(Duration::from_secs(1))).await;
    println!(
        "jobs={jobs} upstreams={upstreams} workers={workers} rounds={rounds} ns_per_job={:.0} with_records={:.0} ratio={:.3} time_ratio={:.3} write_ms={:.1} write_pct={:.2}",
        per_job(without),
        per_job(with),
        ratio,
        slower,
        written.as_secs_f64() * 1e3,
        written.as_secs_f64() / 60.0 * 100.0,
    );
}

/// Submits all jobs while the crew is held, then waits until they have ended.
async fn drained(engine: &Engine, ids: &[UpstreamId], jobs: u32, server: Option<Arc<Server>>) {
    let call = Ready::asking(u64::from(jobs), server);
    engine.hold();
    for (number, &upstream) in (0..jobs).zip(ids.iter().cycle()) {
        let class = Class((number % 4) as u8);
        engine.submit_detached(job(upstream, class), call.clone());
    }
    engine.release();
    call.done.notified().await;
}

/// The processor time that something takes, on all threads.
async fn used(work: impl Future<Output = ()>) -> Duration {
    let before = processor();
    work.await;
    processor() - before
}

/// Processor time of all threads so far.
fn processor() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanos = tasks.filter_map(|task| {
        let path = task.ok()?.path().join("schedstat");
        let text = std::fs::read_to_string(path).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
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
    let engine = engine(backlog + 1000, workers, Kept::Nothing);
    let ids = add(&engine, upstreams, quota(Duration::from_secs(3600), 4));
    let idle = Ready::new(u64::MAX);
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

/// What an engine hands to a store in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    /// No records are made at all.
    Rows,
    Records,
}

fn engine(capacity: u32, workers: u32, kept: Kept) -> Engine {
    let timeline = Timeline::starting_at(wall());
    let mut policy = policy(capacity, workers);
    if kept != Kept::Nothing {
        let most = number("--records").map_or(200, |records| records as usize);
        policy.records = if kept == Kept::Records { most } else { 0 };
    }
    let store = Arc::new(MemoryState::new());
    let rows = Rows::load("example", store, timeline, Arc::new(wall));
    let (rows, _) = rows.expect("memory can be read");
    let options = Options {
        keeper: (kept != Kept::Nothing).then_some(rows as _),
        ..Options::new(timeline, Weather::default())
    };
    Engine::new("example", policy, options)
}

fn add(engine: &Engine, upstreams: u32, quota: Quota) -> Vec<UpstreamId> {
    let name = |index| format!("upstream-{index}");
    let time_out = Duration::from_secs(30);
    (0..upstreams)
        .map(|index| engine.add_upstream(&name(index), quota.clone(), time_out))
        .collect()
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

/// The median of what the second took, in what the first took in the same round.
fn median_ratio([first, second]: &[Vec<Duration>; 2]) -> f64 {
    let rounds = first.iter().zip(second);
    let mut ratios: Vec<f64> = rounds
        .map(|(first, second)| second.as_secs_f64() / first.as_secs_f64())
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios[ratios.len() / 2]
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
