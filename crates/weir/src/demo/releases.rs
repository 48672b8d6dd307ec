//! What the indexers of the demo have, and which swarms its tracker sees.

use sha2::{Digest, Sha256};
use weir_testkit::zoo::indexer::{Caps, Item};

const ISO: u32 = 4020;
const HD: u32 = 5040;
const LOSSLESS: u32 = 3040;
const EBOOK: u32 = 7020;

/// Series of releases: how they are called, with `#` for what differs, its values, category and megabytes of one.
const SERIES: [(&str, &[&str], u32, u64); 9] = [
    (
        "Example Linux 13.# amd64 netinst",
        &["0", "1", "2", "3"],
        ISO,
        658,
    ),
    (
        "Example Linux 13.# amd64 desktop",
        &["0", "1", "2", "3"],
        ISO,
        3_204,
    ),
    (
        "Example Linux 13.# arm64 netinst",
        &["1", "2", "3"],
        ISO,
        611,
    ),
    ("Heron OS 2026.# live", &["03", "06", "09"], ISO, 2_150),
    ("Otter BSD 9.# memstick", &["0", "1"], ISO, 1_080),
    (
        "Weirs of the North S01E# 1080p",
        &["01", "02", "03", "04", "05", "06", "07", "08"],
        HD,
        1_420,
    ),
    (
        "Rivers from Above S02E# 1080p",
        &["01", "02", "03", "04", "05", "06"],
        HD,
        1_610,
    ),
    (
        "Running Water, field recordings # FLAC",
        &["1", "2", "3", "4"],
        LOSSLESS,
        412,
    ),
    (
        "Open Rivers Atlas vol #",
        &["1", "2", "3", "4", "5", "6"],
        EBOOK,
        96,
    ),
];

/// What people search for.
pub(super) const QUERIES: [&str; 12] = [
    "example linux",
    "weirs of the north",
    "open rivers atlas",
    "heron os",
    "rivers from above",
    "running water",
    "example linux 13.3",
    "otter bsd",
    "atlas vol 4",
    "netinst",
    "desktop",
    "flac",
];

/// What they can be asked for.
pub(super) fn caps() -> Caps {
    Caps {
        limit: 100,
        searching: vec![("search", "q"), ("tv-search", "q,season,ep")],
        categories: vec![
            (3000, "Audio", vec![(LOSSLESS, "Lossless")]),
            (4000, "PC", vec![(ISO, "ISO")]),
            (5000, "TV", vec![(HD, "HD")]),
            (7000, "Books", vec![(EBOOK, "EBook")]),
        ],
    }
}

/// All releases; `now` in seconds since 1970.
pub(super) fn all(now: i64) -> Vec<Item> {
    let mut items = Vec::new();
    for (title, values, category, megabytes) in SERIES {
        for value in values {
            let number = u32::try_from(items.len()).unwrap_or(u32::MAX);
            let title = title.replace('#', value);
            let hash = info_hash(&title);
            let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            items.push(Item {
                guid: format!("release-{number}"),
                size: megabytes * 1_000_000 + u64::from(hash[0]) * 65_536,
                // Between an hour and some weeks old, each at a time of its own.
                published: now - 3_600 - i64::from(number) * 52_000 - i64::from(hash[1]) * 60,
                category,
                info_hash: Some(digits),
                seeders: u32::from(hash[2] % 90) + 1,
                file: number,
                more: String::new(),
                title,
            });
        }
    }
    items
}

/// The hash of a release that does not exist.
fn info_hash(title: &str) -> [u8; 20] {
    let mut hash = [0; 20];
    hash.copy_from_slice(&Sha256::digest(title.as_bytes())[..20]);
    hash
}

/// The hashes that clients announce.
pub(super) fn swarms() -> Vec<[u8; 20]> {
    let titles = SERIES
        .iter()
        .flat_map(|(title, values, ..)| values.iter().map(move |value| title.replace('#', value)));
    titles.map(|title| info_hash(&title)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_finds_something_and_every_release_is_another() {
        let items = all(1_800_000_000);
        for query in QUERIES {
            let found = items.iter().filter(|item| {
                let title = item.title.to_lowercase();
                query.split(' ').all(|word| title.contains(word))
            });
            assert!(found.count() > 0, "{query}");
        }
        let mut hashes = swarms();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), items.len());
        // They stand in XML as they are.
        assert!(
            !items
                .iter()
                .any(|item| item.title.contains(['&', '<', '>']))
        );
    }
}
