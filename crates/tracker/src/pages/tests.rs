//! Pages and figures as the web part serves them, without a socket.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use weir_config::Secret;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_store::sqlite::File;
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::{App, Front as _, Requests, System};

use crate::Front;
use crate::config::{Config, CountBy};
use crate::forwarding::overload::Overload;
use crate::last_words::LastWord;
use crate::ledger::sheet::News;
use crate::policy::policy;
use crate::swarm::{Doing, Minute, Mirrored, PeerEndpoint, SwarmAnnounce, Want};
use crate::tracker::Carries;

struct Rig {
    front: Front,
    router: Router,
    state: File,
    _directory: tempfile::TempDir,
}

const KEY: &str = "the-right-key";

impl Rig {
    async fn new() -> Self {
        Self::with(Config::default()).await
    }

    async fn with(config: Config) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let config = Config {
            http_listen: Some(loopback),
            udp_listen: Some(loopback),
            ..config
        };
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
        let options = Options::new(timeline, Weather::default());
        let policy = policy(weir_testkit::policy::general(), &config);
        let engine = Engine::new("tracker", policy, options);
        let outward = Outward::without_rows(engine, Arc::new(weir_net::System::new()));
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let swarms = directory.path().join("swarm");
        let front = Front::start(&config, &web, &swarms, outward).unwrap();
        let requests = Requests::default();
        let contribution = front.contribution(&requests).unwrap();
        let state = File::open(directory.path().join("state.db")).unwrap();
        let app = App::open(web, &state, Arc::new(System), requests, vec![contribution]).unwrap();
        Self {
            front,
            router: app.router(),
            state,
            _directory: directory,
        }
    }

    fn announce(&self, hash: [u8; 20], at: &str, seeder: bool) {
        let at: SocketAddr = at.parse().unwrap();
        let arrival = SwarmAnnounce {
            hash,
            at: PeerEndpoint::new(at.ip(), at.port()),
            also: None,
            doing: Doing::TakesPart {
                seeder,
                completed: seeder,
                paused: false,
            },
            want: Want::V4(0),
        };
        let out = [&mut Vec::new(), &mut Vec::new()];
        let swarms = &self.front.answering.tracker.swarms;
        let mut random = fastrand::Rng::with_seed(1);
        swarms
            .announce(&arrival, (Minute::START, |_| true), &mut random, out)
            .unwrap();
    }

    /// Peers that another tracker named.
    fn others(&self, hash: [u8; 20], peers: &[String]) {
        let at = |peer: &String| peer.parse::<SocketAddr>().unwrap();
        let peers = peers.iter().map(at);
        let peers: Vec<_> = peers
            .map(|at| PeerEndpoint::new(at.ip(), at.port()))
            .collect();
        let tracker = &self.front.answering.tracker;
        let ledger = tracker.forwarding.ledger();
        let news = News {
            due: 3600,
            expires: crate::clock::minute(3600).short(),
            peers: &peers,
            tracker_id: None,
            most: usize::MAX,
        };
        assert!(ledger.begin(&hash, None));
        ledger.absorb(&hash, 0, &news);
        ledger.end(&hash, None);
        let mirrored = Mirrored {
            pending: false,
            peers: true,
            due: Minute::START.plus(60),
        };
        tracker.swarms.mirror(&hash, mirrored, Minute::START);
    }

    /// Seeders and leechers, as a client is told that announces and then scrapes.
    fn told(&self, hash: [u8; 20], at: &str) -> [(u32, u32); 2] {
        let at: SocketAddr = at.parse().unwrap();
        let port = at.port().try_into().unwrap();
        let hash = InfoHash(hash);
        let announce = Announce {
            left: 1,
            ..Announce::new(hash, PeerId([1; 20]), port)
        };
        let tracker = &self.front.answering.tracker;
        let told = tracker.announce(
            &tracker.terms(),
            &announce,
            at.ip(),
            Carries::Both,
            (
                self.front.answering.clock.now(),
                &mut fastrand::Rng::with_seed(1),
            ),
            [&mut Vec::new(), &mut Vec::new()],
        );
        let counts = told.unwrap().counts;
        let scraped = tracker.scrape(&tracker.terms(), hash);
        [
            (counts.seeders, counts.leechers),
            (scraped.complete, scraped.incomplete),
        ]
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        use tower::ServiceExt;
        let mut request = Request::builder()
            .uri(path)
            .header("x-api-key", KEY)
            .header("host", "weir:7070")
            .body(Body::empty())
            .unwrap();
        let peer: SocketAddr = "198.51.100.7:4000".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let location = parts.headers.get("location");
        let text = match location {
            Some(location) => location.to_str().unwrap().to_owned(),
            None => String::from_utf8(body.into()).unwrap(),
        };
        (parts.status, text)
    }

    async fn page(&self, path: &str) -> String {
        let (status, text) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    async fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.page(path).await).unwrap()
    }

    async fn end(self) {
        self.front.close();
        self.state.close();
    }
}

fn hash(number: u8) -> [u8; 20] {
    [number; 20]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_tracker_says_where_to_announce() {
    let rig = Rig::new().await;
    let page = rig.page("/swarms").await;
    for (protocol, address) in rig.front.listening() {
        let url = format!("value=\"{protocol}://{address}/announce\"");
        assert!(page.contains(&url), "{url} in {page}");
    }
    for key in ["tracker.http_listen", "tracker.udp_listen"] {
        let told = format!(
            "works only on the machine that runs Weir. To reach it from others, set <code>{key}</code>"
        );
        assert!(page.contains(&told), "{told} in {page}");
    }
    let body = rig.json("/api/v1/swarms").await;
    assert_eq!(body["totals"]["swarms"], 0);
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn swarms_stand_largest_first_and_pages_lead_through_them() {
    let rig = Rig::new().await;
    for number in 0..120u8 {
        for port in 1..=u16::from(number) + 1 {
            rig.announce(hash(number), &format!("10.0.0.{number}:{port}"), false);
        }
    }
    let page = rig.page("/swarms").await;
    assert!(page.contains("1–50 of 120, largest first"), "{page}");
    assert!(page.contains("120 swarms with 7,260 peers here: 0 seeders and 7,260 leechers."));
    let (_, rows) = page.split_once("<tbody>").unwrap();
    let rows = rows.split("</tbody>").next().unwrap();
    assert_eq!(rows.matches("<code>").count(), 50);
    for (protocol, address) in rig.front.listening() {
        let url = format!("value=\"{protocol}://{address}/announce\"");
        assert!(page.contains(&url), "{url} in {page}");
    }
    let first = page.find(&"77".repeat(20)).unwrap();
    assert!(first < page.find(&"76".repeat(20)).unwrap());
    assert!(page.contains("<span>Previous</span>"));
    let (_, rest) = page.split_once("rel=\"next\"").unwrap();
    assert!(rest.contains("Next"));
    let next = format!("/swarms?after=71-{}", "46".repeat(20));
    assert!(page.contains(&format!("href=\"{next}\"")), "{page}");
    let page = rig.page(&next).await;
    assert!(page.contains("51–100 of 120"), "{page}");

    let mut seen = Vec::new();
    let mut path = "/api/v1/swarms".to_owned();
    loop {
        let body = rig.json(&path).await;
        let swarms = body["swarms"].as_array().unwrap();
        seen.extend(swarms.iter().map(|swarm| swarm["peers"].as_u64().unwrap()));
        match body["after"].as_str() {
            Some(after) => path = format!("/api/v1/swarms?after={after}"),
            None => break,
        }
    }
    assert_eq!(seen, (1..=120).rev().collect::<Vec<u64>>());
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_is_found_by_all_or_some_of_its_digits() {
    let rig = Rig::new().await;
    rig.announce(hash(0x4b), "10.0.0.1:1", true);
    rig.announce(hash(0x4c), "10.0.0.1:1", true);
    let whole = "4b".repeat(20);
    let (status, to) = rig.get(&format!("/swarms?q={whole}")).await;
    assert_eq!(
        (status, to),
        (StatusCode::SEE_OTHER, format!("/swarms/{whole}"))
    );
    let page = rig.page("/swarms?q=4B4").await;
    assert!(page.contains("1–1 of 1") && page.contains(&whole), "{page}");
    let page = rig.page("/swarms?q=5").await;
    assert!(page.contains("No hash here begins with 5."), "{page}");
    let page = rig.page(&format!("/swarms?q={}", "5".repeat(40))).await;
    assert!(page.contains("Nobody has announced this hash here."));
    let (status, page) = rig.get("/swarms?q=%3Cscript%3E").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("has only the digits 0 to 9") && !page.contains("<script>"));
    let (status, body) = rig
        .get(&format!("/api/v1/swarms?q={}", "5".repeat(41)))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(body.contains("A hash is 40 hex digits; this has 41."));
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_swarm_shows_its_peers() {
    let rig = Rig::new().await;
    rig.announce(hash(1), "10.0.0.1:6881", true);
    rig.announce(hash(1), "10.0.0.1:6882", false);
    rig.announce(hash(1), "[2001:db8::1]:6881", false);
    let path = format!("/swarms/{}", "01".repeat(20));
    let page = rig.page(&path).await;
    for text in [
        "3 peers are here.",
        "10.0.0.1:6881",
        "[2001:db8::1]:6881",
        "everything (seeder)",
        "part of it (leecher)",
        "under 1 min ago",
        "01010101… · Swarms · Weir",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let body = rig.json(&format!("/api/v1{path}")).await;
    assert_eq!(body["peer_list"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&body["peers_v4"], &body["peers_v6"]),
        (&2.into(), &1.into())
    );
    assert_eq!(body["completed"], 1);
    let (status, page) = rig.get(&format!("/swarms/{}", "02".repeat(20))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(page.contains("Nobody has announced this hash here."));
    let (status, page) = rig.get("/swarms/0101").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(page.contains("A hash is 40 hex digits; this has 4."));
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_what_clients_are_told() {
    for (count_by, expected) in [
        // An address of a forwarder twice, and one where a peer of ours is.
        (CountBy::Ip, [(1, 1), (3, 1), (31, 40)]),
        (CountBy::Endpoint, [(2, 1), (6, 1), (31, 40)]),
    ] {
        let config = Config {
            count_by,
            ..Config::default()
        };
        let rig = Rig::with(config).await;
        for swarm in [1, 2] {
            rig.announce(hash(swarm), "10.0.0.1:1", true);
            rig.announce(hash(swarm), "10.0.0.1:2", true);
            rig.announce(hash(swarm), "10.0.0.2:1", false);
        }
        let some = [
            "198.51.100.7:1",
            "198.51.100.7:2",
            "10.0.0.2:9",
            "[2606::7]:1",
        ];
        rig.others(hash(2), &some.map(str::to_owned));
        // More than 64 together: all of them by endpoint.
        for port in 1..=40 {
            rig.announce(hash(3), &format!("10.0.0.2:{port}"), false);
        }
        rig.announce(hash(3), "10.0.0.3:1", true);
        let many = (1..=30).map(|port| format!("198.51.100.7:{port}"));
        rig.others(hash(3), &many.collect::<Vec<_>>());
        for (swarm, expected) in (1..).zip(expected) {
            let told = rig.told(hash(swarm), "10.0.0.2:1");
            assert_eq!(told, [expected; 2], "{swarm} {count_by:?}");
            let path = format!("/swarms/{}", InfoHash(hash(swarm)));
            let one = rig.json(&format!("/api/v1{path}")).await;
            let all = rig.json("/api/v1/swarms").await;
            let mut all = all["swarms"].as_array().unwrap().iter();
            let row = all.find(|row| row["info_hash"] == one["info_hash"]);
            for shown in [&one, row.unwrap()] {
                let number = |field: &str| shown[field].as_u64().unwrap() as u32;
                let shown = (number("seeders"), number("leechers"));
                assert_eq!(shown, expected, "{swarm} {count_by:?}");
            }
            let page = rig.page(&path).await;
            let figure = |label, value| format!("<dt>{label}</dt><dd>{value}</dd>");
            assert!(page.contains(&figure("Seeders", expected.0)), "{page}");
            assert!(page.contains(&figure("Leechers", expected.1)), "{page}");
            let list = rig.page("/swarms").await;
            let (_, row) = list.split_once(&format!("href=\"{path}\"")).unwrap();
            let (row, _) = row.split_once("</tr>").unwrap();
            // Here and elsewhere are, together, what an announce and a scrape are told.
            let seeders = cell(row, "Seeders");
            let (here, elsewhere) = seeders.split_once(" / ").unwrap();
            let [here, elsewhere] = [here, elsewhere].map(|text| text.parse::<u32>().unwrap());
            assert_eq!(here + elsewhere, expected.0, "{row}");
            assert_eq!(elsewhere > 0, swarm > 1, "{row}");
            assert_eq!(cell(row, "Leechers"), expected.1.to_string(), "{row}");
            let number = |field: &str| one[field].as_u64().unwrap() as u32;
            assert_eq!(number("seeders_elsewhere"), elsewhere);
        }
        rig.end().await;
    }
}

/// The text of a cell by its label.
fn cell<'a>(row: &'a str, label: &str) -> &'a str {
    let (_, cell) = row.split_once(&format!("data-label=\"{label}\">")).unwrap();
    cell.split_once("</td>").unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_says_who_was_asked_and_opens_to_what_each_said() {
    let forwarder = |name: &str| crate::config::forwarder::ForwarderEntry {
        uri: weir_config::SecretUrl::parse("http://192.0.2.1:1/secret/announce").unwrap(),
        name: name.to_owned(),
        ip: None,
        host: None,
        proxy: None,
        timeout: None,
        family: crate::config::forwarder::ForwarderFamily::Any,
    };
    let rig = Rig::with(Config {
        forwarders: ["one", "t<wo>", "three"].map(forwarder).into(),
        ..Config::default()
    })
    .await;
    rig.announce(hash(1), "10.0.0.1:1", true);
    rig.others(hash(1), &["198.51.100.7:1".to_owned()]);
    let exchange = rig.front.forwarders.exchange();
    let second = exchange.roster.all()[1].clone();
    let ledger = exchange.ledger();
    assert!(ledger.begin(&hash(1), None));
    ledger.set_due(&hash(1), second.slot, 7200);
    ledger.end(&hash(1), None);
    let now = rig.front.answering.clock.now().moment;
    let said = LastWord::trouble(now, "it said: <unregistered>");
    exchange.words.put(&hash(1), second.upstream, said);
    let name = InfoHash(hash(1)).to_string();
    let list = rig.page("/swarms").await;
    let (_, row) = list.split_once(&format!("id=\"s-{name}\"")).unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    assert_eq!(cell(row, "Seeders"), "1 / 1");
    assert!(row.contains(">2 of 3</a>"), "{row}");
    assert!(
        cell(row, "Next request").contains("at the next announce"),
        "{row}"
    );
    assert!(!list.contains("unregistered"), "closed");
    let open = format!("/swarms?open={name}#s-{name}");
    assert!(row.contains(&format!(
        "href=\"{open}\" data-fold aria-expanded=\"false\""
    )));
    let list = rig.page(&format!("/swarms?open={name}")).await;
    assert!(list.contains("href=\"/swarms\" data-fold aria-expanded=\"true\""));
    let one = rig.page(&format!("/swarms/{name}")).await;
    for page in [&list, &one] {
        let (_, table) = page
            .split_once("<table class=\"rows forwarders\">")
            .unwrap();
        let (table, _) = table.split_once("</table>").unwrap();
        assert!(table.contains("It said: &#60;unregistered&#62;"), "{table}");
        assert!(
            table.contains("href=\"/upstreams/tracker/t%3Cwo%3E\""),
            "{table}"
        );
        assert!(table.contains("Not asked yet"), "{table}");
        assert_eq!(table.matches("<td data-label=\"Forwarder\">").count(), 3);
        assert!(!page.contains("secret"), "nothing secret is shown");
    }
    let body = rig.json(&format!("/api/v1/swarms/{name}")).await;
    let forwarders = body["forwarders"].as_array().unwrap();
    assert_eq!(forwarders[1]["last_word"], "it said: <unregistered>");
    assert_eq!(forwarders[1]["next_ask"], "1970-01-01T02:00:00Z");
    assert_eq!(
        (&forwarders[0]["peers"], &forwarders[2]["was_asked"]),
        (&1.into(), &false.into())
    );
    let page = rig.page(&format!("/swarms?q={}", "5".repeat(38))).await;
    assert!(
        page.contains("A hash is 40 hex digits; this has 38."),
        "{page}"
    );
    rig.end().await;
}

/// Asks the tracker over HTTP, and gives the answer as text.
fn ask(rig: &Rig, target: &str) -> String {
    use std::io::{Read, Write};
    let listening = rig.front.listening();
    let http = listening.iter().find(|(protocol, _)| *protocol == "http");
    let mut stream = std::net::TcpStream::connect(http.unwrap().1).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_add_up_and_are_the_same_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let denied = directory.path().join("denied");
    std::fs::write(&denied, "02".repeat(20)).unwrap();
    let rig = Rig::with(Config {
        deny_file: Some(denied),
        ..Config::default()
    })
    .await;
    let announce = |hash: &str| {
        let hash = hash.repeat(20);
        ask(
            &rig,
            &format!("/announce?info_hash={hash}&peer_id=-XX0000-abcdefghijkl&port=1&left=0"),
        )
    };
    for _ in 0..3 {
        assert!(announce("%01").contains("8:completei1e"));
    }
    let answer = announce("%02");
    assert!(answer.contains("does not serve"), "{answer}");
    assert!(
        ask(
            &rig,
            "/scrape?info_hash=%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01%01"
        )
        .contains("5:files")
    );
    assert!(
        ask(&rig, "/announce?port=1").contains("failure reason"),
        "no request"
    );
    let expected = [
        ("asked", 5),
        ("from_memory", 4),
        ("refused", 1),
        ("sent", 0),
        ("dropped", 0),
        ("waiting", 0),
    ];
    let status = rig.json("/api/v1/status").await;
    let of_status = &status["fronts"][0];
    assert_eq!(
        (&of_status["name"], &of_status["state"]),
        (&"tracker".into(), &"answering".into())
    );
    assert_eq!(status["sentence"], "Tracker is answering.");
    assert_eq!(of_status["overload"], serde_json::Value::Null);
    let stats = rig.json("/stats?format=json").await;
    let counters = &stats["counters"];
    assert_eq!(&of_status["counters"], counters);
    for (name, count) in expected {
        assert_eq!(counters[name], count, "{name} in {counters}");
    }
    let parts = counters.as_object().unwrap().iter();
    let parts = parts.filter(|(name, _)| *name != "asked");
    assert_eq!(
        parts.map(|(_, count)| count.as_u64().unwrap()).sum::<u64>(),
        5
    );
    let metrics = rig.page("/metrics").await;
    for (name, count) in [
        ("asked_total", 5),
        ("from_memory_total", 4),
        ("refused_total", 1),
        ("waiting", 0),
    ] {
        let line = format!("weir_jobs_{name}{{front=\"tracker\"}} {count}");
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} in {metrics}"
        );
    }
    let requests = "weir_requests_total{front=\"tracker\",kind=\"http_announce\"} 3";
    assert!(metrics.contains(requests), "{metrics}");
    let overview = rig.page("/").await;
    let flow = "aria-label=\"5 asked: 4 memory, 1 refused\"";
    assert!(overview.contains(flow), "{overview}");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_tracker_does_not_look_healthy() {
    let rig = Rig::new().await;
    let overloads = rig.front.answering.tracker.forwarding.overloads();
    let first = Announce::new(InfoHash(hash(1)), PeerId([1; 20]), NonZeroU16::MIN);
    for _ in 0..1204 {
        overloads.note(Overload::NoToken, &first, 300);
    }
    // Reported as the forwarders' task does, which may have been first.
    overloads.take(rig.front.answering.clock.now().seconds, false);
    let sentence = "Tracker is overloaded: 1,204 first announces refused in the last minute.";
    let page = rig.page("/").await;
    assert!(page.contains(&format!(">{sentence}</h1>")), "{page}");
    assert!(page.contains("</svg>Overloaded</span>"), "{page}");
    assert!(
        page.contains(
            "Overloaded: 1,204 first announces refused in the last minute. No swarms yet"
        ),
        "{page}"
    );
    let status = rig.json("/api/v1/status").await;
    assert_eq!(status["sentence"], sentence);
    let front = &status["fronts"][0];
    assert_eq!(front["state"], "overloaded");
    assert_eq!(
        front["overload"]["last_minute"]["first_announces_refused"],
        1204
    );
    assert!(front["overload"]["since"].as_str().unwrap().contains('T'));
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_in_stats_metrics_and_card() {
    let rig = Rig::new().await;
    rig.announce(hash(1), "10.0.0.1:6881", true);
    rig.announce(hash(1), "[2001:db8::1]:6881", false);
    let stats = rig.json("/stats?format=json").await;
    for (name, value) in [
        ("queue_depth", 0),
        ("queue_capacity", 10_000),
        ("queue_fill_pct", 0),
        ("active_workers", 10),
        ("max_workers", 20),
        ("dropped_full", 0),
        ("rate_limited", 0),
        ("throttled_forwarders", 0),
        ("swarms", 1),
        ("peers", 2),
        ("peers_v4", 1),
        ("peers_v6", 1),
        ("seeders", 1),
        ("leechers", 1),
    ] {
        assert_eq!(stats[name], value, "{name} on top");
        assert_eq!(stats["fronts"]["tracker"][name], value, "{name}");
    }
    assert_eq!(stats["forwarders"], serde_json::json!([]));
    assert_eq!(stats["requests"]["udp_announce"], 0);
    assert_eq!(stats["listening"].as_array().unwrap().len(), 2);
    let text = rig.page("/stats").await;
    assert!(text.contains("\nswarms 1\n") && text.contains("\nrequests http_announce 0\n"));
    assert!(text.contains("forwarded_hashes 0"));
    let metrics = rig.page("/metrics").await;
    for line in [
        "weir_tracker_swarms 1",
        "weir_tracker_peers{family=\"ipv4\"} 1",
        "weir_tracker_peers{family=\"ipv6\"} 1",
        "weir_tracker_seeders 1",
        "weir_requests_total{front=\"tracker\",kind=\"udp_announce\"} 0",
        "weir_requests_total{front=\"web\",kind=\"stats\"} 3",
    ] {
        let found = metrics.lines().any(|found| found == line);
        assert!(found, "{line} in\n{metrics}");
    }
    assert_eq!(
        metrics
            .matches("# TYPE weir_requests_total counter")
            .count(),
        1
    );
    let overview = rig.page("/").await;
    assert!(
        overview.contains("1 swarm, 2 peers; answers on UDP port"),
        "{overview}"
    );
    rig.end().await;
}
