//! Keys and passkeys reach their indexer, and nobody else.

use rusqlite::types::Value;
use weir_config::{Secret, SecretUrl};
use weir_testkit::log;

use super::*;

const API_KEY: &str = "k3yOfTheIndexer";
const PASSKEY: &str = "p4ssOfTheLinks";
const IN_URL: &str = "s3cretOfTheUrl";

fn is_clean(text: &str) -> bool {
    // Also not the greater part of one.
    ["k3yOfThe", "p4ssOfThe", "s3cretOfThe"]
        .iter()
        .all(|secret| !text.contains(secret))
}

/// All that is remembered of searches and downloads.
fn history(directory: &std::path::Path) -> String {
    let file = rusqlite::Connection::open(directory.join("state.db")).expect("a file");
    let mut all = String::new();
    for table in [
        "search_search",
        "search_outcome",
        "search_grab",
        "search_indexer",
    ] {
        let sql = format!("SELECT * FROM {table}");
        let mut statement = file.prepare(&sql).expect("a table");
        let columns = statement.column_count();
        let mut rows = statement.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for column in 0..columns {
                let value: Value = row.get(column).expect("a value");
                all += &format!("{value:?} ");
            }
            all.push('\n');
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_passkeys_are_for_the_indexer_alone() {
    log::listen();
    let echo = format!("your key {API_KEY} is wrong, see {IN_URL}");
    // Where it would be cut in the middle.
    let cut = format!("{} {API_KEY}", "x".repeat(190));
    for (behaviour, all) in [
        (Behaviour::Good, false),
        (Behaviour::Error(100, echo.clone()), false),
        (Behaviour::Error(100, echo.clone()), true),
        (Behaviour::Error(201, cut.clone()), false),
        (Behaviour::Error(900, cut), false),
        (Behaviour::ErrorStatus(403, 101, echo), false),
        (Behaviour::Status(429, RetryAfter::Seconds(500)), false),
        (Behaviour::Status(404, RetryAfter::None), false),
        (Behaviour::Html, false),
        (Behaviour::InvalidXml, false),
        (Behaviour::RedirectLoop, false),
        (Behaviour::CloseAfterRequest, false),
        (Behaviour::Hang, false),
    ] {
        let what = format!("{behaviour:?}");
        let more = format!(
            "<comments>http://indexer.example/details/1?apikey={API_KEY}</comments>\
             <torznab:attr name=\"nfo\" value=\"http://indexer.example/nfo?k={API_KEY}\"/>\
             <torznab:attr name=\"coverurl\" value=\"http://indexer.example/cover?{IN_URL}\"/>"
        );
        let item = Item {
            guid: format!("http://indexer.example/1?passkey={PASSKEY}"),
            more,
            ..Item::numbered(1)
        };
        let odd = indexer(Setup {
            items: vec![item],
            secret: PASSKEY.to_owned(),
            ..Setup::default()
        })
        .await;
        let mut config = config([("odd", &odd)]);
        config.min_request_interval = Some(Duration::ZERO);
        if behaviour == Behaviour::Hang {
            config.indexers[0].timeout = Duration::from_millis(300);
        }
        config.indexers[0].api_key = Some(Secret::new(API_KEY));
        let url = format!("{}?token={IN_URL}", odd.url());
        config.indexers[0].url = SecretUrl::parse(&url).expect("a URL");
        let world = World::new(ground(), &config);
        if all {
            odd.set_all(behaviour.clone());
        }
        let mut read = world.get("/torznab/api?t=caps").await.body;
        odd.set(behaviour.clone());
        if all {
            odd.set_all(behaviour.clone());
        }
        let mut links = Vec::new();
        for target in [
            "/torznab/api?t=search&q=some",
            "/torznab/odd/api?t=search&o=json",
            "/torznab/api?t=search&cat=5000&extended=1",
        ] {
            let reply = world.get(target).await;
            if reply.status == 200 && !target.contains("json") {
                links.extend(reply.links());
            }
            read += &reply.body;
        }
        for link in &links {
            let given = world.send(&path(link), &[]).await;
            assert_eq!(given.status, 200, "{what}: {}", given.body);
        }
        for target in [
            "/",
            "/stats",
            "/stats?format=json",
            "/metrics",
            "/upstreams",
            "/upstreams/search/odd",
            "/api/v1/upstreams",
            "/api/v1/upstreams/search/odd",
            "/api/v1/decisions",
            "/prowlarr/api/v1/indexer",
            "/jackett/api/v2.0/indexers",
            "/api/v1/history",
            "/history",
            "/connect",
            "/search?q=some",
            "/search",
        ] {
            let reply = world.get(target).await;
            assert_eq!(reply.status, 200, "{what}: {target}: {}", reply.body);
            read += &reply.body;
        }
        let view = world.view("odd");
        let decisions = world.engine.decisions(view.figures.upstream, None, 100);
        read += &format!("{view:?} {decisions:?} {:?}", config.indexers);
        assert!(is_clean(&read), "{what}: {read}");
        let asked = odd.asked();
        let first = &asked[0].target;
        assert!(
            first.contains(&format!("token={IN_URL}")),
            "{what}: {first}"
        );
        assert!(
            first.contains(&format!("apikey={API_KEY}")),
            "{what}: {first}"
        );
        for grab in odd.grabs() {
            assert!(grab.target.contains(PASSKEY), "{what}: {}", grab.target);
        }
        let directory = world.stop().await;
        let rows = history(directory.path());
        assert!(rows.contains("odd"), "{what}: {rows}");
        assert!(is_clean(&rows), "{what}: {rows}");
    }
    let log = log::all();
    assert!(log.contains("Open => "), "state changes are logged");
    let dirty = log.lines().find(|line| !is_clean(line));
    assert_eq!(dirty, None);
}
