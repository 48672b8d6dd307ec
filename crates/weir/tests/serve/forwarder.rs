//! Announces forwarded to another tracker, which is a Weir as well.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::tracker::{KEY, Rig, text};
use super::{PATIENCE, ask, config};

/// Repeats a check until it holds.
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / 50 {
        if holds() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    panic!("it never came to pass that {what}");
}

fn get(tracker: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(tracker).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// The port of the other tracker's own peer, which is on another machine: peers on this machine are never accepted from
/// a tracker.
const THEIRS: u16 = 7001;

fn at(port: u16) -> [u8; 4] {
    if port == THEIRS {
        [10, 7, 0, 1]
    } else {
        [127, 0, 0, 1]
    }
}

/// Announces hash number 7 from a port.
fn announce(tracker: SocketAddr, port: u16, rest: &str) -> Vec<u8> {
    let (hash, peer) = ("%07".repeat(20), format!("-XX0000-{port:012}"));
    let ip = Ipv4Addr::from(at(port));
    let query = format!("info_hash={hash}&peer_id={peer}&port={port}&ip={ip}&compact=1{rest}");
    get(tracker, &format!("/announce?{query}"))
}

/// Whether a reply contains the peer at a port.
fn tells(reply: &[u8], port: u16) -> bool {
    let [high, low] = port.to_be_bytes();
    let [a, b, c, d] = at(port);
    let peer = [a, b, c, d, high, low];
    reply.windows(6).any(|window| window == peer)
}

pub(super) fn stats(rig: &Rig) -> Value {
    let answer = get(rig.tracker, "/stats?format=json");
    let answer = String::from_utf8(answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The counts of hash number 7 at a tracker.
fn scrape(tracker: SocketAddr) -> String {
    let answer = get(tracker, &format!("/scrape?info_hash={}", "%07".repeat(20)));
    String::from_utf8_lossy(&answer).into_owned()
}

fn forwarders(upstream: SocketAddr) -> String {
    format!(
        "- {{ uri: \"http://{upstream}/announce?passkey=very-secret\", name: by http }}\n\
         - {{ uri: \"udp://{upstream}/announce/very-secret\", name: by udp }}\n"
    )
}

const CONFIG: &str = "tracker: { forwarders_file: forwarders.yaml, snapshot_every: 1s }";

/// The other tracker, listening for both protocols on its own ports.
fn upstream() -> (Rig, SocketAddr) {
    let rig = Rig::start("");
    let listening = stats(&rig)["listening"].clone();
    let udp = listening
        .as_array()
        .unwrap()
        .iter()
        .find(|at| at["protocol"] == "udp");
    let udp = udp.unwrap()["address"].as_str().unwrap().parse().unwrap();
    (rig, udp)
}

fn start() -> (Rig, Rig) {
    let (upstream, udp) = upstream();
    let dir = tempfile::TempDir::new().unwrap();
    let list = forwarders(upstream.tracker).replace(
        &format!("udp://{}", upstream.tracker),
        &format!("udp://{udp}"),
    );
    std::fs::write(dir.path().join("forwarders.yaml"), list).unwrap();
    config(dir.path(), &text(CONFIG));
    (upstream, Rig::run(dir))
}

#[test]
fn peers_of_another_tracker_reach_our_clients_and_ours_reach_it() {
    let (upstream, weir) = start();
    announce(upstream.tracker, THEIRS, "&left=0&event=started");
    let first = announce(weir.tracker, 7002, "&left=5&event=started");
    assert!(String::from_utf8_lossy(&first).contains("8:intervali60e"));
    until("the other tracker's peer is told", || {
        tells(&announce(weir.tracker, 7002, "&left=5"), THEIRS)
    });
    let reply = announce(weir.tracker, 7003, "&left=5&numwant=9");
    assert!(tells(&reply, THEIRS) && tells(&reply, 7002));
    assert!(scrape(weir.tracker).contains("8:completei1e"));
    let theirs = announce(upstream.tracker, THEIRS, "&left=0");
    assert!(tells(&theirs, 7002), "it knows our peer");
    let reply = announce(weir.tracker, 7002, "&left=0&event=completed");
    assert!(tells(&reply, 7003));
    until("the download is counted there", || {
        scrape(upstream.tracker).contains("10:downloadedi1e")
    });
    announce(weir.tracker, 7002, "&left=0&event=stopped");
    until("it is told who stopped", || {
        !tells(&announce(upstream.tracker, THEIRS, "&left=0"), 7002)
    });
}

#[test]
fn forwarders_are_on_the_page_and_nobody_sees_their_secrets() {
    let (_upstream, weir) = start();
    announce(weir.tracker, 7002, "&left=5&event=started");
    until("both were asked", || {
        let stats = stats(&weir);
        let all = stats["forwarders"].as_array().unwrap();
        all.len() == 2 && all.iter().all(|one| one["announces"] == 1)
    });
    let figures = stats(&weir);
    assert_eq!(figures["forwarders"][0]["state"], "open");
    assert_eq!(figures["forwarders"][0]["last_interval"], 1800);
    let mut seen = figures.to_string();
    for path in [
        "/upstreams",
        "/upstreams/tracker/by%20http",
        "/upstreams/tracker/by%20udp",
        "/api/v1/upstreams",
        "/api/v1/decisions?front=tracker&upstream=by%20http",
        "/settings",
        "/metrics",
        "/stats",
        "/",
    ] {
        let page = ask(weir.web, &format!("GET {path}"), KEY);
        assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
        assert!(
            page.contains("by http") || path.contains("udp"),
            "{path}: {page}"
        );
        seen += &page;
    }
    let disabled = ask(
        weir.web,
        "POST /api/v1/upstreams/tracker/by%20http/disable?reason=test",
        KEY,
    );
    seen += &disabled;
    weir.weir.signal("TERM");
    let (status, log) = weir.weir.end();
    assert!(status.success(), "{log}");
    seen += &log;
    assert!(!seen.contains("very-secret"), "{seen}");
}

#[test]
fn nobody_is_asked_early_after_a_restart_and_a_stop_tells_who_stopped() {
    for signal in ["TERM", "KILL"] {
        let (upstream, weir) = start();
        announce(upstream.tracker, THEIRS, "&left=0&event=started");
        announce(weir.tracker, 7002, "&left=5&event=started");
        until("the other tracker's peer is told", || {
            tells(&announce(weir.tracker, 7002, "&left=5"), THEIRS)
        });
        until("both were asked", || {
            let stats = stats(&weir);
            let all = stats["forwarders"].as_array().unwrap();
            all.iter().all(|one| one["announces"] == 1)
        });
        if signal == "KILL" {
            // Everything is written once a second.
            std::thread::park_timeout(Duration::from_secs(4));
        }
        weir.weir.signal(signal);
        let Rig {
            weir: ended, dir, ..
        } = weir;
        ended.end();
        let asked = |upstream: &Rig| {
            let requests = stats(upstream)["requests"].clone();
            requests["http_announce"].as_u64().unwrap() + requests["udp_announce"].as_u64().unwrap()
        };
        let before = asked(&upstream);
        let weir = Rig::run(dir);
        let reply = announce(weir.tracker, 7002, "&left=5");
        assert!(
            tells(&reply, THEIRS),
            "{signal}: what was known is known again"
        );
        announce(weir.tracker, 7003, "&left=5&event=started");
        announce(weir.tracker, 7002, "&left=5&event=stopped");
        weir.weir.signal("TERM");
        let (status, log) = weir.weir.end();
        assert!(status.success(), "{log}");
        assert_eq!(
            asked(&upstream),
            before + 2,
            "{signal}: only the farewell of the one it was told of"
        );
        assert!(!tells(&announce(upstream.tracker, THEIRS, "&left=0"), 7002));
    }
}

#[test]
fn a_changed_file_of_forwarders_is_taken_over_and_a_bad_one_is_not() {
    let (upstream, mut weir) = start();
    let file = weir.dir.path().join("forwarders.yaml");
    announce(weir.tracker, 7002, "&left=5&event=started");
    until("both were asked", || {
        let stats = stats(&weir);
        let all = stats["forwarders"].as_array().unwrap();
        all.iter().all(|one| one["announces"] == 1)
    });
    let http = forwarders(upstream.tracker);
    let http = http.lines().next().unwrap();
    let another = "- { uri: \"http://127.0.0.1:1/announce\", name: refuses }";
    std::fs::write(&file, format!("{http}\n{another}\n")).unwrap();
    until("the list is taken over", || {
        let all = stats(&weir)["forwarders"].clone();
        all[1]["name"] == "refuses"
    });
    let all = stats(&weir)["forwarders"].clone();
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(all[0]["announces"], 1, "what stays keeps its state");
    announce(weir.tracker, 7009, "&left=5&event=completed");
    until("the new one is asked, refuses and is disabled", || {
        stats(&weir)["forwarders"][1]["state"] == "disabled"
    });
    let reason = stats(&weir)["forwarders"][1]["reason"].clone();
    assert_eq!(reason, "connection refused");
    std::fs::write(&file, "- { uri: \"gopher://x\", name: bad, and: more }\n").unwrap();
    weir.weir.line("nothing was changed");
    assert_eq!(stats(&weir)["forwarders"].as_array().unwrap().len(), 2);
}

#[test]
fn the_log_says_stopped_when_nothing_is_waited_for_any_more() {
    // A tracker that takes the call and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let mut rig = Rig::start(&format!(
        "drain: 1h\ntracker: {{ forward_timeout: 1h, forwarders: [{{ uri: \"http://{address}/announce\" }}] }}"
    ));
    announce(rig.tracker, 7002, "&left=0");
    let _under_way = silent.accept().unwrap();
    rig.weir.signal("TERM");
    rig.weir.line("the web listener is closed");
    // The call is still waited for.
    rig.weir.signal("TERM");
    let (status, log) = rig.weir.end();
    let said: Vec<&str> = log.lines().filter(|line| line.contains("stop")).collect();
    assert_eq!(said.len(), 3, "{said:#?}");
    assert!(said[0].contains("stopping; a second signal"), "{said:#?}");
    assert!(said[1].contains("stopping at once"), "{said:#?}");
    assert!(said[2].ends_with(": stopped"), "{said:#?}");
    assert_eq!(log.lines().last(), said.last().copied());
    assert_eq!(status.code(), Some(143), "{log}");
}
