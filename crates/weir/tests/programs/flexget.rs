//! FlexGet finds a release with its Torznab plugin, reads the feed, and downloads.

use std::fs;
use std::path::Path;

use super::{KEY, Town, printed, python};

fn run(town: &Town) {
    let output = python("flexget")
        .args(["-c", "config.yml", "--loglevel", "verbose"])
        .args(["execute", "--discover-now"])
        .current_dir(town.directory.path())
        .env("HOME", town.directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let crashed = printed(&output).contains("unexpected crash");
    assert!(!crashed, "{}", printed(&output));
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn flexget_searches_reads_the_feed_and_downloads() {
    let town = Town::new();
    let base = format!("http://{}/torznab", town.weir.address);
    let config = format!(
        "
tasks:
  find:
    discover:
      what:
        - mock:
            - {{ title: 'Some Show S01E05', url: '', series_name: 'Some Show', series_season: 1, series_episode: 5, tvdb_id: 123 }}
      from:
        - torznab: {{ url: '{base}', apikey: '{KEY}', searcher: tvsearch, categories: [5000], timeout: 30 seconds }}
      release_estimations: ignore
    regexp: {{ accept: [S01E05] }}
    download: {found}
  feed:
    rss: {{ url: '{base}/api?t=search&apikey={KEY}', all_entries: yes }}
    accept_all: yes
    download: {read}
",
        found = town.file("found").display(),
        read = town.file("read").display(),
    );
    fs::write(town.file("config.yml"), config).unwrap();
    for directory in ["found", "read"] {
        fs::create_dir(town.file(directory)).unwrap();
    }
    run(&town);
    let found = files(&town.file("found"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("S01E05"), "{found:?}");
    let torrent = fs::read(town.file("found").join(&found[0])).unwrap();
    assert!(torrent.starts_with(b"d") && torrent.windows(6).any(|part| part == b"4:info"));
    // It recognises the one it already has by its link, which is the same in every answer.
    assert_eq!(
        files(&town.file("read")).len(),
        5,
        "{:?}",
        files(&town.file("read"))
    );
    // It sends words and IDs together; both indexers support the ID.
    let searches = town.indexers[0].searches();
    let by_id = searches
        .iter()
        .find(|asked| asked.value("t") == Some("tvsearch"));
    assert_eq!(by_id.unwrap().value("tvdbid"), Some("123"), "{searches:#?}");
}
