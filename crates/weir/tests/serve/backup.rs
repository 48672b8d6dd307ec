//! `weir backup`: under load, and without a running Weir.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_store::rusqlite::Connection;
use weir_testkit::zoo::indexer::{Indexer, Setup};
use weir_testkit::zoo::news::{News, Newsgroup};
use weir_testkit::zoo::{Place, http};

use super::status::command;
use super::tracker::Rig;
use super::{PATIENCE, ask, config};

/// Between two requests of the load, so that the machine has time for the rest.
const PACE: Duration = Duration::from_millis(4);

pub(super) fn backup(dir: &Path, args: &[&str]) -> Output {
    let mut command = command(dir, &["backup", "--data", "data"]);
    command.args(args).output().unwrap()
}

pub(super) fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The JSON of an answer.
pub(super) fn json(answer: &str) -> Value {
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Whether manifest, checksums, modes and databases are as they should be.
fn check(backup: &Path) {
    let manifest = fs::read_to_string(backup.join("backup.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let sums: String = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            format!(
                "{}  {}\n",
                file["sha256"].as_str().unwrap(),
                file["name"].as_str().unwrap()
            )
        })
        .collect();
    let mut sha256sum = Command::new("sha256sum")
        .args(["--check", "--strict"])
        .current_dir(backup)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = sha256sum.stdin.take().unwrap();
    stdin.write_all(sums.as_bytes()).unwrap();
    drop(stdin);
    let output = sha256sum.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(backup), 0o700);
    let mut databases = 0;
    for name in names(backup) {
        let path = backup.join(&name);
        assert_eq!(
            mode(&path),
            if path.is_dir() { 0o700 } else { 0o600 },
            "{name}"
        );
        if name.ends_with(".db") {
            databases += 1;
            let file = Connection::open(&path).unwrap();
            let fine: String = file
                .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                .unwrap();
            assert_eq!(fine, "ok", "{name}");
        }
    }
    assert!(databases >= 2, "{:?}", names(backup));
}

/// Announces and searches that go on until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    announced: Arc<AtomicU64>,
    searched: Arc<AtomicU64>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn on(web: SocketAddr, tracker: SocketAddr, key: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (announced, searched) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut threads = Vec::new();
        for thread in 0..2_u64 {
            let (stop, announced) = (stop.clone(), announced.clone());
            threads.push(thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    thread::park_timeout(PACE);
                    let number = announced.fetch_add(1, Ordering::Relaxed) * 2 + thread;
                    let hash: String = number
                        .to_be_bytes()
                        .map(|byte| format!("%{byte:02x}"))
                        .concat();
                    let hash = format!("{hash}{}", "%07".repeat(12));
                    let query = format!(
                        "info_hash={hash}&peer_id={}&port=6881&left=0&compact=1",
                        "p".repeat(20)
                    );
                    let reply = ask(tracker, &format!("GET /announce?{query}"), "");
                    assert!(reply.contains("8:interval"), "{reply}");
                }
            }));
        }
        let (stopped, counted, own) = (stop.clone(), searched.clone(), key.to_owned());
        threads.push(thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::park_timeout(PACE);
                let number = counted.fetch_add(1, Ordering::Relaxed);
                let feed = ask(
                    web,
                    &format!(
                        "GET /torznab/api?t=search&q=S01E{:02}&season={number}",
                        number % 20 + 1
                    ),
                    &own,
                );
                assert!(
                    feed.starts_with("HTTP/1.1 200") && feed.contains("</rss>"),
                    "{feed}"
                );
            }
        }));
        let (stopped, key) = (stop.clone(), key.to_owned());
        threads.push(thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::park_timeout(PACE);
                let group = ask(web, "GET /api/v1/news/groups/misc.test", &key);
                assert!(group.starts_with("HTTP/1.1 200"), "{group}");
            }
        }));
        Self {
            stop,
            announced,
            searched,
            threads,
        }
    }

    /// Waits until more of both has happened.
    fn goes_on(&self) {
        let now = || [&self.announced, &self.searched].map(|count| count.load(Ordering::Relaxed));
        let before = now();
        super::forwarder::until("the load went on", || {
            now()
                .iter()
                .zip(before)
                .all(|(now, before)| *now > before + 1)
        });
    }

    /// Ends it; nothing of it has failed.
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("every answer was good");
        }
    }
}

/// What must be in the backup.
#[derive(Debug)]
struct Known {
    swarms: u64,
    used: u64,
    searches: usize,
    scheduled: u64,
    decisions: usize,
}

impl Known {
    fn of(web: SocketAddr, key: &str) -> Self {
        let get = |path: &str| json(&ask(web, &format!("GET {path}"), key));
        let one = get("/api/v1/upstreams/search/one");
        let quota = one["quota"].as_array().unwrap();
        let status = get("/api/v1/status");
        Self {
            swarms: get("/stats?format=json")["swarms"].as_u64().unwrap(),
            used: quota
                .iter()
                .filter_map(|limit| limit["used"].as_u64())
                .max()
                .unwrap(),
            searches: get("/api/v1/history?limit=500")["searches"]
                .as_array()
                .unwrap()
                .len(),
            scheduled: status["fronts"][0]["queue"]["scheduled"].as_u64().unwrap(),
            decisions: get("/api/v1/decisions?front=search&limit=500")["decisions"]
                .as_array()
                .unwrap()
                .len(),
        }
    }
}

#[test]
fn a_backup_under_load_is_a_whole_weir() {
    let runtime = Runtime::new().unwrap();
    let indexer = |setup| {
        runtime
            .block_on(Indexer::start(Place::Loopback, setup))
            .unwrap()
    };
    let (one, two) = (indexer(Setup::with(1..=20)), indexer(Setup::with(5..=9)));
    let later = http::Behaviour::RetryIn(5);
    let tracker = runtime
        .block_on(http::Tracker::start(Place::Loopback, later))
        .unwrap();
    let shelf = vec![Newsgroup::new("misc.test").with(1..=9)];
    let news = runtime
        .block_on(News::start(Place::Loopback, shelf))
        .unwrap();
    let dir = TempDir::new().unwrap();
    let text = format!(
        "drain: 1s\ntracker: {{ forwarders: [{{ uri: \"{}\", name: later }}] }}\n\
         search:\n  min_request_interval: 0s\n  indexers:\n\
         \x20   - {{ name: one, url: \"{}\", per_day: 100000 }}\n\
         \x20   - {{ name: two, url: \"{}\" }}\n\
         news: {{ servers: [{{ name: main, host: 127.0.0.1, port: {}, tls: off }}] }}\n",
        tracker.url(),
        one.url(),
        two.url(),
        news.address().port(),
    );
    config(dir.path(), &text);
    let mut rig = Rig::run(dir);
    // The key that the first start made, so that it is only in `state.db`.
    let seen = rig.weir.seen.join("\n");
    let key = seen
        .split("key: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let off = ask_json(
        rig.web,
        "POST /api/v1/upstreams/search/two/disable",
        &key,
        r#"{"reason":"moving house"}"#,
    );
    assert_eq!(json(&off)["result"], "done", "{off}");
    let threads =
        |web| json(&ask(web, "GET /api/v1/news/groups/misc.test", &key))["threads"].take();
    let read = threads(rig.web);
    assert_eq!(read.as_array().map(Vec::len), Some(9), "{read}");
    let load = Load::on(rig.web, rig.tracker, &key);
    load.goes_on();
    super::forwarder::until("a retry is scheduled", || {
        Known::of(rig.web, &key).scheduled > 0
    });
    let before = Known::of(rig.web, &key);
    assert!(
        before.swarms > 0 && before.used > 0 && before.searches > 0,
        "{before:?}"
    );
    let work = rig.dir.path();
    let output = backup(work, &["first"]);
    assert!(output.status.success(), "{}", printed(&output));
    load.goes_on();
    // Once more over its address alone, as from another machine, into a directory that is there and empty.
    fs::create_dir(work.join("second")).unwrap();
    let url = format!("http://{}", rig.web);
    let output = backup(
        work,
        &["second", "--url", &url, "--key", &key, "--text-index"],
    );
    assert!(output.status.success(), "{}", printed(&output));
    assert!(
        printed(&output).contains("replace the data directory with a copy of it"),
        "{}",
        printed(&output)
    );
    load.end();
    super::forwarder::until("its copies are removed", || {
        names(&work.join("data/backup.part")).is_empty()
    });
    rig.weir.signal("KILL");
    rig.weir.child.wait().unwrap();
    // Nothing of what follows comes from it.
    drop(news);
    assert!(!work.join("first/news-text.db").exists());
    assert!(work.join("second/news-text.db").exists());
    for name in ["first", "second"] {
        check(&work.join(name));
        let again = TempDir::new().unwrap();
        fs::copy(work.join("weir.yaml"), again.path().join("weir.yaml")).unwrap();
        fs::rename(work.join(name), again.path().join("data")).unwrap();
        let (mut weir, web, tracker) = Rig::at(again.path());
        let after = Known::of(web, &key);
        assert!(after.swarms >= before.swarms, "{before:?} {after:?}");
        assert!(after.used >= before.used, "{before:?} {after:?}");
        assert!(after.searches >= before.searches, "{before:?} {after:?}");
        assert!(after.scheduled >= 1, "{before:?} {after:?}");
        assert!(after.decisions >= before.decisions, "{before:?} {after:?}");
        assert_eq!(threads(web).as_array().map(Vec::len), Some(9));
        let two = json(&ask(web, "GET /api/v1/upstreams/search/two", &key));
        assert_eq!(two["state"], "manual", "{two}");
        assert_eq!(two["off"]["reason"], "moving house", "{two}");
        let load = Load::on(web, tracker, &key);
        load.goes_on();
        load.end();
        weir.signal("TERM");
        weir.line("stopped");
        let (_, log) = weir.end();
        assert!(!log.contains("set aside"), "{log}");
    }
    drop((one, two, tracker));
}

/// As [`ask`], with a body.
pub(super) fn ask_json(address: SocketAddr, line: &str, key: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {key}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A Weir that has served something and its directory.
fn stopped() -> TempDir {
    let rig = Rig::start("");
    assert!(super::tracker::announce(rig.tracker, 1).contains("8:interval"));
    rig.weir.signal("TERM");
    let (status, text) = rig.weir.end();
    assert!(status.success(), "{text}");
    rig.dir
}

#[test]
fn without_a_running_weir_the_directory_itself_is_copied() {
    let dir = stopped();
    let output = backup(dir.path(), &["copy"]);
    assert!(output.status.success(), "{}", printed(&output));
    check(&dir.path().join("copy"));
    let of_swarms = names(&dir.path().join("copy/swarm"));
    assert!(
        of_swarms.iter().any(|name| name.ends_with(".swarm")),
        "{of_swarms:?}"
    );
    // It stays independent of what it was copied from.
    assert_eq!(
        fs::metadata(dir.path().join("copy/swarm/key"))
            .unwrap()
            .len(),
        fs::metadata(dir.path().join("data/swarm/key"))
            .unwrap()
            .len()
    );
    let output = backup(dir.path(), &["copy"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(
        printed(&output).contains("is not empty"),
        "{}",
        printed(&output)
    );
    let mut elsewhere = command(dir.path(), &["backup", "--data", "nowhere", "other"]);
    let output = elsewhere.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed(&output).contains("there is no state in nowhere"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir.path()), ["copy", "data", "weir.yaml"]);
}
