//! Several built Weirs on a real Redis: one budget, one call for one question, whatever happens to the store or to a node.
//!
//! The indexers write down when they were asked; `Checker` reads that and nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::redis::Redis;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Asked, Indexer, Setup};

use super::backup::ask_json;
use super::{PATIENCE, Weir, ask, config};

const KEY: &str = "k3y-of-all-the-nodes";
const SECRET: &str = "a secret that all nodes of this test share";

/// What a node logs when the store has answered.
pub(super) const TOGETHER: &str = "together with the other nodes";

/// The first line with this text since the start: a node may be together with the others before it says where its pages are.
pub(super) fn first_line(weir: &mut Weir, text: &str) -> String {
    let said = weir.seen.iter().find(|line| line.contains(text));
    match said.cloned() {
        Some(line) => line,
        None => weir.line(text),
    }
}

/// Three nodes, some indexers, one store.
struct Nodes {
    runtime: Runtime,
    indexers: Vec<Indexer>,
    redis: Redis,
    all: Vec<One>,
    /// What each indexer's entry says beyond name and URL.
    entry: &'static str,
    /// More of the search section.
    section: &'static str,
}

struct One {
    weir: Weir,
    web: SocketAddr,
    dir: TempDir,
}

impl One {
    /// Stops it after it has noticed that the store is away; what it knows is written then.
    fn end_alone(mut self) -> TempDir {
        self.weir.line("alone");
        self.weir.signal("TERM");
        let (status, said) = self.weir.end();
        assert!(status.success(), "{said}");
        self.dir
    }
}

impl Nodes {
    fn start(indexers: usize, entry: &'static str, section: &'static str) -> Self {
        let runtime = Runtime::new().unwrap();
        let start = || Indexer::start(Place::Loopback, Setup::with(1..=5));
        let indexers = (0..indexers).map(|_| runtime.block_on(start()).unwrap());
        let indexers = indexers.collect();
        let redis = runtime.block_on(Redis::start()).unwrap();
        let mut nodes = Self {
            runtime,
            indexers,
            redis,
            all: Vec::new(),
            entry,
            section,
        };
        for number in 0..3 {
            let one = nodes.node(number, TempDir::new().unwrap());
            nodes.all.push(one);
        }
        for one in &mut nodes.all {
            first_line(&mut one.weir, TOGETHER);
        }
        nodes
    }

    /// Starts a node in a directory, which may be that of an earlier run.
    fn node(&self, number: usize, dir: TempDir) -> One {
        let mut text = format!(
            "web: {{ api_key: {KEY} }}\nstore: {{ redis: '{}', secret: '{SECRET}' }}\nnode: {{ name: node-{number} }}\nsearch:\n  {}\n  indexers:\n",
            self.redis.url(),
            self.section,
        );
        for (number, indexer) in self.indexers.iter().enumerate() {
            // The names differ from node to node: what counts is whom they call.
            let (url, entry) = (indexer.url(), self.entry);
            writeln!(
                text,
                "    - {{ name: 'ix{number}', url: '{url}', api_key: k {entry} }}"
            )
            .unwrap();
        }
        config(dir.path(), &text);
        let (weir, web) = Weir::start(dir.path(), &[]);
        One { weir, web, dir }
    }

    /// Waits until each node says once more that it is together with the others.
    fn wait_for_all(&mut self) {
        for one in &mut self.all {
            one.weir.line(TOGETHER);
        }
    }

    /// Waits until each node has been given what it may spend when it is alone.
    fn wait_for_shares(&self) {
        wait_until("each node has a share", || {
            let keys = self.redis.ask(&["KEYS", "*:shares:*"]).unwrap();
            keys.lines().count() >= self.all.len()
        });
    }

    /// What each node may spend of each window when it is alone, as the store has it.
    fn shares(&self) -> BTreeSet<String> {
        let keys = self.redis.ask(&["KEYS", "*:share:*"]).unwrap();
        let shares = keys.lines().flat_map(|key| {
            let flat = self.redis.ask(&["HGETALL", key]).unwrap();
            let lines: Vec<&str> = flat.lines().collect();
            let both = lines.chunks(2).map(|both| both.join(": "));
            both.collect::<Vec<_>>()
        });
        shares.collect()
    }

    /// How many upstreams have this field in the store.
    fn rows_with(&self, field: &str) -> usize {
        let keys = self.redis.ask(&["KEYS", "{weir}:up:*"]).unwrap();
        let has = |key: &&str| self.redis.ask(&["HEXISTS", key, field]).unwrap() == "1";
        keys.lines().filter(has).count()
    }

    /// Searches at a node; gives the status.
    fn search(&self, node: usize, words: &str) -> u16 {
        search(self.all[node].web, words)
    }

    fn asked(&self) -> Vec<Vec<Instant>> {
        let searches = |indexer: &Indexer| {
            let asked = indexer.asked();
            asked.iter().map(|Asked { at, .. }| (*at).into()).collect()
        };
        self.indexers.iter().map(searches).collect()
    }

    /// No more than `limit` requests to any indexer in any window of this length, as the indexers saw them.
    fn check(&self, limit: usize, window: Duration) {
        for (number, times) in self.asked().iter().enumerate() {
            for (place, at) in times.iter().enumerate() {
                let within = times[place..].iter().filter(|time| **time < *at + window);
                let within = within.count();
                assert!(within <= limit, "indexer {number}: {within} in {window:?}");
            }
        }
    }

    fn total(&self) -> usize {
        self.asked().iter().map(Vec::len).sum()
    }
}

fn search(web: SocketAddr, words: &str) -> u16 {
    let words = words.replace(' ', "+");
    let line = format!("GET /torznab/api?t=search&q={words}");
    let answer = ask(web, &line, KEY);
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Waits until this holds; nothing but a hang takes so long.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let look = Duration::from_millis(50);
    for _ in 0..PATIENCE.as_millis() / look.as_millis() {
        if is_so() {
            return;
        }
        thread::park_timeout(look);
    }
    panic!("{what}");
}

#[test]
fn fifty_equal_searches_on_each_of_three_nodes_are_one_call_per_indexer() {
    let nodes = Nodes::start(
        4,
        "",
        "spacing: { interactive: 0s, rss: 0s, completion: 0s, background: 0s }",
    );
    thread::scope(|scope| {
        for web in nodes.all.iter().map(|one| one.web) {
            for _ in 0..50 {
                scope.spawn(move || assert_eq!(search(web, "debian"), 200));
            }
        }
    });
    for indexer in &nodes.indexers {
        assert_eq!(indexer.searches().len(), 1, "{:?}", indexer.searches());
        assert_eq!(indexer.introductions(), 1, "caps too");
    }
    // Each kind of row is read by those it is meant for.
    for one in &nodes.all {
        let metrics = ask(one.web, "GET /metrics", KEY);
        let ignored = metrics
            .lines()
            .filter(|line| line.starts_with("weir_store_rows_ignored"));
        let ignored: Vec<&str> = ignored.collect();
        assert!(
            !ignored.is_empty() && ignored.iter().all(|line| line.ends_with(" 0")),
            "{ignored:?}"
        );
    }
}

#[test]
fn three_nodes_keep_one_window_in_peace_while_the_store_is_stopped_and_when_a_node_is_killed() {
    let limit = 40;
    let mut nodes = Nodes::start(
        1,
        ", limits: [40/60s]",
        "spacing: { interactive: 0s, rss: 0s, completion: 0s, background: 0s }\n  deadline: 2s",
    );
    let mut number = 0;
    let mut burst = |nodes: &Nodes, which: &[usize], count: usize| {
        thread::scope(|scope| {
            for node in which {
                for _ in 0..count {
                    number += 1;
                    let words = format!("question {number}");
                    // 200, or 429 with a time: both are answers.
                    let web = nodes.all[*node].web;
                    scope.spawn(move || {
                        let status = search(web, &words);
                        assert!(matches!(status, 200 | 429), "{status}");
                    });
                }
            }
        });
    };
    nodes.wait_for_shares();
    burst(&nodes, &[0, 1, 2], 5);
    nodes.check(limit, Duration::from_secs(60));
    let peace = nodes.total();
    assert!(peace > 3, "{peace}");

    // The store hears what is sent meanwhile, and carries it out later.
    nodes.redis.freeze();
    burst(&nodes, &[0, 1, 2], 5);
    burst(&nodes, &[0, 1, 2], 5);
    for one in &mut nodes.all {
        let line = one.weir.line("alone");
        assert!(line.contains("WARN"), "{line}");
    }
    let alone = nodes.total();
    assert!(
        alone > peace,
        "each spends its share: {peace} before, {alone} now"
    );
    nodes.redis.thaw();
    nodes.wait_for_all();
    burst(&nodes, &[0, 1, 2], 5);
    nodes.check(limit, Duration::from_secs(60));

    // One is killed in the middle of its work, and started again in its directory.
    let killed = nodes.all.remove(2);
    let web = killed.web;
    thread::scope(|scope| {
        scope.spawn(move || {
            for question in 0..5 {
                // It is killed meanwhile, so not every question is answered.
                let words = format!("last words {question}").replace(' ', "+");
                let line = format!("GET /torznab/api?t=search&q={words}");
                let _ = std::panic::catch_unwind(|| ask(web, &line, KEY));
            }
        });
        thread::park_timeout(Duration::from_millis(100));
        killed.weir.signal("KILL");
    });
    burst(&nodes, &[0, 1], 5);
    let again = nodes.node(2, killed.dir);
    nodes.all.push(again);
    first_line(&mut nodes.all[2].weir, TOGETHER);
    burst(&nodes, &[0, 1, 2], 5);
    nodes.check(limit, Duration::from_secs(60));
    assert!(nodes.total() <= limit * 3);
}

#[test]
fn a_store_that_comes_back_empty_changes_no_window() {
    let mut nodes = Nodes::start(
        1,
        ", limits: [20/1h]",
        "spacing: { interactive: 0s, rss: 0s, completion: 0s, background: 0s }\n  deadline: 2s",
    );
    nodes.wait_for_shares();
    for number in 0..8 {
        nodes.search(number % 3, &format!("before {number}"));
    }
    assert!(nodes.total() >= 6, "{}", nodes.total());
    nodes.redis.kill();
    nodes.redis.forget().unwrap();
    nodes.runtime.block_on(nodes.redis.run()).unwrap();
    for one in &mut nodes.all {
        one.weir.line("told it what it knows");
    }
    for number in 0..40 {
        let status = nodes.search(number % 3, &format!("after {number}"));
        assert!(matches!(status, 200 | 429), "{status}");
    }
    nodes.check(20, Duration::from_secs(3600));
    // Not because nothing is granted any more: three shares of one are kept back.
    wait_until("the window is used", || nodes.total() >= 15);
}

/// What a node's log says about the starts that it handed in.
fn starts_told(one: &mut One) -> usize {
    let line = first_line(&mut one.weir, "told it what it knows");
    let (_, rest) = line.split_once("starts=").unwrap();
    let number = rest.split(|c: char| !c.is_ascii_digit()).next();
    number.unwrap().parse().unwrap()
}

#[test]
fn nodes_that_were_down_while_the_store_was_emptied_tell_it_what_they_know() {
    let mut nodes = Nodes::start(
        2,
        ", limits: [20/1h]",
        "spacing: { interactive: 0s, rss: 0s, completion: 0s, background: 0s }\n  deadline: 2s",
    );
    nodes.wait_for_shares();
    let line = "POST /api/v1/upstreams/search/ix1/disable";
    let disabled = ask_json(nodes.all[2].web, line, KEY, r#"{"reason":"it moves"}"#);
    assert!(disabled.starts_with("HTTP/1.1 200"), "{disabled}");
    for number in 0..10 {
        nodes.search(number % 3, &format!("before {number}"));
    }
    let calls = |nodes: &Nodes| nodes.asked()[0].len();
    let before = calls(&nodes);
    assert!(before >= 8, "{before}");
    // Nobody is left who could tell for the others.
    nodes.redis.kill();
    let dirs: Vec<TempDir> = nodes.all.drain(..).map(One::end_alone).collect();
    nodes.redis.forget().unwrap();
    nodes.runtime.block_on(nodes.redis.run()).unwrap();
    for (number, dir) in dirs.into_iter().enumerate() {
        let one = nodes.node(number, dir);
        nodes.all.push(one);
    }
    let told: usize = nodes.all.iter_mut().map(starts_told).sum();
    let both: usize = nodes.asked().iter().map(Vec::len).sum();
    assert_eq!(told, both);
    for one in &mut nodes.all {
        first_line(&mut one.weir, TOGETHER);
    }
    assert_eq!(nodes.rows_with("off"), 1);
    // Three of twenty are kept for when somebody is alone; the rest is granted, and nothing twice.
    let mut number = 0;
    let mut search = |nodes: &Nodes| {
        number += 1;
        let status = nodes.search(number % 3, &format!("after {number}"));
        assert!(matches!(status, 200 | 429), "{status}");
    };
    for _ in 0..1000 {
        search(&nodes);
        if calls(&nodes) >= 15 {
            break;
        }
    }
    assert!(calls(&nodes) >= 15, "{}", calls(&nodes));
    for _ in 0..20 {
        search(&nodes);
    }
    nodes.check(20, Duration::from_secs(3600));
}

#[test]
fn a_node_that_was_killed_has_its_share_when_it_is_back() {
    let mut nodes = Nodes::start(1, ", limits: [40/1h]", "deadline: 2s");
    nodes.wait_for_shares();
    let shares = nodes.shares();
    assert_eq!(shares.len(), 3, "{shares:?}");
    for number in 0..3 {
        let One { weir, dir, .. } = nodes.all.remove(0);
        weir.signal("KILL");
        let _ = weir.end();
        let again = nodes.node(number, dir);
        nodes.all.push(again);
        first_line(&mut nodes.all[2].weir, TOGETHER);
    }
    assert_eq!(nodes.shares(), shares);
    // What is taken from a node counts as spent.
    let counted = nodes.redis.ask(&["KEYS", "*:counted:*"]).unwrap();
    assert_eq!(counted, "");
}

#[test]
fn a_wrong_store_is_named_and_weir_runs_on_alone() {
    let runtime = Runtime::new().unwrap();
    let start = |options: &[&str]| runtime.block_on(Redis::start_with(options)).unwrap();
    let locked = start(&["--requirepass", "right"]);
    let dropping = start(&["--maxmemory-policy", "allkeys-lru"]);
    let full = start(&["--maxmemory", "1"]);
    let replica = start(&["--replicaof", "127.0.0.1", "1"]);
    let others = start(&[]);
    let check = ["HSET", "{weir}:meta", "check", "0123", "needs", "1"];
    others.ask(&check).unwrap();
    // What is wrong, and what it says to do about it.
    let cases = [
        (
            "redis://127.0.0.1:1".to_owned(),
            "cannot connect to 127.0.0.1:1",
        ),
        (
            locked.url(),
            "write redis://user:password@host in store.redis",
        ),
        (
            format!("redis://:wrong@{}", locked.address()),
            "correct them in store.redis",
        ),
        (dropping.url(), "set maxmemory-policy noeviction there"),
        (full.url(), "raise maxmemory there"),
        (replica.url(), "name its primary in store.redis"),
        (others.url(), "give all nodes the same"),
    ];
    let started = cases.map(|(url, says)| {
        let dir = TempDir::new().unwrap();
        let text =
            format!("web: {{ api_key: {KEY} }}\nstore: {{ redis: '{url}', secret: '{SECRET}' }}\n");
        config(dir.path(), &text);
        let (weir, web) = Weir::start(dir.path(), &[]);
        (weir, web, dir, says)
    });
    for (mut weir, web, _dir, says) in started {
        let line = first_line(&mut weir, says);
        assert!(line.contains("alone") && line.contains("WARN"), "{line}");
        // The log says it at the start, the page and the API as long as it is so.
        let told = ask(web, "GET /api/v1/nodes", KEY);
        assert!(told.contains(r#""state":"alone""#), "{told}");
        assert!(told.contains(says), "{says}: {told}");
        let page = ask(web, "GET /settings", KEY);
        assert!(page.contains(says), "{says}: {page}");
        assert!(ask(web, "GET /readyz", KEY).starts_with("HTTP/1.1 200"));
        weir.signal("TERM");
        assert!(weir.end().0.success());
    }
}

#[test]
fn a_store_that_becomes_full_or_read_only_is_named_and_weir_runs_on_alone() {
    let runtime = Runtime::new().unwrap();
    let redis = runtime.block_on(Redis::start()).unwrap();
    let dir = TempDir::new().unwrap();
    let url = redis.url();
    let text =
        format!("web: {{ api_key: {KEY} }}\nstore: {{ redis: '{url}', secret: '{SECRET}' }}\n");
    config(dir.path(), &text);
    let (mut weir, web) = Weir::start(dir.path(), &[]);
    first_line(&mut weir, TOGETHER);
    // What becomes wrong, how it is mended, and what is said to do about it.
    let cases = [
        (
            ["CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"],
            "the store is full: raise maxmemory there",
        ),
        (
            ["REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"],
            "name its primary in store.redis",
        ),
        (
            [
                "CONFIG SET min-replicas-to-write 1",
                "CONFIG SET min-replicas-to-write 0",
            ],
            "too few replicas to write (min-replicas-to-write)",
        ),
    ];
    for ([breaks, mends], says) in cases {
        let tell = |command: &str| {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(redis.ask(&words).unwrap(), "OK");
        };
        tell(breaks);
        let line = weir.line(says);
        assert!(line.contains("alone") && line.contains("WARN"), "{line}");
        let told = ask(web, "GET /api/v1/nodes", KEY);
        assert!(told.contains(r#""state":"alone""#), "{told}");
        for page in ["GET /api/v1/nodes", "GET /", "GET /settings"] {
            let told = ask(web, page, KEY);
            assert!(told.contains(says), "{page}: {says}: {told}");
        }
        assert!(ask(web, "GET /readyz", KEY).starts_with("HTTP/1.1 200"));
        tell(mends);
        weir.line(TOGETHER);
        let told = ask(web, "GET /api/v1/nodes", KEY);
        assert!(told.contains(r#""state":"together""#), "{told}");
    }
}

#[test]
fn a_store_without_a_secret_is_a_mistake() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "store: { redis: 'redis://127.0.0.1:1' }\n");
    let (status, text) = Weir::spawn(dir.path(), &[]).end();
    assert_eq!(status.code(), Some(2), "{text}");
    assert!(
        text.contains("store.secret") && text.contains("openssl rand"),
        "{text}"
    );
}
