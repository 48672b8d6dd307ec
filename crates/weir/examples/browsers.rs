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

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};
use weir_testkit::zoo::udp::{Behaviour, Tracker};

const KEY: &str = "a-key-for-measuring";
const TRACKERS: usize = 490;
const INDEXERS: usize = 10;
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
    let mut trackers = Vec::new();
    for _ in 0..TRACKERS {
        trackers.push(
            Tracker::start(Place::Loopback, Behaviour::good())
                .await
                .expect("a port"),
        );
    }
    let mut indexers = Vec::new();
    for _ in 0..INDEXERS {
        indexers.push(
            Indexer::start(Place::Loopback, Setup::with(1..40))
                .await
                .expect("a port"),
        );
    }
    let field = Arc::new(Field::start(&weir, &trackers, &indexers));
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
        field.run(load, None, Duration::from_secs(3));
        for _ in 0..rounds {
            without.push(field.run(load, None, span));
            let listeners = Listeners::open(field);
            with.push(field.run(load, Some(&listeners), span));
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

/// A running Weir.
struct Field {
    weir: Child,
    web: SocketAddr,
    tracker: SocketAddr,
    hashes: AtomicU64,
    _dir: TempDir,
}

impl Drop for Field {
    fn drop(&mut self) {
        let _ = self.weir.kill(); // it may have ended
        let _ = self.weir.wait();
    }
}

impl Field {
    fn start(weir: &Path, trackers: &[Tracker], indexers: &[Indexer]) -> Self {
        let dir = TempDir::new().expect("a directory");
        let mut text = format!(
            "web: {{ api_key: {KEY}, limits: {{ streams_per_address: 200 }} }}\ntracker:\n  forwarders:\n"
        );
        for (number, tracker) in trackers.iter().enumerate() {
            text += &format!("    - {{ uri: \"{}\", name: t{number} }}\n", tracker.url());
        }
        text += "search:\n  indexers:\n";
        for (number, indexer) in indexers.iter().enumerate() {
            text += &format!(
                "    - {{ name: i{number}, url: \"{}\", api_key: secret }}\n",
                indexer.url()
            );
        }
        fs::write(dir.path().join("weir.yaml"), text).expect("it is written");
        let mut weir = Command::new(weir.canonicalize().expect("the binary of Weir"))
            .args([
                "--web",
                "127.0.0.1:0",
                "--data",
                "data",
                "-l",
                "127.0.0.1:0",
                "-u",
                "127.0.0.1:0",
            ])
            .env("WEIR_NEWS__NNTP_LISTEN", "null")
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Weir runs");
        let lines = BufReader::new(weir.stdout.take().expect("piped")).lines();
        let mut lines = lines.map_while(Result::ok);
        let told = lines
            .by_ref()
            .take_while(|line| !line.starts_with("Configuration"));
        let told: Vec<String> = told.collect();
        let address = |scheme: &str| -> SocketAddr {
            let line = told.iter().find_map(|line| line.split_once(scheme));
            let (_, rest) = line.expect("an address");
            let end = rest.find('/').unwrap_or(rest.len());
            rest[..end].parse().expect("an address")
        };
        let (web, tracker) = (address("http://"), address("udp://"));
        thread::spawn(move || lines.count());
        Self {
            weir,
            web,
            tracker,
            hashes: AtomicU64::new(1),
            _dir: dir,
        }
    }

    fn run(
        self: &Arc<Self>,
        load: Load,
        listeners: Option<&Listeners>,
        span: Duration,
    ) -> Measured {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = {
            let (field, stop) = (Arc::clone(self), Arc::clone(&stop));
            thread::spawn(move || field.work(load, &stop))
        };
        // What begins with the phase is not measured.
        thread::park_timeout(Duration::from_secs(2));
        let bytes = || listeners.map_or(0, |all| all.bytes.load(Ordering::Relaxed));
        let done = || self.hashes.load(Ordering::Relaxed);
        let before = (self.cpu(), done(), bytes(), Instant::now());
        while before.3.elapsed() < span {
            thread::park_timeout(span.saturating_sub(before.3.elapsed()));
        }
        let measured = Measured {
            cpu: self.cpu() - before.0,
            done: done() - before.1,
            bytes: bytes() - before.2,
        };
        stop.store(true, Ordering::Relaxed);
        worker.join().expect("it works");
        measured
    }

    /// Counts what it does in `hashes`.
    fn work(&self, load: Load, stop: &AtomicBool) {
        match load {
            Load::Some => {
                while !stop.load(Ordering::Relaxed) {
                    self.announces(1, 1);
                    thread::park_timeout(Duration::from_millis(200));
                }
            }
            Load::Announces => {
                while !stop.load(Ordering::Relaxed) {
                    self.announces(20_000, 64);
                }
            }
            Load::Searches => {
                while !stop.load(Ordering::Relaxed) {
                    self.search();
                    self.hashes.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Announces by UDP, so many at a time under way. More than a few are of the same thousand torrents, which are not due
    /// elsewhere.
    fn announces(&self, count: u64, at_once: u64) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(self.tracker).expect("connected");
        socket
            .set_read_timeout(Some(Duration::from_millis(200)))
            .expect("set");
        let mut hello = [0; 16];
        hello[..8].copy_from_slice(&0x0417_2710_1980_u64.to_be_bytes());
        socket.send(&hello).expect("sent");
        let mut answer = [0; 2048];
        if socket.recv(&mut answer).is_err() {
            return;
        }
        let mut packet = [0; 98];
        packet[..8].copy_from_slice(&answer[8..16]);
        packet[8..12].copy_from_slice(&1_u32.to_be_bytes());
        packet[36..56].copy_from_slice(b"-WE0001-measuring-it");
        packet[96..98].copy_from_slice(&6881_u16.to_be_bytes());
        let send = |packet: &mut [u8; 98]| {
            let number = self.hashes.fetch_add(1, Ordering::Relaxed);
            let hash = if count > 1 {
                number % 1000
            } else {
                number + 1_000_000
            };
            packet[16..24].copy_from_slice(&hash.to_be_bytes());
            socket.send(packet).is_ok()
        };
        let mut sent = 0;
        while sent < count.min(at_once) && send(&mut packet) {
            sent += 1;
        }
        let mut got = 0;
        while got < count {
            // A lost answer ends this; the next call goes on.
            if socket.recv(&mut answer).is_err() {
                return;
            }
            got += 1;
            if sent < count && send(&mut packet) {
                sent += 1;
            }
        }
    }

    /// One search over all indexers.
    fn search(&self) {
        self.get("/torznab/api?t=search&q=linux");
    }

    fn get(&self, path: &str) -> usize {
        let mut stream = TcpStream::connect(self.web).expect("connected");
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut body = Vec::new();
        stream.read_to_end(&mut body).unwrap_or(0)
    }

    /// The processor time of all its threads so far.
    fn cpu(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.weir.id());
        let tasks = fs::read_dir(tasks).expect("it runs").filter_map(Result::ok);
        let nanos = tasks.filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
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
                assert!(scraped.get("/metrics") > 10_000);
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
