//! How fast a feed of a thousand releases is read and written, in bytes per second:
//! `cargo bench -p weir-search-proto --bench feed`.
//!
//! Processor time is what counts; the best round by the clock says whether the machine had other work.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "a bench tells what it found")]

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use weir_search_proto::{Channel, Item, Protocol, read_feed, write_feed};

const ROUNDS: usize = 300;

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

fn main() {
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
    let items = releases.iter().map(|release| Item {
        release,
        guid: &release.guid,
        download: release.download.as_deref().unwrap_or_default(),
        categories: &release.categories,
        protocol: Protocol::Torrent,
        indexer: ("7", "Indexer"),
        also: &[],
    });
    let written = write_feed(&channel, items.clone()).len();
    measure("read", sample.len(), || {
        black_box(read_feed(black_box(sample.as_bytes()), None)).expect("a feed");
    });
    measure("write", written, || {
        black_box(write_feed(&channel, items.clone()));
    });
}

fn measure(name: &str, bytes: usize, mut run: impl FnMut()) {
    let before = processor_seconds();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let spent = (processor_seconds() - before) / ROUNDS as f64;
    let speed = |seconds: f64| bytes as f64 / seconds / 1e6;
    let (mean, best) = (speed(spent), speed(best));
    println!(
        "{name}: {mean:.0} MB/s of processor time, {best:.0} MB/s in the best of {ROUNDS} rounds"
    );
}

/// How long this process has run, which others on the machine do not change as they do the clock.
fn processor_seconds() -> f64 {
    let line = fs::read_to_string("/proc/self/schedstat").expect("Linux tells");
    let nanoseconds = line
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds: f64| nanoseconds / 1e9)
}
