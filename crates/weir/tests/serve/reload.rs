//! What a reload says about each key, in the running program: which apply at once and which at the next start.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::tracker::{KEY, Rig, announce};
use super::{PATIENCE, ask, config};

/// What a reload answered: the keys that changed, and those of them that wait for the next start.
fn told(answer: &str) -> (Vec<String>, Vec<String>) {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let keys = |name: &str| {
        let keys = body[name].as_array().unwrap().iter();
        keys.map(|key| key.as_str().unwrap().to_owned()).collect()
    };
    (keys("changed"), keys("at_next_start"))
}

#[test]
fn keys_of_what_is_built_once_wait_for_the_next_start() {
    let rig = Rig::start("");
    let wait = "drain: 3s
log: { format: json }
tracker: { age: 2h, aging: 11s, http_idle_timeout: 30s }
search: { queue_size: 9, spacing: { rss: 0.4 }, max_wait: { rss: 20s }, cache: { size: 1MiB } }
news: { deadline: 9s, cache: { thread: 6m }, servers: [{ name: a, host: news.example }] }
engine: { ladder: [2m, 6m], scale_down_pct: 30, decisions: 50 }
store: { write_every: 2s }";
    let (changed, waiting) = told(&rig.reload(wait));
    assert_eq!(changed, waiting, "all of them wait");
    for key in [
        "drain",
        "log.format",
        "tracker.age",
        "tracker.aging",
        "tracker.http_idle_timeout",
        "search.queue_size",
        "search.spacing.rss",
        "search.max_wait.rss",
        "search.cache.size",
        "news.deadline",
        "news.cache.thread",
        "news.servers",
        "news.servers[0].name",
        "engine.ladder",
        "engine.scale_down_pct",
        "engine.decisions",
        "store.write_every",
    ] {
        assert!(waiting.iter().any(|waiting| waiting == key), "{key}");
    }
}

#[test]
fn a_key_that_is_said_to_hold_at_once_does() {
    let rig = Rig::start("");
    let caps = || ask(rig.web, "GET /torznab/api?t=caps", KEY);
    let upstreams = || ask(rig.web, "GET /api/v1/upstreams", KEY);
    assert!(announce(rig.tracker, 1).contains("8:intervali1800e"));
    assert!(caps().contains(r#"<limits default="500" max="1000"/>"#));
    assert!(!upstreams().contains("indexer-of-the-reload"));

    let deny = rig.dir.path().join("deny");
    std::fs::write(&deny, "02".repeat(20)).unwrap();
    let (changed, waiting) = told(&rig.reload(&format!(
        "tracker:
  announce_interval: 20m
  deny_file: {}
  forwarders: [{{ uri: 'http://127.0.0.1:9/announce', name: forwarder-of-the-reload }}]
search:
  page_max: 90
  page_default: 80
  indexers: [{{ name: indexer-of-the-reload, url: 'http://127.0.0.1:9/api' }}]",
        deny.display()
    )));
    assert_eq!(waiting, [""; 0], "of {changed:?}");
    assert!(announce(rig.tracker, 2).contains("failure reason"));
    assert!(announce(rig.tracker, 1).contains("8:intervali"));
    assert!(caps().contains(r#"<limits default="80" max="90"/>"#));
    for name in ["indexer-of-the-reload", "forwarder-of-the-reload"] {
        assert!(upstreams().contains(name), "{name}");
    }

    let (changed, waiting) = told(&rig.reload("tracker: { announce_interval: 20m }"));
    assert_eq!(waiting, [""; 0], "of {changed:?}: an entry that went");
    assert!(changed.contains(&"search.indexers[0].name".to_owned()));
    assert!(announce(rig.tracker, 3).contains("8:intervali1200e"));
    assert!(!upstreams().contains("of-the-reload"));
}

#[test]
fn limits_that_each_request_looks_at_hold_at_once_and_those_of_connections_wait() {
    let rig = Rig::start("");
    let post = || {
        let mut stream = TcpStream::connect(rig.web).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = "x".repeat(4096);
        write!(
            stream,
            "POST /api/v1/reload HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\n\
             Connection: close\r\nContent-Length: 4096\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(post().starts_with("HTTP/1.1 200"));
    let limits = "{ body_bytes: 1KiB, headers: 3, connections: 1 }";
    let text = format!("web: {{ api_key: {KEY}, limits: {limits} }}\n");
    config(rig.dir.path(), &text);
    let (changed, waiting) = told(&ask(rig.web, "POST /api/v1/reload", KEY));
    let waits = ["web.limits.headers", "web.limits.connections"];
    assert_eq!(waiting, waits, "of {changed:?}");
    // The old limit on headers still applies, the new limit on bodies already does.
    assert!(post().starts_with("HTTP/1.1 413"), "{}", post());
}
