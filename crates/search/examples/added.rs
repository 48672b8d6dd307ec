//! How much time Weir adds to a search: 60 indexers on loopback, a third of which is slow or limited.
//!
//! ```sh
//! cargo run --release -p weir-search --example added -- 100
//! ```
//!
//! What counts is the time of a reply less the time that the slowest indexer itself took, from the last byte of the
//! question to the first of its answer. The indexers play back what scripted ones said, in a thread of their own: the
//! work of 60 programs that run elsewhere is not Weir's.

#[path = "../src/tests/world.rs"]
#[allow(dead_code, reason = "the tests of the crate use more of it")]
mod world;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_search::config::{Config, indexer as entries};
use weir_search::{Front, Storage, policy};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Item, Setup};

use self::world::{World, entry};

/// The delay of the slowest.
const SLOWEST: Duration = Duration::from_millis(150);
const LIMITED: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";

/// An indexer that says what it was told to.
struct Player {
    caps: Vec<u8>,
    feed: Vec<u8>,
    delay: Duration,
    /// Nanoseconds that it took to answer the last question.
    took: Arc<AtomicU64>,
}

#[tokio::main]
async fn main() {
    let rounds = std::env::args().nth(1);
    let rounds: usize = rounds.and_then(|text| text.parse().ok()).unwrap_or(100);
    let (mut players, mut indexers) = (Vec::new(), Vec::new());
    let took = Arc::new(AtomicU64::new(0));
    for number in 0..60_u64 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let url = format!("http://{address}/api");
        indexers.push(entry(&format!("indexer{number}"), &url));
        let mut player = recorded(number as u32).await;
        // One after the other: that they all answer at once is not what is measured.
        match number % 6 {
            0 => player.delay = SLOWEST - Duration::from_millis(number),
            1 => player.feed = LIMITED.to_vec(),
            _ => player.delay = Duration::from_millis(number),
        }
        if number == 0 {
            player.took = took.clone();
        }
        players.push((listener, player));
    }
    std::thread::spawn(|| play(players));
    let config = Config {
        indexers,
        min_request_interval: Some(Duration::ZERO),
        ..Config::default()
    };
    let ground = Arc::new(weir_net::System::with_name_servers(Vec::new()));
    let world = World::new(ground, &config);
    world.get("/torznab/api?t=caps").await;
    world.get("/torznab/api?t=search&nocache=1").await;
    let mut added = Vec::new();
    for round in 0..rounds {
        let target = format!("/torznab/api?t=search&cat=5000&minsize={round}&nocache=1");
        let reply = world.get(&target).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.skipped().len(), 10, "the limited ones");
        let slowest = Duration::from_nanos(took.load(Ordering::Relaxed));
        assert!(slowest >= SLOWEST, "{slowest:?}");
        added.push(reply.took.saturating_sub(slowest).as_secs_f64() * 1000.0);
    }
    say("over the slowest indexer", &mut added);
    let mut cached = Vec::new();
    for _ in 0..rounds {
        let reply = world.get("/torznab/api?t=search&cat=5000&minsize=0").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        cached.push(reply.took.as_secs_f64() * 1000.0);
    }
    say("all from the cache", &mut cached);
    world.stop().await;
}

/// What a scripted indexer says, of whose releases a half is everywhere.
async fn recorded(number: u32) -> Player {
    let items =
        (0..100).map(|at| Item::numbered(if at % 2 == 0 { at } else { number * 1000 + at }));
    let setup = Setup {
        items: items.collect(),
        ..Setup::default()
    };
    let indexer = Indexer::start(Place::Loopback, setup).await;
    let address = indexer.as_ref().expect("a port").address();
    Player {
        caps: said(address, "caps").await,
        feed: said(address, "search").await,
        delay: Duration::ZERO,
        took: Arc::default(),
    }
}

/// The whole answer, as it goes over the wire.
async fn said(address: SocketAddr, function: &str) -> Vec<u8> {
    let stream = tokio::net::TcpStream::connect(address).await;
    let mut stream = stream.expect("an indexer");
    let question =
        format!("GET /api?t={function} HTTP/1.1\r\nHost: indexer\r\nConnection: close\r\n\r\n");
    let sent = stream.write_all(question.as_bytes()).await;
    sent.expect("a question");
    stream.shutdown().await.expect("no other one");
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer).await;
    read.expect("an answer");
    answer
}

/// Plays all of them until the process ends.
fn play(players: Vec<(TcpListener, Player)>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let mut all = JoinSet::new();
        for (listener, player) in players {
            listener.set_nonblocking(true).expect("a listener");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            all.spawn(async move {
                let (player, mut connections) = (Arc::new(player), JoinSet::new());
                while let Ok((stream, _)) = listener.accept().await {
                    connections.spawn(answer(player.clone(), stream));
                }
            });
        }
        all.join_all().await;
    });
}

async fn answer(player: Arc<Player>, mut stream: tokio::net::TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut question = Vec::new();
    loop {
        if stream.read_buf(&mut question).await? == 0 {
            return Ok(());
        }
        if !question.ends_with(b"\r\n\r\n") {
            continue;
        }
        let began = Instant::now();
        let caps = question.windows(6).any(|text| text == b"t=caps");
        question.clear();
        if caps {
            stream.write_all(&player.caps).await?;
            continue;
        }
        tokio::time::sleep(player.delay).await;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        player.took.store(took, Ordering::Relaxed);
        stream.write_all(&player.feed).await?;
    }
}

#[expect(clippy::print_stdout, reason = "it is what this is for")]
fn say(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let (middle, most) = (at(50), at(99));
    println!(
        "{what}: median {middle:.1} ms, p99 {most:.1} ms of {}",
        times.len()
    );
}
