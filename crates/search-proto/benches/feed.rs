//! How fast a feed of a thousand releases is read and written, in bytes per second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_search_proto::{Channel, Item, Protocol, read_feed, write_feed};

/// Items as Prowlarr writes them, with what differs from one to the next.
fn sample(items: usize) -> String {
    let mut feed = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rss version=\"1.0\" \
         xmlns:torznab=\"http://torznab.com/schemas/2015/feed\"><channel><title>Some</title>",
    );
    for n in 0..items {
        feed.push_str(&format!(
            r#"
    <item>
      <title>Some.Show.S{season:02}E{episode:02}.The.Name.of.It.1080p.WEB.h264-GROUP{n}</title>
      <description>Some Show &amp; others, uploaded by somebody. Nothing else to say about it.</description>
      <guid>https://indexer.example/torrents/{n}/details</guid>
      <prowlarrindexer id="7" type="private">Indexer</prowlarrindexer>
      <comments>https://indexer.example/torrents/{n}/details#comments</comments>
      <pubDate>Sun, 15 Nov 2026 10:{episode:02}:{season:02} +0000</pubDate>
      <size>{size}</size>
      <link>https://prowlarr.example/7/download?apikey=0123456789abcdef&amp;link=c29tZXRoaW5nIGxvbmcgYW5kIG9wYXF1ZQ{n}&amp;file=Some.Show</link>
      <grabs>{n}</grabs>
      <category>5000</category>
      <category>5040</category>
      <enclosure url="https://prowlarr.example/7/download?apikey=0123456789abcdef&amp;link=c29tZXRoaW5nIGxvbmcgYW5kIG9wYXF1ZQ{n}&amp;file=Some.Show" length="{size}" type="application/x-bittorrent" />
      <torznab:attr name="category" value="5000" />
      <torznab:attr name="category" value="5040" />
      <torznab:attr name="size" value="{size}" />
      <torznab:attr name="files" value="3" />
      <torznab:attr name="grabs" value="{n}" />
      <torznab:attr name="seeders" value="{n}" />
      <torznab:attr name="peers" value="{size}" />
      <torznab:attr name="infohash" value="aabbccddeeff00112233445566778899{n:08x}" />
      <torznab:attr name="tvdbid" value="12345" />
      <torznab:attr name="imdbid" value="tt1234567" />
      <torznab:attr name="minimumratio" value="1" />
      <torznab:attr name="minimumseedtime" value="172800" />
      <torznab:attr name="downloadvolumefactor" value="0" />
      <torznab:attr name="uploadvolumefactor" value="1" />
    </item>"#,
            season = n % 60,
            episode = n / 60 % 60,
            size = 1_000_000_000 + n,
        ));
    }
    feed.push_str("</channel></rss>");
    feed
}

fn feed(criterion: &mut Criterion) {
    let sample = sample(1_000);
    let releases = read_feed(sample.as_bytes(), None).expect("a feed").releases;
    assert_eq!(releases.len(), 1_000);
    let channel = Channel {
        title: "bench",
        description: "",
        link: "http://weir.example/",
        self_url: "http://weir.example/torznab/api",
        offset: 0,
        total: 1_000,
        skipped: &[],
        limits: None,
    };
    let write = || {
        let items = releases.iter().map(|release| Item {
            release,
            guid: &release.guid,
            download: release.download.as_deref().unwrap_or_default(),
            categories: &release.categories,
            protocol: Protocol::Torrent,
            indexer: ("7", "Indexer"),
            also: &[],
        });
        write_feed(&channel, items)
    };
    let mut group = criterion.benchmark_group("feed");
    group.throughput(Throughput::BytesDecimal(sample.len() as u64));
    group.bench_function("read", |bencher| {
        bencher.iter(|| read_feed(black_box(sample.as_bytes()), None));
    });
    group.throughput(Throughput::BytesDecimal(write().len() as u64));
    group.bench_function("write", |bencher| bencher.iter(|| black_box(write())));
    group.finish();
}

criterion_group!(benches, feed);
criterion_main!(benches);
