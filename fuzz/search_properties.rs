//! What must hold for any bytes at all, one function per parser of searches, each named as its fuzz
//! target.
//!
//! The targets call these with made-up bytes; a test of `weir-search-proto` calls them with the
//! recorded and kept ones.

use weir_search_proto::category::OTHER;
use weir_search_proto::{
    Caps, Channel, Feed, Item, Mapping, Protocol, Release, Request, parse_request, read_feed,
    write_feed, write_feed_json,
};

/// A feed that was read is read again from what we would answer a client.
pub(crate) fn search_feed(body: &[u8]) {
    let _ = read_feed(body, Some("iso-8859-1"));
    let Ok(feed) = read_feed(body, None) else {
        return;
    };
    let again = write_and_read(&feed);
    let expected: Vec<Release> = feed.releases.iter().map(as_written).collect();
    assert_eq!(again.releases, expected);
    assert_eq!((again.odd, again.limits), (0, feed.limits));
    for release in &feed.releases {
        assert!(!release.title.is_empty() && !release.guid.is_empty());
        assert!(release.download.is_some() || release.magnet.is_some());
        assert!(release.attributes.len() <= 64);
    }
}

/// Caps that were read are read again from what we would answer a client, and their categories
/// are found again by our numbers.
pub(crate) fn search_caps(body: &[u8]) {
    let Ok(caps) = Caps::read(body, None) else {
        return;
    };
    assert_eq!(Caps::read(caps.xml().as_bytes(), None).as_ref(), Ok(&caps));
    let _ = caps.json();
    let mapping = Mapping::of(&caps);
    for category in &caps.categories {
        let ours = mapping.ours(category.id);
        assert!(
            ours.is_empty() || !mapping.theirs(&ours).is_empty(),
            "{ours:?}"
        );
        assert!(Mapping::wants(&ours, &ours));
    }
    let union = Caps::union("all", [&caps]);
    assert_eq!(Caps::union("all", [&union]), union);
}

/// A search that was read is read again from what we would ask an indexer.
pub(crate) fn search_request(query: &[u8]) {
    let query = String::from_utf8_lossy(query);
    let Ok(Request::Search(asked)) = parse_request(&query).request else {
        return;
    };
    let pairs = asked.query.parameters().into_iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encode(&value)));
    let again = parse_request(&pairs.collect::<Vec<_>>().join("&")).request;
    let Ok(Request::Search(again)) = again else {
        panic!("we wrote it: {again:?}");
    };
    assert_eq!(again.query, asked.query);
    assert!(!asked.query.words().is_empty());
    if let Some(text) = asked.query.text_form() {
        assert!(!text.q.is_empty() && text.terms.is_empty());
    }
}

fn write_and_read(feed: &Feed) -> Feed {
    let channel = Channel {
        title: "all",
        description: "",
        link: "http://weir.example/",
        self_url: "http://weir.example/torznab/api",
        offset: 0,
        total: feed.releases.len() as u64,
        skipped: &[],
        limits: feed.limits,
    };
    let items = feed.releases.iter().map(|release| Item {
        release,
        guid: &release.guid,
        download: release
            .download
            .as_ref()
            .or(release.magnet.as_ref())
            .expect("either"),
        categories: &release.categories,
        protocol: release.protocol.unwrap_or(Protocol::Torrent),
        indexer: ("1", "Indexer"),
        also: &["Other"],
    });
    let _ = write_feed_json(&channel, items.clone());
    read_feed(write_feed(&channel, items).as_bytes(), None).expect("we wrote it")
}

/// A release with what is written where an indexer said nothing.
fn as_written(release: &Release) -> Release {
    let mut release = release.clone();
    release.protocol.get_or_insert(Protocol::Torrent);
    if release.categories.is_empty() {
        release.categories.push(OTHER);
    }
    release
}

fn encode(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
