//! Real clients and the real Weir: they find each other through its tracker, because there is no other way, and finish
//! a download.
//!
//! Some pairs are missing because of the clients: aria2 sends a second bitfield, at which rtorrent hangs up;
//! rtorrent takes the IPv6 peers of a UDP reply for IPv4 ones, and aria2 calls UDP trackers over IPv4 only.

mod addresses;
mod asking;
mod client;
mod network;
mod nodes;
#[expect(dead_code, reason = "the example `siege` uses the rest")]
mod siege;
mod torrent;
mod tracker;
mod upstream;

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use self::asking::Counts;
use self::client::Client;
use self::client::Program::{self, Aria2, Libtorrent, Qbittorrent, Rtorrent, Transmission};
use self::network::Families::{self, Both, V4, V6};
use self::network::Network;
use self::siege::{Attack, Field, Sits, Until};
use self::torrent::Torrent;
use self::tracker::By::{self, HttpName, HttpV4, HttpV6, UdpV4, UdpV6};
use self::tracker::Weir;
use self::upstream::Upstream;

/// Far longer than any step here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits for something that other programs do.
#[expect(
    clippy::disallowed_methods,
    reason = "other programs keep real time, and nothing tells when they are done"
)]
fn reached(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(100));
    }
    true
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status();
    assert!(status.is_ok_and(|status| status.success()), "{kill} failed");
}

/// The end of a log.
fn tail(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().rev().take(100).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// One swarm at one Weir. Dropped in this order: the network outlives the programs in it.
struct Meeting {
    clients: Vec<Client>,
    weir: Weir,
    /// Trackers that Weir forwards to.
    upstreams: Vec<Upstream>,
    torrent: Torrent,
    network: Network,
}

impl Meeting {
    fn new() -> Self {
        let network = Network::new();
        Self {
            clients: Vec::new(),
            weir: Weir::start(&network, ""),
            upstreams: Vec::new(),
            torrent: Torrent::new(),
            network,
        }
    }

    /// Adds a client that has the file.
    fn seeder(&mut self, program: Program, families: Families, by: By) {
        let host = self.network.host(families);
        let client = Client::seed(program, host, &self.torrent, &by.url());
        self.clients.push(client);
    }

    /// Adds a client that wants the file, and waits until it has it.
    fn leecher(&mut self, program: Program, families: Families, by: By) {
        let host = self.network.host(families);
        let client = Client::leech(program, host, &self.torrent, &by.url());
        self.clients.push(client);
        self.wait(&format!("{program:?} has the file"), |meeting| {
            let last = meeting.clients.len() - 1;
            meeting.clients[last].has(&meeting.torrent)
        });
    }

    fn sees_both_addresses_of_the_seeder(&self) {
        self.wait("Weir tells both addresses of the seeder", |meeting| {
            meeting.weir.peers(&meeting.torrent) == meeting.addresses(&[0])
        });
    }

    /// The addresses of these clients, IPv4 first.
    fn addresses(&self, clients: &[usize]) -> Vec<SocketAddr> {
        let hosts = || clients.iter().map(|number| &self.clients[*number].host);
        let v4 = hosts().filter_map(|host| host.v4).map(IpAddr::from);
        let v6 = hosts().filter_map(|host| host.v6).map(IpAddr::from);
        v4.chain(v6)
            .map(|ip| SocketAddr::new(ip, client::PORT))
            .collect()
    }

    fn complete(&self, complete: u32) {
        self.wait(&format!("{complete} clients have the file"), |meeting| {
            meeting.counts().complete == complete
        });
    }

    fn counts(&self) -> Counts {
        self.weir.scrape(&self.torrent)
    }

    fn wait(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        if reached(|| condition(self)) {
            return;
        }
        let log = |client: &Client| format!("\n== {:?} ==\n{}", client.program, client.log());
        let mut logs: String = self.clients.iter().map(log).collect();
        let others = self.upstreams.iter().map(Upstream::log);
        logs.extend(others.map(|log| format!("\n== upstream ==\n{log}")));
        panic!(
            "it never came to pass that {what}: {:?}, {:?}\n== Weir ==\n{}{logs}",
            self.counts(),
            self.weir.peers(&self.torrent),
            self.weir.log()
        );
    }
}

/// A seeder and a leecher meet, the file is transferred, and each is counted until it leaves.
fn meet(
    families: Families,
    (seeder, seeds_by): (Program, By),
    (leecher, leeches_by): (Program, By),
) {
    let mut meeting = Meeting::new();
    meeting.seeder(seeder, families, seeds_by);
    meeting.complete(1);
    meeting.leecher(leecher, families, leeches_by);
    meeting.complete(2);
    let expected = Counts {
        complete: 2,
        downloaded: 1,
        incomplete: 0,
    };
    // A regular announce as a seeder may come before the one with `completed`.
    meeting.wait("the download is counted", |meeting| {
        meeting.counts() == expected
    });
    meeting.clients[1].stop();
    meeting.complete(1);
    meeting.clients[0].stop();
    meeting.complete(0);
    assert_eq!(meeting.counts().incomplete, 0);
}

#[test]
fn transmission_gets_a_file_from_libtorrent_over_http() {
    meet(V4, (Libtorrent, HttpV4), (Transmission, HttpV4));
}

#[test]
fn libtorrent_gets_a_file_from_rtorrent_over_udp() {
    meet(V4, (Rtorrent, UdpV4), (Libtorrent, UdpV4));
}

#[test]
fn aria2_gets_a_file_from_transmission_over_udp() {
    meet(V4, (Transmission, UdpV4), (Aria2, UdpV4));
}

#[test]
fn qbittorrent_gets_a_file_from_rtorrent_over_http() {
    meet(V4, (Rtorrent, HttpV4), (Qbittorrent, HttpV4));
}

#[test]
fn aria2_over_http_gets_a_file_from_qbittorrent_over_udp() {
    meet(V4, (Qbittorrent, UdpV4), (Aria2, HttpV4));
}

#[test]
fn rtorrent_over_udp_gets_a_file_from_aria2_over_http() {
    meet(V4, (Aria2, HttpV4), (Rtorrent, UdpV4));
}

#[test]
fn aria2_gets_a_file_from_transmission_over_http_and_ipv6() {
    meet(V6, (Transmission, HttpName), (Aria2, HttpV6));
}

#[test]
fn transmission_gets_a_file_from_rtorrent_over_http_and_ipv6() {
    meet(V6, (Rtorrent, HttpName), (Transmission, HttpName));
}

#[test]
fn qbittorrent_gets_a_file_from_libtorrent_over_udp_and_ipv6() {
    meet(V6, (Libtorrent, UdpV6), (Qbittorrent, UdpV6));
}

/// libtorrent announces from each of its addresses.
#[test]
fn a_dual_stack_seeder_serves_a_leecher_of_each_family() {
    let mut meeting = Meeting::new();
    meeting.seeder(Libtorrent, Both, HttpName);
    meeting.sees_both_addresses_of_the_seeder();
    meeting.leecher(Transmission, V4, UdpV4);
    meeting.leecher(Qbittorrent, V6, HttpName);
    meeting.wait("both have told so", |meeting| {
        meeting.counts().downloaded == 2
    });
    meeting.clients[0].stop();
    meeting.wait("both addresses of the seeder are gone", |meeting| {
        meeting.weir.peers(&meeting.torrent) == meeting.addresses(&[1, 2])
    });
}

/// transmission announces from one address and gives the other as a parameter.
#[test]
fn a_seeder_that_names_its_ipv6_address_serves_a_leecher_without_ipv4() {
    let mut meeting = Meeting::new();
    meeting.seeder(Transmission, Both, HttpV4);
    meeting.sees_both_addresses_of_the_seeder();
    meeting.leecher(Libtorrent, V6, HttpV6);
    meeting.clients[0].stop();
    meeting.wait("both addresses of the seeder are gone", |meeting| {
        meeting.weir.peers(&meeting.torrent) == meeting.addresses(&[1])
    });
}

#[test]
fn those_who_only_sit_there_shut_nobody_out() {
    let weir = Path::new(env!("CARGO_BIN_EXE_weir"));
    let field = Field::new(weir, Some(100));
    for sits in Sits::ALL {
        for addresses in [1, 20] {
            let attack = Attack {
                sits,
                addresses,
                connections: 600,
            };
            let (asked, _) = field.run(Some(attack), Until::Rounds(10));
            let [right, wrong] = [&asked.right, &asked.wrong]
                .map(|count| count.load(std::sync::atomic::Ordering::Relaxed));
            let log = field.log();
            assert_eq!((right, wrong), (320, 0), "{attack:?}: {asked:?} {log}");
        }
    }
    let ended = field.ended();
    for listener in ["web", "tracker"] {
        for reason in ["share", "room"] {
            let name = format!(
                "weir_{listener}_connections_ended_total{{listener=\"{listener}\",reason=\"{reason}\"}}"
            );
            assert!(ended[&name] > 0, "{name} {ended:?}");
        }
    }
}
