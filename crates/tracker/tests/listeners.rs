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
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_tracker::Front;
use weir_tracker::config::Config;
use weir_web::Front as _;

/// Nothing here takes as long; it ends a test that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// Of the engines, which have nothing to do here.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    runtime.expect("a runtime")
});

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
    let proxies = proxies.iter().map(|net| net.parse().expect("a network"));
    let web = weir_web::Config {
        trusted_proxies: proxies.collect(),
        ..weir_web::Config::default()
    };
    let _inside = RUNTIME.enter();
    let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
    let policy = weir_tracker::policy(weir_testkit::policy::general(), config);
    let options = Options::new(timeline, Weather::default());
    let engine = Engine::new("tracker", policy, options);
    let outward = Outward::without_rows(engine, Arc::new(weir_net::System::new()));
    let front = Front::start(config, &web, &directory.join("swarm"), outward);
    front.expect("a tracker")
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
