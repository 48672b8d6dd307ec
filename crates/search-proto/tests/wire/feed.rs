//! Feeds that we write: what was written is read again, and has what each client needs.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;
use weir_search_proto::{
    Channel, Item, Protocol, Release, Skipped, read_feed, write_feed, write_feed_json,
};

use crate::strategies::{limits, line, release};

const CHANNEL: Channel<'_> = Channel {
    title: "All & everything",
    description: "Merged",
    link: "http://weir.example/search",
    self_url: "http://weir.example/torznab/api?t=search&q=a",
    offset: 100,
    total: 4321,
    skipped: &[],
    limits: None,
};

fn item(release: &Release) -> Item<'_> {
    let link = release.download.as_deref().or(release.magnet.as_deref());
    Item {
        release,
        guid: &release.guid,
        download: link.expect("a way to download it"),
        categories: &release.categories,
        protocol: release.protocol.expect("a protocol"),
        indexer: ("7", "Some & Indexer"),
        also: &["Second", "Third <3"],
    }
}

fn sample() -> Release {
    Release {
        title: "Tom & Jerry <S01>".to_owned(),
        guid: "weir-1".to_owned(),
        details: Some("https://a.example/1?x=1&y=2".to_owned()),
        download: Some("http://weir.example/dl/abc/Tom.torrent?a=1&b=2".to_owned()),
        size: Some(1_000),
        published: Some(1_794_736_800),
        categories: vec![5000, 5040],
        seeders: Some(3),
        protocol: Some(Protocol::Torrent),
        attributes: vec![
            ("tvdbid".to_owned(), "5".to_owned()),
            ("Size".to_owned(), "6".to_owned()),
            ("seeders".to_owned(), "7".to_owned()),
        ],
        ..Release::default()
    }
}

fn written(release: &Release) -> String {
    write_feed(&CHANNEL, [item(release)])
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        releases in vec(release(), 0..4),
        limits in option::of(limits()),
        (offset, total) in any::<(u64, u64)>(),
        (name, reason, until) in (line(), line(), option::of(any::<i64>())),
    ) {
        let skipped = [Skipped { indexer: name, reason, until }];
        let channel = Channel { offset, total, limits, skipped: &skipped, ..CHANNEL };
        let xml = write_feed(&channel, releases.iter().map(item));
        let feed = read_feed(xml.as_bytes(), Some("utf-8")).expect("a feed");
        prop_assert_eq!(&feed.releases, &releases);
        prop_assert_eq!((feed.offset, feed.total), (Some(offset), Some(total)));
        prop_assert_eq!((feed.limits, feed.odd), (limits, 0));
    }

    #[test]
    fn any_text_at_all_makes_a_feed_that_is_read(title in any::<String>(), guid in any::<String>()) {
        let release = Release { title: format!("x{title}"), guid, ..sample() };
        let xml = written(&release);
        prop_assert!(!xml.chars().any(|c| c.is_control() && c != '\n'));
        prop_assert_eq!(read_feed(xml.as_bytes(), None).expect("a feed").releases.len(), 1);
        let json: Value = serde_json::from_str(&write_feed_json(&CHANNEL, [item(&release)]))?;
        prop_assert_eq!(&json["channel"]["item"][0]["title"], &Value::from(release.title));
    }
}

#[test]
fn an_item_has_everything_that_clients_look_for() {
    let xml = written(&sample());
    for part in [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
        "<rss version=\"2.0\" ",
        " xmlns:torznab=\"http://torznab.com/schemas/2015/feed\"",
        " xmlns:newznab=\"http://www.newznab.com/DTD/2010/feeds/attributes/\"",
        " xmlns:weir=\"urn:weir:feed\"",
        "<title>All &amp; everything</title>",
        "<atom:link href=\"http://weir.example/torznab/api?t=search&amp;q=a\" rel=\"self\" ",
        "<newznab:response offset=\"100\" total=\"4321\"/>",
        "<title>Tom &amp; Jerry &lt;S01&gt;</title>",
        "<guid isPermaLink=\"false\">weir-1</guid>",
        "<comments>https://a.example/1?x=1&amp;y=2</comments>",
        "<pubDate>Sun, 15 Nov 2026 10:00:00 +0000</pubDate>",
        "<size>1000</size>",
        "<link>http://weir.example/dl/abc/Tom.torrent?a=1&amp;b=2</link>",
        "<category>5040</category>",
        "<enclosure url=\"http://weir.example/dl/abc/Tom.torrent?a=1&amp;b=2\" length=\"1000\" \
         type=\"application/x-bittorrent\"/>",
        "<indexer id=\"7\">Some &amp; Indexer</indexer>",
        "<weir:also>Third &lt;3</weir:also>",
        "<torznab:attr name=\"category\" value=\"5000\"/>",
        "<torznab:attr name=\"size\" value=\"1000\"/>",
        "<torznab:attr name=\"seeders\" value=\"3\"/>",
        "<torznab:attr name=\"tvdbid\" value=\"5\"/>",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
    // What has a field is written from the field only.
    assert!(!xml.contains("value=\"6\"") && !xml.contains("value=\"7\""));
    assert!(!xml.contains("newznab:attr"));
}

#[test]
fn news_have_their_own_prefix_and_type() {
    let release = Release {
        protocol: Some(Protocol::Nzb),
        ..sample()
    };
    let xml = written(&release);
    assert!(xml.contains("type=\"application/x-nzb\""));
    assert!(xml.contains("<newznab:attr name=\"category\"") && !xml.contains("torznab:attr"));
}

#[test]
fn a_magnet_says_that_it_is_one() {
    let magnet = "magnet:?xt=urn:btih:aabbccddeeff00112233445566778899a0b1c2d3&dn=a";
    let release = Release {
        download: None,
        magnet: Some(magnet.to_owned()),
        ..sample()
    };
    let xml = written(&release);
    assert!(xml.contains("type=\"application/x-bittorrent;x-scheme-handler/magnet\""));
    let escaped = magnet.replace('&', "&amp;");
    assert!(xml.contains(&format!(
        "<torznab:attr name=\"magneturl\" value=\"{escaped}\"/>"
    )));
    assert!(xml.contains(&format!("<link>{escaped}</link>")));
}

#[test]
fn what_is_unknown_is_written_all_the_same() {
    let release = Release {
        size: None,
        published: None,
        categories: vec![],
        details: None,
        ..sample()
    };
    let xml = written(&release);
    for part in [
        "<pubDate>Thu, 01 Jan 1970 00:00:00 +0000</pubDate>",
        "<size>0</size>",
        " length=\"0\" ",
        "<category>8000</category>",
        "<torznab:attr name=\"category\" value=\"8000\"/>",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
    assert!(!xml.contains("<comments>") && !xml.contains("name=\"size\""));
    let again = &read_feed(xml.as_bytes(), None).expect("a feed").releases[0];
    assert_eq!((again.size, again.published), (None, None));
}

#[test]
fn skipped_indexers_are_named_in_the_channel() {
    let skipped = [
        Skipped {
            indexer: "A & B".to_owned(),
            reason: "cooldown".to_owned(),
            until: Some(1_794_736_800),
        },
        Skipped {
            indexer: "C".to_owned(),
            reason: "signed out".to_owned(),
            until: None,
        },
    ];
    let channel = Channel {
        skipped: &skipped,
        ..CHANNEL
    };
    let xml = write_feed(&channel, []);
    let expected = "<weir:skipped indexer=\"A &amp; B\" reason=\"cooldown\" until=\"2026-11-15T10:00:00Z\"/>\n\
                    <weir:skipped indexer=\"C\" reason=\"signed out\"/>";
    assert!(xml.contains(expected), "{xml}");
    assert!(!xml.contains("<item>"));
    assert_eq!(
        read_feed(xml.as_bytes(), None).expect("a feed").releases,
        []
    );
}

#[test]
fn json_has_newznabs_shape() {
    let release = sample();
    let json: Value =
        serde_json::from_str(&write_feed_json(&CHANNEL, [item(&release)])).expect("JSON");
    assert_eq!(json["@attributes"]["version"], "2.0");
    let channel = &json["channel"];
    assert_eq!(channel["title"], "All & everything");
    assert_eq!(channel["response"]["@attributes"]["total"], "4321");
    let item = &channel["item"][0];
    assert_eq!(item["title"], "Tom & Jerry <S01>");
    assert_eq!(item["guid"], "weir-1");
    assert_eq!(item["pubDate"], "Sun, 15 Nov 2026 10:00:00 +0000");
    assert_eq!(item["enclosure"]["@attributes"]["length"], "1000");
    let first = &item["attr"][0]["@attributes"];
    assert_eq!(
        (&first["name"], &first["value"]),
        (&"category".into(), &"5000".into())
    );
}
