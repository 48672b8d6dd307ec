//! Real trackers to which Weir forwards its clients' announces: the seeder knows only such a tracker, the leecher
//! knows only Weir.
//!
//! Some cases are missing because of the trackers: Debian's opentracker supports only IPv4, and npm's tracker gives no
//! IPv6 peers over UDP.

use std::fs::{self, File, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use self::Tracker::{Npm, Opentracker};
use crate::asking::{self, Counts};
use crate::client::{self, Client};
use crate::network::Host;
use crate::tracker::PORT;
use crate::{
    Aria2, Both, By, Families, HttpName, HttpV4, HttpV6, Libtorrent, Meeting, Network, Program,
    Qbittorrent, Rtorrent, Torrent, Transmission, UdpV4, UdpV6, V4, V6, Weir, reached, signal,
    tail,
};

/// A tracker by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracker {
    Npm,
    Opentracker,
}

const NPM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/trackers/tracker.js"
);

/// Such a tracker on its own host; killed when dropped.
pub(crate) struct Upstream {
    child: Child,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
    directory: TempDir,
    _host: Host,
}

impl Upstream {
    /// Starts it for one torrent and waits until it is ready for announces.
    fn start(tracker: Tracker, network: &Network, torrent: &Torrent) -> Self {
        let host = network.host(Both);
        let v4 = host.v4.expect("it has both");
        let v6 = host.v6.expect("it has both");
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path();
        let mut command = match tracker {
            Npm => host.command("node"),
            Opentracker => host.command("opentracker"),
        };
        match tracker {
            Npm => {
                command.arg(NPM).arg(PORT.to_string());
            }
            Opentracker => {
                // It serves only what is listed, and reads the list as user `nobody`.
                let list = path.join("whitelist");
                let hash = torrent.hash.map(|byte| format!("{byte:02x}")).concat();
                fs::write(&list, hash + "\n").expect("a temporary file");
                fs::set_permissions(path, Permissions::from_mode(0o755))
                    .expect("the directory is ours");
                let (ip, port) = (v4.to_string(), PORT.to_string());
                // UDP first: when HTTP answers, both are open.
                command.args(["-i", &ip, "-P", &port, "-p", &port, "-w"]);
                command.arg(list);
            }
        }
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("`nsenter` is in Debian's util-linux");
        let mut upstream = Self {
            child,
            v4,
            v6,
            directory,
            _host: host,
        };
        let mut gone = false;
        let listens = reached(|| {
            gone = !matches!(upstream.child.try_wait(), Ok(None));
            let answers = match tracker {
                Npm => upstream.log().contains("listening"),
                Opentracker => TcpStream::connect(upstream.address()).is_ok(),
            };
            gone || answers
        });
        assert!(
            listens && !gone,
            "{tracker:?} does not listen (`cargo xtask setup` installs it): {}",
            upstream.log()
        );
        upstream
    }

    fn url(&self, by: By) -> String {
        by.url_of(self.v4, self.v6)
    }

    /// Where it is called.
    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.v4.into(), PORT)
    }

    fn scrape(&self, torrent: &Torrent) -> Counts {
        asking::scrape(self.address(), torrent)
    }

    fn peers(&self, torrent: &Torrent) -> Vec<SocketAddr> {
        asking::peers(self.address(), torrent)
    }

    /// What it printed last.
    pub(crate) fn log(&self) -> String {
        tail(&self.directory.path().join("log"))
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Settings with which a leecher gets peers even if it announces before the upstream has answered.
fn settings(leecher: Program) -> &'static str {
    match leecher {
        // These come back when they are told to.
        Aria2 | Transmission => "first_interval: 5s",
        // Whatever interval they are given, libtorrent (and so qBittorrent) comes back after five minutes at the
        // earliest and rtorrent after ten, so the first reply must contain the peers. It is held only until the
        // upstream has answered.
        Libtorrent | Qbittorrent | Rtorrent => "first_wait: 30s",
    }
}

impl Meeting {
    /// With upstreams that Weir forwards to in these ways.
    fn forwarding(upstreams: &[(Tracker, By)], settings: &str) -> Self {
        let network = Network::new();
        let torrent = Torrent::new();
        let start = |(tracker, by): &(Tracker, By)| {
            let upstream = Upstream::start(*tracker, &network, &torrent);
            let entry = format!(r#"{{ uri: "{}" }}"#, upstream.url(*by));
            (upstream, entry)
        };
        let (upstreams, entries): (Vec<Upstream>, Vec<String>) =
            upstreams.iter().map(start).unzip();
        let settings = format!("forwarders: [{}], {settings}", entries.join(", "));
        Self {
            clients: Vec::new(),
            weir: Weir::start(&network, &settings),
            upstreams,
            torrent,
            network,
        }
    }

    /// Adds a client that has the file and knows only the upstream.
    fn seeder_elsewhere(&mut self, program: Program, families: Families, by: By) {
        let host = self.network.host(families);
        let url = self.upstreams[0].url(by);
        let client = Client::seed(program, host, &self.torrent, &url);
        self.clients.push(client);
        self.wait("the upstream has a seeder", |meeting| {
            meeting.upstreams[0].scrape(&meeting.torrent).complete == 1
        });
    }

    /// Waits until the upstream gives exactly these peers.
    fn upstream_names(&self, expected: &[SocketAddr]) {
        let what = format!("the upstream names {expected:?}");
        let mut expected = expected.to_vec();
        expected.sort();
        self.wait(&what, |meeting| {
            meeting.upstreams[0].peers(&meeting.torrent) == expected
        });
    }

    /// Waits until Weir gives exactly these peers.
    fn weir_names(&self, expected: &[SocketAddr]) {
        let what = format!("Weir names {expected:?}");
        let mut expected = expected.to_vec();
        expected.sort();
        self.wait(&what, |meeting| {
            meeting.weir.peers(&meeting.torrent) == expected
        });
    }
}

/// Weir's own address, where upstreams see its clients.
fn own(families: Families, port: u16) -> SocketAddr {
    let ip = match families {
        V4 | Both => IpAddr::from(Network::FROM_V4),
        V6 => IpAddr::from(Network::FROM_V6),
    };
    SocketAddr::new(ip, port)
}

/// A leecher that knows only Weir gets the file from a seeder that knows only the upstream. The upstream knows the
/// leecher, at Weir's address, and is told when it has the file and when it stops; Weir never gives out that address.
fn relay(
    families: Families,
    (seeder, seeds_by): (Program, By),
    (upstream, forwards_by): (Tracker, By),
    (leecher, leeches_by): (Program, By),
) {
    let mut meeting = Meeting::forwarding(&[(upstream, forwards_by)], settings(leecher));
    meeting.seeder_elsewhere(seeder, families, seeds_by);
    meeting.leecher(leecher, families, leeches_by);
    // Before it is stopped: rtorrent, if stopped at this very moment, would not announce `stopped`.
    meeting.wait("both trackers know that it has the file", |meeting| {
        let elsewhere = meeting.upstreams[0].scrape(&meeting.torrent);
        meeting.counts().downloaded == 1 && (elsewhere.complete, elsewhere.incomplete) == (2, 0)
    });
    let seeder = meeting.addresses(&[0]);
    meeting.upstream_names(&[&*seeder, &[own(families, client::PORT)]].concat());
    meeting.weir_names(&meeting.addresses(&[0, 1]));
    meeting.clients[1].stop();
    meeting.upstream_names(&seeder);
}

#[test]
fn transmission_over_http_gets_a_file_through_opentracker_over_http() {
    relay(
        V4,
        (Libtorrent, UdpV4),
        (Opentracker, HttpV4),
        (Transmission, HttpV4),
    );
}

#[test]
fn aria2_over_udp_gets_a_file_through_opentracker_over_udp() {
    relay(
        V4,
        (Transmission, HttpV4),
        (Opentracker, UdpV4),
        (Aria2, UdpV4),
    );
}

#[test]
fn libtorrent_over_udp_gets_a_file_through_npm_over_http() {
    relay(V4, (Rtorrent, HttpV4), (Npm, HttpV4), (Libtorrent, UdpV4));
}

#[test]
fn rtorrent_over_http_gets_a_file_through_npm_over_udp() {
    relay(V4, (Libtorrent, UdpV4), (Npm, UdpV4), (Rtorrent, HttpV4));
}

#[test]
fn rtorrent_over_udp_gets_a_file_through_opentracker_over_http() {
    relay(
        V4,
        (Qbittorrent, HttpV4),
        (Opentracker, HttpV4),
        (Rtorrent, UdpV4),
    );
}

#[test]
fn qbittorrent_over_udp_gets_a_file_through_npm_over_http_and_ipv6() {
    relay(
        V6,
        (Libtorrent, HttpV6),
        (Npm, HttpV6),
        (Qbittorrent, UdpV6),
    );
}

#[test]
fn transmission_over_http_gets_a_file_through_npm_over_http_and_ipv6() {
    relay(
        V6,
        (Qbittorrent, HttpV6),
        (Npm, HttpV6),
        (Transmission, HttpName),
    );
}

/// Forwarding over UDP and IPv6. No peers come back, see above.
#[test]
fn npm_hears_over_udp_and_ipv6_who_comes_and_goes() {
    let mut meeting = Meeting::forwarding(&[(Npm, UdpV6)], "");
    meeting.seeder(Libtorrent, V6, HttpV6);
    // By scrape, because npm's answer to an announce would have IPv4 addresses where Weir expects IPv6.
    let complete = |complete| {
        move |meeting: &Meeting| meeting.upstreams[0].scrape(&meeting.torrent).complete == complete
    };
    meeting.wait("the upstream has the seeder", complete(1));
    meeting.upstream_names(&[own(V6, client::PORT)]);
    meeting.clients[0].stop();
    meeting.wait("the upstream has nobody", complete(0));
    meeting.upstream_names(&[]);
}

/// Of the peers that the upstream has at Weir's address, only Weir's own clients are left out: others may be behind the
/// same address.
#[test]
fn our_own_peer_does_not_come_back() {
    const ANOTHER: u16 = 7000;
    let mut meeting = Meeting::forwarding(&[(Opentracker, HttpV4)], settings(Libtorrent));
    // From Weir's host, where this test runs, so that the first answer already has both.
    for port in [client::PORT, ANOTHER] {
        asking::announce(
            meeting.upstreams[0].address(),
            &meeting.torrent,
            port,
            "started",
        );
    }
    let (ours, another) = (own(V4, client::PORT), own(V4, ANOTHER));
    meeting.upstream_names(&[ours, another]);
    let host = meeting.network.host(V4);
    let client = Client::leech(Libtorrent, host, &meeting.torrent, &HttpV4.url());
    meeting.clients.push(client);
    meeting.wait("Weir has heard of the other", |meeting| {
        meeting.weir.scrape(&meeting.torrent).incomplete == 1
            && meeting.weir.peers(&meeting.torrent).contains(&another)
    });
    meeting.weir_names(&[&*meeting.addresses(&[0]), &[another]].concat());
}

/// A `stopped` that arrives just before Weir is told to stop is still forwarded to each upstream.
///
/// The upstreams are paused meanwhile. Over UDP nothing can be left in their queue to be read later: its connection id
/// is too old, so Weir has to wait for an answer before it can announce `stopped`.
#[test]
fn a_goodbye_goes_on_though_weir_is_stopped() {
    let upstreams = [(Opentracker, UdpV4), (Npm, HttpV4)];
    let mut meeting = Meeting::forwarding(&upstreams, "udp_connection_life: 1ms");
    let host = meeting.network.host(V4);
    let client = Client::leech(Libtorrent, host, &meeting.torrent, &HttpV4.url());
    meeting.clients.push(client);
    let counts = |meeting: &Meeting| -> Vec<u32> {
        let counts = meeting.upstreams.iter();
        let counts = counts.map(|upstream| upstream.scrape(&meeting.torrent));
        counts.map(|counts| counts.incomplete).collect()
    };
    meeting.wait("both upstreams have the leecher", |meeting| {
        counts(meeting) == [1, 1]
    });
    for upstream in &meeting.upstreams {
        signal(&upstream.child, "STOP");
    }
    meeting.clients[0].stop();
    meeting.wait("Weir has nobody", |meeting| {
        meeting.counts() == Counts::default()
    });
    meeting.weir.stop();
    let stops = reached(|| meeting.weir.log().contains("stopping"));
    assert!(stops, "{}", meeting.weir.log());
    for upstream in &meeting.upstreams {
        signal(&upstream.child, "CONT");
    }
    let stopped = reached(|| meeting.weir.has_stopped());
    let log = meeting.weir.log();
    assert!(stopped && !log.contains("not all trackers"), "{log}");
    assert_eq!(counts(&meeting), [0, 0], "{log}");
}
