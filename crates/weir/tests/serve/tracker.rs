//! The tracker in the running program: its own port, its page, and what a reload changes.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{PATIENCE, Weir, ask, config};

pub(super) const KEY: &str = "the-first-key-of-all";

pub(super) struct Rig {
    pub(super) weir: Weir,
    pub(super) web: SocketAddr,
    pub(super) tracker: SocketAddr,
    pub(super) dir: TempDir,
}

/// Where to announce: the pages were the first URL, and this is the next.
fn announced(weir: &mut Weir) -> SocketAddr {
    let line = weir.line("/announce");
    let url = line.trim().strip_prefix("http://").unwrap();
    url.strip_suffix("/announce").unwrap().parse().unwrap()
}

impl Rig {
    pub(super) fn start(rest: &str) -> Self {
        Self::configured(&text(rest))
    }

    fn configured(text: &str) -> Self {
        let dir = TempDir::new().unwrap();
        config(dir.path(), text);
        Self::run(dir)
    }

    /// Starts what is configured in a directory.
    pub(super) fn run(dir: TempDir) -> Self {
        let (weir, web) = Weir::start(dir.path(), &[]);
        Self::of(weir, web, dir)
    }

    /// One that was just started and has told the address of its pages.
    pub(super) fn of(mut weir: Weir, web: SocketAddr, dir: TempDir) -> Self {
        let tracker = announced(&mut weir);
        Self {
            weir,
            web,
            tracker,
            dir,
        }
    }

    /// Starts it there and returns the addresses of its pages and its tracker.
    pub(super) fn at(dir: &Path) -> (Weir, SocketAddr, SocketAddr) {
        let (mut weir, web) = Weir::start(dir, &[]);
        let tracker = announced(&mut weir);
        (weir, web, tracker)
    }

    /// The answer on the tracker's port to a head sent in these pieces.
    fn say(&self, pieces: &[&str]) -> String {
        let mut stream = TcpStream::connect(self.tracker).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        for piece in pieces {
            stream.write_all(piece.as_bytes()).unwrap();
            // Whatever else happens meanwhile, the piece has been read by then.
            assert!(self.announce(9).contains("8:interval"));
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, headers: &str) -> String {
        self.say(&[&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n",
            self.tracker
        )])
    }

    /// Announces hash number `hash` on the tracker's port and returns the whole answer.
    fn announce(&self, hash: u8) -> String {
        announce(self.tracker, hash)
    }

    pub(super) fn reload(&self, rest: &str) -> String {
        config(self.dir.path(), &text(rest));
        ask(self.web, "POST /api/v1/reload", KEY)
    }
}

/// Announces hash number `hash` on a tracker's port and returns the whole answer.
pub(super) fn announce(tracker: SocketAddr, hash: u8) -> String {
    let hash = format!("%{hash:02x}").repeat(20);
    let peer = "p".repeat(20);
    let query = format!("info_hash={hash}&peer_id={peer}&port=6881&left=0&compact=1");
    let mut stream = TcpStream::connect(tracker).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /announce?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

pub(super) fn text(rest: &str) -> String {
    format!("web: {{ api_key: {KEY} }}\n{rest}\n")
}

#[test]
fn the_trackers_port_shows_figures_though_their_head_comes_in_pieces() {
    let rig = Rig::start("");
    rig.announce(1);
    let answer = rig.say(&[
        "GET /stats?format=json HTTP/1.1\r\nHo",
        &format!("st: {}\r\n\r\n", rig.tracker),
    ]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let stats: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(stats["queue_capacity"], 10_000);
    assert!(stats["swarms"].as_u64().unwrap() >= 1, "{stats}");
    assert!(stats["requests"]["http_announce"].as_u64().unwrap() >= 1);
    let metrics = rig.get("/metrics", "");
    assert!(metrics.starts_with("HTTP/1.1 200"), "{metrics}");
    assert!(metrics.contains("\nweir_requests_total{front=\"tracker\",kind=\"http_announce\"} "));
    assert!(
        metrics.contains("\nweir_requests_total{front=\"tracker\",kind=\"stats\"} 2\n"),
        "{metrics}"
    );
}

/// Every thread and task that lives as long as the process.
#[test]
fn what_must_not_end_is_watched() {
    let rig = Rig::start("");
    let metrics = rig.get("/metrics", "");
    for (front, part) in [
        ("tracker", "udp"),
        ("tracker", "http"),
        ("tracker", "held replies"),
        ("tracker", "swarms"),
        ("tracker", "pages"),
        ("tracker", "forwarder"),
        ("tracker", "engine"),
        ("search", "engine"),
        ("search", "sweeper"),
    ] {
        let line = format!("\nweir_part_failures_total{{front=\"{front}\",part=\"{part}\"}} 0\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    let ready = ask(rig.web, "GET /readyz", KEY);
    assert!(ready.ends_with("ready\n"), "{ready}");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
}

#[test]
fn behind_a_proxy_that_nobody_knows_the_figures_need_a_key() {
    let rig = Rig::start("");
    for path in ["/stats", "/metrics"] {
        let header = "X-Forwarded-For: 198.51.100.7\r\n";
        let refused = rig.get(path, header);
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
        assert!(
            refused.contains("Add the address to web.trusted"),
            "{refused}"
        );
        let with_key = rig.get(path, &format!("{header}X-Api-Key: {KEY}\r\n"));
        assert!(with_key.starts_with("HTTP/1.1 200"), "{with_key}");
        let with_query = rig.get(&format!("{path}?apikey={KEY}"), header);
        assert!(with_query.starts_with("HTTP/1.1 200"), "{with_query}");
    }
}

#[test]
fn what_a_known_proxy_says_in_its_preamble_counts_for_the_figures() {
    let rig = Rig::configured("web: { trusted_proxies: [127.0.0.1] }");
    let from = |client: &str| {
        rig.say(&[&format!(
            "PROXY TCP4 {client} 127.0.0.1 4000 6969\r\nGET /stats HTTP/1.1\r\nHost: x\r\n\r\n"
        )])
    };
    assert!(from("198.51.100.7").starts_with("HTTP/1.1 401"));
    assert!(from("127.0.0.2").starts_with("HTTP/1.1 200"));
}

#[test]
fn whatever_else_is_asked_of_the_trackers_port_gets_a_plain_answer() {
    let rig = Rig::start("");
    let hello = rig.get("/", "");
    let wanted = format!(
        "This is a tracker: announce to http://{}/announce. Pages are on the web address.\n",
        rig.tracker
    );
    assert!(
        hello.starts_with("HTTP/1.1 200") && hello.ends_with(&wanted),
        "{hello}"
    );
    for path in [
        "/swarms",
        "/settings",
        "/api/v1/swarms",
        "/sign-in",
        "/healthz",
    ] {
        let nothing = rig.get(path, &format!("X-Api-Key: {KEY}\r\n"));
        assert!(nothing.starts_with("HTTP/1.1 404"), "{path}: {nothing}");
        assert!(nothing.contains("content-type: text/plain"), "{nothing}");
    }
    let posted = rig.say(&["POST /announce HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b"]);
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
    assert!(posted.contains("GET requests"), "{posted}");
    let body = rig.get(
        "/scrape",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    );
    assert!(body.starts_with("HTTP/1.1 4"), "{body}");
}

#[test]
fn a_stop_does_not_wait_for_a_half_request_to_the_tracker() {
    let rig = Rig::start("drain: 1s");
    let mut stream = TcpStream::connect(rig.tracker).unwrap();
    write!(stream, "GET /stats HTTP/1.1\r\nHost: x\r\n").unwrap();
    rig.announce(1);
    rig.weir.signal("TERM");
    let (status, text) = rig.weir.end();
    assert!(status.success(), "{text}");
}

#[test]
fn announced_swarms_are_on_the_page_and_in_the_api() {
    let rig = Rig::start("");
    rig.announce(0x4b);
    let page = ask(rig.web, "GET /swarms?q=4b", KEY);
    assert!(
        page.contains(&format!("/swarms/{}", "4b".repeat(20))),
        "{page}"
    );
    let api = ask(rig.web, "GET /api/v1/swarms", KEY);
    assert!(api.contains("\"matching\":1"), "{api}");
    let refused = ask(rig.web, "GET /api/v1/swarms", "no-key-of-this-one");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
}

#[test]
fn a_reload_changes_the_terms_and_says_what_waits_for_a_restart() {
    let rig = Rig::start("");
    assert!(rig.announce(1).contains("8:intervali1800e"));
    let answer = rig.reload("tracker: { announce_interval: 20m, age: 60m, numwant: 10 }");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains(r#""at_next_start":["tracker.age"]"#),
        "{answer}"
    );
    assert!(answer.contains("tracker.announce_interval"), "{answer}");
    assert!(rig.announce(1).contains("8:intervali1200e"));
}

#[test]
fn a_reload_takes_a_list_over_and_a_bad_one_changes_nothing() {
    let rig = Rig::start("");
    let list = rig.dir.path().join("deny");
    std::fs::write(&list, format!("{}\n", "01".repeat(20))).unwrap();
    let answer = rig.reload("tracker: { deny_file: deny }");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(rig.announce(1).contains("failure reason"));
    assert!(rig.announce(2).contains("8:intervali1800e"));

    std::fs::write(&list, "not a hash\n").unwrap();
    let answer =
        rig.reload("log: { level: debug }\ntracker: { deny_file: deny, announce_interval: 20m }");
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    assert!(
        answer.contains("deny:1: write an info hash of 40")
            && answer.contains("Nothing was changed"),
        "{answer}"
    );
    assert!(rig.announce(1).contains("failure reason"), "the list stays");
    assert!(
        rig.announce(2).contains("8:intervali1800e"),
        "the terms stay"
    );
    let settings = ask(rig.web, "GET /settings?filter=log.level", KEY);
    assert!(settings.contains("<code>info</code>"), "{settings}");
}

/// What a scrape of hash number `hash` says on the tracker's port.
fn scrape(tracker: SocketAddr, hash: u8) -> String {
    let hash = format!("%{hash:02x}").repeat(20);
    let mut stream = TcpStream::connect(tracker).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /scrape?info_hash={hash} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn swarms_are_there_again_after_a_stop_and_after_a_kill() {
    for signal in ["TERM", "KILL"] {
        let rig = Rig::start("tracker: { snapshot_every: 1s }");
        for hash in 1..=50 {
            assert!(rig.announce(hash).contains("8:complete"));
        }
        let files = rig.dir.path().join("data/swarm");
        if signal == "KILL" {
            // Each group of shards is written within a second; the last announce of each may be lost.
            let written = || {
                let files = std::fs::read_dir(&files).unwrap();
                let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
                names.filter(|name| name.ends_with(".swarm")).count()
            };
            let mut before = 0;
            while written() == 0 || written() != before {
                before = written();
                std::thread::park_timeout(std::time::Duration::from_millis(2500));
            }
        }
        rig.weir.signal(signal);
        let Rig { weir, dir, .. } = rig;
        weir.end();
        let (mut weir, _) = Weir::start(dir.path(), &[]);
        let line = weir.line("/announce");
        let url = line.trim().strip_prefix("http://").unwrap();
        let tracker = url.strip_suffix("/announce").unwrap().parse().unwrap();
        for hash in 1..=50 {
            let scraped = scrape(tracker, hash);
            assert!(
                scraped.contains("8:completei1e"),
                "{signal} {hash}: {scraped}"
            );
        }
    }
}

/// The names of all files below a directory whose mode is not 0600.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let Ok(there) = fs::metadata(&path) else {
            continue; // unfinished a moment ago, and in its place by now
        };
        if there.is_dir() {
            found.extend(open_to_others(&path));
        } else if there.permissions().mode() & 0o777 != 0o600 {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_file_is_for_its_owner_alone_also_in_directories_that_were_open_to_others() {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("data/swarm")).unwrap();
    for open in ["data", "data/swarm"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.path().join(open), mode).unwrap();
    }
    config(dir.path(), &text(""));
    let rig = Rig::run(dir);
    assert!(rig.announce(1).contains("8:interval"));
    let data = rig.dir.path().join("data");
    for name in ["weir.lock", "state.db", "state.db-wal", "swarm/key"] {
        assert!(data.join(name).exists(), "{name}");
    }
    assert_eq!(open_to_others(&data), [] as [PathBuf; 0], "while it runs");
    rig.weir.signal("TERM");
    let Rig { weir, dir, .. } = rig;
    weir.end();
    let swarms = fs::read_dir(dir.path().join("data/swarm")).unwrap();
    assert!(swarms.count() > 1, "the key and a file of swarms");
    assert_eq!(open_to_others(&data), [] as [PathBuf; 0], "after it ran");
}

#[test]
fn ten_thousand_idle_connections_cost_little_and_keep_nobody_out() {
    let rig = Rig::start("");
    let resident = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", rig.weir.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024
    };
    let before = resident();
    let mut idle = Vec::new();
    let request = format!(
        "GET /announce?info_hash={}&peer_id={}&port=1 HTTP/1.1\r\n\r\n",
        "h".repeat(20),
        "p".repeat(20)
    );
    for _ in 0..10_000 {
        let mut stream = TcpStream::connect(rig.tracker).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        idle.push(stream);
    }
    for stream in &mut idle {
        let mut reply = [0; 4];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"HTTP");
    }
    let more = resident() - before;
    assert!(more < 100, "{more} MiB for ten thousand connections");
    assert!(rig.announce(1).contains("8:interval"), "others are served");
}
