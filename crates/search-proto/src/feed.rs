//! Result feeds: an indexer's answer read, ours written.

mod draft;
mod json;
mod reader;
mod writer;

use crate::release::{Protocol, Release};

pub use json::write_feed_json;
pub use reader::read_feed;
pub use writer::write_feed;

/// An indexer's answer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Feed {
    /// The releases in the indexer's order.
    pub releases: Vec<Release>,
    /// How many there are in all, if the indexer tells.
    pub total: Option<u64>,
    /// How many come before these.
    pub offset: Option<u64>,
    /// What of the account's allowance is used.
    pub limits: Option<ApiLimits>,
    /// Items left out because they had no title or no way to be downloaded.
    pub odd: u32,
}

/// What an indexer says about an account's allowance (`newznab:apilimits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ApiLimits {
    /// Requests made in the indexer's period.
    pub calls_made: Option<u32>,
    /// Requests allowed in that period.
    pub calls_allowed: Option<u32>,
    /// Downloads made in the indexer's period.
    pub grabs_made: Option<u32>,
    /// Downloads allowed in that period.
    pub grabs_allowed: Option<u32>,
}

/// Everything around the items of a feed of ours.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    /// What the feed is called.
    pub title: &'a str,
    /// One sentence about it.
    pub description: &'a str,
    /// Our page for people.
    pub link: &'a str,
    /// The address of this feed, without an API key.
    pub self_url: &'a str,
    /// How many releases come before these.
    pub offset: u64,
    /// How many releases there are in all.
    pub total: u64,
    /// Indexers that have no part in this answer.
    pub skipped: &'a [Skipped],
    /// The client's allowance, where there is one.
    pub limits: Option<ApiLimits>,
}

/// An indexer that has no part in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its name.
    pub indexer: String,
    /// Why, in a few words.
    pub reason: String,
    /// When it is asked again, in Unix seconds.
    pub until: Option<i64>,
}

/// One release in a feed of ours: what the indexer gave, and what we put in its place.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What the indexer gave.
    pub release: &'a Release,
    /// What clients know it by.
    pub guid: &'a str,
    /// Our link to the file, or a magnet link.
    pub download: &'a str,
    /// Its categories by our numbers.
    pub categories: &'a [u32],
    /// How it is downloaded; a feed has one protocol only.
    pub protocol: Protocol,
    /// Id and name of the indexer it is from.
    pub indexer: (&'a str, &'a str),
    /// The names of further indexers that have it.
    pub also: &'a [&'a str],
}

/// Attributes that have a field of their own in [`Release`], by their lower-case names.
const OWN: [&str; 8] = [
    "size",
    "category",
    "seeders",
    "peers",
    "grabs",
    "files",
    "infohash",
    "magneturl",
];

impl Item<'_> {
    /// The media type of what [`download`](Self::download) leads to.
    fn media_type(&self) -> &'static str {
        match self.protocol {
            Protocol::Torrent if is_magnet(self.download) => {
                "application/x-bittorrent;x-scheme-handler/magnet"
            }
            protocol => protocol.media_type(),
        }
    }

    /// Its categories; clients drop releases without any, so there is always one.
    fn some_categories(&self) -> &[u32] {
        match self.categories {
            [] => &[crate::category::OTHER],
            categories => categories,
        }
    }

    /// All attributes in the order in which they are written.
    fn each_attribute(&self, mut write: impl FnMut(&str, &str)) {
        let release = self.release;
        for category in self.some_categories() {
            write("category", &category.to_string());
        }
        let numbers = [
            ("size", release.size),
            ("files", release.files.map(u64::from)),
            ("grabs", release.grabs.map(u64::from)),
            ("seeders", release.seeders.map(u64::from)),
            ("peers", release.peers.map(u64::from)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                write(name, &number.to_string());
            }
        }
        if let Some(hash) = release.info_hash {
            write("infohash", &hash.to_string());
        }
        if let Some(magnet) = &release.magnet {
            write("magneturl", magnet);
        }
        for (name, value) in &release.attributes {
            if !OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                write(name, value);
            }
        }
    }
}

fn is_magnet(url: &str) -> bool {
    starts_with(url, "magnet:")
}

fn is_http(url: &str) -> bool {
    starts_with(url, "http://") || starts_with(url, "https://")
}

fn starts_with(url: &str, scheme: &str) -> bool {
    let start = url.get(..scheme.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}
