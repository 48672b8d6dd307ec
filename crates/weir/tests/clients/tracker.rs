//! Weir itself, and what it knows about a swarm.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::asking::{self, Counts};
use crate::network::{NAME, Network};
use crate::{Torrent, reached, signal, tail};

/// The port of every tracker, for HTTP and UDP, which is also Weir's default; each is alone on its host.
pub(crate) const PORT: u16 = 6969;

/// How clients reach Weir or another tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    HttpV4,
    HttpV6,
    UdpV4,
    UdpV6,
    /// By a name, so that a client uses the family it has, or both.
    HttpName,
}

impl By {
    /// The URL in the torrent.
    pub(crate) fn url(self) -> String {
        self.url_of(Network::V4, Network::V6)
    }

    /// The URL of a tracker at these addresses; the name is that of Weir.
    pub(crate) fn url_of(self, v4: Ipv4Addr, v6: Ipv6Addr) -> String {
        match self {
            Self::HttpV4 => format!("http://{v4}:{PORT}/announce"),
            Self::HttpV6 => format!("http://[{v6}]:{PORT}/announce"),
            Self::HttpName => format!("http://{NAME}:{PORT}/announce"),
            Self::UdpV4 => format!("udp://{v4}:{PORT}/announce"),
            Self::UdpV6 => format!("udp://[{v6}]:{PORT}/announce"),
        }
    }
}

/// A running Weir in the middle of a network; killed when dropped.
pub(crate) struct Weir {
    child: Child,
    port: u16,
    directory: TempDir,
}

impl Weir {
    /// Starts it on the network's own host, on all addresses as by default, with these tracker settings, and
    /// waits until it is ready for clients.
    pub(crate) fn start(_: &Network, settings: &str) -> Self {
        Self::run(
            PORT,
            &format!("drain: 30s\ntracker: {{ announce_interval: 5s, {settings} }}\n"),
        )
    }

    /// Starts one of several there, which have a store in common and ports of their own.
    pub(crate) fn node(_: &Network, number: u16, store: &str) -> Self {
        let port = PORT + number;
        let weir = Self::run(
            port,
            &format!(
                "{store}node: {{ name: node-{number} }}\n\
                 tracker: {{ announce_interval: 5s, share_private: true, http_listen: '[::]:{port}', udp_listen: '[::]:{port}' }}\n"
            ),
        );
        let together = || weir.log().contains("together with the other nodes");
        assert!(reached(together), "it is alone: {}", weir.log());
        weir
    }

    fn run(port: u16, file: &str) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path();
        fs::write(path.join("weir.yaml"), file).expect("a temporary file");
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["serve", "--data", "data", "--web", "127.0.0.1:0"])
            .current_dir(path)
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let weir = Self {
            child,
            port,
            directory,
        };
        let listens = reached(|| {
            let log = weir.log();
            let lines = log.lines().filter(|line| line.contains("listening"));
            // HTTP and UDP, each in both families.
            lines.filter(|line| line.contains("tracker")).count() == 4
        });
        assert!(listens, "Weir does not listen: {}", weir.log());
        weir
    }

    /// Where it is called from its own host.
    fn address(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    /// Its URL in a torrent.
    pub(crate) fn url(&self, by: By) -> String {
        let (usual, own) = (format!(":{PORT}/"), format!(":{}/", self.port));
        by.url().replace(&usual, &own)
    }

    /// What it printed last.
    pub(crate) fn log(&self) -> String {
        tail(&self.directory.path().join("log"))
    }

    /// The counts of a swarm, by a scrape.
    pub(crate) fn scrape(&self, torrent: &Torrent) -> Counts {
        asking::scrape(self.address(), torrent)
    }

    /// The peers that a leecher is given, sorted; it leaves the swarm afterwards.
    pub(crate) fn peers(&self, torrent: &Torrent) -> Vec<SocketAddr> {
        asking::peers(self.address(), torrent)
    }

    /// Asks it to stop.
    pub(crate) fn stop(&self) {
        signal(&self.child, "TERM");
    }

    /// Whether it stopped without an error.
    pub(crate) fn has_stopped(&mut self) -> bool {
        let ended = self.child.try_wait().expect("it is our child");
        ended.is_some_and(|status| status.success())
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
