//! Every feed, read by feedparser, an independent parser.

use serde_json::Value;

use super::{Town, printed, python};

fn read(urls: &[String]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/feeds.py");
    let output = python("python").arg(script).args(urls).output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_feed_is_one_for_feedparser() {
    let town = Town::new();
    let number = |name: &str| {
        let list: Value =
            serde_json::from_str(&town.weir.text("/prowlarr/api/v1/indexer")).unwrap();
        let mut list = list.as_array().unwrap().iter();
        list.find(|entry| entry["name"] == name).unwrap()["id"]
            .as_u64()
            .unwrap()
    };
    let (one, three) = (number("one"), number("three"));
    let torrent = "application/x-bittorrent";
    let nzb = "application/x-nzb";
    let expected = [
        ("/torznab/api?t=search".to_owned(), 6, torrent),
        ("/torznab/api?t=search&q=S01E03".to_owned(), 1, torrent),
        (
            "/torznab/api?t=tvsearch&q=Some+Show&season=1&ep=3".to_owned(),
            6,
            torrent,
        ),
        ("/torznab/api?t=movie&cat=2000".to_owned(), 0, torrent),
        (
            "/torznab/api?t=search&q=nothing+such".to_owned(),
            0,
            torrent,
        ),
        ("/torznab/one/api?t=search".to_owned(), 4, torrent),
        ("/torznab/tag/tagtwo/api?t=search".to_owned(), 4, torrent),
        (
            "/torznab/api?t=search&offset=4&limit=10".to_owned(),
            2,
            torrent,
        ),
        ("/newznab/api?t=search".to_owned(), 3, nzb),
        ("/newznab/three/api?t=search".to_owned(), 3, nzb),
        (format!("/prowlarr/{one}/api?t=search"), 4, torrent),
        (format!("/prowlarr/{three}/api?t=search"), 3, nzb),
        (
            format!("/prowlarr/api/v1/indexer/{one}/newznab?t=search"),
            4,
            torrent,
        ),
        (
            "/jackett/api/v2.0/indexers/all/results/torznab/api?t=search".to_owned(),
            6,
            torrent,
        ),
        (
            "/jackett/api/v2.0/indexers/two/results/torznab?t=search".to_owned(),
            4,
            torrent,
        ),
    ];
    let urls: Vec<String> = expected.iter().map(|(path, ..)| town.url(path)).collect();
    let feeds = read(&urls);
    assert_eq!(feeds.len(), expected.len());
    for (feed, (path, count, kind)) in feeds.iter().zip(&expected) {
        assert_eq!(
            (&feed["status"], &feed["broken"]),
            (&200.into(), &Value::Null),
            "{path}"
        );
        let entries = feed["entries"].as_array().unwrap();
        assert_eq!(entries.len(), *count, "{path}: {feed:#}");
        for entry in entries {
            let [part] = entry["enclosures"].as_array().unwrap().as_slice() else {
                panic!("{path}: {entry:#}");
            };
            assert_eq!(part["type"], *kind, "{path}");
            assert_eq!(part["href"], entry["link"], "{path}");
            assert!(part["length"].as_str().unwrap().parse::<u64>().unwrap() > 1_000_000);
            assert_eq!(entry["date"], true, "{path}");
            assert!(
                !entry["categories"].as_array().unwrap().is_empty(),
                "{path}"
            );
            assert!(entry["id"].as_str().unwrap().starts_with("weir:"), "{path}");
        }
        let text = feed.to_string();
        assert!(
            !text.contains("passkey") && !text.contains("key-of"),
            "{path}"
        );
    }
    // Newest first, and those that both indexers have only once.
    let titles: Vec<&str> = feeds[0]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["title"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (1..=6)
        .rev()
        .map(|n| format!("Some.Show.S01E{n:02}.1080p"))
        .collect();
    assert_eq!(titles, expected);
    // Fifteen feeds, and each indexer got each query only once.
    for indexer in &town.indexers {
        let mut asked: Vec<String> = indexer
            .asked()
            .into_iter()
            .map(|asked| asked.target)
            .collect();
        let all = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), all, "{asked:#?}");
    }
}
