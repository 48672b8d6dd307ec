//! What a hundred open browsers cost, with figures: a Weir with 500 upstreams, with and without a hundred listeners and a
//! scrape of `/metrics` each second, by turns.
//!
//!     cargo build --release -p weir
//!     cargo run --release -p weir --example browsers -- target/release/weir [ROUNDS] [SECONDS]
//!
//! First under some load (a few new torrents a second, each sent on to a hundred trackers): the processor time that listeners
//! add to each second. Then with as many announces, and as many searches that the cache answers, as one client can make: how many
//! of them are left with listeners, and what one of them costs. The exit code says whether listeners cost at most 20 ms a second.

#![expect(clippy::print_stdout, reason = "a program for people who measure")]

#[path = "measured/field.rs"]
mod field;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

use self::field::{Field, KEY, Upstreams};

/// Processor time that listeners may cost, per second.
const BAR: Duration = Duration::from_millis(20);

/// What listeners listen to, and how many of them.
const LISTENERS: [(usize, Kind); 4] = [
    (60, Kind::Overview),
    (20, Kind::Upstreams),
    (10, Kind::One),
    (10, Kind::Program),
];

#[derive(Clone, Copy)]
enum Kind {
    Overview,
    Upstreams,
    One,
    Program,
}

impl Kind {
    fn topics(self) -> String {
        match self {
            Self::Overview => "page:overview:1h,page:decisions,points".to_owned(),
            Self::Upstreams => {
                let rows = (0..50).map(|number| format!("page:row:tracker/t{number}"));
                rows.collect::<Vec<_>>().join(",")
            }
            Self::One => "page:upstream:tracker/t1,page:decisions:tracker/t1".to_owned(),
            Self::Program => String::new(),
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(weir) = words.next().map(PathBuf::from) else {
        println!("usage: browsers WEIR [ROUNDS] [SECONDS]");
        return ExitCode::from(2);
    };
    let number =
        |word: Option<String>, most| word.map_or(most, |word| word.parse().expect("a number"));
    let (rounds, seconds) = (number(words.next(), 3), number(words.next(), 6));
    let upstreams = Upstreams::start().await;
    let directory = TempDir::new().expect("a directory");
    upstreams.configure(directory.path());
    let field = Arc::new(Field::start(&weir, directory.path()));
    let span = Duration::from_secs(seconds);
    let measured = thread::spawn(move || measure(&field, rounds, span));
    // The upstreams answer on this thread meanwhile.
    while !measured.is_finished() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    match measured.join().expect("it measures") {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn measure(field: &Arc<Field>, rounds: u64, span: Duration) -> bool {
    // All upstreams are tried, and the cache is filled.
    field.search();
    thread::park_timeout(Duration::from_secs(10));
    let mut good = true;
    for (name, load) in [
        ("some load", Load::Some),
        ("announces", Load::Announces),
        ("searches", Load::Searches),
    ] {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // What is asked for the first time is sent on, or not in the cache.
        run(field, load, None, Duration::from_secs(3));
        for _ in 0..rounds {
            without.push(run(field, load, None, span));
            let listeners = Listeners::open(field);
            with.push(run(field, load, Some(&listeners), span));
            drop(listeners);
        }
        let per_second = |all: &[Measured]| {
            median(
                all.iter()
                    .map(|one| one.cpu.as_secs_f64() / span.as_secs_f64() * 1000.0),
            )
        };
        let rate =
            |all: &[Measured]| median(all.iter().map(|one| one.done as f64 / span.as_secs_f64()));
        let each = |all: &[Measured]| {
            median(
                all.iter()
                    .map(|one| one.cpu.as_secs_f64() * 1e6 / (one.done.max(1)) as f64),
            )
        };
        let bytes = median(
            with.iter()
                .map(|one| one.bytes as f64 / span.as_secs_f64() / 1000.0),
        );
        let added = per_second(&with) - per_second(&without);
        println!(
            "{name}: {:.1} ms/s without, {:.1} ms/s with, {added:.1} ms/s added; {bytes:.0} kB/s to listeners",
            per_second(&without),
            per_second(&with)
        );
        if matches!(load, Load::Some) {
            good &= added <= BAR.as_secs_f64() * 1000.0;
        } else {
            println!(
                "  rate {:.0}/s without, {:.0}/s with: {:.3}; processor time each {:.2} µs without, {:.2} µs with",
                rate(&without),
                rate(&with),
                rate(&with) / rate(&without),
                each(&without),
                each(&with)
            );
        }
    }
    good
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[derive(Clone, Copy)]
enum Load {
    Some,
    Announces,
    Searches,
}

struct Measured {
    cpu: Duration,
    done: u64,
    bytes: u64,
}

/// Measures a load for so long.
fn run(field: &Arc<Field>, load: Load, listeners: Option<&Listeners>, span: Duration) -> Measured {
    let stop = Arc::new(AtomicBool::new(false));
    let worker = {
        let (field, stop) = (Arc::clone(field), Arc::clone(&stop));
        thread::spawn(move || work(&field, load, &stop))
    };
    // What begins with the phase is not measured.
    thread::park_timeout(Duration::from_secs(2));
    let bytes = || listeners.map_or(0, |all| all.bytes.load(Ordering::Relaxed));
    let done = || field.hashes.load(Ordering::Relaxed);
    let before = (field.cpu(), done(), bytes(), Instant::now());
    while before.3.elapsed() < span {
        thread::park_timeout(span.saturating_sub(before.3.elapsed()));
    }
    let measured = Measured {
        cpu: field.cpu() - before.0,
        done: done() - before.1,
        bytes: bytes() - before.2,
    };
    stop.store(true, Ordering::Relaxed);
    worker.join().expect("it works");
    measured
}

/// Counts what it does in `hashes`.
fn work(field: &Field, load: Load, stop: &AtomicBool) {
    match load {
        Load::Some => {
            while !stop.load(Ordering::Relaxed) {
                field.announces(1, 1);
                thread::park_timeout(Duration::from_millis(200));
            }
        }
        Load::Announces => {
            while !stop.load(Ordering::Relaxed) {
                field.announces(20_000, 64);
            }
        }
        Load::Searches => {
            while !stop.load(Ordering::Relaxed) {
                field.search();
                field.hashes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A hundred listeners, and whoever scrapes.
struct Listeners {
    bytes: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    streams: Vec<TcpStream>,
}

impl Listeners {
    fn open(field: &Arc<Field>) -> Self {
        let (bytes, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (mut threads, mut streams) = (Vec::new(), Vec::new());
        for (count, kind) in LISTENERS {
            for _ in 0..count {
                let mut stream = TcpStream::connect(field.web).expect("connected");
                let topics = kind.topics();
                let head = format!(
                    "GET /api/v1/events?topics={topics} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).expect("sent");
                let mut start = [0; 12];
                stream.read_exact(&mut start).expect("an answer");
                assert_eq!(&start, b"HTTP/1.1 200");
                streams.push(stream.try_clone().expect("a handle"));
                let bytes = Arc::clone(&bytes);
                threads.push(thread::spawn(move || {
                    let mut room = vec![0; 1 << 16];
                    while let Ok(read @ 1..) = stream.read(&mut room) {
                        bytes.fetch_add(read as u64, Ordering::Relaxed);
                    }
                }));
            }
        }
        let (scraped, ends) = (Arc::clone(field), Arc::clone(&stop));
        threads.push(thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                assert!(scraped.get("/metrics").len() > 10_000);
                thread::park_timeout(Duration::from_secs(1));
            }
        }));
        Self {
            bytes,
            stop,
            threads,
            streams,
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for stream in &self.streams {
            let _ = stream.shutdown(std::net::Shutdown::Both); // it may be closed already
        }
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join(); // its panic was printed
        }
    }
}
