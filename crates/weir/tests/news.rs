//! The real binary in front of real news servers: two INNs, and what clients see of them over HTTP.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

#[path = "news/articles.rs"]
mod articles;
#[path = "news/beside.rs"]
mod beside;
#[path = "news/charsets.rs"]
mod charsets;
#[path = "news/failing.rs"]
mod failing;
#[path = "news/live.rs"]
mod live;
#[path = "news/many.rs"]
mod many;
#[path = "news/nodes.rs"]
mod nodes;
#[path = "news/readers.rs"]
mod readers;
#[path = "news/reading.rs"]
mod reading;
#[path = "news/restart.rs"]
mod restart;
#[path = "news/secure.rs"]
mod secure;
#[path = "news/talk.rs"]
mod talk;
#[path = "news/terminal.rs"]
mod terminal;
#[path = "news/weir.rs"]
mod weir;

use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::inn::{Inn, Options};
use weir_testkit::tap::Tap;

use self::articles::Posted;
use self::weir::Weir;

/// Far longer than anything here takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(50);
const KEY: &str = "a-key-for-the-tests-of-news";

/// What is asked for again with every page, so that nothing has to be waited for.
const ALWAYS_CHECK: &str = "refresh_after: 0s, cache: { threads: 0s, groups: 0s }";

/// A real server and what listens in on it.
struct Shop {
    inn: Inn,
    tap: Tap,
}

impl Shop {
    async fn open(options: Options, stock: &[Posted]) -> Self {
        let inn = Inn::start(options).await.unwrap();
        let articles = stock.iter().map(|posted| posted.bytes.clone());
        inn.feed(articles).await.unwrap();
        let tap = Tap::start(inn.address()).await.unwrap();
        Self { inn, tap }
    }

    /// Ends it at once, with everything that is under way.
    fn die(&mut self) {
        self.tap.refuse(true);
        self.tap.cut();
        self.inn.kill();
    }

    async fn come_back(&mut self) {
        self.inn.restart().await.unwrap();
        self.tap.refuse(false);
    }
}

/// Two servers, `one` before `two`, and a Weir in front of them. Dropped in this order.
struct Town {
    weir: Weir,
    shops: [Shop; 2],
    directory: TempDir,
    runtime: Runtime,
}

impl Town {
    /// Each server carries these newsgroups and has these articles.
    fn new(stocks: [(&[&str], &[Posted]); 2], settings: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let [one, two] =
            stocks.map(|(newsgroups, stock)| Shop::open(Options::with(newsgroups), stock));
        let (one, two) = runtime.block_on(async { tokio::join!(one, two) });
        let shops = [one, two];
        let directory = TempDir::new().unwrap();
        let entries: Vec<String> = ["one", "two"]
            .iter()
            .zip(&shops)
            .zip(1..)
            .map(|((name, shop), priority)| {
                let port = shop.tap.address().port();
                format!(
                    "{{ name: {name}, host: 127.0.0.1, port: {port}, tls: off, priority: {priority} }}"
                )
            })
            .collect();
        weir::configure(directory.path(), &entries, settings);
        Self {
            weir: Weir::start(directory.path(), &[]),
            shops,
            directory,
            runtime,
        }
    }

    /// The first page of a newsgroup as JSON.
    fn threads(&self, newsgroup: &str) -> Value {
        self.weir.json(&format!("/api/v1/news/groups/{newsgroup}"))
    }

    /// Starts Weir again where it was.
    fn start_again(&mut self) {
        self.weir = Weir::start(self.directory.path(), &[]);
    }
}

/// The IDs of a page's threads.
fn roots(page: &Value) -> Vec<String> {
    let threads = page["threads"].as_array().unwrap().iter();
    threads.map(|row| text(&row["id"])).collect()
}

/// How many articles the threads of a page have in all.
fn articles_of(page: &Value) -> u64 {
    let threads = page["threads"].as_array().unwrap().iter();
    threads.map(|row| row["articles"].as_u64().unwrap()).sum()
}

/// The names of the servers that did not confirm an answer.
fn silent(answer: &Value) -> Vec<String> {
    let silent = answer["currency"]["silent"].as_array().unwrap().iter();
    silent.map(|server| text(&server["name"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Looks until there is something to be seen.
fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_or(look).unwrap_or_else(|| panic!("it never came to pass that {what}"))
}

/// The same for those who say themselves what was missing.
#[expect(
    clippy::disallowed_methods,
    reason = "other programs keep their own time"
)]
fn wait_or<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(seen) = look() {
            return Some(seen);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}
