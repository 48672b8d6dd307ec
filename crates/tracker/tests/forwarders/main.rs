//! A whole tracker on loopback before a zoo of upstreams: what clients and upstreams read, byte by byte.

mod animals;
mod counts;
mod secrets;

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use weir_config::SecretUrl;
use weir_engine::{Engine, Options, Outward, Timeline, UpstreamView, Weather};
use weir_tracker::Front;
use weir_tracker::config::Config;
use weir_tracker::config::forwarder::{ForwarderEntry, ForwarderFamily};
use weir_tracker_proto::udp::{self, ConnectionId, TransactionId, request};
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::Front as _;

/// Nothing here takes as long; it ends a test that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(30);
const PEER: PeerId = PeerId(*b"-AB1234-0123456789ab");

/// A running tracker with one forwarder.
struct Weir {
    front: Option<Front>,
    engine: Engine,
    directory: tempfile::TempDir,
}

impl Weir {
    fn start(forwarder: ForwarderEntry) -> Self {
        Self::start_with(forwarder, Config::default())
    }

    fn start_with(forwarder: ForwarderEntry, config: Config) -> Self {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config {
            udp_listen: Some(here),
            http_listen: Some(here),
            listener_threads: NonZeroU32::new(1),
            forwarder_retry_attempts: NonZeroU32::MIN,
            forwarders: vec![forwarder],
            ..config
        };
        let directory = tempfile::tempdir().expect("a directory");
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
        let options = Options::new(timeline, Weather::default());
        let policy = weir_tracker::policy(weir_testkit::policy::general(), &config);
        let engine = Engine::new("tracker", policy, options);
        let ground = weir_net::System::with_name_servers(Vec::new());
        let outward = Outward::without_rows(engine.clone(), Arc::new(ground));
        let front = Front::start(
            &config,
            &weir_web::Config::default(),
            &directory.path().join("swarm"),
            outward,
        );
        Self {
            front: Some(front.expect("a tracker")),
            engine,
            directory,
        }
    }

    fn at(&self, protocol: &str) -> SocketAddr {
        let listening = self.front.as_ref().expect("it runs").listening();
        let found = listening.iter().find(|(name, _)| *name == protocol);
        found.expect("it listens").1
    }

    fn view(&self) -> UpstreamView {
        let figures = self.engine.upstreams(0, 1);
        let upstream = figures.first().expect("a forwarder").upstream;
        self.engine.upstream(upstream).expect("it is there")
    }

    /// Waits until so many calls have ended, and nothing more is under way.
    async fn called(&self, calls: u64) -> UpstreamView {
        let done = async {
            loop {
                let (view, counts) = (self.view(), self.engine.status().counts);
                let ended: u64 = view.figures.requests.iter().sum();
                if ended >= calls && counts.queued + counts.busy + counts.waiting == 0 {
                    assert_eq!(ended, calls);
                    return view;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, done).await.expect("in time")
    }

    /// The body of the reply to a client on HTTP, escaped.
    async fn announce(&self, swarm: u8, port: u16, rest: &str) -> String {
        let hash = format!("%{swarm:02x}").repeat(20);
        let peer = str::from_utf8(&PEER.0).expect("text");
        let request = format!(
            "GET /announce?info_hash={hash}&peer_id={peer}&port={port}&left=7&compact=1{rest} HTTP/1.0\r\n\r\n"
        );
        let asked = async {
            let mut stream = TcpStream::connect(self.at("http"))
                .await
                .expect("a connection");
            let sent = stream.write_all(request.as_bytes());
            sent.await.expect("it is sent");
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply).await.expect("a reply");
            reply
        };
        let reply = tokio::time::timeout(PATIENCE, asked)
            .await
            .expect("in time");
        let end = reply.windows(4).position(|four| four == b"\r\n\r\n");
        let body = &reply[end.expect("a head") + 4..];
        body.escape_ascii().to_string()
    }

    /// The reply to a client on UDP, without action and transaction.
    async fn announce_udp(&self, swarm: u8, port: u16) -> Vec<u8> {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.connect(self.at("udp")).await.expect("an address");
        let ask = async |packet: &[u8]| {
            socket.send(packet).await.expect("it is sent");
            let mut reply = [0; 2048];
            let received = tokio::time::timeout(PATIENCE, socket.recv(&mut reply)).await;
            let length = received.expect("in time").expect("a reply");
            reply[..length].to_vec()
        };
        let reply = ask(&request::connect(TransactionId(7))).await;
        let id = match udp::Reply::parse(&reply, udp::Family::V4) {
            Ok(udp::Reply::Connect { connection, .. }) => connection,
            other => panic!("{other:?}"),
        };
        let port = NonZeroU16::new(port).expect("not 0");
        let announce = Announce::new(InfoHash([swarm; 20]), PEER, port);
        let reply = ask(&request::announce(id, TransactionId(9), &announce)).await;
        assert_eq!(reply[..8], [0, 0, 0, 1, 0, 0, 0, 9]);
        reply[8..].to_vec()
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        if let Some(front) = self.front.take() {
            front.close();
        }
    }
}

fn forwarder(url: &str, timeout: Option<Duration>) -> ForwarderEntry {
    ForwarderEntry {
        uri: SecretUrl::parse(url).expect("a URL"),
        name: "upstream".to_owned(),
        ip: None,
        host: None,
        proxy: None,
        timeout,
        family: ForwarderFamily::Any,
    }
}
