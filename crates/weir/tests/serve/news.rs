//! The news front in the running program: it lists its servers, tries them, reloads and stops.

use std::net::SocketAddr;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::inn::{Inn, Options};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{Behaviour, News, Newsgroup};

use super::reload::{notices, told};
use super::tracker::{KEY, Rig};
use super::{PATIENCE, Weir, ask, config};

/// An entry for a server of this machine.
fn entry(name: &str, address: SocketAddr) -> String {
    let (host, port) = (address.ip(), address.port());
    format!("{{ name: {name}, host: {host}, port: {port}, tls: off, connections: 2 }}")
}

fn servers(entries: &[String]) -> String {
    format!("news: {{ servers: [{}] }}", entries.join(", "))
}

fn zoo(runtime: &Runtime) -> News {
    let shelf = vec![Newsgroup::new("misc.test").with(1..=9)];
    runtime
        .block_on(News::start(Place::Loopback, shelf))
        .unwrap()
}

fn json(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

fn probe(rig: &Rig, name: &str) -> Value {
    let line = format!("POST /api/v1/upstreams/news/{name}/probe");
    json(&ask(rig.web, &line, KEY))
}

/// A figure of the front in `/stats`.
fn stats(rig: &Rig) -> Value {
    let stats = json(&ask(rig.web, "GET /stats?format=json", KEY));
    stats["fronts"]["news"].clone()
}

#[test]
fn a_real_server_is_listed_tried_and_told_of() {
    let runtime = Runtime::new().unwrap();
    let inn = runtime.block_on(Inn::start(Options::with(&["misc.test"])));
    let inn = inn.unwrap();
    let rig = Rig::start(&servers(&[entry("main", inn.address())]));
    let list = ask(rig.web, "GET /upstreams", KEY);
    assert!(list.contains("<bdi>main</bdi>") && list.contains("News server, nntp://"));
    let place = format!("nntp://{}", inn.address());
    assert!(ask(rig.web, "GET /upstreams/news/main", KEY).contains(&place));
    assert_eq!(probe(&rig, "main")["upstream"]["state"], "open");
    let page = ask(rig.web, "GET /upstreams/news/main", KEY);
    for fact in [
        "1 of 2 in use",
        "none, as configured",
        "by OVER",
        "Newsgroups carried",
    ] {
        assert!(page.contains(fact), "{fact} in {page}");
    }
    let figures = stats(&rig);
    assert_eq!(figures["servers"], 1);
    assert_eq!(figures["connections"]["main"]["open"], 1);
    assert_eq!(figures["connections"]["main"]["opened"], 1);
    assert_eq!(figures["connections"]["main"]["overview"], "OVER");
    let metrics = ask(rig.web, "GET /metrics", KEY);
    for line in [
        "weir_news_connections{upstream=\"main\"} 1",
        "weir_news_connections_opened_total{upstream=\"main\"} 1",
        "weir_cache_hits_total{front=\"news\"} 0",
        "weir_cache_hits_total{front=\"search\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let overview = ask(rig.web, "GET /", KEY);
    assert!(
        overview.contains("The only news server is open."),
        "{overview}"
    );
    assert!(ask(rig.web, "GET /robots.txt", "").ends_with("User-agent: *\nDisallow: /\n"));
    rig.weir.signal("TERM");
    let (status, log) = rig.weir.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("encryption=\"none\""), "{log}");
}

#[test]
fn a_reload_adds_changes_and_removes_news_servers_and_says_so() {
    let runtime = Runtime::new().unwrap();
    let (one, two) = (zoo(&runtime), zoo(&runtime));
    let [first, second] = [entry("one", one.address()), entry("two", two.address())];
    let rig = Rig::start(&servers(std::slice::from_ref(&first)));
    let upstreams = || ask(rig.web, "GET /api/v1/upstreams", KEY);
    probe(&rig, "one");
    let (changed, waiting) = told(&rig.reload(&servers(&[first.clone(), second])));
    assert!(changed.contains(&"news.servers[1].name".to_owned()));
    assert_eq!(waiting, [""; 0], "of {changed:?}");
    assert!(upstreams().contains("\"two\""));
    assert_eq!(probe(&rig, "two")["upstream"]["state"], "open");
    assert_eq!(one.connections().len(), 1, "it keeps its connection");

    let other = servers(&[first]).replace("news: {", "news: { overview: head,");
    config(rig.dir.path(), &super::tracker::text(&other));
    assert!(ask(rig.web, "POST /settings/reload", KEY).starts_with("HTTP/1.1 303"));
    let notice = &notices(&rig, "?reloaded=1")[0];
    assert!(
        notice.contains("Now in use: news.overview, news.servers."),
        "{notice}"
    );
    assert!(!upstreams().contains("\"two\""));
    assert_eq!(probe(&rig, "one")["upstream"]["state"], "open");
    assert_eq!(stats(&rig)["connections"]["one"]["overview"], "HEAD");
    assert_eq!(one.connections().len(), 2, "it is spoken to anew");
    runtime.block_on(async {
        let gone = async {
            while two.open() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.unwrap();
    });
}

#[test]
fn deadline_and_cache_times_hold_at_once() {
    let rig = Rig::start("");
    let rules = "news: { deadline: 9s, refresh_after: 1m, pipeline_depth: 2, article_depth: 3, cache: { thread: 6m } }";
    let (changed, waiting) = told(&rig.reload(rules));
    assert_eq!(changed.len(), 5, "{changed:?}");
    assert_eq!(waiting, [""; 0]);
}

#[test]
fn a_server_that_hangs_does_not_hold_up_the_stop() {
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    server.set_for("DATE", Behaviour::Hang);
    let dir = TempDir::new().unwrap();
    let text = servers(&[entry("one", server.address()).replace('}', ", timeout: 1h }")]);
    let text = format!("drain: 1s\nweb: {{ api_key: {KEY} }}\n{text}\n");
    config(dir.path(), &text);
    let (weir, web) = Weir::start(dir.path(), &[]);
    let line = "POST /api/v1/upstreams/news/one/probe";
    let probing = std::thread::spawn(move || ask(web, line, KEY));
    runtime.block_on(async {
        let asked = async {
            while server.count("DATE") == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.unwrap();
    });
    // The call may take longer than any test.
    weir.signal("TERM");
    let (status, log) = weir.end();
    assert_eq!(status.code(), Some(0), "{log}");
    let _ = probing.join();
}

#[test]
fn what_is_public_is_said_to_robots() {
    let rig = Rig::start("news: { public: true }");
    let robots = ask(rig.web, "GET /robots.txt", "");
    assert!(robots.contains("\nAllow: /news\n"), "{robots}");
}
