//! The store on real servers tells the story, and so does a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use weir_testkit::proxy::Proxy;
use weir_testkit::redis::{Maker, Redis};

use super::super::story::{self, Stage, tell};
use super::*;
use crate::shared::{Configured, ToldLimit};
use crate::state::Window;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

struct Servers {
    servers: Mutex<Vec<Redis>>,
    nodes: Vec<Arc<RedisStore>>,
    clock: Arc<AtomicU64>,
}

impl Servers {
    async fn one() -> Self {
        let server = Redis::start().await.unwrap();
        let url = server.url();
        Self::of(vec![server], &url).await
    }

    async fn of_valkey() -> Self {
        let server = Redis::start_of(Maker::Valkey, &[]).await.unwrap();
        let url = server.url();
        Self::of(vec![server], &url).await
    }

    async fn cluster(maker: Maker) -> Self {
        let servers = Redis::start_cluster_of(maker).await.unwrap();
        let hosts: Vec<_> = servers
            .iter()
            .map(|server| server.address().to_string())
            .collect();
        let url = format!("redis://{}", hosts.join(","));
        Self::of(servers, &url).await
    }

    async fn of(servers: Vec<Redis>, url: &str) -> Self {
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let node = || Arc::new(open(url).with_clock(clock.clone()));
        let nodes: Vec<_> = (0..3).map(|_| node()).collect();
        for node in &nodes {
            node.ready().await.unwrap();
        }
        Self {
            servers: Mutex::new(servers),
            nodes,
            clock,
        }
    }

    /// Waits until all nodes are connected again.
    async fn settle(&self) {
        for node in &self.nodes {
            until_it_answers(node).await;
        }
    }
}

pub(super) fn open(url: &str) -> RedisStore {
    let address = RedisAddress::parse(url).unwrap();
    RedisStore::open(address, &Seal::new("secret"), None, PATIENCE)
}

async fn until_it_answers(store: &RedisStore) {
    let patience = Instant::now() + PATIENCE;
    loop {
        match store.rows(vec![UpstreamKey([0; 16])]).await {
            Ok(_) => return,
            Err(lost) => assert!(Instant::now() < patience, "{lost}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

impl Stage for Servers {
    fn node(&self, number: usize) -> Arc<dyn SharedStore> {
        self.nodes[number].clone()
    }

    fn time(&self) -> StoreTime {
        StoreTime(self.clock.load(Ordering::SeqCst))
    }

    fn advance(&self, span: Duration) {
        let millis = super::super::words::millis(span);
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    fn save(&self) -> BoxFuture<'_, ()> {
        async { self.servers.lock().await[0].save().unwrap() }.boxed()
    }

    fn restore(&self) -> BoxFuture<'_, ()> {
        async {
            self.servers.lock().await[0].run().await.unwrap();
            self.settle().await;
        }
        .boxed()
    }

    fn restart_empty(&self) -> BoxFuture<'_, ()> {
        async {
            let mut servers = self.servers.lock().await;
            servers[0].kill();
            servers[0].forget().unwrap();
            servers[0].run().await.unwrap();
            self.settle().await;
        }
        .boxed()
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        async {
            for server in &*self.servers.lock().await {
                server.ask(&["FLUSHALL"]).unwrap();
            }
        }
        .boxed()
    }
}

mod one_server {
    use super::*;

    tell!(Servers::one());
}

mod valkey {
    use super::*;

    tell!(Servers::of_valkey());
}

#[tokio::test]
async fn a_cluster_tells_the_story() {
    tell_of_a_cluster(Maker::Redis).await;
}

#[tokio::test]
async fn a_cluster_of_valkey_tells_the_story() {
    tell_of_a_cluster(Maker::Valkey).await;
}

async fn tell_of_a_cluster(maker: Maker) {
    let stage = Servers::cluster(maker).await;
    story::a_window_holds_for_all_nodes_together(&stage).await;
    stage.flush().await;
    story::shares_are_given_while_they_fit(&stage).await;
    stage.flush().await;
    story::a_question_is_asked_once(&stage).await;
    stage.flush().await;
    story::tables_are_read_by_version(&stage).await;
    stage.flush().await;
    story::streams_are_read_from_a_place(&stage).await;
    // Streams of many nodes lie on all three servers.
    let store = stage.node(0);
    for node in 100..130 {
        let stream = Stream::Swarm(NodeId(node));
        store
            .append(stream, vec![1], Duration::from_secs(60))
            .await
            .unwrap();
    }
    for server in &*stage.servers.lock().await {
        let keys = server.ask(&["DBSIZE"]).unwrap();
        assert!(keys.parse::<u32>().unwrap() > 0);
    }
    let streams = (100..130).map(|node| (Stream::Swarm(NodeId(node)), Place::START));
    let ends = store.read(streams.collect(), 9).await.unwrap().ends;
    assert_eq!(ends.len(), 30);
    assert!(ends.iter().all(|end| end.entries.len() == 1));
}

/// A store that gives up soon, for tests of stores that do not answer.
fn hasty(url: &str) -> RedisStore {
    let address = RedisAddress::parse(url).unwrap();
    let soon = Duration::from_millis(300);
    RedisStore::open(address, &Seal::new("secret"), None, soon)
}

async fn refused(url: &str) -> String {
    match open(url).ready().await {
        Err(Lost::Refused(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_will_not_do_says_why() {
    let server = Redis::start_with(&["--requirepass", "right"])
        .await
        .unwrap();
    let address = server.address();
    assert!(refused(&server.url()).await.contains("wants a password"));
    let wrong = format!("redis://:wrong@{address}");
    assert!(refused(&wrong).await.contains("user or password"));
    let right = format!("redis://default:right@{address}/3");
    let store = open(&right);
    store.ready().await.unwrap();
    store.rows(vec![UpstreamKey([0; 16])]).await.unwrap();
    drop(store);

    let server = Redis::start_with(&["--maxmemory-policy", "allkeys-lru"])
        .await
        .unwrap();
    let sentence = refused(&server.url()).await;
    assert!(sentence.contains("set maxmemory-policy noeviction"));
    server
        .ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        .unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    // Full.
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let lost = store.rows(vec![UpstreamKey([0; 16])]).await.unwrap_err();
    assert!(lost.to_string().contains("the store is full"), "{lost}");
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    store.rows(vec![UpstreamKey([0; 16])]).await.unwrap();
    // Two addresses of one server that is no cluster.
    let both = format!("redis://{},{}", server.address(), server.address());
    assert!(refused(&both).await.contains("cluster"));
    // A replica takes nothing.
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]).unwrap();
    let lost = store.beat(Beat::default()).await.unwrap_err();
    assert!(lost.to_string().contains("read-only replica"), "{lost}");
    assert!(refused(&server.url()).await.contains("read-only replica"));
    // Nobody there.
    let port = address.port();
    drop(server);
    let nobody = open("redis://127.0.0.1:1").ready().await.unwrap_err();
    assert!(matches!(nobody, Lost::Silent(_)), "{nobody} {port}");
    let encrypted = open("rediss://127.0.0.1:1").ready().await.unwrap_err();
    assert!(matches!(encrypted, Lost::Silent(_)), "{encrypted}");
}

#[tokio::test]
async fn a_server_that_may_drop_rows_from_now_on_is_refused_and_taken_back() {
    let server = Redis::start().await.unwrap();
    let address = RedisAddress::parse(&server.url()).unwrap();
    let store = RedisStore {
        links: Links::open(address, None, PATIENCE, Duration::from_millis(20)),
        ..open(&server.url())
    };
    store.ready().await.unwrap();
    until_it_answers(&store).await;
    let set = |policy| server.ask(&["CONFIG", "SET", "maxmemory-policy", policy]);
    set("allkeys-lru").unwrap();
    let patience = Instant::now() + PATIENCE;
    loop {
        match store.rows(vec![UpstreamKey([0; 16])]).await {
            Err(lost) if lost.to_string().contains("maxmemory-policy noeviction") => break,
            _ => assert!(Instant::now() < patience),
        }
        sleep(Duration::from_millis(5)).await;
    }
    set("noeviction").unwrap();
    until_it_answers(&store).await;
}

#[tokio::test]
async fn another_secret_and_a_newer_weir_are_noticed() {
    let server = Redis::start().await.unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    let up = UpstreamKey([1; 16]);
    store.beat(Beat::default()).await.unwrap();
    let address = RedisAddress::parse(&server.url()).unwrap();
    let other = RedisStore::open(address, &Seal::new("other"), None, PATIENCE);
    other.ready().await.unwrap();
    let lost = other.beat(Beat::default()).await.unwrap_err();
    assert!(lost.to_string().contains("another store.secret"), "{lost}");
    // Scripts that the server forgot are told again.
    server.ask(&["SCRIPT", "FLUSH"]).unwrap();
    store
        .tell(up, vec![Told::Cleared(StoreTime::default())])
        .await
        .unwrap();
    // A field of a newer Weir is kept, and a row that needs a newer one is left alone.
    let row = format!("{{weir}}:up:{}", hex(&up.0));
    server.ask(&["HSET", &row, "colour", "green"]).unwrap();
    let spaced = Told::Started {
        id: story::id(1, 1),
        ledger: crate::state::Ledger::Query,
        age: Duration::ZERO,
        spaced: true,
    };
    store
        .tell(up, vec![spaced, Told::Cleared(StoreTime::default())])
        .await
        .unwrap();
    assert_eq!(server.ask(&["HGET", &row, "colour"]).unwrap(), "green");
    server.ask(&["HSET", &row, "needs", "7"]).unwrap();
    let newer = Lost::Newer {
        needs: 7,
        known: 1,
        row: Some(up),
    };
    assert_eq!(store.rows(vec![up]).await.unwrap_err(), newer);
    assert_eq!(store.tell(up, vec![]).await.unwrap_err(), newer);
    store.rows(vec![UpstreamKey([2; 16])]).await.unwrap();
    // Whoever has met it goes on meeting it, whatever the beat wishes for.
    let beat = || Beat {
        newer: vec![up],
        ..Beat::default()
    };
    assert_eq!(store.beat(beat()).await.unwrap_err(), newer);
    let epoch = store.beat(Beat::default()).await.unwrap().epoch;
    let starts = vec![HandedStart {
        upstream: up,
        id: story::id(1, 2),
        ledger: crate::state::Ledger::Query,
        age: Duration::ZERO,
        spaced: true,
    }];
    let before = server.ask(&["HGETALL", &row]).unwrap();
    let hand_in = HandIn {
        epoch,
        starts: starts.clone(),
        ..HandIn::default()
    };
    assert_eq!(store.hand_in(hand_in).await.unwrap_err(), newer);
    let node = NodeId(0);
    assert_eq!(
        store.leave(Leave { node, starts }).await.unwrap_err(),
        newer
    );
    assert_eq!(server.ask(&["HGETALL", &row]).unwrap(), before);
    server.ask(&["HSET", &row, "needs", "1"]).unwrap();
    store.beat(beat()).await.unwrap();
    server.ask(&["HSET", "{weir}:meta", "needs", "8"]).unwrap();
    let newer = Lost::Newer {
        needs: 8,
        known: 1,
        row: None,
    };
    assert_eq!(store.beat(Beat::default()).await.unwrap_err(), newer);
}

#[tokio::test]
async fn many_starts_are_handed_in_by_pieces() {
    const MANY: u64 = 120_000;
    let server = Redis::start().await.unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    let (up, node) = (UpstreamKey([1; 16]), NodeId(1));
    let beat = Beat {
        node,
        new_epoch: Epoch(5),
        ..Beat::default()
    };
    store.beat(beat).await.unwrap();
    let starts = |from| {
        let starts = (from..from + MANY).map(|number| HandedStart {
            upstream: up,
            id: story::id(1, number),
            ledger: crate::state::Ledger::Query,
            age: Duration::from_secs(60),
            spaced: false,
        });
        starts.collect::<Vec<_>>()
    };
    let hand_in = |epoch| HandIn {
        node,
        epoch,
        starts: starts(0),
        ..HandIn::default()
    };
    // For another epoch nothing is taken, and nobody counts as having handed in.
    let pulse = store.hand_in(hand_in(Epoch(6))).await.unwrap();
    assert_eq!((pulse.epoch, pulse.missing), (Epoch(5), vec![node]));
    let pulse = store.hand_in(hand_in(Epoch(5))).await.unwrap();
    assert_eq!((pulse.epoch, pulse.missing), (Epoch(5), vec![]));
    let key = format!("{{weir}}:starts:{}:q", hex(&up.0));
    assert_eq!(server.ask(&["ZCARD", &key]).unwrap(), MANY.to_string());
    let starts = starts(MANY / 2);
    store.leave(Leave { node, starts }).await.unwrap();
    let all = (MANY / 2 * 3).to_string();
    assert_eq!(server.ask(&["ZCARD", &key]).unwrap(), all);
    // What no store takes is said so before anybody is asked.
    let long = vec![0; super::super::LONGEST_ANSWER + 1];
    let lost = store.append(Stream::Swarm(node), long, PATIENCE).await;
    let lost = lost.unwrap_err();
    assert!(
        matches!(lost, Lost::TooLong(_)) && !lost.is_whole(),
        "{lost}"
    );
}

#[tokio::test]
async fn everything_ends_by_itself() {
    let server = Redis::start().await.unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    let (up, node, minute) = (UpstreamKey([1; 16]), NodeId(1), Duration::from_secs(60));
    let window = Window(60);
    let ledger = crate::state::Ledger::Query;
    let beat = || Beat {
        node,
        shares: vec![super::super::ShareWish {
            upstream: up,
            ledger,
            window,
            limit: 40,
        }],
        new_epoch: Epoch(5),
        ..Beat::default()
    };
    store.beat(beat()).await.unwrap();
    let hand_in = HandIn {
        node,
        epoch: Epoch(5),
        known: vec![NodeId(2)],
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    let hand_in = HandIn {
        node: NodeId(2),
        epoch: Epoch(5),
        known: vec![NodeId(3)],
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    store.beat(beat()).await.unwrap();
    let limit = ToldLimit {
        ledger,
        window,
        limit: 50,
        used: Some(3),
        at: StoreTime::default(),
    };
    let started = Told::Started {
        id: story::id(1, 1),
        ledger,
        age: minute,
        spaced: true,
    };
    let configured = Told::Configured(
        node,
        vec![Configured {
            ledger,
            window,
            limit: 9,
        }],
    );
    let told = vec![Told::Limit(limit), started, configured];
    store.tell(up, told).await.unwrap();
    let question = Question {
        key: [3; 16],
        claim: minute,
        fresh: minute,
    };
    let ask = Ask {
        id: story::id(1, 2),
        upstream: up,
        ledger,
        windows: vec![],
        day_begins: None,
        gap: None,
        question: Some(question),
        wanted_until: StoreTime(u64::MAX >> 12),
    };
    let ask = Ask {
        ledger: crate::state::Ledger::Grab,
        ..ask
    };
    let answer = store.ask(ask).await.unwrap();
    assert!(matches!(answer, Answer::Granted(_)), "{answer:?}");
    store
        .answer(question, story::id(1, 2), Some(vec![1]), minute)
        .await
        .unwrap();
    store.claim(vec![[1; 16]], node, minute).await.unwrap();
    for stream in [Stream::Swarm(node), Stream::Forwarded(node)] {
        store.append(stream, vec![1], minute).await.unwrap();
    }
    let entries = vec![(vec![1], Some(vec![1])), (vec![2], None)];
    store.put(Table::Keys, entries, minute).await.unwrap();
    // A longer window that is configured later counts what was started before.
    let key = format!("{{weir}}:starts:{}:q", hex(&up.0));
    let days = |days: i64| days * 24 * 60 * 60 * 1000;
    let left = || server.ask(&["PTTL", &key]).unwrap().parse::<i64>().unwrap();
    assert!((0..days(2)).contains(&left()), "{}", left());
    let mut longer = beat();
    longer.shares[0].window = Window(30 * 24 * 60 * 60);
    store.beat(longer).await.unwrap();
    assert!(left() > days(29), "{}", left());
    let log = LogKey::Numbers([1; 16]);
    store.extend(log, 0, vec![vec![1]]).await.unwrap();
    store.lease(up, node, 1, 1).await.unwrap();
    let keys = server.ask(&["KEYS", "*"]).unwrap();
    assert!(keys.lines().count() > 15, "{keys}");
    for key in keys.lines() {
        let left = server.ask(&["PTTL", key]).unwrap();
        assert!(left.parse::<i64>().unwrap() > 0, "{key}: {left}");
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_lost_in_time_and_comes_back() {
    let server = Redis::start().await.unwrap();
    let proxy = Proxy::start(server.address()).await.unwrap();
    let store = hasty(&format!("redis://{}", proxy.address()));
    until_it_answers(&store).await;
    let up = UpstreamKey([1; 16]);
    let direct = open(&server.url());
    direct.ready().await.unwrap();
    let now = direct.tell(up, vec![]).await.unwrap();
    // Held back, an ask is lost here and arrives there when nobody wants it any more.
    proxy.hold(true);
    let ask = Ask {
        id: story::id(1, 1),
        upstream: up,
        ledger: crate::state::Ledger::Query,
        windows: vec![],
        day_begins: None,
        gap: None,
        question: None,
        wanted_until: now,
    };
    let lost = store.ask(ask.clone()).await.unwrap_err();
    assert!(matches!(lost, Lost::Silent(_)), "{lost}");
    // From now on calls end at once.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(50) {
        let lost = store.rows(vec![up]).await.unwrap_err();
        assert!(matches!(lost, Lost::Silent(_)), "{lost}");
        tokio::task::yield_now().await;
    }
    proxy.hold(false);
    until_it_answers(&store).await;
    let answer = direct.ask(ask).await.unwrap();
    assert!(matches!(answer, Answer::Late { .. }), "{answer:?}");
    assert_eq!(direct.rows(vec![up]).await.unwrap()[0].starts, []);
    // Half-open, cut, refused: each time it comes back by itself.
    proxy.half_open(true);
    store.rows(vec![up]).await.unwrap_err();
    proxy.half_open(false);
    until_it_answers(&store).await;
    proxy.cut();
    until_it_answers(&store).await;
    proxy.refuse(true);
    proxy.cut();
    let patience = Instant::now() + PATIENCE;
    while store.rows(vec![up]).await.is_ok() {
        assert!(Instant::now() < patience);
        sleep(Duration::from_millis(5)).await;
    }
    proxy.refuse(false);
    until_it_answers(&store).await;
    // Said once more, nothing counts twice.
    let told = Told::Started {
        id: story::id(1, 9),
        ledger: crate::state::Ledger::Query,
        age: Duration::ZERO,
        spaced: false,
    };
    store.tell(up, vec![told]).await.unwrap();
    assert!(proxy.repeat().await.unwrap() > 0);
    assert_eq!(direct.rows(vec![up]).await.unwrap()[0].starts.len(), 1);
}

#[tokio::test]
async fn a_server_that_takes_connections_and_says_nothing_holds_nobody_up() {
    let server = Redis::start().await.unwrap();
    let proxy = Proxy::start(server.address()).await.unwrap();
    proxy.half_open(true);
    let store = hasty(&format!("redis://{}", proxy.address()));
    let lost = timeout(PATIENCE, store.ready()).await.unwrap().unwrap_err();
    assert!(lost.to_string().contains("but does not answer"), "{lost}");
    // Of a cluster, the next server that is named is asked.
    let servers = Redis::start_cluster().await.unwrap();
    proxy.point(servers[0].address());
    let hosts = [proxy.address(), servers[1].address()].map(|address| address.to_string());
    let store = hasty(&format!("redis://{}", hosts.join(",")));
    until_it_answers(&store).await;
}

/// Streams of thirty nodes, which lie on all servers of a cluster.
fn thirty() -> Vec<(Stream, Place)> {
    let streams = (100..130).map(|node| (Stream::Swarm(NodeId(node)), Place::START));
    streams.collect()
}

#[tokio::test]
async fn a_server_of_a_cluster_that_is_away_costs_its_own_streams_alone() {
    let servers = Redis::start_cluster().await.unwrap();
    let hosts = servers.iter().map(|server| server.address().to_string());
    for server in &servers {
        let set = ["CONFIG", "SET", "cluster-require-full-coverage", "no"];
        server.ask(&set).unwrap();
    }
    let store = hasty(&format!("redis://{}", hosts.collect::<Vec<_>>().join(",")));
    until_it_answers(&store).await;
    let all_are_read = async || {
        let patience = Instant::now() + PATIENCE;
        while store.read(thirty(), 9).await.unwrap().ends.len() < 30 {
            assert!(Instant::now() < patience);
            sleep(Duration::from_millis(10)).await;
        }
    };
    all_are_read().await;
    for (stream, _) in thirty() {
        let minute = Duration::from_secs(60);
        store.append(stream, vec![1], minute).await.unwrap();
    }
    let is_home = |server: &&Redis| {
        !server
            .ask(&["EXISTS", "{weir}:meta"])
            .unwrap()
            .contains("MOVED")
    };
    let away = servers.iter().find(|server| !is_home(server)).unwrap();
    away.freeze();
    let up = UpstreamKey([0; 16]);
    for _ in 0..20 {
        let read = store.read(thirty(), 9).await.unwrap();
        assert!(matches!(read.lost, Some(Lost::Part(_))), "{read:?}");
        assert!((1..30).contains(&read.ends.len()), "{read:?}");
        // Everything else goes on.
        store.rows(vec![up]).await.unwrap();
        sleep(Duration::from_millis(20)).await;
    }
    away.thaw();
    all_are_read().await;

    // A part that another server has now is found there, without losing the way home.
    let id = |server: &Redis| server.ask(&["CLUSTER", "MYID"]).unwrap();
    let home = servers.iter().find(is_home).unwrap();
    let mut streams = (1000..).map(|node| Stream::Swarm(NodeId(node)));
    let (stream, slot) = streams
        .find_map(|stream| {
            let key = stream_key(stream);
            let held = !away.ask(&["EXISTS", &key]).unwrap().contains("MOVED");
            held.then(|| (stream, link::slot(&key).to_string()))
        })
        .unwrap();
    let other = servers
        .iter()
        .find(|one| !is_home(one) && id(one) != id(away));
    for server in [other.unwrap(), away, home] {
        let set = ["CLUSTER", "SETSLOT", &slot, "NODE", &id(other.unwrap())];
        assert_eq!(server.ask(&set).unwrap(), "OK");
    }
    let patience = Instant::now() + PATIENCE;
    while let Err(lost) = store.append(stream, vec![1], PATIENCE).await {
        assert!(
            matches!(lost, Lost::Part(_)) && Instant::now() < patience,
            "{lost}"
        );
        store.rows(vec![up]).await.unwrap();
        sleep(Duration::from_millis(20)).await;
    }
}

/// How many commands the server has run so far, those of scripts included.
fn commands(server: &Redis) -> u64 {
    let told = server.ask(&["INFO", "commandstats"]).unwrap();
    let calls = told.lines().filter_map(|line| line.split_once("calls="));
    let calls = calls.filter_map(|(_, rest)| rest.split(',').next()?.parse::<u64>().ok());
    calls.sum()
}

/// How often the server has run a command.
fn calls(server: &Redis, command: &str) -> u64 {
    let told = server.ask(&["INFO", "commandstats"]).unwrap();
    let begins = format!("cmdstat_{command}:calls=");
    let mut calls = told.lines().filter_map(|line| line.strip_prefix(&begins));
    let calls = calls.next().and_then(|calls| calls.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

/// Redis looks for the last entry before the first one by going through all of them.
#[tokio::test]
async fn a_stream_in_which_nothing_is_old_is_not_looked_through() {
    let server = Redis::start().await.unwrap();
    let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
    let store = open(&server.url()).with_clock(clock.clone());
    store.ready().await.unwrap();
    let (stream, keep) = (Stream::Swarm(NodeId(1)), Duration::from_secs(10));
    let append = || store.append(stream, vec![1], keep);
    for _ in 0..20 {
        append().await.unwrap();
        clock.fetch_add(500, Ordering::SeqCst);
    }
    assert_eq!(
        [calls(&server, "xrevrange"), calls(&server, "xtrim")],
        [0; 2]
    );
    clock.fetch_add(2000, Ordering::SeqCst);
    append().await.unwrap();
    assert_eq!(
        [calls(&server, "xrevrange"), calls(&server, "xtrim")],
        [1; 2]
    );
    let ends = store.read(vec![(stream, Place::START)], 100).await.unwrap();
    // Those that are too old are gone, but for the newest of them.
    assert_eq!(ends.ends[0].entries.len(), 21 - 3);
}

#[tokio::test]
async fn streams_of_one_server_are_read_with_few_questions() {
    let server = Redis::start().await.unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    let keep = Duration::from_secs(60);
    let long = vec![7; 60 << 10];
    let streams: Vec<_> = (0..30)
        .flat_map(|node| [Stream::Swarm(NodeId(node)), Stream::Forwarded(NodeId(node))])
        .collect();
    for stream in &streams {
        for _ in 0..3 {
            store.append(*stream, long.clone(), keep).await.unwrap();
        }
    }
    let before = calls(&server, "evalsha");
    let all = |places: &[Place]| {
        streams
            .iter()
            .copied()
            .zip(places.iter().copied())
            .collect()
    };
    let mut places = vec![Place::START; streams.len()];
    let first = store.read(all(&places), 16).await.unwrap();
    let questions = streams.len().div_ceil(TOGETHER) as u64;
    assert_eq!(calls(&server, "evalsha"), before + questions);
    assert_eq!(first.ends.len(), streams.len());
    // The answer is bounded, and each stream goes on.
    let told: usize = first.ends.iter().map(|end| end.entries.len()).sum();
    assert!(told < 3 * streams.len(), "{told}");
    let mut told = vec![0; streams.len()];
    for end in first.ends {
        assert!(!end.entries.is_empty(), "{:?}", end.stream);
        let place = streams
            .iter()
            .position(|stream| *stream == end.stream)
            .unwrap();
        told[place] += end.entries.len();
        places[place] = end.entries.last().unwrap().0;
    }
    for _ in 0..2 {
        let read = store.read(all(&places), 16).await.unwrap();
        for (place, end) in read.ends.into_iter().enumerate() {
            assert_eq!(end.stream, streams[place]);
            told[place] += end.entries.len();
            if let Some((last, _)) = end.entries.last() {
                places[place] = *last;
            }
        }
    }
    assert_eq!(told, vec![3; streams.len()]);
    // Nothing is told of a stream of which all is known, but where it ends.
    let read = store.read(all(&places), 16).await.unwrap();
    let done = read.ends.iter().zip(&places);
    assert!(done.clone().all(|(end, place)| end.last == Some(*place)));
    assert!(done.clone().all(|(end, _)| end.entries.is_empty()));
}

#[tokio::test]
async fn what_an_ask_costs_does_not_grow_with_members_and_starts() {
    const MEMBERS: u64 = 100;
    let server = Redis::start().await.unwrap();
    let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
    let store = open(&server.url()).with_clock(clock.clone());
    store.ready().await.unwrap();
    let up = UpstreamKey([1; 16]);
    let ask = |number| Ask {
        id: story::id(1, number),
        upstream: up,
        ledger: crate::state::Ledger::Query,
        windows: (1..=16)
            .map(|hours| (Window(hours * 3600), 1_000_000))
            .collect(),
        day_begins: None,
        gap: Some(Duration::ZERO),
        question: None,
        wanted_until: StoreTime(u64::MAX >> 12),
    };
    for node in 1..=MEMBERS {
        let beat = Beat {
            node: NodeId(node),
            new_epoch: Epoch(5),
            ..Beat::default()
        };
        store.beat(beat).await.unwrap();
    }
    // Nobody has handed in yet: each of them is looked at once, for all windows together.
    clock.fetch_add(11_000, Ordering::SeqCst);
    let before = commands(&server);
    let answer = store.ask(ask(1)).await.unwrap();
    assert!(matches!(answer, Answer::Refused { .. }), "{answer:?}");
    let cost = commands(&server) - before;
    assert!(cost < 2 * MEMBERS + 100, "{cost} commands");
    for node in 1..=MEMBERS {
        let hand_in = HandIn {
            node: NodeId(node),
            epoch: Epoch(5),
            ..HandIn::default()
        };
        store.hand_in(hand_in).await.unwrap();
    }
    let beat = Beat {
        node: NodeId(1),
        ..Beat::default()
    };
    store.beat(beat).await.unwrap();
    for number in 10..200 {
        let answer = store.ask(ask(number)).await.unwrap();
        assert!(matches!(answer, Answer::Granted(_)), "{answer:?}");
    }
    let before = commands(&server);
    store.ask(ask(200)).await.unwrap();
    let cost = commands(&server) - before;
    assert!(cost < 100, "{cost} commands");
}

/// A server that greets as Redis does and answers every script with the next of these.
async fn impostor(replies: Vec<Vec<u8>>) -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let replies = Arc::new(parking_lot::Mutex::new(replies.into_iter()));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut guests = tokio::task::JoinSet::new();
        while let Ok((guest, _)) = listener.accept().await {
            let replies = replies.clone();
            guests.spawn(async move {
                use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
                let (from, mut to) = guest.into_split();
                let mut lines = tokio::io::BufReader::new(from).split(b'\n');
                while let Ok(Some(line)) = lines.next_segment().await {
                    let reply = match &*line {
                        b"INFO\r" => {
                            let about = "redis_version:7.0.0\r\nrun_id:x\r\nrole:master\r\n";
                            format!("${}\r\n{about}\r\n", about.len()).into_bytes()
                        }
                        b"CONFIG\r" => b"-ERR unknown command\r\n".to_vec(),
                        b"SCRIPT\r" => b"$1\r\nx\r\n".to_vec(),
                        b"EVALSHA\r" => match replies.lock().next() {
                            Some(reply) => reply,
                            None => b":1\r\n".to_vec(),
                        },
                        _ => continue,
                    };
                    if to.write_all(&reply).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, tasks)
}

/// Every call once; each must end, and with `Lost` unless the reply happened to make sense.
async fn call_everything(store: &RedisStore) -> Vec<Result<(), Lost>> {
    let (up, node, span) = (UpstreamKey([1; 16]), NodeId(1), Duration::from_secs(1));
    let question = Question {
        key: [1; 16],
        claim: span,
        fresh: span,
    };
    let ask = Ask {
        id: story::id(1, 1),
        upstream: up,
        ledger: crate::state::Ledger::Query,
        windows: vec![],
        day_begins: None,
        gap: None,
        question: None,
        wanted_until: StoreTime(0),
    };
    let log = LogKey::Numbers([1; 16]);
    let stream = Stream::Swarm(node);
    vec![
        store.beat(Beat::default()).await.map(drop),
        store.hand_in(HandIn::default()).await.map(drop),
        store.leave(Leave::default()).await.map(drop),
        store.ask(ask).await.map(drop),
        store.rows(vec![up]).await.map(drop),
        store
            .answer(question, story::id(1, 1), None, span)
            .await
            .map(drop),
        store.claim(vec![[1; 16]], node, span).await.map(drop),
        store.append(stream, vec![], span).await.map(drop),
        store.read(vec![(stream, Place::START)], 1).await.map(drop),
        store.put(Table::Keys, vec![], span).await.map(drop),
        store.changes(Table::Keys, Version::NONE).await.map(drop),
        store.extend(log, 0, vec![]).await.map(drop),
        store.lease(up, node, 1, 1).await.map(drop),
        store.tell(up, vec![]).await.map(drop),
    ]
}

#[tokio::test]
async fn replies_that_make_no_sense_are_lost_and_cost_nothing() {
    let garbage: &[&[u8]] = &[
        b"$-1\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b":-5\r\n",
        b"+OK\r\n",
        b"$3\r\n\xff\xfe\0\r\n",
        b"*1\r\n$-1\r\n",
        b"*3\r\n:1\r\n:2\r\n:3\r\n",
        b"*5\r\n:1\r\n$16\r\n000000000000000g\r\n*0\r\n*0\r\n*0\r\n",
        b"*5\r\n:9223372036854775807\r\n$16\r\n0000000000000001\r\n*1\r\n:7\r\n*0\r\n*0\r\n",
        b"*2\r\n$7\r\ngranted\r\n$2\r\nxx\r\n",
        b"*6\r\n$16\r\n0000000000000001\r\n:9\r\n:1\r\n:0\r\n:1\r\n*1\r\n$1\r\nk\r\n",
        b"*2\r\n:1\r\n*5\r\n*1\r\n$1\r\na\r\n*0\r\n*0\r\n*0\r\n*0\r\n",
        b"-WEIRNEWER many\r\n",
        b"-\r\n",
        b"- \r\n",
        b"*2\r\n:1\r\n-ERR inside\r\n",
        // From here on the connection ends.
        b"$99999999999\r\n",
        b"*99999999999\r\n",
        b"%1\r\n+a\r\n+b\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ];
    for reply in garbage {
        let (address, _tasks) = impostor(vec![reply.to_vec(); 40]).await;
        let store = hasty(&format!("redis://{address}"));
        let _ = store.ready().await;
        let answers = call_everything(&store).await;
        let lost = answers.iter().filter(|answer| answer.is_err()).count();
        assert!(
            lost >= 10,
            "{:?}: {answers:?}",
            String::from_utf8_lossy(reply)
        );
    }
}

#[tokio::test]
async fn what_means_nothing_in_a_row_is_left_out() {
    let server = Redis::start().await.unwrap();
    let store = open(&server.url());
    store.ready().await.unwrap();
    let up = UpstreamKey([1; 16]);
    let row = format!("{{weir}}:up:{}", hex(&up.0));
    let off = "000000000000000b";
    let fields = ["HSET", &row, "last", "soon", "throttled", "9999999999999"];
    server.ask(&fields).unwrap();
    server
        .ask(&[
            "HSET",
            &row,
            "throttled_by",
            "me",
            "off",
            off,
            "off_at",
            "7",
        ])
        .unwrap();
    server
        .ask(&["HSET", &row, "limit:q:3600", "100:", "limit:x:1", "5:"])
        .unwrap();
    server
        .ask(&[
            "HSET",
            &row,
            "limit:q:60",
            "many",
            "configured:me",
            "q:60:5",
        ])
        .unwrap();
    let starts = format!("{{weir}}:starts:{}:q", hex(&up.0));
    let now = store.tell(up, vec![]).await.unwrap().0.to_string();
    server.ask(&["ZADD", &starts, &now, "garbage"]).unwrap();
    let good = format!("{:032x}", 5);
    server.ask(&["ZADD", &starts, &now, &good]).unwrap();
    let rows = store.rows(vec![UpstreamKey([2; 16]), up]).await.unwrap();
    assert_eq!(rows[0], SharedRow::default());
    let row = &rows[1];
    assert_eq!((row.last_start, &row.throttled), (None, &None));
    let switched = row.switched.as_ref().unwrap();
    assert_eq!((switched.off, switched.node), (true, NodeId(11)));
    assert_eq!((row.limits.len(), row.limits[0].limit), (1, 100));
    assert_eq!((row.starts.len(), row.configured.len()), (1, 0));
    // When it started, who was told to wait, two limits, who configured what, and one start.
    assert_eq!(row.ignored, 6);
}

#[tokio::test]
async fn more_nodes_than_there_can_be_are_not_believed() {
    let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    let pulse = |members: usize, shares: usize, missing: usize| {
        let name = "n".repeat(5000);
        let mut reply = format!("*5\r\n:1\r\n{}*{members}\r\n", text(&format!("{:016x}", 1)));
        for node in 0..members {
            let (node, name) = (text(&format!("{node:016x}")), text(&name));
            reply += &format!("*6\r\n{node}{name}{name}{}:0\r\n:0\r\n", text("1.2.3.4"));
        }
        reply += &format!("*{shares}\r\n");
        for _ in 0..shares {
            let up = text(&"a".repeat(32));
            reply += &format!("*4\r\n{up}{}:60\r\n:1\r\n", text("q"));
        }
        reply += &format!("*{missing}\r\n");
        for node in 0..missing {
            reply += &text(&format!("{node:016x}"));
        }
        reply.into_bytes()
    };
    let most = MOST_MEMBERS;
    let replies = vec![
        pulse(most, 100, most * 3),
        pulse(most + 1, 0, 0),
        pulse(1, 50_000, 0),
    ];
    let (address, _tasks) = impostor(replies).await;
    let store = open(&format!("redis://{address}"));
    store.ready().await.unwrap();
    let believed = store.beat(Beat::default()).await.unwrap();
    assert_eq!(
        (believed.members.len(), believed.missing.len()),
        (most, most)
    );
    assert!(
        believed
            .members
            .iter()
            .all(|member| member.name.len() <= 500)
    );
    for _ in 0..2 {
        let lost = store.beat(Beat::default()).await.unwrap_err();
        assert!(lost.to_string().contains("makes no sense"), "{lost}");
    }
}

#[tokio::test]
async fn who_was_silent_for_too_long_takes_nobodys_place() {
    let server = Redis::start().await.unwrap();
    let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
    let store = open(&server.url()).with_clock(clock.clone());
    store.ready().await.unwrap();
    let beat = |node: usize| Beat {
        node: NodeId(node as u64),
        new_epoch: Epoch(5),
        ..Beat::default()
    };
    store.beat(beat(1)).await.unwrap();
    let mut fill = vec!["HSET".to_owned(), "{weir}:members".to_owned()];
    for node in 2..=MOST_MEMBERS {
        fill.extend([format!("{node:016x}"), "1800000000000".to_owned()]);
    }
    let fill: Vec<&str> = fill.iter().map(String::as_str).collect();
    server.ask(&fill).unwrap();
    let full = |lost: Lost| assert!(lost.to_string().contains("1000 nodes"), "{lost}");
    full(store.beat(beat(MOST_MEMBERS + 1)).await.unwrap_err());
    clock.fetch_add(86_400_000, Ordering::SeqCst);
    store.beat(beat(1)).await.unwrap();
    let pulse = store.beat(beat(MOST_MEMBERS + 1)).await.unwrap();
    assert_eq!(pulse.members.len(), 2);
}

#[tokio::test]
async fn a_table_without_an_end_is_not_read_for_ever() {
    let piece = |till: usize| {
        format!(
            "*6\r\n$16\r\n{:016x}\r\n:9\r\n:1\r\n:{till}\r\n:1\r\n*0\r\n",
            5
        )
        .into_bytes()
    };
    // Nothing in it, and always more of that.
    let replies = (0..2 * MOST_TABLE_PIECES)
        .map(|till| piece(till + 1))
        .collect();
    let (address, _tasks) = impostor(replies).await;
    let store = open(&format!("redis://{address}"));
    store.ready().await.unwrap();
    let lost = store.changes(Table::Keys, Version::NONE).await.unwrap_err();
    assert!(lost.to_string().contains("too long"), "{lost}");
}

#[tokio::test]
async fn random_replies_never_panic() {
    let mut random = fastrand::Rng::with_seed(18);
    fn value(random: &mut fastrand::Rng, depth: u8) -> Vec<u8> {
        let words = [
            "granted",
            "refused",
            "window",
            "0000000000000001",
            "7-0",
            "",
            "q",
            "+x",
        ];
        match random.u8(0..if depth == 0 { 3 } else { 6 }) {
            0 => format!(":{}\r\n", random.i64(-3..i64::MAX)).into_bytes(),
            1 => {
                let word = words[random.usize(..words.len())];
                format!("${}\r\n{word}\r\n", word.len()).into_bytes()
            }
            2 => format!(":{}\r\n", random.u8(0..3)).into_bytes(),
            _ => {
                let count = random.usize(0..8);
                let mut bytes = format!("*{count}\r\n").into_bytes();
                for _ in 0..count {
                    bytes.extend(value(random, depth - 1));
                }
                bytes
            }
        }
    }
    for _ in 0..20 {
        let replies = (0..40).map(|_| value(&mut random, 4)).collect();
        let (address, _tasks) = impostor(replies).await;
        let store = hasty(&format!("redis://{address}"));
        store.ready().await.unwrap();
        call_everything(&store).await;
    }
}

#[tokio::test]
async fn tls_is_spoken_and_a_wrong_certificate_refused() {
    let home = tempfile::TempDir::new().unwrap();
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (certificate, key) = (home.path().join("cert.pem"), home.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let port = port.to_string();
    let options = [
        ["--tls-port", &port],
        ["--tls-cert-file", certificate.to_str().unwrap()],
        ["--tls-key-file", key.to_str().unwrap()],
        ["--tls-ca-cert-file", certificate.to_str().unwrap()],
        ["--tls-auth-clients", "no"],
    ];
    let _server = Redis::start_with(options.as_flattened()).await.unwrap();
    let mut roots = tokio_rustls::rustls::RootCertStore::empty();
    let config = |roots| {
        let config = ClientConfig::builder().with_root_certificates(roots);
        Arc::new(config.with_no_client_auth())
    };
    let open = |tls| {
        let address = RedisAddress::parse(&format!("rediss://localhost:{port}")).unwrap();
        RedisStore::open(address, &Seal::new("secret"), tls, PATIENCE)
    };
    let lost = open(Some(config(roots.clone()))).ready().await.unwrap_err();
    assert!(lost.to_string().contains("no TLS with localhost"), "{lost}");
    let lost = open(None).ready().await.unwrap_err();
    assert!(lost.to_string().contains("there is no TLS here"), "{lost}");
    roots.add(made.cert.der().clone()).unwrap();
    let store = open(Some(config(roots)));
    store.ready().await.unwrap();
    store.beat(Beat::default()).await.unwrap();
}
