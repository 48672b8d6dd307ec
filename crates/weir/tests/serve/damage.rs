//! Damaged files: a damaged cache loses its answers and nothing else; a file that must not be lost is left alone and named.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use super::tracker::{KEY, Rig};
use super::{Weir, ask, config};

/// A data directory left by a Weir with an indexer, and that indexer.
struct Left {
    dir: TempDir,
    indexer: Indexer,
    _runtime: Runtime,
}

impl Left {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let indexer = Indexer::start(Place::Loopback, Setup::with(1..=20));
        let indexer = runtime.block_on(indexer).unwrap();
        let dir = TempDir::new().unwrap();
        let url = indexer.url();
        config(
            dir.path(),
            &format!(
                "web: {{ api_key: {KEY} }}\nsearch: {{ min_request_interval: 0s, indexers: [{{ name: one, url: \"{url}\" }}] }}\n"
            ),
        );
        let left = Self {
            dir,
            indexer,
            _runtime: runtime,
        };
        left.serves("").0.stop();
        left
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("data").join(name)
    }

    /// Starts a Weir there, which searches, announces and is ready.
    fn serves(&self, what: &str) -> (Served, usize) {
        let before = self.indexer.searches().len();
        let rig = Rig::at(self.dir.path());
        let feed = ask(rig.1, "GET /torznab/api?t=search&q=some", KEY);
        assert!(feed.contains("<item>"), "{what}: {feed}");
        let ready = ask(rig.1, "GET /readyz", "");
        assert!(ready.starts_with("HTTP/1.1 200"), "{what}: {ready}");
        let announced = super::tracker::announce(rig.2, 7);
        assert!(announced.contains("8:interval"), "{what}: {announced}");
        let asked = self.indexer.searches().len() - before;
        (Served(rig.0), asked)
    }
}

struct Served(Weir);

impl Served {
    /// Stops it and returns its log.
    fn stop(self) -> String {
        self.0.signal("TERM");
        let (status, text) = self.0.end();
        assert!(status.success(), "{text}");
        text
    }
}

fn lines_about(log: &str, name: &str) -> usize {
    log.lines().filter(|line| line.contains(name)).count()
}

#[test]
fn a_damaged_cache_stops_nothing_and_is_named_once() {
    let left = Left::new();
    let (path, bad) = (left.file("search.db"), left.file("search.db.bad"));
    let good = fs::read(&path).unwrap();
    let (weir, asked) = left.serves("as it was left");
    weir.stop();
    assert_eq!(asked, 0, "the cache answers");
    let pages = good.len() / 4096;
    assert!(pages >= 6, "{pages}");
    let mut ways: Vec<(String, Vec<u8>)> = Vec::new();
    for page in 0..pages {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xA5);
        ways.push((format!("page {page}"), bytes));
    }
    ways.push(("cut".into(), good[..good.len() - 4096].to_vec()));
    ways.push(("no database".into(), b"garbage".repeat(999)));
    let count = ways.len();
    let mut set_aside = 0;
    for (what, bytes) in ways {
        let _ = fs::remove_file(&bad);
        fs::write(&path, bytes).unwrap();
        let mut named = 0;
        let mut asked = 1;
        // Damage is found at the start, later when it is read, or never if it is not read.
        for _ in 0..3 {
            let weir;
            (weir, asked) = left.serves(&what);
            let log = weir.stop();
            assert!(asked <= 1 && !log.contains("ERROR"), "{what}: {log}");
            named += lines_about(&log, "search.db.bad");
        }
        assert_eq!(asked, 0, "{what}: answers are kept again");
        assert_eq!(named, usize::from(bad.exists()), "{what}");
        set_aside += named;
    }
    assert!(set_aside + 4 >= count, "{set_aside} of {count}");
}

#[test]
fn a_cache_that_is_damaged_while_weir_runs_stops_nothing() {
    let left = Left::new();
    let (path, bad) = (left.file("search.db"), left.file("search.db.bad"));
    // More than SQLite's page cache holds.
    let search = |web, number: u32| {
        let target = format!("GET /torznab/api?t=search&q=some+{number}");
        let feed = ask(web, &target, KEY);
        assert!(feed.starts_with("HTTP/1.1 200"), "{feed}");
    };
    let (weir, web, _) = Rig::at(left.dir.path());
    (0..60).for_each(|number| search(web, number));
    Served(weir).stop();
    let (mut weir, web, _) = Rig::at(left.dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    (0..60).for_each(|number| search(web, number));
    let feed = ask(web, "GET /torznab/api?t=search&q=some", KEY);
    assert!(feed.contains("<item>"), "{feed}");
    weir.line("search.db.bad");
    assert!(bad.exists());
    let ready = ask(web, "GET /readyz", "");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let log = Served(weir).stop();
    assert_eq!(lines_about(&log, "search.db.bad"), 1, "{log}");
    let (weir, asked) = left.serves("afterwards");
    weir.stop();
    assert_eq!(asked, 0, "the new cache kept the answer");
}

#[test]
fn a_cache_that_is_no_file_stops_nothing_and_says_why() {
    let left = Left::new();
    let path = left.file("search.db");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let (weir, _) = left.serves("a directory");
    let log = weir.stop();
    assert!(log.contains("Is a directory"), "{log}");
    assert_eq!(lines_about(&log, "search.db"), 1, "{log}");
    assert!(path.is_dir());
}

#[test]
fn a_damaged_state_is_named_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let (weir, _) = Weir::start(dir.path(), &[]);
    weir.signal("TERM");
    assert!(weir.end().0.success());
    let path = dir.path().join("data/state.db");
    let good = fs::read(&path).unwrap();
    let mut refused = 0;
    for page in 0..good.len() / 4096 {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xA5);
        fs::write(&path, &bytes).unwrap();
        let _ = fs::remove_file(dir.path().join("data/state.db-wal"));
        let mut weir = Weir::spawn(dir.path(), &[]);
        let line = weir.line_of(&["weir: ", "/announce"]);
        if line.contains("/announce") {
            continue; // A table that nobody reads at the start.
        }
        refused += 1;
        let (status, text) = weir.end();
        assert_eq!(status.code(), Some(1), "{text}");
        assert!(
            line.contains("state.db is damaged") && line.contains("Restore it from a backup"),
            "page {page}: {line}"
        );
        assert_eq!(fs::read(&path).unwrap().len(), good.len(), "page {page}");
        assert!(
            names(&dir.path().join("data"))
                .iter()
                .all(|name| !name.contains("bad"))
        );
    }
    assert!(refused > 3, "{refused}");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
