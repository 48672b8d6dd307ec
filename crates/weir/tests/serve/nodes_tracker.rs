//! Several built Weirs that are one tracker, on a real Redis: whoever announces at one of them is given out by all, other
//! trackers see one client instead of three, and whatever happens to the store, announces are answered.
//!
//! What other trackers were told is read from their own logs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::redis::Redis;
use weir_testkit::zoo::{Place, http, udp};
use weir_tracker_proto::udp::Request;
use weir_tracker_proto::{Announce, Event, InfoHash};

use super::announcing::{Peer, UdpClient, scrape};
use super::forwarder::{stats, until};
use super::nodes::{TOGETHER, first_line};
use super::tracker::{KEY, Rig};
use super::{Weir, ask, config};

const SECRET: &str = "a secret that all nodes of this test share";

/// What the other trackers answer: each has one peer of its own.
const BY_HTTP: &str = "203.0.113.7:51413";
const BY_UDP: &str = "203.0.113.8:51413";

/// Nodes on one store, and two trackers that all of them forward to.
struct Cluster {
    runtime: Runtime,
    http: http::Tracker,
    udp: udp::Tracker,
    redis: Redis,
    nodes: Vec<Node>,
    /// More of the tracker section.
    section: &'static str,
    forwards: bool,
}

struct Node {
    rig: Rig,
    udp: SocketAddr,
}

impl Cluster {
    /// `nodes` nodes that forward to nobody.
    fn start(nodes: usize, section: &'static str) -> Self {
        Self::build(nodes, section, false)
    }

    /// The same with the two trackers.
    fn forwarding(nodes: usize, section: &'static str) -> Self {
        Self::build(nodes, section, true)
    }

    fn build(nodes: usize, section: &'static str, forwards: bool) -> Self {
        let runtime = Runtime::new().unwrap();
        let good = http::Good {
            peers: vec![BY_HTTP.parse().unwrap()],
            ..http::Good::default()
        };
        let good = http::Behaviour::Good(good);
        let http = http::Tracker::start(Place::Loopback, good);
        let good = udp::Behaviour::Good {
            interval: 1800,
            peers: vec![BY_UDP.parse().unwrap()],
        };
        let udp = udp::Tracker::start(Place::Loopback, good);
        let mut cluster = Self {
            http: runtime.block_on(http).unwrap(),
            udp: runtime.block_on(udp).unwrap(),
            redis: runtime.block_on(Redis::start()).unwrap(),
            runtime,
            nodes: Vec::new(),
            section,
            forwards,
        };
        for _ in 0..nodes {
            cluster.join(TempDir::new().unwrap());
        }
        cluster
    }

    /// Starts one more node in a directory, which may be that of an earlier run.
    fn join(&mut self, dir: TempDir) {
        let number = self.nodes.len();
        let mut text = format!(
            "web: {{ api_key: {KEY} }}\nstore: {{ redis: '{}', secret: '{SECRET}' }}\nnode: {{ name: node-{number} }}\ntracker:\n  snapshot_every: 1s\n  {}\n",
            self.redis.url(),
            self.section,
        );
        if self.forwards {
            // Each calls them something else: what counts is whom they call. The address that it states tells them apart in
            // the logs.
            let states = stated(number);
            let [http, udp] = [self.http.url(), self.udp.url()];
            write!(
                text,
                "  forwarders:\n  - {{ uri: '{http}', name: 'a{number}', ip: {states} }}\n  - {{ uri: '{udp}', name: 'b{number}', ip: {states} }}\n"
            )
            .unwrap();
        }
        config(dir.path(), &text);
        let mut rig = Rig::run(dir);
        first_line(&mut rig.weir, TOGETHER);
        let listening = stats(&rig)["listening"].clone();
        let mut listening = listening.as_array().unwrap().iter();
        let udp = listening.find(|at| at["protocol"] == "udp").unwrap();
        let udp = udp["address"].as_str().unwrap().parse().unwrap();
        self.nodes.push(Node { rig, udp });
    }

    /// Ends the last node and gives its directory.
    fn leave(&mut self, signal: &str) -> TempDir {
        let Node { rig, .. } = self.nodes.pop().unwrap();
        rig.weir.signal(signal);
        let Rig { weir, dir, .. } = rig;
        let (status, text) = weir.end();
        assert!(status.success() || signal == "KILL", "{text}");
        dir
    }

    /// What all nodes together count under a name in `/metrics`.
    fn counted(&self, name: &str) -> u64 {
        let nodes = self.nodes.iter();
        nodes.map(|node| metric(&node.rig, name)).sum()
    }

    /// Announces at the tracker that is asked over HTTP, about one torrent: event, peer's port, and the node that made it.
    fn told_by_http(&self, torrent: u8) -> Vec<(Event, u16, usize)> {
        let seen = self.http.seen();
        let announces = seen.iter().filter_map(|seen| announce_of(&seen.bytes));
        let about = announces.filter(|announce| announce.info_hash == InfoHash([torrent; 20]));
        let by = |announce: &Announce| {
            let mut nodes = 0..self.nodes.len().max(9);
            nodes.find(|node| announce.ip == Some(stated(*node).parse().unwrap()))
        };
        about
            .map(|announce| {
                let by = by(&announce).unwrap();
                (announce.event, announce.port.get(), by)
            })
            .collect()
    }

    /// The same at the tracker that is asked over UDP. A packet that was sent twice is one announce.
    fn told_by_udp(&self, torrent: u8) -> usize {
        let seen = self.udp.seen();
        let packets: BTreeSet<&[u8]> = seen.iter().map(|seen| &*seen.bytes).collect();
        let about = packets.into_iter().filter(|packet| {
            matches!(Request::parse(packet), Ok(Request::Announce { announce, .. })
                if announce.info_hash == InfoHash([torrent; 20]))
        });
        about.count()
    }
}

/// The address that a node states to other trackers.
fn stated(node: usize) -> String {
    format!("192.0.2.{}", 100 + node)
}

/// The announce in the head of a request.
fn announce_of(head: &[u8]) -> Option<Announce> {
    let line = head.split(|byte| *byte == b' ').nth(1)?;
    let query = line.strip_prefix(b"/announce?")?;
    weir_tracker_proto::http::parse_announce(query).ok()
}

fn metric(rig: &Rig, name: &str) -> u64 {
    let answer = ask(rig.web, "GET /metrics", KEY);
    let mut lines = answer.lines();
    let line = lines.find(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(' '))
    });
    let line = line.unwrap_or_else(|| panic!("no {name} in {answer}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

#[test]
fn who_announces_at_one_node_is_given_out_by_the_others_until_it_goes() {
    let cluster = Cluster::start(3, "");
    let [one, two, three] = [0, 1, 2].map(|node| &cluster.nodes[node]);
    let http = Peer::new(1, 1);
    let six = Peer::new(1, 2).at("[2001:db8::2]:6881").seeds();
    let by_udp = Peer::new(1, 3);
    let private = Peer::new(1, 4).at("10.1.2.3:6881");
    http.http(one.rig.tracker, Event::Started);
    six.http(two.rig.tracker, Event::Started);
    UdpClient::connect(three.udp).announce(&by_udp, Event::Started);
    private.http(one.rig.tracker, Event::Started);
    let asker = Peer::new(1, 9);
    let asked = [&http, &six, &by_udp].map(|peer| peer.at);
    for node in [one, two, three] {
        until("each node gives out the peers of all", || {
            let given = asker.http(node.rig.tracker, Event::None);
            asked.iter().all(|peer| given.contains(peer))
        });
        until("over UDP as well", || {
            let given = UdpClient::connect(node.udp).announce(&asker, Event::None);
            given.contains(&http.at) && given.contains(&by_udp.at)
        });
        let given = asker.http(node.rig.tracker, Event::None);
        let is_here = given.contains(&private.at);
        assert_eq!(is_here, node.udp == one.udp, "private addresses stay");
        assert_eq!(scrape(node.rig.tracker, 1).complete, 1);
    }
    // Each goes at a node that it did not come to.
    http.http(two.rig.tracker, Event::Stopped);
    six.http(three.rig.tracker, Event::Stopped);
    UdpClient::connect(one.udp).announce(&by_udp, Event::Stopped);
    for node in [one, two, three] {
        until("no node gives them out any more", || {
            let given = asker.http(node.rig.tracker, Event::None);
            asked.iter().all(|peer| !given.contains(peer))
        });
    }
}

#[test]
fn a_torrent_on_three_nodes_is_one_announce_to_each_tracker_and_all_have_its_peers() {
    let cluster = Cluster::forwarding(3, "");
    let theirs = [BY_HTTP, BY_UDP].map(at);
    thread::scope(|scope| {
        for (node, peers) in cluster.nodes.iter().zip([1..6, 6..11, 11..16]) {
            for number in peers {
                let peer = Peer::new(1, number);
                let tracker = node.rig.tracker;
                scope.spawn(move || peer.http(tracker, Event::Started));
            }
        }
    });
    for (node, number) in cluster.nodes.iter().zip([1, 6, 11]) {
        until("each node gives out the peers of both trackers", || {
            let given = Peer::new(1, number).http(node.rig.tracker, Event::None);
            theirs.iter().all(|peer| given.contains(peer))
        });
    }
    // A node whose clients came after the answer had reached it asked nobody, and learned it of nobody either.
    assert!(cluster.counted("weir_swarm_forwards_elsewhere_total") <= 4);
    assert_eq!(cluster.told_by_http(1).len(), 1);
    assert_eq!(cluster.told_by_udp(1), 1);
    // A torrent that one node asked about is known when it comes to another.
    Peer::new(2, 1).http(cluster.nodes[2].rig.tracker, Event::Started);
    until("both trackers were asked about the second", || {
        cluster.told_by_http(2).len() == 1 && cluster.told_by_udp(2) == 1
    });
    for node in &cluster.nodes {
        until("each node gives out the peers of both trackers", || {
            let given = Peer::new(2, 2).http(node.rig.tracker, Event::None);
            theirs.iter().all(|peer| given.contains(peer))
        });
    }
    assert_eq!(cluster.told_by_http(2).len(), 1);
    assert_eq!(cluster.told_by_udp(2), 1);
}

#[test]
fn trackers_hear_of_an_end_from_those_who_told_them_and_of_a_download_once() {
    let cluster = Cluster::forwarding(3, "");
    let [one, two, three] = [0, 1, 2].map(|node| cluster.nodes[node].rig.tracker);
    let port = 6881;
    let peer = Peer::new(1, 1);
    peer.http(one, Event::Started);
    until("the tracker was told by the first", || {
        cluster.told_by_http(1) == [(Event::Started, port, 0)]
    });
    let known = |tracker| scrape(tracker, 1);
    until("the others know the peer", || {
        known(two).incomplete == 1 && known(three).incomplete == 1
    });
    // Goes at the third, which never told anybody.
    peer.http(three, Event::Stopped);
    let told = [(Event::Started, port, 0), (Event::Stopped, port, 0)];
    until("the first says so", || cluster.told_by_http(1) == told);

    // Another finishes at the second, says so at all of them, and goes at the third.
    let other = Peer::new(2, 2);
    other.http(one, Event::Started);
    until("the others know the other", || {
        scrape(two, 2).incomplete == 1 && scrape(three, 2).incomplete == 1
    });
    until("the tracker was told by the first", || {
        cluster.told_by_http(2).len() == 1
    });
    let other = other.seeds();
    other.http(two, Event::Completed);
    for node in [one, three] {
        until("all know that it finished", || {
            scrape(node, 2).downloaded == 1
        });
        other.http(node, Event::Completed);
    }
    until("the tracker was told by the second", || {
        cluster.told_by_http(2).len() == 2
    });
    other.http(three, Event::Stopped);
    until("both who told it of the peer say that it went", || {
        cluster.told_by_http(2).len() == 4
    });
    // Whatever is on its way from any of them comes before later events.
    for (node, torrent) in [one, two, three].into_iter().zip(3..) {
        let last = Peer::new(torrent, 3).seeds();
        last.http(node, Event::Completed);
        last.http(node, Event::Stopped);
        until("the tracker heard of the last one", || {
            let mut told = cluster.told_by_http(torrent).into_iter();
            told.any(|(event, ..)| event == Event::Stopped)
        });
    }
    let mut told = cluster.told_by_http(2);
    assert_eq!(
        &told[..2],
        [(Event::Started, port, 0), (Event::Completed, port, 1)]
    );
    told.drain(..2);
    told.sort_by_key(|(.., node)| *node);
    assert_eq!(
        told,
        [(Event::Stopped, port, 0), (Event::Stopped, port, 1)],
        "and nobody else"
    );
    for node in [one, two, three] {
        assert_eq!(scrape(node, 2).downloaded, 0, "nobody is left");
    }
}

/// Which of the peers with these numbers a node gives out.
fn given(node: &Node, torrent: u8, numbers: std::ops::Range<u16>) -> Vec<u16> {
    let asker = Peer::new(torrent, 999);
    let given = asker.http(node.rig.tracker, Event::None);
    numbers
        .filter(|number| given.contains(&Peer::new(torrent, *number).at))
        .collect()
}

#[test]
fn a_node_that_joins_later_and_one_that_was_away_are_whole() {
    let mut cluster = Cluster::start(2, "");
    for number in 1..41 {
        let node = &cluster.nodes[usize::from(number % 2)];
        Peer::new(1, number).http(node.rig.tracker, Event::Started);
    }
    cluster.join(TempDir::new().unwrap());
    let all: Vec<u16> = (1..41).collect();
    until("the new one has all of them", || {
        given(&cluster.nodes[2], 1, 1..100) == all
    });
    for signal in ["TERM", "KILL"] {
        let come = if signal == "TERM" { 41..51 } else { 51..61 };
        let first = come.start;
        // Nobody else hears of the last words of one that is killed, but it has them in its own stream by then.
        Peer::new(2, first).http(cluster.nodes[2].rig.tracker, Event::Started);
        until("the others heard of it", || {
            given(&cluster.nodes[0], 2, first..first + 1) == [first]
        });
        let dir = cluster.leave(signal);
        // Some go and some come while it is away, at one node and the other.
        for number in come.clone() {
            let goes = Peer::new(1, number - 40);
            let [a, b] = [&cluster.nodes[0], &cluster.nodes[1]];
            goes.http(a.rig.tracker, Event::Stopped);
            Peer::new(1, number).http(b.rig.tracker, Event::Started);
        }
        cluster.join(dir);
        let all: Vec<u16> = (come.start - 30..come.end).collect();
        for node in &cluster.nodes {
            until("all nodes have those who are here and no others", || {
                given(node, 1, 1..100) == all
            });
            until("the last words of the one that left were heard", || {
                given(node, 2, first..first + 1) == [first]
            });
        }
    }
    // A store that lost everything: those who come next are known everywhere, and nobody was forgotten.
    cluster.redis.kill();
    cluster.redis.forget().unwrap();
    cluster.runtime.block_on(cluster.redis.run()).unwrap();
    Peer::new(1, 90).http(cluster.nodes[0].rig.tracker, Event::Started);
    for node in &cluster.nodes {
        until("the next is known everywhere", || {
            given(node, 1, 90..91) == [90]
        });
        assert_eq!(given(node, 1, 1..89).len(), 40);
    }
}

#[test]
fn who_comes_after_a_node_has_left_or_the_store_was_emptied_is_whole() {
    let mut cluster = Cluster::start(3, "");
    for number in 1..41 {
        let node = &cluster.nodes[usize::from(number % 3)];
        Peer::new(1, number).http(node.rig.tracker, Event::Started);
    }
    let all: Vec<u16> = (1..41).collect();
    for node in &cluster.nodes {
        until("each node has the peers of all", || {
            given(node, 1, 1..100) == all
        });
    }
    drop(cluster.leave("TERM"));
    cluster.join(TempDir::new().unwrap());
    until("the one in its place has those that it had told", || {
        given(&cluster.nodes[2], 1, 1..100) == all
    });
    cluster.redis.ask(&["FLUSHALL"]).unwrap();
    cluster.join(TempDir::new().unwrap());
    for node in &cluster.nodes {
        until("all have everybody", || given(node, 1, 1..100) == all);
    }
}

/// Ends the clients when the test ends, however it does.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_announce_is_answered_while_the_store_goes_and_comes() {
    let mut cluster = Cluster::forwarding(3, "");
    let ends = AtomicBool::new(false);
    let answered: Vec<AtomicU32> = (0..6).map(|_| AtomicU32::new(0)).collect();
    let at: Vec<(SocketAddr, SocketAddr)> = (cluster.nodes.iter())
        .map(|node| (node.rig.tracker, node.udp))
        .collect();
    thread::scope(|scope| {
        let _ends = Ends(&ends);
        for (client, counter) in answered.iter().enumerate() {
            let (tracker, udp) = at[client / 2];
            let ends = &ends;
            scope.spawn(move || {
                let mut by_udp = UdpClient::connect(udp);
                for number in 0..u16::MAX {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    // Torrents that nobody announced before are among them, and peers that go.
                    let peer = Peer::new((number % 97) as u8, number % 331 + 331 * client as u16);
                    let event = match number % 7 {
                        0 => Event::Started,
                        5 => Event::Completed,
                        6 => Event::Stopped,
                        _ => Event::None,
                    };
                    // Anything but a good answer is a panic.
                    match client % 2 {
                        0 => peer.http(tracker, event),
                        _ => by_udp.announce(&peer, event),
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                    thread::park_timeout(Duration::from_millis(5));
                }
            });
        }
        let more = |count: u32| {
            let now = || answered.iter().map(|one| one.load(Ordering::Relaxed));
            let before: Vec<u32> = now().collect();
            until("all clients had so many answers", || {
                now()
                    .zip(&before)
                    .all(|(now, before)| now >= before + count)
            });
        };
        let lines = |nodes: &mut Vec<Node>, text: &str| {
            for node in nodes {
                node.rig.weir.line(text);
            }
        };
        more(20);
        // Nothing that waits for the store would be answered before it is woken.
        cluster.redis.freeze();
        more(20);
        lines(&mut cluster.nodes, "alone");
        more(100);
        cluster.redis.thaw();
        lines(&mut cluster.nodes, TOGETHER);
        more(20);
        cluster.redis.kill();
        lines(&mut cluster.nodes, "alone");
        more(100);
        let marked = Peer::new(200, 1);
        marked.http(cluster.nodes[0].rig.tracker, Event::Started);
        more(20);
        cluster.runtime.block_on(cluster.redis.run()).unwrap();
        lines(&mut cluster.nodes, TOGETHER);
        for node in &cluster.nodes {
            until("what happened meanwhile is known to all", || {
                given(node, 200, 1..2) == [1]
            });
        }
        more(20);
    });
    for node in &cluster.nodes {
        assert_eq!(metric(&node.rig, "weir_store_up"), 1);
        assert!(
            ask(node.rig.web, "GET /readyz", KEY).starts_with("HTTP/1.1 200"),
            "it is ready"
        );
    }
    for Node { rig, .. } in cluster.nodes.drain(..) {
        rig.weir.signal("TERM");
        let (status, log) = Weir::end(rig.weir);
        assert!(status.success() && !log.contains("panicked"), "{log}");
    }
}

/// Lets this happen at once and then in each of these spans, until the time is over.
#[expect(clippy::disallowed_methods, reason = "real programs keep real time")]
fn again_and_again(time: Duration, span: Duration, mut act: impl FnMut(u32)) {
    let began = Instant::now();
    for round in 0.. {
        act(round);
        let next = began + span * (round + 1);
        if next > began + time {
            return;
        }
        while let Some(wait) = next.checked_duration_since(Instant::now()) {
            thread::park_timeout(wait);
        }
    }
}

#[test]
#[ignore = "takes five minutes, since intervals are a minute at least; cargo xtask chaos"]
fn for_five_minutes_a_tracker_is_asked_once_in_each_interval() {
    let cluster = Cluster::forwarding(3, "announce_interval: 5s");
    cluster.http.set(http::Behaviour::Good(http::Good {
        interval: 60,
        ..http::Good::default()
    }));
    again_and_again(Duration::from_secs(300), Duration::from_secs(5), |_| {
        for (node, number) in cluster.nodes.iter().zip(1..) {
            Peer::new(1, number).http(node.rig.tracker, Event::None);
        }
    });
    let seen = cluster.http.seen();
    let times: Vec<_> = (seen.iter())
        .filter(|seen| announce_of(&seen.bytes).is_some())
        .map(|seen| seen.at)
        .collect();
    // Those that come are a little late: clients drive them, and nodes note minutes.
    assert!((4..=6).contains(&times.len()), "{times:?}");
    let interval = Duration::from_secs(60);
    assert!(
        times.windows(2).all(|two| two[1] - two[0] >= interval),
        "{times:?}"
    );
    assert_eq!(cluster.told_by_udp(1), 1, "its interval is half an hour");
}

#[test]
#[ignore = "takes five minutes, since peers are forgotten after three; cargo xtask chaos"]
fn a_node_that_was_away_for_longer_than_streams_are_kept_is_whole() {
    // Streams are kept for a third of the age and two intervals: 100 seconds.
    let mut cluster = Cluster::start(3, "age: 3m\n  announce_interval: 20s");
    for number in 1..21 {
        let node = &cluster.nodes[usize::from(number) % 3];
        Peer::new(1, number).http(node.rig.tracker, Event::Started);
    }
    until("the third has all of them", || {
        given(&cluster.nodes[2], 1, 1..100).len() == 20
    });
    let streams = |redis: &Redis| -> Vec<String> {
        let keys = redis.ask(&["KEYS", "weir:{swarm:*"]).unwrap();
        let first = |key: &str| redis.ask(&["XRANGE", key, "-", "+", "COUNT", "1"]).unwrap();
        keys.lines().map(first).collect()
    };
    let before = streams(&cluster.redis);
    let dir = cluster.leave("TERM");
    again_and_again(Duration::from_secs(280), Duration::from_secs(20), |round| {
        for number in 11..31 {
            let node = &cluster.nodes[(round as usize + usize::from(number)) % 2];
            Peer::new(1, number).http(node.rig.tracker, Event::None);
        }
    });
    let now = streams(&cluster.redis);
    let same = before.iter().filter(|first| now.contains(first)).count();
    assert!(
        same <= 1,
        "but for its own, they were trimmed: {before:?} {now:?}"
    );
    cluster.join(dir);
    cluster.join(TempDir::new().unwrap());
    let all: Vec<u16> = (11..31).collect();
    for node in &cluster.nodes {
        until("all have those who are here and no others", || {
            given(node, 1, 1..100) == all
        });
    }
}
