//! Real programs search through the real binary: FlexGet, feedparser, qBittorrent, schemathesis, Weir itself, and the terminal.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

mod feeds;
mod flexget;
mod qbittorrent;
mod schemathesis;
mod terminal;
mod weir;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use self::weir::Weir;

/// Far longer than anything here takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(50);
const KEY: &str = "a-key-for-the-tests-of-programs";

/// Indexers, and a Weir in front of them. Dropped in this order.
struct Town {
    weir: Weir,
    indexers: Vec<Indexer>,
    directory: tempfile::TempDir,
    runtime: Runtime,
}

impl Town {
    /// Two torrent indexers that have some releases in common, and one of Usenet.
    fn new() -> Self {
        let usenet = Setup {
            newznab: true,
            ..Setup::with(1..=3)
        };
        let secret = |setup| Setup {
            secret: "passkey-of-the-indexer".into(),
            ..setup
        };
        Self::with(
            [
                secret(Setup::with(1..=4)),
                secret(Setup::with(3..=6)),
                secret(usenet),
            ],
            "min_request_interval: 0s",
        )
    }

    fn with(setups: impl IntoIterator<Item = Setup>, settings: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let start = |setup| {
            runtime
                .block_on(Indexer::start(Place::Loopback, setup))
                .unwrap()
        };
        let kinds: Vec<(bool, Indexer)> = setups
            .into_iter()
            .map(|setup| (setup.newznab, start(setup)))
            .collect();
        let directory = tempfile::tempdir().unwrap();
        let names = ["one", "two", "three"];
        let entries: Vec<String> = kinds
            .iter()
            .zip(names)
            .map(|((newznab, indexer), name)| {
                let kind = if *newznab { "newznab" } else { "torznab" };
                format!(
                    "{{ name: {name}, url: \"{}\", api_key: key-of-{name}-indexer, kind: {kind}, tags: [tag{name}] }}",
                    indexer.url()
                )
            })
            .collect();
        let config = format!(
            "web: {{ api_key: {KEY} }}\nsearch: {{ indexers: [{}], {settings} }}\n",
            entries.join(", ")
        );
        fs::write(directory.path().join("weir.yaml"), config).unwrap();
        Self {
            weir: Weir::start(directory.path()),
            indexers: kinds.into_iter().map(|(_, indexer)| indexer).collect(),
            directory,
            runtime,
        }
    }

    /// Stops Weir and starts it again with further sections.
    fn restart_with(&mut self, sections: &str) {
        let file = self.file("weir.yaml");
        let config = fs::read_to_string(&file).unwrap();
        fs::write(&file, config + sections).unwrap();
        // The new one waits for nobody, so the old one goes first.
        self.weir.kill();
        self.weir = Weir::start(self.directory.path());
    }

    /// An address of Weir, with the key.
    fn url(&self, path: &str) -> String {
        let and = if path.contains('?') { '&' } else { '?' };
        format!("http://{}{path}{and}apikey={KEY}", self.weir.address)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A program of the virtual environment that `cargo xtask setup` makes.
fn python(program: &str) -> Command {
    let place = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/programs/.venv/bin/"
    );
    let path = format!("{place}{program}");
    assert!(
        fs::exists(&path).unwrap(),
        "there is no {path}: `cargo xtask setup` installs it"
    );
    Command::new(path)
}

/// What a program printed, both streams, for a message.
fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Waits until the condition holds.
#[expect(
    clippy::disallowed_methods,
    reason = "other programs keep their own time"
)]
fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < PATIENCE,
            "it never came to pass that {what}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}
