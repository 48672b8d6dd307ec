//! People and their programs at several built Weirs on a real Redis: who is known to one node is known to all, also while the
//! store is away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::redis::Redis;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use super::{PATIENCE, Weir, ask, config};

const KEY: &str = "k3y-of-all-the-nodes";
const SECRET: &str = "a secret that all nodes of this test share";

/// Nodes with one indexer and one store. Dropped in this order.
struct Site {
    nodes: Vec<One>,
    redis: Redis,
    indexer: Indexer,
    _runtime: Runtime,
}

struct One {
    weir: Weir,
    web: SocketAddr,
    dir: TempDir,
}

impl Site {
    fn new(count: usize) -> Self {
        let runtime = Runtime::new().unwrap();
        let indexer = Indexer::start(Place::Loopback, Setup::with(1..=5));
        let indexer = runtime.block_on(indexer).unwrap();
        let mut site = Self {
            nodes: Vec::new(),
            redis: runtime.block_on(Redis::start()).unwrap(),
            indexer,
            _runtime: runtime,
        };
        (0..count).for_each(|number| site.join(number));
        for one in &site.nodes {
            // Each has heard of all, and so they of it.
            let all = format!("\"here\":{count}");
            wait_until("all nodes are together", || {
                ask(one.web, "GET /api/v1/nodes", KEY).contains(&all)
            });
        }
        // The first of them has the secret of forms; the others take it when they read that it is there.
        let others = |web| {
            site.nodes
                .iter()
                .map(|one| one.web)
                .filter(move |at| *at != web)
        };
        for (opened, sent) in
            (site.nodes.iter()).flat_map(|one| others(one.web).map(|to| (one.web, to)))
        {
            wait_until("forms of one node hold at the other", || {
                let mut visitor = Browser::default();
                let token = visitor.form(opened, "/sign-in");
                // The form is looked at before the key, which is none: 403 until it holds.
                let form = format!("csrf={token}&key=none");
                visitor.ask(sent, "POST", "/sign-in", &form).0 == 422
            });
        }
        site
    }

    fn join(&mut self, number: usize) {
        let dir = TempDir::new().unwrap();
        let (redis, indexer) = (self.redis.url(), self.indexer.url());
        let text = format!(
            "web: {{ api_key: {KEY}, sign_in_tries: 1000 }}\nstore: {{ redis: '{redis}', secret: '{SECRET}' }}\nnode: {{ name: node-{number} }}\n\
             search: {{ spacing: {{ interactive: 0s, rss: 0s, completion: 0s, background: 0s }}, indexers: [{{ name: ix, url: '{indexer}', api_key: k }}] }}\n"
        );
        config(dir.path(), &text);
        let (weir, web) = Weir::start(dir.path(), &[]);
        self.nodes.push(One { weir, web, dir });
    }

    /// The store stops, and all have noticed.
    fn freeze(&self) {
        self.redis.freeze();
        for one in &self.nodes {
            wait_until("the node is alone", || is_alone(one.web));
        }
    }

    fn thaw(&self) {
        self.redis.thaw();
        for one in &self.nodes {
            wait_until("the node is back", || !is_alone(one.web));
        }
    }
}

impl One {
    /// What `weir sign-in` prints beside this node: the link's path.
    fn new_link(&self) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["sign-in", "--data", "data"])
            .current_dir(self.dir.path())
            .env_clear()
            .output()
            .expect("the binary runs");
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, path) = text.trim_end().split_once("/sign-in").expect("a link");
        format!("/sign-in{path}")
    }

    /// The path of the link that its first start printed.
    fn first_link(&self) -> String {
        let seen = self.weir.seen.iter();
        let mut links = seen.filter_map(|line| line.split_once("/sign-in?"));
        format!("/sign-in?{}", links.next().expect("a link").1)
    }
}

fn is_alone(web: SocketAddr) -> bool {
    ask(web, "GET /api/v1/nodes", KEY).contains("\"state\":\"alone\"")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let look = std::time::Duration::from_millis(50);
    for _ in 0..PATIENCE.as_millis() / look.as_millis() {
        if is_so() {
            return;
        }
        thread::park_timeout(look);
    }
    panic!("{what}");
}

/// Status of an answer to this key.
fn status(web: SocketAddr, line: &str, key: &str) -> u16 {
    ask(web, line, key)[9..12].parse().unwrap()
}

/// Makes a key by the API: its number and itself.
fn make(web: SocketAddr, name: &str) -> (String, String) {
    let body = format!("{{\"name\":\"{name}\",\"right\":\"search\"}}");
    let headers = format!("X-Api-Key: {KEY}\r\nContent-Type: application/json\r\n");
    let (status, _, made) = exchange(web, "POST", "/api/v1/keys", &headers, &body);
    assert_eq!(status, 201, "{made}");
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    (
        made["id"].to_string(),
        made["key"].as_str().unwrap().to_owned(),
    )
}

/// Status, head and body.
fn exchange(
    web: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, String, String) {
    let mut stream = TcpStream::connect(web).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: weir\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head[9..12].parse().unwrap(),
        head.to_owned(),
        body.to_owned(),
    )
}

/// One browser, whichever node it talks to: a balancer stands before them.
#[derive(Clone, Default)]
struct Browser {
    cookies: Vec<(String, String)>,
}

impl Browser {
    fn ask(&mut self, web: SocketAddr, method: &str, path: &str, form: &str) -> (u16, String) {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let headers = format!(
            "Cookie: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            cookies.join("; ")
        );
        let (status, head, body) = exchange(web, method, path, &headers, form);
        for line in head
            .lines()
            .filter_map(|line| line.strip_prefix("set-cookie: "))
        {
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        (status, body)
    }

    fn get(&mut self, web: SocketAddr, path: &str) -> (u16, String) {
        self.ask(web, "GET", path, "")
    }

    /// The token of the form on a page.
    fn form(&mut self, web: SocketAddr, path: &str) -> String {
        let (_, page) = self.get(web, path);
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a form");
        rest.split_once('"').unwrap().0.to_owned()
    }

    fn is_in(&self) -> bool {
        self.cookies.iter().any(|(name, _)| name == "weir_session")
    }

    /// Opens the form at one node and sends it to another.
    fn sign_in(&mut self, opened: SocketAddr, sent: SocketAddr) {
        let token = self.form(opened, "/sign-in");
        let form = format!("csrf={token}&key={KEY}");
        assert_eq!(self.ask(sent, "POST", "/sign-in", &form).0, 303);
        assert!(self.is_in());
    }

    /// Whether a node knows it. Its cookies stay as they are.
    fn is_known(&self, web: SocketAddr) -> bool {
        match self.clone().get(web, "/settings").0 {
            200 => true,
            303 => false,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn who_is_known_to_one_node_is_known_to_all_also_while_the_store_is_away() {
    let site = Site::new(2);
    let [a, b] = [site.nodes[0].web, site.nodes[1].web];
    let mut browser = Browser::default();
    browser.sign_in(b, a);
    // At once: the other node looks before it refuses.
    assert!(browser.is_known(b) && browser.is_known(a));
    let theme = |browser: &mut Browser, opened, sent| {
        let token = browser.form(opened, "/settings");
        let form = format!("csrf={token}&theme=dark");
        browser.ask(sent, "POST", "/theme", &form).0
    };
    assert_eq!(theme(&mut browser, a, b), 303);
    assert_eq!(theme(&mut browser, b, a), 303);

    let caps = "GET /torznab/api?t=caps";
    let (_, key) = make(a, "Sonarr");
    assert_eq!(status(b, caps, &key), 200);
    let (number, revoked) = make(b, "Radarr");
    assert_eq!(status(a, caps, &revoked), 200);
    assert_eq!(
        status(b, &format!("DELETE /api/v1/keys/{number}"), KEY),
        200
    );
    wait_until("it is revoked everywhere", || {
        status(a, caps, &revoked) == 401
    });

    let links = |web| {
        let feed = ask(web, "GET /torznab/api?t=search", &key);
        let links = feed.match_indices("/dl/").map(|(at, _)| {
            let rest = &feed[at..];
            let end = rest.find(['<', '"', '?']).unwrap();
            format!("GET {}", &rest[..end])
        });
        links.collect::<Vec<_>>()
    };
    let links = links(a);
    assert!(links.len() >= 4, "{links:?}");
    assert_eq!(status(b, &links[0], ""), 200);
    assert_eq!(status(a, &links[0], ""), 200);

    // Signed out at one node is signed out at all; who is left is known to both.
    let mut other = Browser::default();
    other.sign_in(a, a);
    assert!(other.is_known(b));
    let kept = other.clone();
    let token = other.form(b, "/settings");
    assert_eq!(
        other
            .ask(a, "POST", "/sign-out", &format!("csrf={token}"))
            .0,
        303
    );
    assert!(!kept.is_known(a));
    wait_until("it has ended everywhere", || !kept.is_known(b));
    let mut third = Browser::default();
    third.sign_in(a, a);
    assert!(third.is_known(b));

    site.freeze();
    assert!(browser.is_known(a) && browser.is_known(b));
    assert_eq!(theme(&mut browser, a, b), 303);
    for web in [a, b] {
        assert_eq!(status(web, caps, &key), 200);
        assert_eq!(status(web, caps, &revoked), 401);
        assert!(!kept.is_known(web), "ended before");
    }
    assert_eq!(
        status(b, links.last().unwrap(), ""),
        200,
        "a link made before"
    );
    // What ends now ends here, and everywhere once the store is back.
    let kept = third.clone();
    let token = third.form(a, "/settings");
    assert_eq!(
        third
            .ask(a, "POST", "/sign-out", &format!("csrf={token}"))
            .0,
        303
    );
    assert!(!kept.is_known(a));
    assert!(kept.is_known(b), "it cannot know");
    let mut alone = Browser::default();
    alone.sign_in(a, a);
    assert!(!alone.is_known(b), "it cannot know");
    site.thaw();
    wait_until("the end is heard of", || !kept.is_known(b));
    wait_until("the session is heard of", || alone.is_known(b));
    assert!(!kept.is_known(a));
    assert!(browser.is_known(a) && browser.is_known(b));
}

/// Opens a link in a new browser: the status, and the browser.
fn open(web: SocketAddr, link: &str) -> (u16, Browser) {
    let mut browser = Browser::default();
    let (status, page) = browser.get(web, link);
    assert_eq!(status == 303, browser.is_in(), "{page}");
    (status, browser)
}

#[test]
fn a_sign_in_link_of_one_node_signs_in_at_any_node_and_once() {
    let site = Site::new(3);
    let [a, b, c] = [0, 1, 2].map(|number| site.nodes[number].web);
    // The one that the first start printed, and one that another process makes now.
    for link in [site.nodes[0].first_link(), site.nodes[0].new_link()] {
        let (status, browser) = open(b, &link);
        assert_eq!(status, 303, "{link}");
        assert!(browser.is_known(a) && browser.is_known(b) && browser.is_known(c));
        for web in [b, a, c] {
            assert_eq!(open(web, &link).0, 403, "once");
        }
    }
    // Whoever is fastest, only one is let in.
    for round in 0..4 {
        let link = site.nodes[round % 3].new_link();
        let opened = thread::scope(|scope| {
            let all = [a, b, c, a, b, c].map(|web| {
                let link = &link;
                scope.spawn(move || open(web, link).0)
            });
            all.map(|one| one.join().unwrap())
        });
        let inside = opened.iter().filter(|status| **status == 303);
        assert_eq!(inside.count(), 1, "{opened:?}");
    }
    site.freeze();
    let link = site.nodes[0].new_link();
    let (status, page) = Browser::default().get(b, &link);
    assert_eq!(status, 503, "{page}");
    assert!(
        page.contains("The store of the nodes does not answer"),
        "{page}"
    );
    assert_eq!(open(a, &link).0, 303, "its own node takes it");
    assert_eq!(open(a, &link).0, 403, "once");
    site.thaw();
    for web in [a, b, c] {
        assert_eq!(open(web, &link).0, 403, "used is used");
    }
}
