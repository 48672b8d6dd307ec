use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU16;
use std::time::Instant;

use socket2::Socket;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use weir_engine::{Engine, Options, Timeline, Vitals, Weather};
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, request};
use weir_tracker_proto::{Announce, InfoHash, PeerId};

use weir_web::Front as _;

use super::*;
use crate::fault;
use crate::inbound::connection_id::ConnectionIds;
use crate::inbound::own::OwnAddresses;
use crate::inbound::udp::{UdpListener, UdpShared};

/// Nothing here takes as long; it ends a test that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

struct Rig {
    front: Option<Front>,
    vitals: Vitals,
    /// Of the engine, which has nothing to do here.
    _runtime: Runtime,
    directory: tempfile::TempDir,
}

impl Rig {
    fn start(directory: tempfile::TempDir) -> Self {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config {
            udp_listen: Some(here),
            http_listen: Some(here),
            listener_threads: std::num::NonZeroU32::new(1),
            snapshot_every: Duration::from_secs(1),
            ..Config::default()
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let vitals = Vitals::default();
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
        let options = Options {
            vitals: vitals.clone(),
            ..Options::new(timeline, Weather::default())
        };
        let policy = crate::policy(weir_testkit::policy::general(), &config);
        let engine = Engine::new("tracker", policy, options);
        let outward = Outward::without_rows(engine, Arc::new(weir_net::System::new()));
        let front = Front::start(
            &config,
            &weir_web::Config::default(),
            directory.path(),
            outward,
        )
        .unwrap();
        Self {
            front: Some(front),
            vitals,
            _runtime: runtime,
            directory,
        }
    }

    fn front(&self) -> &Front {
        self.front.as_ref().unwrap()
    }

    fn at(&self, wanted: &str) -> SocketAddr {
        let mut all = self.front().listening().iter();
        all.find(|(name, _)| *name == wanted).unwrap().1
    }

    fn failures(&self, part: &str) -> u64 {
        let all = self.vitals.failures();
        let found = all.into_iter().find(|(_, name, _)| *name == part);
        found.unwrap().2
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at("http")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(front) = self.front.take() {
            front.close();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "threads keep real time")]
fn reached(what: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if what() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    false
}

fn announce(hash: [u8; 20]) -> Announce {
    let port = NonZeroU16::new(1000).unwrap();
    Announce::new(InfoHash(hash), PeerId([b'p'; 20]), port)
}

/// Sends an announce; gives whether an answer comes back rather than the end of the connection.
fn is_answered(mut stream: &TcpStream, hash: [u8; 20]) -> bool {
    let hash: String = hash.iter().map(|byte| format!("%{byte:02x}")).collect();
    let peer = "p".repeat(20);
    let query = format!("info_hash={hash}&peer_id={peer}&port=1000&left=1&compact=1");
    let head = format!("GET /announce?{query} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = [0; 2048];
    stream.read(&mut reply).is_ok_and(|length| length > 0)
}

#[test]
fn a_packet_that_panics_costs_nobody_else_a_reply() {
    let rig = Rig::start(tempfile::tempdir().unwrap());
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(rig.at("udp")).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let receive = || {
        let mut reply = [0; 2048];
        let length = client.recv(&mut reply).unwrap();
        reply[..length].to_vec()
    };
    client.send(&request::connect(TransactionId(1))).unwrap();
    let id: ConnectionId = match Reply::parse(&receive(), Family::V4) {
        Ok(Reply::Connect { connection, .. }) => connection,
        other => panic!("{other:?}"),
    };
    // Sent together, so that some of them are in one batch.
    for number in 0..60 {
        let hash = if number % 3 == 1 {
            fault::HASH
        } else {
            [number; 20]
        };
        let transaction = TransactionId(number.into());
        let packet = request::announce(id, transaction, &announce(hash));
        client.send(&packet).unwrap();
    }
    let answered: Vec<u8> = (0..40).map(|_| receive()[7]).collect();
    let expected: Vec<u8> = (0..60).filter(|number| number % 3 != 1).collect();
    assert_eq!(answered, expected);
    assert_eq!(rig.failures("udp"), 20);
    assert_eq!(rig.vitals.missing(), [""; 0]);
}

#[test]
fn a_connection_that_panics_ends_alone() {
    let rig = Rig::start(tempfile::tempdir().unwrap());
    let before = rig.connect();
    assert!(is_answered(&before, [1; 20]));
    // With its first bytes, which are answered where connections are accepted.
    assert!(!is_answered(&rig.connect(), fault::HASH));
    // And later, in a task of its own.
    let later = rig.connect();
    assert!(is_answered(&later, [1; 20]));
    assert!(!is_answered(&later, fault::HASH));
    assert!(is_answered(&before, [1; 20]), "it was there all the time");
    assert!(is_answered(&rig.connect(), [1; 20]));
    assert!(reached(|| rig.failures("http") == 2));
}

#[test]
fn a_listener_that_panics_is_run_again_on_the_same_socket() {
    let rig = Rig::start(tempfile::tempdir().unwrap());
    assert!(is_answered(&rig.connect(), [1; 20]));
    let fault = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let from = SocketAddr::from((fault::PEER, 0));
    fault.bind(&from.into()).unwrap();
    fault.connect(&rig.at("http").into()).unwrap();
    fault.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(!is_answered(&fault.into(), [1; 20]));
    // They wait at the socket until the next run takes them in.
    for _ in 0..3 {
        assert!(is_answered(&rig.connect(), [1; 20]));
    }
    assert_eq!(rig.failures("http"), 1);
}

#[test]
fn swarms_are_written_though_their_thread_panics() {
    let directory = tempfile::tempdir().unwrap();
    for fault in ["step", "group"] {
        fs::write(directory.path().join(fault), "").unwrap();
    }
    let rig = Rig::start(directory);
    for number in 0..100 {
        assert!(is_answered(&rig.connect(), [number; 20]));
    }
    let path = rig.directory.path();
    let written = || {
        let files = fs::read_dir(path).unwrap().flatten();
        let swarms = files.filter(|file| file.path().extension().is_some_and(|end| end == "swarm"));
        swarms
            .map(|file| file.metadata().unwrap().len())
            .sum::<u64>()
    };
    assert!(reached(|| written() > 100 * 20), "{} bytes", written());
    assert_eq!(rig.failures("swarms"), 2);
    assert!(!path.join("step").exists() && !path.join("group").exists());
}

#[test]
fn a_socket_that_cannot_be_used_any_more_is_missing() {
    let rig = Rig::start(tempfile::tempdir().unwrap());
    let vitals = Vitals::default();
    let threads = Threads::new(vitals.clone());
    let vital = threads.watch("udp");
    let answering = &rig.front().answering;
    let shared = UdpShared {
        tracker: Arc::clone(&answering.tracker),
        ids: ConnectionIds::new().unwrap(),
        clock: answering.clock,
        own: Arc::<OwnAddresses>::default(),
        vital: vital.clone(),
    };
    let mut udp = UdpListener::new(shared, Arc::default(), mpsc::channel(1).0);
    // Nothing can be received from it.
    let socket = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let stop = threads.stop_flag();
    let thread = threads.start_watched(vital, move || udp.run(&socket, &stop));
    thread.unwrap();
    let is_missing = || {
        let missing = vitals.missing();
        missing.len() == 1 && missing[0].contains("cannot receive packets")
    };
    assert!(reached(is_missing), "{:?}", vitals.missing());
    threads.stop();
    threads.join();
}
