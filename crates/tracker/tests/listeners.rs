//! Both listeners over real sockets on this machine.

#[path = "listeners/http.rs"]
mod http;
#[path = "../../web/tests/it/proxies.rs"]
mod proxies;
#[path = "listeners/restart.rs"]
mod restart;
#[path = "listeners/udp.rs"]
mod udp;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use weir_tracker::config::Config;
use weir_tracker::{Around, Front};
use weir_web::Front as _;

/// Nothing here takes as long; it ends a test that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running tracker and its directory.
struct Tracker {
    front: Option<Front>,
    directory: tempfile::TempDir,
}

impl Tracker {
    fn start(config: Config) -> Self {
        Self::start_trusting(config, &[])
    }

    fn start_trusting(config: Config, proxies: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let front = start(&config, directory.path(), proxies);
        Self {
            front: Some(front),
            directory,
        }
    }

    fn front(&self) -> &Front {
        self.front.as_ref().expect("it runs until it is dropped")
    }

    fn at(&self, protocol: &str) -> SocketAddr {
        let listening = self.front().listening();
        let found = listening.iter().find(|(name, _)| *name == protocol);
        found.expect("it listens").1
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        if let Some(front) = self.front.take() {
            front.close();
        }
    }
}

fn start(config: &Config, directory: &Path, proxies: &[&str]) -> Front {
    let around = Around {
        directory: directory.join("swarm"),
        trusted: Vec::new(),
        trusted_proxies: proxies
            .iter()
            .map(|net| net.parse().expect("a network"))
            .collect(),
    };
    Front::start(
        config,
        &around,
        weir_engine::Timeline::starting_at(std::time::UNIX_EPOCH),
        None,
    )
    .expect("a tracker")
}

/// On free ports of IPv4 on this machine.
fn config() -> Config {
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        udp_listen: Some(here),
        http_listen: Some(here),
        ..Config::default()
    }
}
