//! The examples in `contrib` for Caddy and nginx, with the real programs before the real binary.
//!
//! Each example is used as it is, but for ports, the paths of the certificate and where the program may write. The
//! client comes from an address of its own on this machine, so that whoever takes the proxy for the client is found out.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

mod client;
mod proxy;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use self::client::Client;
use self::proxy::{Proxy, caddy, nginx};

/// Far longer than anything here takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(50);
const KEY: &str = "a-key-for-the-tests-of-proxies";
/// The name that the examples use.
const NAME: &str = "weir.example";

/// The binary, running; killed when dropped.
struct Weir {
    child: Child,
    web: SocketAddr,
    tracker: SocketAddr,
}

impl Weir {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["serve", "--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .current_dir(directory)
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(directory.join("log")).unwrap())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || {
            let url =
                lines.find_map(|line| Some(line.unwrap().split_once("http://")?.1.to_owned()));
            let url = url.expect("it prints where it is");
            url.split('/').next().unwrap().parse().unwrap()
        };
        // The pages are the first URL, the tracker is the next.
        let (web, tracker) = (next(), next());
        // Keeps reading, so that later output does not find the pipe closed.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            web,
            tracker,
        }
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A proxy, a Weir behind it and an indexer behind that. Dropped in this order.
struct Town {
    proxy: Proxy,
    _weir: Weir,
    _indexer: Indexer,
    _directory: TempDir,
    _runtime: Runtime,
}

impl Town {
    fn new(start: fn(&Path, &Weir) -> Proxy) -> Self {
        let runtime = Runtime::new().unwrap();
        let indexer = runtime.block_on(Indexer::start(Place::Loopback, Setup::with(1..=3)));
        let indexer = indexer.unwrap();
        let directory = tempfile::tempdir().unwrap();
        // As the examples ask for, less the address that no proxy has here.
        let config = format!(
            "web: {{ api_key: {KEY}, trusted_proxies: [\"127.0.0.1\"], hosts: [{NAME}] }}\n\
             search: {{ indexers: [{{ name: one, url: \"{}\" }}] }}\n",
            indexer.url()
        );
        fs::write(directory.path().join("weir.yaml"), config).unwrap();
        let weir = Weir::start(directory.path());
        Self {
            proxy: start(directory.path(), &weir),
            _weir: weir,
            _indexer: indexer,
            _directory: directory,
            _runtime: runtime,
        }
    }

    /// A client with an address that ends like this.
    fn client(&self, last: u8) -> Client<'_> {
        Client::new(&self.proxy, last)
    }
}

#[test]
fn caddy_as_in_the_example() {
    everything_works(&Town::new(caddy));
}

#[test]
fn nginx_as_in_the_example() {
    everything_works(&Town::new(nginx));
}

fn everything_works(town: &Town) {
    pages_and_sign_in(town);
    events_come_as_they_happen(town);
    links_have_the_outer_name(town);
    peers_have_their_own_addresses(town);
}

fn pages_and_sign_in(town: &Town) {
    let client = town.client(2);
    let page = client.get("/", "");
    assert!(page.starts_with("HTTP/1.1 303"), "{page}");
    let (_, place) = page.split_once("ocation: ").unwrap();
    let place = place.lines().next().unwrap();
    assert!(
        place.starts_with("/sign-in") || place.starts_with(&format!("https://{NAME}/sign-in")),
        "{page}"
    );
    // Forms of pages: the proxy keeps what proves that they came from ours.
    let page = client.get("/sign-in", "");
    let headers = format!("Cookie: {}\r\nOrigin: https://{NAME}\r\n", cookie(&page));
    let form = format!("key={KEY}&csrf={}", token(&page));
    let signed_in = client.post("/sign-in", &headers, &form);
    assert!(signed_in.starts_with("HTTP/1.1 303"), "{signed_in}");
    let session = cookie(&signed_in);
    let page = client.get("/", &format!("Cookie: {session}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("<title>"), "{page}");
    let headers = format!("Cookie: {session}\r\nOrigin: https://{NAME}\r\n");
    let out = client.post("/sign-out", &headers, &format!("csrf={}", token(&page)));
    assert!(out.starts_with("HTTP/1.1 303"), "{out}");
}

/// The cookie that an answer sets, as it is sent back.
fn cookie(answer: &str) -> &str {
    let cookie = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then_some(value)
    });
    let cookie = cookie.expect("a cookie");
    assert!(cookie.contains("Secure"), "sent over https alone: {cookie}");
    cookie.split_once(';').unwrap().0
}

/// What a page's forms carry.
fn token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    rest.split_once('"').unwrap().0
}

/// Were they held back, this would wait until the test's patience is over.
fn events_come_as_they_happen(town: &Town) {
    let mut stream = town.client(2).open(
        "GET",
        "/api/v1/events",
        &format!("X-Api-Key: {KEY}\r\n"),
        "",
    );
    let mut wait_for = |event: &str| {
        let mut line = String::new();
        while !line.starts_with(event) {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "it goes on");
        }
    };
    wait_for("event: figures");
    let path = format!("/torznab/api?t=search&q=some&apikey={KEY}");
    town.client(2).get(&path, "");
    wait_for("event: decisions");
}

fn links_have_the_outer_name(town: &Town) {
    let path = format!("/torznab/api?t=search&q=&apikey={KEY}");
    let feed = town.client(2).get(&path, "");
    assert!(feed.starts_with("HTTP/1.1 200"), "{feed}");
    let (_, link) = feed.split_once("<enclosure url=\"").expect("a release");
    let (link, _) = link.split_once('"').unwrap();
    let path = link.strip_prefix(&format!("https://{NAME}"));
    let path = path.unwrap_or_else(|| panic!("{link}"));
    let file = town.client(2).get(path, "");
    assert!(file.starts_with("HTTP/1.1 200"), "{file}");
}

fn peers_have_their_own_addresses(town: &Town) {
    let announce = |client: &Client<'_>, headers: &str| {
        let own = format!("%{:02x}", client.last).repeat(20);
        let hash = "%42".repeat(20);
        let path = format!(
            "/announce?info_hash={hash}&peer_id={own}&port=6881&left=1&uploaded=0&downloaded=0&compact=0"
        );
        client.get(&path, headers)
    };
    // Somebody who would like to be somebody else.
    let lie =
        "X-Forwarded-For: 203.0.113.9\r\nX-Real-IP: 203.0.113.9\r\nForwarded: for=203.0.113.9\r\n";
    let first = announce(&town.client(2), lie);
    assert!(first.contains("8:interval"), "{first}");
    let second = announce(&town.client(3), "");
    assert!(second.contains("127.0.0.2"), "{second}");
    assert!(!second.contains("203.0.113.9"), "{second}");
    let third = announce(&town.client(4), "");
    assert!(
        third.contains("127.0.0.2") && third.contains("127.0.0.3"),
        "{third}"
    );
    let scrape = town
        .client(2)
        .get(&format!("/scrape?info_hash={}", "%42".repeat(20)), "");
    assert!(scrape.contains("10:incompletei3e"), "{scrape}");
}
