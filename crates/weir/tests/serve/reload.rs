//! What a reload says about each key, in the running program: which apply at once and which at the next start.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::tracker::{KEY, Rig, announce, text};
use super::{PATIENCE, Weir, ask, config};

/// What a reload answered: the keys that changed, and those of them that wait for the next start.
pub(super) fn told(answer: &str) -> (Vec<String>, Vec<String>) {
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
search: { queue_size: 9, max_wait: { rss: 20s }, cache: { size: 1MiB } }
news: { public: true, queue_size: 9, aging: 11s, disk: 1GiB, cache: { memory: 1MiB } }
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
        "search.max_wait.rss",
        "search.cache.size",
        "news.public",
        "news.queue_size",
        "news.aging",
        "news.disk",
        "news.cache.memory",
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

/// The rows of the settings page whose key contains `filter`, as text without marks.
fn settings(rig: &Rig, filter: &str) -> Vec<String> {
    let page = ask(rig.web, &format!("GET /settings?filter={filter}"), KEY);
    let rows = page.lines().filter(|line| line.starts_with("<tr><td"));
    rows.map(words).collect()
}

/// The words of a line, without marks.
fn words(line: &str) -> String {
    let mut text = String::new();
    let mut within = false;
    for letter in line.chars() {
        match letter {
            '<' => within = true,
            '>' => {
                within = false;
                text.push(' ');
            }
            _ if !within => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The notices of the settings page.
pub(super) fn notices(rig: &Rig, query: &str) -> Vec<String> {
    let page = ask(rig.web, &format!("GET /settings{query}"), KEY);
    let lines = page.lines().filter(|line| line.contains("class=\"notice"));
    lines.map(words).collect()
}

#[test]
fn forwarders_that_are_in_use_at_once_leave_one_line_in_the_log() {
    let mut rig = Rig::start("");
    let entry = |n: usize| format!("{{ uri: 'http://127.0.0.1:9/announce', name: t{n} }}");
    let entries: Vec<String> = (0..9).map(entry).collect();
    let entries = format!("tracker: {{ forwarders: [{}] }}", entries.join(", "));
    config(rig.dir.path(), &text(&entries));
    rig.weir.signal("HUP");
    let done = rig.weir.line("reload: done");
    assert!(done.ends_with("changed=\"tracker.forwarders\""), "{done}");
    assert!(ask(rig.web, "GET /api/v1/upstreams", KEY).contains("\"t8\""));
    rig.weir.signal("TERM");
    let (_, log) = rig.weir.end();
    assert!(!log.contains("at the next start"), "{log}");
    assert_eq!(log.matches(" reload: ").count(), 1, "{log}");
}

#[test]
fn a_listener_that_waits_for_the_next_start_is_not_shown_as_in_use() {
    let mut rig = Rig::start("search: { queue_size: 77 }");
    let key = "tracker.http_idle_timeout";
    assert_eq!(
        settings(&rig, key),
        [format!("{key} 1m default (read at start)")]
    );
    let change = "search: { queue_size: 77 }\ntracker: { http_idle_timeout: 30s, numwant: 20 }";
    let (changed, waiting) = told(&rig.reload(change));
    assert_eq!(changed, ["tracker.numwant", key]);
    assert_eq!(waiting, [key]);
    assert_eq!(
        settings(&rig, key),
        [format!(
            "{key} 1m next start: 30s default (read at start) next start: weir.yaml:3:31"
        )]
    );
    assert_eq!(
        settings(&rig, "tracker.numwant"),
        ["tracker.numwant 20 weir.yaml:3:45"]
    );
    assert_eq!(
        notices(&rig, ""),
        [format!("Waiting for the next start: {key}.")]
    );

    // It waits also after a reload that changes nothing.
    let (changed, waiting) = told(&rig.reload(change));
    assert_eq!((changed, waiting), (vec![], vec![key.to_owned()]));

    // Back at the running value, nothing waits any more, whoever asks and however it is written.
    config(
        rig.dir.path(),
        &text("search: { queue_size: 77 }\ntracker: { http_idle_timeout: 60s }"),
    );
    // The lines of the two before.
    rig.weir.line("reload: done");
    rig.weir.line("reload: done");
    rig.weir.signal("HUP");
    let done = rig.weir.line_of(&["reload: done", "at the next start"]);
    assert!(done.contains("reload: done"), "{done}");
    assert_eq!(
        notices(&rig, "?reloaded=1"),
        [format!(
            "Configuration reloaded. Now in use: tracker.numwant. Back to the value in use: {key}."
        )]
    );
    assert_eq!(
        settings(&rig, key),
        [format!("{key} 1m weir.yaml:3:31 (read at start)")]
    );
    assert_eq!(notices(&rig, ""), [""; 0]);
}

#[test]
fn keys_of_engine_and_store_wait_whoever_reloads() {
    let mut rig = Rig::start("");
    let keys = "engine: { decisions: 50 }\nstore: { write_every: 2s }";
    config(rig.dir.path(), &text(keys));
    rig.weir.signal("HUP");
    let line = rig.weir.line("at the next start");
    let keys = "keys=\"engine.decisions, store.write_every\"";
    assert!(line.contains(keys), "{line}");
    config(rig.dir.path(), &text("engine: { decisions: 60 }"));
    let answer = ask(rig.web, "POST /settings/reload", KEY);
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert_eq!(
        notices(&rig, "?reloaded=1"),
        [
            "Configuration reloaded. Back to the value in use: store.write_every. At the next start: engine.decisions.",
            "Waiting for the next start: engine.decisions.",
        ]
    );
}

#[test]
fn a_reload_without_a_file_says_where_it_looked() {
    let dir = TempDir::new().unwrap();
    let places = |dir: &Path| {
        let dir = dir.canonicalize().unwrap();
        let names = ["weir.yaml", "weir.yml", "weir.toml"];
        let here = names.map(|name| dir.join(name).display().to_string());
        let there = names.map(|name| format!("/etc/weir/{name}"));
        [here, there].concat().join(", ")
    };
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    let key = weir.line("key: ").trim_start_matches("  key: ").to_owned();
    let places = places(dir.path());
    let answer = ask(address, "POST /api/v1/reload", &key);
    let note = format!("There is no configuration file. Weir looked for {places}.");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains(&note),
        "{answer}"
    );
    ask(address, "POST /settings/reload", &key);
    let page = ask(address, "GET /settings?reloaded=1", &key);
    assert!(
        page.contains(&format!("{note} No value has changed.")),
        "{page}"
    );
    weir.signal("HUP");
    // A line for each of the three, so the last is the signal's.
    for _ in 0..3 {
        let line = weir.line("there is no configuration file");
        assert!(line.contains(&places), "{line}");
    }
    weir.line("reload: done");
    let file = dir.path().canonicalize().unwrap().join("weir.yaml");
    let written = format!("To change them, write <code>{}</code>", file.display());
    assert!(page.contains(&written), "{page}");

    // Once there is one, it must stay.
    config(dir.path(), "tracker: { numwant: 20 }\n");
    let answer = ask(address, "POST /api/v1/reload", &key);
    assert!(
        answer.contains(r#""changed":["tracker.numwant"]"#),
        "{answer}"
    );
    assert!(!answer.contains("looked for"), "{answer}");
    std::fs::remove_file(&file).unwrap();
    let gone = format!("{} is gone. No file was found at {places}.", file.display());
    let answer = ask(address, "POST /api/v1/reload", &key);
    assert!(
        answer.starts_with("HTTP/1.1 422") && answer.contains(&gone),
        "{answer}"
    );
    let page = ask(address, "POST /settings/reload", &key);
    assert!(
        page.starts_with("HTTP/1.1 422") && page.contains(&gone),
        "{page}"
    );
    weir.signal("HUP");
    for _ in 0..3 {
        let line = weir.line("nothing was changed");
        assert!(line.contains(&gone), "{line}");
    }
    let page = ask(address, "GET /settings?filter=tracker.numwant", &key);
    assert!(page.contains("<code>20</code>"), "{page}");
}
