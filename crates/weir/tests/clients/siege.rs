//! Weir under siege: a few addresses hold connections that do nothing, while clients at other addresses send requests.
//!
//! Used by a small test here and by the example `siege`, which prints figures of a large one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream as Plain};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::network::{Families, Host, Network};

/// Where Weir is called.
const TRACKER: SocketAddr = SocketAddr::new(IpAddr::V4(Network::V4), 6969);
const WEB: SocketAddr = SocketAddr::new(IpAddr::V4(Network::V4), 7070);
/// A request that takes longer counts as failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// An attacker whose connection was closed comes back after this time.
const AGAIN: Duration = Duration::from_secs(5);
/// The pause of a slow sender between two bytes.
const DRIP: Duration = Duration::from_secs(2);

/// How an attacker holds its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sits {
    Idle,
    SlowHead,
    SlowBody,
}

impl Sits {
    pub(crate) const ALL: [Self; 3] = [Self::Idle, Self::SlowHead, Self::SlowBody];

    /// What it sends first.
    fn begins(self) -> &'static [u8] {
        match self {
            Self::Idle => b"",
            Self::SlowHead => b"GET /announce?info_hash=",
            Self::SlowBody => {
                b"POST /sign-in HTTP/1.1\r\nHost: 10.98.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 900000\r\n\r\n"
            }
        }
    }
}

/// What the attackers do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    pub(crate) sits: Sits,
    pub(crate) addresses: u8,
    /// On both listeners together.
    pub(crate) connections: usize,
}

/// The results of honest clients.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) right: AtomicUsize,
    pub(crate) wrong: AtomicUsize,
    /// Kept connections that were closed when they should have been reused.
    pub(crate) reopened: AtomicUsize,
}

/// A running Weir with hosts around it; killed when dropped.
pub(crate) struct Field {
    // Before the network that it lives in.
    weir: Running,
    honest: Host,
    attacker: Host,
    _network: Network,
}

struct Running {
    child: Child,
    directory: TempDir,
}

impl Field {
    /// Starts `weir` with this many connections per listener, `None` for the default.
    pub(crate) fn new(weir: &Path, connections: Option<u32>) -> Self {
        let network = Network::new();
        let (honest, attacker) = (network.host(Families::V4), network.host(Families::V4));
        for number in 0..HONEST {
            honest.also(honest_address(number));
        }
        for number in 0..MOST_ATTACKERS {
            attacker.also(attacker_address(number));
        }
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path();
        let settings = connections.map_or(String::new(), |connections| {
            format!(
                "web: {{ limits: {{ connections: {connections} }} }}\n\
                 tracker: {{ http_connections: {connections} }}\n"
            )
        });
        fs::write(path.join("weir.yaml"), settings).expect("a temporary file");
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = Command::new(weir)
            .args(["serve", "--data", "data", "--web", "0.0.0.0:7070"])
            .args([
                "--http-listen",
                "0.0.0.0:6969",
                "--udp-listen",
                "0.0.0.0:6969",
            ])
            .current_dir(path)
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let weir = Running { child, directory };
        let listens = || [TRACKER, WEB].iter().all(|at| Plain::connect(at).is_ok());
        for _ in 0..400 {
            if listens() {
                break;
            }
            thread::park_timeout(Duration::from_millis(100));
        }
        assert!(listens(), "Weir does not listen: {}", weir.log());
        Self {
            weir,
            honest,
            attacker,
            _network: network,
        }
    }

    /// Lets honest clients send requests, a number of rounds each or for some time, during an attack; returns how long
    /// they took.
    pub(crate) fn run(&self, attack: Option<Attack>, until: Until) -> (Arc<Asked>, Duration) {
        let asked = Arc::new(Asked::default());
        let (over, seated) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
        let (honest, attacker) = (&self.honest, &self.attacker);
        let took = thread::scope(|scope| {
            let sitting = attack.map(|attack| {
                let (over, seated) = (&over, &seated);
                scope.spawn(move || {
                    attacker.enter().expect("a host of this network");
                    on_this_thread(sit(attack, over, seated));
                })
            });
            let wanted = attack.map_or(0, |attack| attack.connections);
            while seated.load(Ordering::Relaxed) < wanted {
                thread::park_timeout(Duration::from_millis(20));
            }
            let asks = scope.spawn(|| {
                honest.enter().expect("a host of this network");
                on_this_thread(ask_all(&asked, until))
            });
            let took = asks.join().expect("honest clients do not panic");
            over.store(true, Ordering::Relaxed);
            if let Some(sitting) = sitting {
                sitting.join().expect("sitters do not panic");
            }
            took
        });
        (asked, took)
    }

    /// What it printed.
    pub(crate) fn log(&self) -> String {
        self.weir.log()
    }

    /// Counters of connections that were closed to make room.
    pub(crate) fn ended(&self) -> HashMap<String, u64> {
        let metrics = on_this_thread(async {
            let mut stream = TcpStream::connect(("127.0.0.1", 7070)).await.ok()?;
            let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await.ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await.ok()?;
            Some(text)
        });
        let metrics = metrics.expect("this machine has its own places");
        let ended = metrics
            .lines()
            .filter(|line| line.contains("connections_ended_total{"));
        let pairs = ended.filter_map(|line| line.rsplit_once(' '));
        pairs
            .map(|(name, count)| (name.to_owned(), count.parse().unwrap_or(0)))
            .collect()
    }
}

impl Running {
    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Honest clients, each with its own address.
const HONEST: u8 = 8;
/// Addresses that attackers may have.
const MOST_ATTACKERS: u8 = 20;

fn honest_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 98, 0, 50 + number)
}

fn attacker_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 98, 0, 100 + number)
}

fn on_this_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

async fn connect(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let connected = timeout(PATIENCE, socket.connect(to)).await;
    connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// Opens all connections of an attack and keeps them open until it is over.
async fn sit(attack: Attack, over: &AtomicBool, seated: &Arc<AtomicUsize>) {
    let mut sitters = JoinSet::new();
    for number in 0..attack.connections {
        let from = attacker_address((number / 2 % usize::from(attack.addresses)) as u8);
        let to = if number % 2 == 0 { WEB } else { TRACKER };
        let seated = Arc::clone(seated);
        sitters.spawn(async move {
            sit_down(attack.sits, from, to, Some(&seated)).await;
            loop {
                sleep(AGAIN).await;
                sit_down(attack.sits, from, to, None).await;
            }
        });
    }
    while !over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(20)).await;
    }
    sitters.shutdown().await;
}

/// One connection, until it is closed.
async fn sit_down(sits: Sits, from: Ipv4Addr, to: SocketAddr, seated: Option<&AtomicUsize>) {
    let connected = connect(from, to).await;
    if let Some(seated) = seated {
        seated.fetch_add(1, Ordering::Relaxed);
    }
    let Ok(mut stream) = connected else {
        return;
    };
    if stream.write_all(sits.begins()).await.is_err() {
        return;
    }
    let mut byte = [0; 64];
    loop {
        match timeout(DRIP, stream.read(&mut byte)).await {
            Ok(Ok(0) | Err(_)) => return,
            Ok(Ok(_)) => {}
            Err(_) if sits == Sits::Idle => {}
            Err(_) => {
                if stream.write_all(b"x").await.is_err() {
                    return;
                }
            }
        }
    }
}

/// When honest clients stop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Rounds(usize),
    Over(Duration),
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn ask_all(asked: &Arc<Asked>, until: Until) -> Duration {
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..HONEST {
        let asked = Arc::clone(asked);
        clients.spawn(async move {
            let mut client = Client {
                from: honest_address(number),
                kept: [None, None],
            };
            let goes_on = |round| match until {
                Until::Rounds(rounds) => round < rounds,
                Until::Over(time) => start.elapsed() < time,
            };
            for round in (0..).take_while(|round| goes_on(*round)) {
                client.round(&asked, round).await;
            }
        });
    }
    clients.join_all().await;
    start.elapsed()
}

/// A client that calls both listeners in turn, on a kept connection and on new ones.
struct Client {
    from: Ipv4Addr,
    kept: [Option<TcpStream>; 2],
}

impl Client {
    async fn round(&mut self, asked: &Asked, round: usize) {
        let announce = format!(
            "/announce?info_hash=%01%02%03%04%05%06%07%08%09aaaaaaaaaaa&peer_id=-XX0000-abcdefghijkl&port={}&left=1&compact=1",
            1000 + round % 50_000
        );
        for (listener, at, target) in [(0, TRACKER, announce.as_str()), (1, WEB, "/healthz")] {
            for keeps in [true, false] {
                let counter = match self.ask((listener, at), target, keeps, asked).await {
                    true => &asked.right,
                    false => &asked.wrong,
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    async fn ask(
        &mut self,
        (listener, at): (usize, SocketAddr),
        target: &str,
        keeps: bool,
        asked: &Asked,
    ) -> bool {
        let kept = if keeps {
            self.kept[listener].take()
        } else {
            None
        };
        let had = kept.is_some();
        let mut stream = kept;
        for _ in 0..2 {
            let open = match stream.take() {
                Some(open) => Some(open),
                None => connect(self.from, at).await.ok(),
            };
            if let Some(open) = open
                && let Ok(Some(open)) = timeout(PATIENCE, exchange(open, target, keeps)).await
            {
                if keeps {
                    self.kept[listener] = Some(open);
                }
                return true;
            }
            if !had {
                return false;
            }
            // Like any client, it opens a new connection if a kept one is closed.
            asked.reopened.fetch_add(1, Ordering::Relaxed);
        }
        false
    }
}

/// Sends one request; returns the connection if the answer is right.
async fn exchange(mut stream: TcpStream, target: &str, keeps: bool) -> Option<TcpStream> {
    let connection = if keeps { "keep-alive" } else { "close" };
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: 10.98.0.1\r\nConnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut read = Vec::with_capacity(2048);
    loop {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length?.parse().ok()?;
        if read.len() >= end + 4 + length {
            return head.starts_with("http/1.1 200").then_some(stream);
        }
    }
}
