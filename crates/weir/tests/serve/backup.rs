//! `weir backup`: under load, without a Weir, on full disks, killed in the middle, and against one that lies.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_store::rusqlite::Connection;
use weir_testkit::zoo::indexer::{Indexer, Setup};
use weir_testkit::zoo::news::{News, Newsgroup};
use weir_testkit::zoo::{Place, http};

use super::status::command;
use super::tracker::Rig;
use super::{PATIENCE, Weir, ask, config};

/// Between two requests of the load, so that the machine has time for the rest.
const PACE: Duration = Duration::from_millis(4);

fn backup(dir: &Path, args: &[&str]) -> Output {
    let mut command = command(dir, &["backup", "--data", "data"]);
    command.args(args).output().unwrap()
}

fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The JSON of an answer.
fn json(answer: &str) -> Value {
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
        printed(&output).contains("weir serve --data second"),
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
fn ask_json(address: SocketAddr, line: &str, key: &str, body: &str) -> String {
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

/// A file system that takes no more: files of 8 KiB at most.
fn on_a_full_disk(dir: &Path, args: &str) -> Output {
    let weir = env!("CARGO_BIN_EXE_weir");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {weir} backup --data data {args}");
    let mut sh = Command::new("sh");
    sh.args(["-c", &script]).current_dir(dir).env_clear();
    sh.output().unwrap()
}

#[test]
fn a_full_disk_leaves_nothing_and_harms_no_weir() {
    let rig = Rig::start("");
    let dir = rig.dir.path();
    let output = on_a_full_disk(dir, "copy");
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("cannot write state.db"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir), ["data", "weir.yaml"]);
    assert!(super::tracker::announce(rig.tracker, 1).contains("8:interval"));
    // The next one works at once: the copies of the first are gone.
    let output = backup(dir, &["copy"]);
    assert!(output.status.success(), "{}", printed(&output));
    drop(rig.weir);
    let output = on_a_full_disk(dir, "another");
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("cannot copy state.db"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir), ["copy", "data", "weir.yaml"]);
}

/// The data directory is on a file system with no room for copies; Weir says so before it fills it.
#[test]
fn where_weir_has_no_room_for_copies_it_says_so_and_goes_on() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &super::tracker::text(""));
    fs::create_dir(dir.path().join("data")).unwrap();
    let inner = Weir::command(dir.path(), &[]);
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "--", "sh", "-c"])
        .arg("mount -t tmpfs -o size=48m,mode=700 small data && exec \"$@\"")
        .arg("sh")
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
    let mut weir = Weir::run(&mut command).unwrap();
    let url = weir.line("http://");
    let web: SocketAddr = url
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let url = format!("http://{web}");
    let output = backup(
        dir.path(),
        &["copy", "--url", &url, "--key", super::tracker::KEY],
    );
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("answered 507: The disk with the data directory has"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir.path()), ["data", "weir.yaml"]);
    assert!(ask(web, "GET /readyz", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn only_who_has_the_key_gets_a_backup_and_only_what_belongs_to_it() {
    let rig = Rig::start("");
    let key = super::tracker::KEY;
    let begin = |key: &str, body: &str| ask_json(rig.web, "POST /api/v1/backups", key, body);
    assert!(begin("", "").starts_with("HTTP/1.1 401"));
    assert!(begin("wrong-wrong-wrong", "").starts_with("HTTP/1.1 401"));
    for body in [r#"{"path":"/etc"}"#, "[", r#"{"text_index":3}"#] {
        let answer = begin(key, body);
        assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    }
    let begun = json(&begin(key, ""));
    let path = format!("/api/v1/backups/{}", begun["id"].as_str().unwrap());
    let get = |rest: &str| ask(rig.web, &format!("GET {path}{rest}"), key);
    super::forwarder::until("it is ready", || json(&get(""))["state"] == "ready");
    let manifest = json(&get(""))["manifest"].take();
    assert!(ask(rig.web, &format!("GET {path}"), "").starts_with("HTTP/1.1 401"));
    assert!(ask(rig.web, &format!("GET {path}/files/state.db"), "").starts_with("HTTP/1.1 401"));
    for name in [
        "state.db-wal",
        "../state.db",
        "..%2Fweir.lock",
        "%2Fetc%2Fpasswd",
        "weir.lock",
        "",
    ] {
        let answer = get(&format!("/files/{name}"));
        assert!(answer.starts_with("HTTP/1.1 404"), "{name}: {answer}");
    }
    assert!(get("/files/swarm/key?from=x").starts_with("HTTP/1.1 4"));
    let beyond = get("/files/swarm/key?from=99999999999");
    assert!(
        beyond.starts_with("HTTP/1.1 200") && beyond.ends_with("\r\n\r\n"),
        "{beyond}"
    );
    let other = ask(rig.web, "GET /api/v1/backups/1-1", key);
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    // Somebody is fetching it, so there is no second one.
    let busy = begin(key, "");
    assert!(
        busy.starts_with("HTTP/1.1 409") && busy.to_lowercase().contains("retry-after"),
        "{busy}"
    );
    let output = backup(rig.dir.path(), &["copy"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed(&output).contains("Another backup is being taken"),
        "{}",
        printed(&output)
    );
    assert!(!rig.dir.path().join("copy").exists());
    // Nobody but us may read the copies meanwhile.
    let place = rig.dir.path().join("data/backup.part");
    let mode = fs::metadata(&place).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    assert!(
        manifest["files"].as_array().unwrap().len() >= 3,
        "{manifest}"
    );
    // What a kill leaves behind is gone after the next start.
    rig.weir.signal("KILL");
    let Rig { mut weir, dir, .. } = rig;
    weir.child.wait().unwrap();
    assert_eq!(names(&place).len(), 1);
    let (weir, ..) = Rig::at(dir.path());
    assert!(!place.exists());
    drop(weir);
}

/// Stands for a Weir: answers each path as `answer` says.
fn impostor(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let mut length = 0;
            for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            drop(lines);
            // The body, if there is one, came with the head; nobody looks at it.
            let _ = length;
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let Some(body) = answer(&path) else { continue };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
        }
    });
    format!("http://{address}")
}

fn manifest(name: &str) -> Value {
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let file = |name: &str| json!({ "name": name, "size": 3, "sha256": sum });
    json!({ "version": "1", "made": "now", "files": [file("state.db"), file(name)] })
}

#[test]
fn what_is_not_as_it_was_said_is_no_backup() {
    let dir = TempDir::new().unwrap();
    let take = |name: &'static str, bytes: &'static str| {
        let url = impostor(move |path| {
            let told = match path.rsplit('/').next().unwrap() {
                "backups" => json!({ "id": "1-1", "state": "making" }),
                "1-1" => json!({ "state": "ready", "manifest": manifest(name) }),
                "done" => json!({}),
                _ => return Some(bytes.into()),
            };
            Some(told.to_string().into_bytes())
        });
        let output = backup(dir.path(), &["copy", "--url", &url, "--key", "k"]);
        (output.status.code(), printed(&output))
    };
    for (name, bytes, said) in [
        ("../evil", "abc", "cannot be part of a backup"),
        ("/tmp/evil", "abc", "cannot be part of a backup"),
        ("state.db", "abc", "twice"),
        ("search.db", "abd", "arrived damaged"),
        ("search.db", "abcdef", "another number of bytes"),
        ("search.db", "", "another number of bytes"),
    ] {
        let (code, text) = take(name, bytes);
        assert_eq!(code, Some(1), "{name}: {text}");
        assert!(text.contains(said), "{name}: {text}");
        assert!(
            names(dir.path()).is_empty(),
            "{name}: {:?}",
            names(dir.path())
        );
    }
    let (code, text) = take("search.db", "abc");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        names(&dir.path().join("copy")),
        ["backup.json", "search.db", "state.db"]
    );
}

#[test]
fn a_client_that_is_killed_leaves_nothing_that_looks_whole() {
    for (signal, code) in [("INT", Some(130)), ("KILL", None)] {
        let dir = TempDir::new().unwrap();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let url = impostor(move |path| {
            let answer = match path.rsplit('/').next().unwrap() {
                "backups" => json!({ "id": "1-1" }),
                "1-1" => json!({ "state": "ready", "manifest": manifest("search.db") }),
                "state.db?from=0" => return Some(b"abc".to_vec()),
                // The second file never arrives.
                _ => {
                    let _ = tell.try_send(());
                    thread::park();
                    return None;
                }
            };
            Some(answer.to_string().into_bytes())
        });
        let args = ["backup", "copy", "--url", &url, "--key", "k"];
        let mut child = command(dir.path(), &args).spawn().unwrap();
        told.recv_timeout(PATIENCE).unwrap();
        let kill = format!("kill -{signal} {}", child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{:?}", status.signal());
        let left = names(dir.path());
        match signal {
            "INT" => assert!(left.is_empty(), "{left:?}"),
            _ => {
                assert_eq!(left, [format!(".copy.part-{}", child.id())]);
                assert!(!dir.path().join(&left[0]).join("backup.json").exists());
            }
        }
    }
}
