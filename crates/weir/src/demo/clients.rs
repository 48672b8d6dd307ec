//! A trickle of clients: announces, searches and reading, so that pages have something to show.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use weir_testkit::zoo::news::News;

use super::{news, releases, upstreams};
use crate::serve::Begun;

/// Between two turns of the trickle.
const TURN: Duration = Duration::from_millis(400);
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of an answer that a client reads.
const ANSWER: u64 = 4 << 20;
/// Requests under way at the same time.
const AT_ONCE: usize = 16;
/// Peers of all swarms.
const PEERS: u64 = 60;
/// Articles that are added at most.
const ADDED: u32 = 200;

/// How peer ids begin: programs that many people use, so that pages show what they will see.
const IDS: [&str; 4] = ["-qB5040-", "-TR4060-", "-DE2110-", "-lt0D80-"];
/// Programs that search, as they call themselves.
const PROGRAMS: [&str; 3] = ["Sonarr/4.0 (demo)", "Radarr/5.0 (demo)", "autobrr (demo)"];

/// All clients together.
pub(super) struct Clients {
    tracker: SocketAddr,
    letters: Option<Arc<News>>,
    swarms: Vec<[u8; 20]>,
    /// Numbers that look as if they came by chance.
    state: u64,
}

impl Clients {
    pub(super) fn new(tracker: SocketAddr, letters: Option<Arc<News>>) -> Self {
        Self {
            tracker,
            letters,
            swarms: releases::swarms(),
            state: 0x5eed,
        }
    }

    /// Waits until Weir serves, then asks for something every now and then, for as long as it is polled.
    pub(super) async fn run(mut self, begun: oneshot::Receiver<Begun>) {
        let Ok(Begun { web, key }) = begun.await else {
            return;
        };
        let mut under_way = JoinSet::new();
        // Enough at once for the first look at the page.
        for number in 0..self.swarms.len() {
            under_way.spawn(ask(self.tracker, self.announce(number)));
        }
        for turn in 0..4 {
            under_way.spawn(ask(web, self.search(turn, &key)));
        }
        under_way.spawn(ask(web, read("/api/v1/news/groups", &key)));
        let mut turns = interval(TURN);
        for turn in 0_usize.. {
            turns.tick().await;
            while under_way.try_join_next().is_some() {}
            if under_way.len() >= AT_ONCE {
                continue;
            }
            let number = self.below(self.swarms.len());
            under_way.spawn(ask(self.tracker, self.announce(number)));
            match turn % 20 {
                3 | 13 => drop(under_way.spawn(ask(web, self.search(turn / 10, &key)))),
                8 | 18 => {
                    let name = news::NAMES[self.below(news::NAMES.len())].0;
                    let path = format!("/api/v1/news/groups/{name}");
                    under_way.spawn(ask(web, read(&path, &key)));
                }
                _ => {}
            }
            if turn % 100 == 99 {
                self.write(turn);
            }
        }
    }

    /// A peer of one swarm says that it is there.
    fn announce(&mut self, swarm: usize) -> String {
        let hash: String = self.swarms[swarm]
            .iter()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        let peer = self.next() % PEERS;
        let id = IDS[usize::try_from(peer).unwrap_or_default() % IDS.len()];
        let left = if peer.is_multiple_of(3) {
            0
        } else {
            700_000_000
        };
        // From an address that is kept for examples (RFC 5737), as a proxy would say.
        format!(
            "GET /announce?info_hash={hash}&peer_id={id}{peer:012}&port={}&uploaded=0&downloaded=0&left={left}\
             &compact=1 HTTP/1.1\r\nHost: demo\r\nX-Forwarded-For: 198.51.100.{}\r\nConnection: close\r\n\r\n",
            50_000 + peer,
            peer + 1
        )
    }

    fn search(&mut self, turn: usize, key: &str) -> String {
        let query = releases::QUERIES[turn % releases::QUERIES.len()].replace(' ', "+");
        let program = PROGRAMS[self.below(PROGRAMS.len())];
        let front = if turn % 4 == 3 { "newznab" } else { "torznab" };
        format!(
            "GET /{front}/api?t=search&q={query} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {key}\r\n\
             User-Agent: {program}\r\nConnection: close\r\n\r\n"
        )
    }

    /// A gauge tells how high the water is.
    fn write(&mut self, turn: usize) {
        let number = u32::try_from(turn / 100).unwrap_or(ADDED);
        if let Some(server) = self.letters.as_ref().filter(|_| number < ADDED) {
            let now = upstreams::now();
            let (newsgroup, article) = news::reading(number, now);
            server.add(&[newsgroup], article);
        }
    }

    fn next(&mut self) -> u64 {
        // Knuth's numbers for 64 bits; the upper half looks most like chance.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap_or_default() % end
    }
}

fn read(path: &str, key: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {key}\r\nUser-Agent: reader (demo)\r\n\
         Connection: close\r\n\r\n"
    )
}

/// Sends a request and reads the answer. What became of it is on the pages.
async fn ask(address: SocketAddr, request: String) {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut rest = stream.take(ANSWER);
        let mut buffer = [0; 8192];
        while rest.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(PATIENCE, exchange).await;
}
