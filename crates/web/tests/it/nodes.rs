//! Several nodes on one store: who signed in at one is known at the others, also while the store is away.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_config::Secret;
use weir_engine::{KeptNode, Node, NodeOptions, Timeline};
use weir_store::shared::{MemoryStore, NodeId, Seal, SharedStore, StoreTime, Table, Version};
use weir_web::Config;

use crate::support::{Hand, KEY, Reply, Rig, Visitor, config, hand, rig, rig_at};

/// Nodes on one store.
pub(crate) struct Cluster {
    pub(crate) store: Arc<MemoryStore>,
    /// The first one's way to the store is the store's own handle.
    pub(crate) ways: Vec<Arc<MemoryStore>>,
    pub(crate) rigs: Vec<Rig>,
    pub(crate) clock: Arc<Hand>,
    beats: JoinSet<()>,
    stop: CancellationToken,
}

pub(crate) fn node_with(name: &str, id: u64, store: Arc<MemoryStore>, secret: &str) -> Node {
    Node::new(NodeOptions {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store,
        seal: Seal::new(secret),
        timeline: Timeline::starting_at(
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_700_000),
        ),
        kept: KeptNode {
            id: NodeId(id),
            ..KeptNode::default()
        },
        keeper: Box::new(|_: &KeptNode| {}),
    })
}

const NAMES: [&str; 3] = ["alder", "birch", "cedar"];

impl Cluster {
    pub(crate) async fn new(count: usize) -> Self {
        Self::with(count, &config()).await
    }

    async fn with(count: usize, config: &Config) -> Self {
        let store = MemoryStore::on_tokio_time(StoreTime(1_800_000_000_000));
        let mut cluster = Self {
            store: Arc::new(store),
            ways: Vec::new(),
            rigs: Vec::new(),
            clock: hand(),
            beats: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        for _ in 0..count {
            cluster.join(config.clone(), "a secret").await;
        }
        // Twice: what the second learns of the third is there after the second round.
        cluster.settle().await;
        cluster.settle().await;
        cluster
    }

    async fn join(&mut self, config: Config, secret: &str) {
        let way = Arc::new(self.store.handle());
        let number = self.rigs.len();
        let node = node_with(NAMES[number], number as u64 + 1, way.clone(), secret);
        self.beat(node.clone()).await;
        self.ways.push(way);
        self.rigs.push(rig_at(node, config, &self.clock));
    }

    pub(crate) async fn beat(&mut self, node: Node) {
        let stop = self.stop.clone();
        let beating = node.clone();
        self.beats.spawn(async move { beating.run(stop).await });
        together(&node).await;
    }

    /// All have told and heard everything.
    pub(crate) async fn settle(&self) {
        for rig in &self.rigs {
            rig.app.exchange().await.unwrap();
        }
    }

    /// The store is away, and all have noticed.
    pub(crate) async fn away(&self) {
        for (way, rig) in self.ways.iter().zip(&self.rigs) {
            way.cut(true);
            let _ = rig.app.exchange().await;
            assert!(rig.node.as_ref().unwrap().is_alone());
        }
    }

    pub(crate) async fn back(&self) {
        for (way, rig) in self.ways.iter().zip(&self.rigs) {
            way.cut(false);
            let node = rig.node.as_ref().unwrap();
            node.hurry();
            together(node).await;
        }
        self.settle().await;
        self.settle().await;
    }
}

pub(crate) async fn together(node: &Node) {
    let mut view = node.watch();
    while node.is_alone() {
        view.changed().await.unwrap();
    }
}

/// Beats until the store tells of so many nodes.
async fn heard_of(rig: &Rig, nodes: usize) {
    let node = rig.node.clone().unwrap();
    let mut view = node.watch();
    while node.view().members.len() != nodes {
        node.hurry();
        view.changed().await.unwrap();
    }
}

async fn with(rig: &Rig, method: Method, path: &str, key: &str, body: Option<&Value>) -> Reply {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let body = body.map(ToString::to_string);
    rig.visitor()
        .ask(method, path, &headers, body.as_deref())
        .await
}

async fn get(rig: &Rig, path: &str, key: &str) -> Reply {
    with(rig, Method::GET, path, key, None).await
}

async fn json_of(rig: &Rig, path: &str) -> Value {
    let reply = get(rig, path, KEY).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

/// Makes a key by the API: its ID and itself.
async fn make(rig: &Rig, name: &str, right: &str) -> (i64, String) {
    let body = json!({ "name": name, "right": right });
    let made = with(rig, Method::POST, "/api/v1/keys", KEY, Some(&body)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let key = made["key"].as_str().unwrap().to_owned();
    (made["id"].as_i64().unwrap(), key)
}

async fn revoke(rig: &Rig, id: i64) -> StatusCode {
    let path = format!("/api/v1/keys/{id}");
    with(rig, Method::DELETE, &path, KEY, None).await.status
}

/// The same browser at another node.
fn moved<'a>(visitor: &Visitor<'_>, to: &'a Rig) -> Visitor<'a> {
    let mut other = to.visitor();
    other.cookies = visitor.cookies.clone();
    other
}

pub(crate) async fn is_in(visitor: &Visitor<'_>, rig: &Rig) -> bool {
    moved(visitor, rig).get("/page").await.body == "page"
}

#[tokio::test]
async fn who_signs_in_at_one_node_is_in_at_all_and_may_send_forms_there() {
    let cluster = Cluster::new(3).await;
    let [a, b, c] = &cluster.rigs[..] else {
        panic!("three")
    };
    let mut browser = a.visitor();
    browser.sign_in(KEY).await;
    // At once: the others look before they refuse.
    assert!(is_in(&browser, b).await && is_in(&browser, c).await);
    // A form of one page is sent to another node.
    let token = moved(&browser, b).get("/more").await.token();
    let form = format!("csrf={token}&theme=dark");
    let sent = moved(&browser, c).post("/theme", &form).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.body);
    // The form by which somebody signs in may come from one node and go to another.
    let mut stranger = a.visitor();
    let token = stranger.get("/sign-in").await.token();
    let mut there = moved(&stranger, b);
    let form = format!("csrf={token}&key={KEY}");
    there.post("/sign-in", &form).await;
    assert!(there.signed_in());
    assert!(is_in(&there, c).await);
}

#[tokio::test]
async fn a_session_that_ends_at_one_node_ends_at_all_and_stays_ended() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let mut browser = a.visitor();
    browser.sign_in(KEY).await;
    assert!(is_in(&browser, b).await);
    let kept = browser.cookies.clone();
    let token = browser.get("/more").await.token();
    browser.post("/sign-out", &format!("csrf={token}")).await;
    cluster.settle().await;
    let mut thief = b.visitor();
    thief.cookies = kept.clone();
    assert!(!is_in(&thief, b).await, "ended elsewhere");
    // A store that lost everything gets it back, and the end with it.
    cluster.store.flush();
    cluster.away().await;
    cluster.back().await;
    assert!(!is_in(&thief, a).await && !is_in(&thief, b).await);
}

#[tokio::test]
async fn a_key_made_at_one_node_opens_all_and_one_revoked_at_another_opens_none() {
    let cluster = Cluster::new(3).await;
    let [a, b, c] = &cluster.rigs[..] else {
        panic!("three")
    };
    let (id, key) = make(a, "Sonarr", "search").await;
    for rig in [b, c] {
        assert_eq!(get(rig, "/feed", &key).await.body, "feed");
    }
    let listed = json_of(b, "/api/v1/keys").await;
    assert_eq!(listed["keys"][0]["id"], id, "the same number everywhere");
    assert!(listed["keys"][0]["right"] == "search");
    let mut browser = c.visitor();
    browser.sign_in(&key).await;
    assert_eq!(revoke(b, id).await, StatusCode::OK);
    cluster.settle().await;
    for rig in [a, b, c] {
        let refused = get(rig, "/feed", &key).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        assert!(!is_in(&browser, rig).await, "its sessions end");
    }
    assert!(json_of(a, "/api/v1/keys").await["keys"] == json!([]));
}

#[tokio::test]
async fn everything_holds_while_the_store_is_away_and_after_a_restart() {
    let mut cluster = Cluster::new(2).await;
    let (_, key) = make(&cluster.rigs[0], "Sonarr", "search").await;
    let mut browser = cluster.rigs[0].visitor();
    browser.sign_in(KEY).await;
    let token = browser.get("/more").await.token();
    cluster.settle().await;
    let cookies = browser.cookies.clone();
    cluster.away().await;
    for _ in 0..2 {
        let b = &cluster.rigs[1];
        let mut there = b.visitor();
        there.cookies = cookies.clone();
        assert!(is_in(&there, b).await);
        let sent = there
            .post("/theme", &format!("csrf={token}&theme=dark"))
            .await;
        assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.body);
        assert_eq!(get(b, "/feed", &key).await.body, "feed");
        // The second time after a restart, with the store still away.
        let rig = cluster.rigs.remove(1);
        let node = node_with("birch", 2, cluster.ways[1].clone(), "a secret");
        cluster.rigs.push(rig.restarted_at(Some(node), config()));
    }
}

#[tokio::test]
async fn what_changes_while_the_store_is_away_is_told_when_it_is_back() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let (old, old_key) = make(a, "Old", "search").await;
    cluster.settle().await;
    cluster.away().await;
    let (_, new_key) = make(a, "New", "search").await;
    assert_eq!(revoke(b, old).await, StatusCode::OK);
    // Used meanwhile where nobody knows that it was revoked.
    assert_eq!(get(a, "/feed", &old_key).await.status, StatusCode::OK);
    let unknown = get(b, "/feed", &new_key).await.status;
    assert_eq!(unknown, StatusCode::UNAUTHORIZED);
    let rows = json_of(b, "/api/v1/nodes").await;
    assert!(rows["rows"]["untold"].as_u64() > Some(0));
    cluster.back().await;
    for rig in [a, b] {
        assert_eq!(get(rig, "/feed", &new_key).await.status, StatusCode::OK);
        let gone = get(rig, "/feed", &old_key).await.status;
        assert_eq!(gone, StatusCode::UNAUTHORIZED, "revoked is revoked");
    }
    // That they were used is told too.
    cluster.settle().await;
    for rig in [a, b] {
        let nodes = json_of(rig, "/api/v1/nodes").await;
        assert!(nodes["rows"]["untold"].as_u64() <= Some(1), "{nodes}");
    }
}

#[tokio::test]
async fn a_store_with_older_data_or_none_takes_nothing_back() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let (id, key) = make(a, "Sonarr", "search").await;
    cluster.settle().await;
    let before = cluster.store.snapshot();
    assert_eq!(revoke(b, id).await, StatusCode::OK);
    let (_, later) = make(a, "Radarr", "search").await;
    cluster.settle().await;
    for empty in [false, true] {
        match empty {
            true => cluster.store.restart_empty(),
            false => cluster.store.restore(&before),
        }
        cluster.away().await;
        cluster.back().await;
        for rig in [a, b] {
            let gone = get(rig, "/feed", &key).await.status;
            assert_eq!(gone, StatusCode::UNAUTHORIZED);
            assert_eq!(get(rig, "/feed", &later).await.status, StatusCode::OK);
        }
    }
    // One that comes now hears all of it.
    let mut cluster = cluster;
    cluster.join(config(), "a secret").await;
    cluster.settle().await;
    let new = &cluster.rigs[2];
    let gone = get(new, "/feed", &key).await.status;
    assert_eq!(gone, StatusCode::UNAUTHORIZED);
    assert_eq!(get(new, "/feed", &later).await.status, StatusCode::OK);
}

#[tokio::test]
async fn each_nodes_first_key_opens_all_nodes_until_it_is_another() {
    let mut cluster = Cluster::new(1).await;
    let own = |key: &str| Config {
        api_key: Some(Secret::new(key)),
        ..Config::default()
    };
    cluster.join(own("the-key-of-birch"), "a secret").await;
    // Made by Weir.
    cluster.join(Config::default(), "a secret").await;
    cluster.settle().await;
    cluster.settle().await;
    let [a, b, c] = &cluster.rigs[..] else {
        panic!("three")
    };
    let made = c.app.key_was_made().unwrap().expose().to_owned();
    for rig in [a, b, c] {
        for key in [KEY, "the-key-of-birch", &made] {
            let reply = get(rig, "/api/v1/status", key).await;
            assert_eq!(reply.status, StatusCode::OK, "{key}");
        }
    }
    heard_of(a, 3).await;
    // The page says whose keys there are, and no hash goes into the store unsealed.
    let page = {
        let mut browser = a.visitor();
        browser.sign_in("the-key-of-birch").await;
        browser.get("/settings/access").await.body
    };
    assert!(page.contains("The first key of <bdi>alder</bdi>, this node"));
    assert!(page.contains("The first key of <bdi>cedar</bdi>"), "{page}");
    assert!(
        !page.contains("nodes/0000000000000003/revoke"),
        "it is here"
    );
    let print = blake3_of("the-key-of-birch");
    let table = cluster.store.changes(Table::Keys, Version::NONE).await;
    for (_, body) in table.unwrap().entries {
        let body = body.unwrap_or_default();
        let shows = |part: &[u8]| body.windows(part.len()).any(|some| some == part);
        assert!(!shows(&print[..8]) && !shows(b"birch"));
    }
    // A key that somebody chose may be guessed, so wrong ones are counted for it at every node.
    for _ in 0..6 {
        get(a, "/feed", "wrong").await;
    }
    let chosen = get(a, "/feed", "the-key-of-birch").await;
    assert_eq!(chosen.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(get(a, "/feed", &made).await.status, StatusCode::OK);
    // Another first key takes its place everywhere.
    let staged = b.app.stage(own("another-key-of-birch")).unwrap();
    staged();
    cluster.settle().await;
    let c = &cluster.rigs[2];
    let old = get(c, "/feed", "the-key-of-birch").await.status;
    assert_eq!(old, StatusCode::UNAUTHORIZED);
    let new = get(c, "/feed", "another-key-of-birch").await.status;
    assert_eq!(new, StatusCode::OK);
}

fn blake3_of(key: &str) -> [u8; 32] {
    *blake3::hash(key.as_bytes()).as_bytes()
}

#[tokio::test]
async fn the_first_key_of_a_node_that_is_gone_can_be_revoked() {
    let mut cluster = Cluster::new(1).await;
    let own = Config {
        api_key: Some(Secret::new("the-key-of-birch")),
        ..Config::default()
    };
    let way = Arc::new(cluster.store.handle());
    let gone = node_with("birch", 2, way, "a secret");
    let stop = CancellationToken::new();
    let (beating, ends) = (gone.clone(), stop.clone());
    cluster.beats.spawn(async move { beating.run(ends).await });
    together(&gone).await;
    let birch = rig_at(gone, own.clone(), &cluster.clock);
    birch.app.exchange().await.unwrap();
    cluster.settle().await;
    let mut browser = birch.visitor();
    browser.sign_in("the-key-of-birch").await;
    let a = &cluster.rigs[0];
    assert!(is_in(&browser, a).await);
    // It leaves, which the store tells with the next beat.
    stop.cancel();
    heard_of(a, 1).await;
    let mut operator = a.visitor();
    operator.sign_in(KEY).await;
    let page = operator.get("/settings/access").await;
    let path = "/settings/access/nodes/0000000000000002/revoke";
    assert!(page.body.contains(path), "{}", page.body);
    let done = operator.post(path, &format!("csrf={}", page.token())).await;
    assert_eq!(
        done.header("location"),
        "/settings/access?did=revoked&ended=1"
    );
    assert!(!is_in(&browser, a).await);
    let refused = get(a, "/feed", "the-key-of-birch").await.status;
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
    // Whoever starts that node again means it.
    let node = node_with("birch", 2, Arc::new(cluster.store.handle()), "a secret");
    cluster.beat(node.clone()).await;
    let birch = birch.restarted_at(Some(node), own);
    birch.app.exchange().await.unwrap();
    cluster.settle().await;
    let a = &cluster.rigs[0];
    let again = get(a, "/feed", "the-key-of-birch").await.status;
    assert_eq!(again, StatusCode::OK);
}

#[tokio::test]
async fn rows_that_mean_nothing_are_ignored_and_counted() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let (_, key) = make(a, "Sonarr", "search").await;
    cluster.settle().await;
    let ignored = async |rig: &Rig| {
        let nodes = json_of(rig, "/api/v1/nodes").await;
        nodes["rows"]["ignored"].as_u64().unwrap()
    };
    assert_eq!(ignored(a).await, 0);
    let other = Seal::new("another secret");
    let named = |kind: u8, print: [u8; 32]| [&[kind][..], &print].concat();
    let forged = blake3_of("forged");
    let row = br#"{"name":"x","right":"everything","made":1,"used":0}"#;
    // A real row of another place.
    let table = cluster.store.changes(Table::Keys, Version::NONE).await;
    let entries = table.unwrap().entries;
    let real = entries.into_iter().find(|(id, _)| id[0] == b'k').unwrap();
    let rows = vec![
        (named(b'k', forged), Some(row.to_vec())),
        (named(b'k', [1; 32]), Some(other.seal(row))),
        (named(b'k', forged), real.1.clone()),
        (b"k".to_vec(), Some(Vec::new())),
        (b"f\0\0".to_vec(), Some(vec![0xff; 300])),
        (b"s".to_vec(), Some(vec![b'{'; 100_000])),
        // What is taken out by somebody else is not over.
        (real.0, None),
    ];
    let keep = Duration::from_secs(1000);
    cluster.store.put(Table::Keys, rows, keep).await.unwrap();
    let sealed = Seal::new("a secret").seal(b"sessions 32 not bound to its place{}");
    let rows = vec![
        (vec![3; 32], Some(sealed)),
        (vec![4; 32], Some(vec![1, 2, 3])),
    ];
    cluster
        .store
        .put(Table::Sessions, rows, keep)
        .await
        .unwrap();
    cluster.settle().await;
    assert_eq!(ignored(b).await, 7);
    let text = get(b, "/metrics", KEY).await.body;
    assert!(
        text.contains("weir_store_rows_ignored_total{table=\"keys\"} 5"),
        "{text}"
    );
    assert!(text.contains("weir_store_rows_ignored_total{table=\"sessions\"} 2"));
    let refused = get(b, "/feed", "forged").await.status;
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
    assert_eq!(get(b, "/feed", &key).await.status, StatusCode::OK);
    assert_eq!(
        json_of(b, "/api/v1/keys").await["keys"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn nodes_with_different_secrets_hear_nothing_of_each_other() {
    let mut cluster = Cluster::new(1).await;
    let own = Config {
        api_key: Some(Secret::new("the-key-of-birch")),
        ..Config::default()
    };
    cluster.join(own, "another secret").await;
    let (_, key) = make(&cluster.rigs[0], "Sonarr", "search").await;
    cluster.settle().await;
    cluster.settle().await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    for key in [KEY, &key] {
        assert_eq!(get(b, "/feed", key).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(
        get(a, "/feed", "the-key-of-birch").await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(get(a, "/feed", &key).await.status, StatusCode::OK);
}

#[tokio::test]
async fn strangers_with_unknown_keys_cost_the_store_little_and_wait_for_nobody() {
    let cluster = Cluster::new(2).await;
    let b = &cluster.rigs[1];
    let calls = || b.node.as_ref().unwrap().figures().calls();
    let before = calls();
    let began = tokio::time::Instant::now();
    let tries = (0..40).map(|number| {
        let address = format!("203.0.113.{number}");
        async move {
            let mut guest = b.visitor_from(&address);
            let cookie = ("weir_session".to_owned(), format!("made-up-{number}"));
            guest.cookies.push(cookie);
            guest.get("/page").await.status
        }
    });
    let all = futures_util::future::join_all(tries).await;
    assert!(all.iter().all(|status| *status == StatusCode::SEE_OTHER));
    // Each look is two calls; they have a distance, and beats go on.
    let looks = began.elapsed().as_millis() as u64 / 50 + 2;
    assert!(
        calls() - before <= 2 * looks + 4,
        "{} in {looks}",
        calls() - before
    );
    // A store that does not answer holds nobody up for long.
    cluster.ways[1].fail(weir_store::shared::Fault::Slow(Duration::from_secs(60)));
    let mut guest = b.visitor();
    guest
        .cookies
        .push(("weir_session".to_owned(), "made-up".to_owned()));
    let reply = tokio::time::timeout(Duration::from_secs(20), guest.get("/page"));
    assert_eq!(reply.await.unwrap().status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn pages_api_and_metrics_name_the_nodes_and_say_when_one_is_alone() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    heard_of(a, 2).await;
    let mut browser = a.visitor();
    browser.sign_in(KEY).await;
    let page = browser.get("/").await.body;
    assert!(page.contains("Both nodes are here."), "{page}");
    assert!(page.contains("<bdi>alder</bdi> <span class=\"chip open\">This one</span>"));
    assert!(page.contains("<bdi>birch</bdi>") && !page.contains("cedar"));
    let all = json_of(a, "/api/v1/nodes").await;
    assert_eq!(all["shared"], true);
    assert_eq!(all["standing"]["state"], "together");
    assert_eq!(all["nodes"][1]["name"], "birch");
    assert_eq!(all["nodes"][1]["state"], "here");
    assert_eq!(all["nodes"][0]["this"], true);
    let status = json_of(a, "/api/v1/status").await;
    assert_eq!(status["nodes"]["node"], "alder");
    assert_eq!(status["nodes"]["here"], 2);
    let text = get(a, "/metrics", KEY).await.body;
    for line in [
        "weir_store_up 1",
        "weir_nodes{state=\"here\"} 2",
        "weir_nodes{state=\"silent\"} 0",
        "weir_node_lag_seconds{node=\"birch\"} 0",
        "weir_store_seconds_bucket{le=\"+Inf\"}",
        "weir_store_calls_lost_total 0",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let why = "the store refuses writes: it is full. Give it more memory.";
    cluster.ways[0].fail(weir_store::shared::Fault::Refused(why));
    // Beats that are answered would end it.
    cluster.ways[0].cut(true);
    let _ = a.app.exchange().await;
    cluster.away().await;
    let page = browser.get("/").await.body;
    let sentence = "This node has been alone since ";
    assert!(page.contains(sentence), "{page}");
    let means = "Of each limit, this node uses only its own share until the store is back.";
    assert_eq!(page.matches(means).count(), 1, "{page}");
    assert!(page.contains("Not known"), "{page}");
    let settings = browser.get("/settings/access").await.body;
    assert!(settings.contains(sentence));
    assert!(!browser.get("/more").await.body.contains(sentence));
    let status = json_of(a, "/api/v1/status").await;
    assert_eq!(status["nodes"]["state"], "alone");
    let told = status["sentence"].as_str().unwrap();
    assert!(told.contains(sentence) && told.contains(means), "{told}");
    assert_eq!(status["ready"], true, "it serves");
    let all = json_of(a, "/api/v1/nodes").await;
    assert_eq!(all["nodes"][1]["state"], "unknown");
    let text = get(a, "/metrics", KEY).await.body;
    assert!(text.contains("weir_store_up 0"));
    cluster.back().await;
    assert!(!browser.get("/").await.body.contains(sentence));
    assert_eq!(
        json_of(b, "/api/v1/nodes").await["standing"]["state"],
        "together"
    );
}

#[tokio::test]
async fn a_store_that_refuses_is_named_with_what_to_do() {
    let cluster = Cluster::new(1).await;
    let a = &cluster.rigs[0];
    let why = "maxmemory-policy is allkeys-lru, which may drop rows: set it to noeviction";
    // As long as the test lasts.
    for _ in 0..1000 {
        cluster.ways[0].fail(weir_store::shared::Fault::Refused(why));
    }
    let _ = a.app.exchange().await;
    let mut browser = a.visitor();
    browser.sign_in(KEY).await;
    for path in ["/", "/settings/access"] {
        let page = browser.get(path).await.body;
        assert!(
            page.contains(&format!(" – {why}. Clients are answered as before.")),
            "{path}: {page}"
        );
    }
    let nodes = json_of(a, "/api/v1/nodes").await;
    assert_eq!(nodes["standing"]["why"], format!("{why}."));
}

#[tokio::test]
async fn a_clock_of_the_store_that_was_set_back_is_told_with_what_to_do() {
    let cluster = Cluster::new(2).await;
    let a = &cluster.rigs[0];
    heard_of(a, 2).await;
    let mut browser = a.visitor();
    browser.sign_in(KEY).await;
    let what = "The store's clock was set back.";
    let escaped = |text: &str| text.replace('\'', "&#39;");
    assert!(!browser.get("/").await.body.contains(&escaped(what)));
    let now = cluster.store.time();
    let hour = Duration::from_secs(60 * 60);
    cluster.store.follow_tokio_time(now.before(hour));
    let pass = async |span| {
        tokio::time::pause();
        tokio::time::sleep(span).await;
        tokio::time::resume();
    };
    pass(Duration::from_secs(8)).await;
    let means = "Shared limits and waits do not end until it reaches the time that it showed before. \
                 If the clock is wrong now, set it right (with NTP, for example); otherwise wait.";
    let sentence = format!("{what} {means}");
    let warned = format!("<p class=\"notice warn\">{}</p>", escaped(&sentence));
    let page = browser.get("/").await.body;
    assert_eq!(page.matches(&warned).count(), 1, "{page}");
    assert_eq!(page.matches(means).count(), 1, "{page}");
    let (_, opening) = page.split_once("<h1").unwrap();
    let (opening, _) = opening.split_once("</h1>").unwrap();
    assert!(opening.contains(&escaped(what)), "{opening}");
    let settings = browser.get("/settings/access").await.body;
    assert!(settings.contains(&escaped(&sentence)), "{settings}");
    assert!(!browser.get("/more").await.body.contains(means));
    let standing = json_of(a, "/api/v1/nodes").await["standing"].clone();
    assert_eq!(standing["state"], "together");
    assert_eq!(standing["alone_since"], Value::Null);
    assert_eq!(standing["why"], sentence);
    assert_eq!(standing["sentence"], sentence);
    let status = json_of(a, "/api/v1/status").await;
    let told = status["sentence"].as_str().unwrap();
    assert!(told.ends_with(&sentence), "{told}");
    assert_eq!(status["ready"], true, "it serves");
    let metrics = get(a, "/metrics", KEY).await.body;
    for line in ["weir_store_clock_set_back 1", "weir_store_up 1"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    cluster
        .store
        .follow_tokio_time(now.after(Duration::from_secs(5)));
    pass(Duration::from_secs(8)).await;
    assert!(!browser.get("/").await.body.contains(&escaped(what)));
    assert_eq!(
        json_of(a, "/api/v1/nodes").await["standing"]["why"],
        Value::Null
    );
    let metrics = get(a, "/metrics", KEY).await.body;
    assert!(metrics.contains("weir_store_clock_set_back 0"), "{metrics}");
}

#[tokio::test]
async fn one_node_alone_has_none_of_this() {
    let rig = rig();
    let mut browser = rig.visitor();
    browser.sign_in(KEY).await;
    assert!(!browser.get("/").await.body.contains("id=\"nodes\""));
    let nodes = json_of(&rig, "/api/v1/nodes").await;
    assert_eq!(
        (&nodes["shared"], &nodes["nodes"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(json_of(&rig, "/api/v1/status").await["nodes"], Value::Null);
    let text = get(&rig, "/metrics", KEY).await.body;
    for name in ["weir_store", "weir_nodes", "weir_node_"] {
        assert!(!text.contains(name), "{name}");
    }
}
