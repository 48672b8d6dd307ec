//! A Weir with 490 trackers and 10 indexers, all of which answer on this machine: for what measures pages and events.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};
use weir_testkit::zoo::udp::{Behaviour, Tracker};

pub(crate) const KEY: &str = "a-key-for-measuring";
const TRACKERS: usize = 490;
const INDEXERS: usize = 10;

/// The upstreams; they answer while somebody runs the runtime that they were started in.
pub(crate) struct Upstreams {
    trackers: Vec<Tracker>,
    indexers: Vec<Indexer>,
}

impl Upstreams {
    pub(crate) async fn start() -> Self {
        let mut trackers = Vec::new();
        for _ in 0..TRACKERS {
            let tracker = Tracker::start(Place::Loopback, Behaviour::good()).await;
            trackers.push(tracker.expect("a port"));
        }
        let mut indexers = Vec::new();
        for _ in 0..INDEXERS {
            let indexer = Indexer::start(Place::Loopback, Setup::with(1..40)).await;
            indexers.push(indexer.expect("a port"));
        }
        Self { trackers, indexers }
    }

    /// Writes the configuration of a Weir that asks them.
    pub(crate) fn configure(&self, directory: &Path) {
        let mut text = format!(
            "web: {{ api_key: {KEY}, limits: {{ streams_per_address: 200 }} }}\ntracker:\n  forwarders:\n"
        );
        for (number, tracker) in self.trackers.iter().enumerate() {
            text += &format!("    - {{ uri: \"{}\", name: t{number} }}\n", tracker.url());
        }
        text += "search:\n  indexers:\n";
        for (number, indexer) in self.indexers.iter().enumerate() {
            text += &format!(
                "    - {{ name: i{number}, url: \"{}\", api_key: secret }}\n",
                indexer.url()
            );
        }
        fs::write(directory.join("weir.yaml"), text).expect("it is written");
    }
}

/// A running Weir.
pub(crate) struct Field {
    weir: Child,
    pub(crate) web: SocketAddr,
    tracker: SocketAddr,
    /// How many announces or searches were made.
    pub(crate) hashes: AtomicU64,
}

impl Drop for Field {
    fn drop(&mut self) {
        // In order, so that all of its state is written. It may have ended.
        let kill = format!("kill -TERM {}", self.weir.id());
        let _ = Command::new("sh").args(["-c", &kill]).status();
        let _ = self.weir.wait();
    }
}

impl Field {
    /// Starts it with the `weir.yaml` of a directory, where its data is too.
    pub(crate) fn start(weir: &Path, directory: &Path) -> Self {
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
            .current_dir(directory)
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
        }
    }

    /// Announces by UDP, so many at a time under way. More than a few are of the same thousand torrents, which are not due
    /// elsewhere.
    pub(crate) fn announces(&self, count: u64, at_once: u64) {
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
    pub(crate) fn search(&self) {
        self.get("/torznab/api?t=search&q=linux");
    }

    /// The whole answer, with its head.
    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.web).expect("connected");
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut body = Vec::new();
        stream.read_to_end(&mut body).expect("an answer");
        body
    }

    /// The processor time of all its threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.weir.id());
        let tasks = fs::read_dir(tasks).expect("it runs").filter_map(Result::ok);
        let nanos = tasks.filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }
}
