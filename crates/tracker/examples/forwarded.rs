//! What records cost an announce that is sent on to other trackers:
//!
//! ```sh
//! cargo run --release -p weir-tracker --example forwarded -- 40
//! ```
//!
//! Two trackers in one process, one that keeps 200 records per forwarder and one that keeps none, are announced to by turns,
//! so many times each. Every announce is the first one of its swarm and goes on to all forwarders, which answer at once. What
//! is printed is the processor time per announce, without that of the client and of the trackers that are asked, and the ratio.
//! A second argument is the number of records; 0 gives both none, and shows what is noise.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::net::{SocketAddr, UdpSocket};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_config::SecretUrl;
use weir_engine::{Engine, Options, Outward, Rows, Timeline, Weather};
use weir_store::state::MemoryState;
use weir_tracker::Front;
use weir_tracker::config::Config;
use weir_tracker::config::forwarder::{ForwarderEntry, ForwarderFamily};
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, reply, request};
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::Front as _;

/// Trackers that each announce goes on to.
const FORWARDERS: u32 = 10;
/// Announces per turn.
const ANNOUNCES: u32 = 500;
/// Threads whose names begin like this are not Weir's.
const OTHER: &str = "other";

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (rounds, records) = (number(1).unwrap_or(40), number(2).unwrap_or(200));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let _inside = runtime.enter();
    let others: Vec<SocketAddr> = (0..FORWARDERS).map(|_| other()).collect();
    let mut sides = [0, records].map(|records| Side::new(&others, records));
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        // By turns, and each as often first as second. The first round has to find the memory.
        for turn in [round % 2, (round + 1) % 2] {
            let before = processor();
            sides[turn].announce();
            let took = processor() - before;
            times[turn].extend((round > 0).then_some(took));
        }
    }
    // Of two that ran one after the other, so that a load that comes and goes disturbs both alike.
    let ratio = median_ratio(&times);
    let [without, with] = times.map(median);
    let per_announce = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(ANNOUNCES);
    println!(
        "forwarders={FORWARDERS} rounds={rounds} records={records} us_per_announce={:.1} with_records={:.1} ratio={:.3}",
        per_announce(without),
        per_announce(with),
        ratio,
    );
    for side in sides {
        runtime.block_on(side.front.stop(Duration::from_secs(1)));
        side.front.close();
    }
}

/// A tracker that answers at once, on a thread of its own.
fn other() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    let answer = move || {
        let mut packet = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut packet) {
            let sent = match request::Request::parse(&packet[..len]) {
                Ok(request::Request::Connect { transaction }) => {
                    socket.send_to(&reply::connect(transaction, ConnectionId(7)), from)
                }
                Ok(request::Request::Announce { transaction, .. }) => {
                    let head = reply::announce_head(transaction, 1800, 1, 0);
                    socket.send_to(&head, from)
                }
                _ => Ok(0),
            };
            sent.expect("loopback takes it");
        }
    };
    let thread = std::thread::Builder::new().name(format!("{OTHER} tracker"));
    thread.spawn(answer).expect("a thread");
    address
}

/// One tracker and a client of it.
struct Side {
    engine: Engine,
    front: Front,
    client: UdpSocket,
    /// Swarms so far: each is announced once.
    swarms: u32,
    _directory: tempfile::TempDir,
}

impl Side {
    fn new(others: &[SocketAddr], records: usize) -> Self {
        let all = NonZeroU32::MAX;
        let forwarders = others.iter().enumerate();
        let config = Config {
            http_listen: None,
            udp_listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            listener_threads: Some(NonZeroU32::MIN),
            forwarder_queue_size: NonZeroU32::new(100_000).expect("not 0"),
            rate_limit_initial_per_sec: all,
            rate_limit_initial_burst: all,
            forwarders: forwarders
                .map(|(number, address)| ForwarderEntry {
                    uri: SecretUrl::parse(&format!("udp://{address}/announce")).expect("a URL"),
                    name: format!("other{number}"),
                    ip: None,
                    host: None,
                    proxy: None,
                    timeout: None,
                    family: ForwarderFamily::Any,
                })
                .collect(),
            ..Config::default()
        };
        let timeline = Timeline::starting_at(wall());
        let rows = Rows::load(
            "tracker",
            Arc::new(MemoryState::new()),
            timeline,
            Arc::new(wall),
        );
        let (rows, restored) = rows.expect("memory can be read");
        let mut general = weir_testkit::policy::general();
        general.records = records;
        let engine = Engine::new(
            "tracker",
            weir_tracker::policy(general, &config),
            Options {
                keeper: Some(rows.clone() as _),
                rate: weir_tracker::rate(&config),
                ..Options::new(timeline, Weather::default())
            },
        );
        let outward = Outward {
            engine: engine.clone(),
            rows: Some(rows),
            restored,
            ground: Arc::new(weir_net::System::with_name_servers(Vec::new())),
            node: None,
        };
        let directory = tempfile::tempdir().expect("a directory");
        let web = weir_web::Config::default();
        let front = Front::start(&config, &web, directory.path(), outward).expect("a tracker");
        let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let (_, address) = front.listening()[0];
        client.connect(address).expect("loopback");
        Self {
            engine,
            front,
            client,
            swarms: 0,
            _directory: directory,
        }
    }

    /// Announces peers of new swarms, and waits until all forwarders have been told.
    fn announce(&mut self) {
        let wanted = u64::from(FORWARDERS * (self.swarms + ANNOUNCES));
        let (client, first) = (&self.client, self.swarms);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(format!("{OTHER} client"));
            let ask = move || (first..first + ANNOUNCES).for_each(|swarm| announce(client, swarm));
            thread.spawn_scoped(scope, ask).expect("a thread");
        });
        self.swarms += ANNOUNCES;
        loop {
            let status = self.engine.status();
            if status.counters.sent >= wanted && status.counts.busy == 0 {
                assert_eq!(status.counters.sent, wanted, "each of them once");
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One announce and its reply, with a connection id of its own.
fn announce(client: &UdpSocket, swarm: u32) {
    let mut packet = [0; 2048];
    client
        .send(&request::connect(TransactionId(1)))
        .expect("loopback takes it");
    let len = client.recv(&mut packet).expect("a reply");
    let Ok(Reply::Connect { connection, .. }) = Reply::parse(&packet[..len], Family::V4) else {
        panic!("a connect request gets a connection id");
    };
    let mut hash = [7; 20];
    hash[..4].copy_from_slice(&swarm.to_be_bytes());
    let mut announce = Announce::new(InfoHash(hash), PeerId([b'p'; 20]), NonZeroU16::MAX);
    announce.left = 1;
    let announce = request::announce(connection, TransactionId(2), &announce);
    client.send(&announce).expect("loopback takes it");
    let len = client.recv(&mut packet).expect("a reply");
    let answered = Reply::parse(&packet[..len], Family::V4);
    assert!(
        matches!(answered, Ok(Reply::Announce { .. })),
        "{answered:?}"
    );
}

/// Processor time so far of all threads that are Weir's.
fn processor() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanos = tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        let nanos = text.split_whitespace().next()?.parse::<u64>().ok()?;
        (!name.starts_with(OTHER)).then_some(nanos)
    });
    Duration::from_nanos(nanos.sum())
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
