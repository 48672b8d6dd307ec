//! `/swarms` shows the figures that clients are told.

use serde_json::Value;

use super::super::*;
use super::desk::{Desk, Everything, between, parts, text};

/// Those that come alone, and are looked at one by one.
const ALONE: u8 = 8;

pub(super) async fn check(world: &World, desk: &Desk, all: &Everything) {
    let list = desk.json("/api/v1/swarms").await;
    let page = desk.page("/swarms").await;
    let terms = world.tracker.terms();
    let mut here = 0;
    for number in 1..=u8::MAX {
        let hash = InfoHash([number; 20]);
        let Some(told) = world.tracker.told(&hash.0) else {
            continue;
        };
        here += 1;
        let scraped = world.tracker.scrape(&terms, hash);
        let figures = [
            ("seeders", scraped.complete),
            ("leechers", scraped.incomplete),
            ("completed", scraped.downloaded),
            ("peers", told.peers),
            ("forwarder_peers", told.others),
        ];
        // A list may be a few seconds old, but not what it says of those in it.
        let rows = list["swarms"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["info_hash"] == hash.to_string());
        for (name, count) in figures {
            assert!(
                row.is_none_or(|row| row[name] == count),
                "{name} of {row:?}"
            );
        }
        let row = parts(&page, "<tr id=\"s-").find(|row| row.contains(&hash.to_string()));
        if let Some(row) = row {
            let shown =
                |label: &str| text(between(row, &format!("data-label=\"{label}\">"), "</td>"));
            let seeders = shown("Seeders");
            let (here, elsewhere) = seeders.split_once(" / ").expect("here and elsewhere");
            let all = [here, elsewhere].map(|count| count.parse::<u32>().expect("a count"));
            assert_eq!(all[0] + all[1], scraped.complete);
            let shown = ["Leechers", "Finished", "Here"].map(shown);
            assert_eq!(shown, [1, 2, 3].map(|place| figures[place].1.to_string()));
        }
        if number >= ALONE {
            continue;
        }
        let one = desk.json(&format!("/api/v1/swarms/{hash}")).await;
        for (name, count) in figures {
            assert_eq!(one[name], count, "{name} of {one}");
        }
        let own = desk.page(&format!("/swarms/{hash}")).await;
        let fact = |label: &str| text(between(&own, &format!("<dt>{label}</dt>"), "</dd>"));
        let shown = ["Seeders", "Leechers", "Finished downloads"].map(fact);
        assert_eq!(shown, [0, 1, 2].map(|place| figures[place].1.to_string()));
    }
    totals(world, all, &list["totals"], here);
}

/// Swarms and peers together.
fn totals(world: &World, all: &Everything, listed: &Value, here: u32) {
    let totals = world.tracker.swarms.totals();
    assert_eq!(totals.swarms, here);
    let Everything { stats, metrics, .. } = all;
    for (name, count) in [
        ("swarms", totals.swarms),
        ("peers", totals.peers()),
        ("seeders", totals.seeders),
        ("leechers", totals.leechers()),
    ] {
        assert_eq!(
            (&listed[name], &stats[name]),
            (&count.into(), &count.into()),
            "{name}"
        );
    }
    let counted = ["tracker_swarms", "tracker_seeders"].map(|name| metrics[name]);
    assert_eq!(counted, [totals.swarms, totals.seeders].map(u64::from));
}
