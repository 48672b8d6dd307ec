//! The running binary: what it prints, how it reloads, stops and starts again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

#[path = "serve/announcing.rs"]
mod announcing;
#[path = "serve/backup.rs"]
mod backup;
#[path = "serve/backup_trouble.rs"]
mod backup_trouble;
#[path = "serve/damage.rs"]
mod damage;
#[path = "serve/demo.rs"]
mod demo;
#[path = "serve/first_run.rs"]
mod first_run;
#[path = "serve/forwarder.rs"]
mod forwarder;
#[path = "serve/full_disk.rs"]
mod full_disk;
#[path = "serve/keys.rs"]
mod keys;
#[path = "serve/live.rs"]
mod live;
#[path = "serve/metrics.rs"]
mod metrics;
#[path = "serve/monitoring.rs"]
mod monitoring;
#[path = "serve/news.rs"]
mod news;
#[path = "serve/newsreaders.rs"]
mod newsreaders;
#[path = "serve/nodes.rs"]
mod nodes;
#[path = "serve/nodes_tracker.rs"]
mod nodes_tracker;
#[path = "serve/notify.rs"]
mod notify;
#[path = "serve/pages.rs"]
mod pages;
#[path = "serve/people.rs"]
mod people;
#[path = "serve/ready.rs"]
mod ready;
#[path = "serve/reload.rs"]
mod reload;
#[path = "serve/sign_in.rs"]
mod sign_in;
#[path = "serve/status.rs"]
mod status;
#[path = "serve/systemd.rs"]
mod systemd;
#[path = "serve/tracker.rs"]
mod tracker;
#[path = "serve/upstreams.rs"]
mod upstreams;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// Far longer than anything here takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Weir; killed when dropped.
struct Weir {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Weir {
    /// Starts it in `dir` and waits for the address of its first URL.
    fn start(dir: &Path, args: &[&str]) -> (Self, SocketAddr) {
        let mut weir = Self::spawn(dir, args);
        let address = weir.address();
        (weir, address)
    }

    /// The address of the next URL that it prints.
    fn address(&mut self) -> SocketAddr {
        let url = self.line("http://");
        let rest = url.split("http://").nth(1).unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    fn spawn(dir: &Path, args: &[&str]) -> Self {
        Self::run(&mut Self::command(dir, args)).expect("the binary runs")
    }

    /// `weir serve` in `dir`, on free ports and in an empty environment.
    fn command(dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .args(["--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .args(args)
            .current_dir(dir)
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
        command
    }

    fn run(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (send, lines) = sync_channel(10_000);
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let send = send.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Ok(Self {
            child,
            lines,
            seen: Vec::new(),
        })
    }

    /// The next line that contains `text`.
    fn line(&mut self, text: &str) -> String {
        self.line_of(&[text])
    }

    /// The next line that contains one of these.
    fn line_of(&mut self, texts: &[&str]) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line =
                line.unwrap_or_else(|_| panic!("no line with {texts:?} after {:#?}", self.seen));
            self.seen.push(line.clone());
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the end and returns the status with everything that was printed.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        (status, self.seen.join("\n"))
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of the overview, requested with this key.
fn status_with_key(address: SocketAddr, key: &str) -> u16 {
    let answer = ask(address, "GET /", key);
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The whole answer to a request without a body.
fn ask(address: SocketAddr, line: &str, key: &str) -> String {
    ask_with(address, line, key, "")
}

/// As [`ask`], with more lines of the head.
fn ask_with(address: SocketAddr, line: &str, key: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {key}\r\nConnection: close\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn config(dir: &Path, text: &str) {
    std::fs::write(dir.join("weir.yaml"), text).unwrap();
}

#[test]
fn without_configuration_it_starts_and_says_what_to_do_next() {
    let dir = TempDir::new().unwrap();
    let mut weir = Weir::spawn(dir.path(), &[]);
    let first = weir.line("http://");
    assert!(first.contains("/sign-in?link="), "the first URL is {first}");
    let key = weir.line("key: ");
    assert!(key.trim_start_matches("  key: ").len() >= 16, "{key}");
    let file = dir.path().canonicalize().unwrap().join("weir.yaml");
    weir.line(&format!("weir check --sample > {}", file.display()));
    weir.signal("TERM");
    assert!(weir.end().0.success());
}

#[test]
fn a_stop_ends_with_code_0_though_connections_are_open() {
    let dir = TempDir::new().unwrap();
    let (weir, address) = Weir::start(dir.path(), &[]);
    let mut idle = TcpStream::connect(address).unwrap();
    write!(idle, "GET /healthz HTTP/1.1\r\nHost: weir\r\n\r\n").unwrap();
    let mut byte = [0];
    idle.read_exact(&mut byte).unwrap();
    let mut half = TcpStream::connect(address).unwrap();
    write!(half, "GET / HT").unwrap();
    weir.signal("INT");
    let (status, text) = weir.end();
    assert_eq!(status.code(), Some(0), "{text}");
    drop((idle, half));
}

#[test]
fn a_second_signal_stops_at_once() {
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        "drain: 1h\nweb: { limits: { request_timeout: 2h } }\n",
    );
    let (mut weir, address) = Weir::start(dir.path(), &["--log-level", "debug"]);
    // A request that never ends, because its body does not come.
    let mut stuck = TcpStream::connect(address).unwrap();
    let head = "POST /sign-in HTTP/1.1\r\nHost: weir\r\nExpect: 100-continue\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n";
    write!(stuck, "{head}").unwrap();
    // Weir asks for the body, so the request is under way.
    let mut answer = [0; 12];
    stuck.set_read_timeout(Some(PATIENCE)).unwrap();
    stuck.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    weir.signal("TERM");
    weir.line("stopping");
    weir.signal("TERM");
    let (status, text) = weir.end();
    assert_eq!(status.code(), Some(143), "{text}");
}

#[test]
fn a_reload_with_mistakes_changes_nothing_and_names_them_all() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "web: { api_key: the-first-key-of-all }\n");
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    assert_eq!(status_with_key(address, "the-first-key-of-all"), 200);
    config(
        dir.path(),
        "web: { api_key: another-key-then, auht: none }\ntracker: { age: soon }\n",
    );
    weir.signal("HUP");
    weir.line("did you mean auth?");
    weir.line("tracker.age");
    weir.line("nothing was changed");
    assert_eq!(status_with_key(address, "the-first-key-of-all"), 200);
    assert_eq!(status_with_key(address, "another-key-then"), 401);
}

#[test]
fn a_good_reload_takes_effect_and_names_what_needs_a_restart() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "web: { api_key: the-first-key-of-all }\n");
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    config(
        dir.path(),
        "web: { api_key: another-key-then, limits: { connections: 9 } }\nlog: { level: debug }\n",
    );
    weir.signal("HUP");
    weir.line("takes effect at the next start keys=\"web.limits.connections\"");
    let done = weir.line("reload: done");
    assert!(
        done.contains("log.level") && done.contains("web.limits.connections"),
        "{done}"
    );
    assert_eq!(status_with_key(address, "another-key-then"), 200);
    assert_eq!(status_with_key(address, "the-first-key-of-all"), 401);
    weir.line("DEBUG");
}

#[test]
fn the_api_reloads_and_tells_mistakes_and_changes() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "web: { api_key: the-first-key-of-all }\n");
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let reload = || ask(address, "POST /api/v1/reload", "the-first-key-of-all");
    config(
        dir.path(),
        "web: { api_key: another-key-then, auht: none }\n",
    );
    let answer = reload();
    assert!(
        answer.starts_with("HTTP/1.1 422") && answer.contains("did you mean auth?"),
        "{answer}"
    );
    config(
        dir.path(),
        "drain: 3s\nweb: { api_key: the-first-key-of-all, limits: { headers: 50 } }\n",
    );
    let answer = reload();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.ends_with(
            r#"{"at_next_start":["drain","web.limits.headers"],"changed":["drain","web.limits.headers"]}"#
        ),
        "{answer}"
    );
    let refused = ask(address, "POST /api/v1/reload", "no-key-of-this-one");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
}

#[test]
fn the_settings_page_says_what_a_reload_changed_and_when_it_holds() {
    let dir = TempDir::new().unwrap();
    let key = "the-first-key-of-all";
    let file = |rest: &str| config(dir.path(), &format!("web: {{ api_key: {key}, {rest} }}\n"));
    file("");
    let (_weir, address) = Weir::start(dir.path(), &[]);
    file("sign_in_tries: 7, limits: { headers: 50 }");
    let done = ask(address, "POST /settings/reload", key);
    assert!(
        done.contains("location: /settings?reloaded=1\r\n"),
        "{done}"
    );
    let page = ask(address, "GET /settings?reloaded=look+elsewhere", key);
    assert!(
        page.contains("Now in use: web.sign_in_tries. At the next start: web.limits.headers."),
        "{page}"
    );
    assert!(!page.contains("elsewhere"), "{page}");
    assert!(!ask(address, "GET /settings", key).contains("Now in use"));
    // What would change is shown before, and changes nothing.
    file("sign_in_tries: 9");
    let preview = ask(address, "GET /settings/reload", key);
    assert!(preview.starts_with("HTTP/1.1 200"), "{preview}");
    for text in [
        "web.sign_in_tries",
        "<code>7</code>",
        "<code>9</code>",
        "at once",
    ] {
        assert!(preview.contains(text), "{text}: {preview}");
    }
    let page = ask(address, "GET /settings?filter=sign_in_tries", key);
    assert!(
        page.contains("<code>7</code>") && !page.contains("<code>9</code>"),
        "{page}"
    );
    for text in [
        "weir backup --data ",
        "state.db",
        "SQLite",
        "Built with Rust",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn a_reload_tells_of_a_changed_secret_and_shows_a_key_it_had_to_make() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "web: { api_key: the-first-key-of-all }\n");
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    config(dir.path(), "web: { api_key: another-key-then }\n");
    weir.signal("HUP");
    let done = weir.line("reload: done");
    assert!(done.contains("changed=\"web.api_key\""), "{done}");
    config(dir.path(), "{}\n");
    weir.signal("HUP");
    let key = weir.line("key: ").trim_start_matches("  key: ").to_owned();
    assert_eq!(status_with_key(address, &key), 200);
}

#[test]
fn after_a_kill_the_next_start_has_the_same_key() {
    let dir = TempDir::new().unwrap();
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    let key = weir.line("key: ").trim_start_matches("  key: ").to_owned();
    assert_eq!(status_with_key(address, &key), 200);
    weir.signal("KILL");
    weir.end();
    let (weir, address) = Weir::start(dir.path(), &[]);
    assert_eq!(status_with_key(address, &key), 200);
    weir.signal("TERM");
    let (_, text) = weir.end();
    assert!(!text.contains("key: "), "shown again in {text}");
}

#[test]
fn a_taken_directory_or_port_says_what_to_do() {
    let dir = TempDir::new().unwrap();
    let (weir, address) = Weir::start(dir.path(), &[]);
    let (status, text) = Weir::spawn(dir.path(), &[]).end();
    assert_eq!(status.code(), Some(1));
    assert!(
        text.contains(&format!(
            "in use by another Weir (process {})",
            weir.child.id()
        )),
        "{text}"
    );
    let other = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["--web", &address.to_string()])
        .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
        .current_dir(other.path())
        .env_clear()
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("is taken by another program") && text.contains("--web"),
        "{text}"
    );
}

#[test]
fn json_logs_are_json() {
    let dir = TempDir::new().unwrap();
    let (weir, _) = Weir::start(dir.path(), &["--log-format", "json"]);
    weir.signal("TERM");
    let (_, text) = weir.end();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a JSON object"))
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["message"] == "started" && line["level"] == "INFO"),
        "{text}"
    );
}
