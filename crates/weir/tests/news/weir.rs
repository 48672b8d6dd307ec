//! The binary, running.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{KEY, PATIENCE};

/// Killed when dropped.
pub(crate) struct Weir {
    child: Child,
    address: SocketAddr,
    log: std::path::PathBuf,
}

/// Writes the configuration file. A server that has failed is asked again soon.
pub(crate) fn configure(directory: &Path, servers: &[String], settings: &str) {
    let servers = servers.join(", ");
    let text = format!(
        "drain: 1s\nweb: {{ api_key: {KEY} }}\nengine: {{ ladder: [1s] }}\n\
         news: {{ nntp_listen: \"127.0.0.1:0\", servers: [{servers}], {settings} }}\n"
    );
    fs::write(directory.join("weir.yaml"), text).unwrap();
}

impl Weir {
    /// Starts it with the `weir.yaml` of a directory, in an environment of these variables alone.
    pub(crate) fn start(directory: &Path, environment: &[(&str, &str)]) -> Self {
        let log = directory.join("log");
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["serve", "--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .current_dir(directory)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let url = line.split_once("http://")?.1;
            url.split('/').next()?.parse().ok()
        });
        // Keeps reading, so that later output does not find the pipe closed.
        std::thread::spawn(move || lines.for_each(drop));
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let address = address.unwrap_or_else(|| panic!("it does not start: {}", said()));
        Self {
            child,
            address,
            log,
        }
    }

    /// Where newsreaders connect.
    pub(crate) fn nntp(&self) -> SocketAddr {
        let log = self.log();
        let mut lines = log
            .lines()
            .filter(|line| line.contains("protocol=\"nntp\""));
        let address = lines.find_map(|line| {
            line.split("address=")
                .nth(1)?
                .split(' ')
                .next()?
                .parse()
                .ok()
        });
        address.unwrap_or_else(|| panic!("it does not listen: {log}"))
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Stops it in order, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        let kill = format!("kill -TERM {}", self.child.id());
        let told = Command::new("sh").args(["-c", &kill]).status().unwrap();
        let ended = self.child.wait().unwrap();
        assert!(told.success() && ended.success(), "{}", self.log());
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Status, head in small letters, and body of an answer.
    pub(crate) fn ask(&self, line: &str, headers: &str) -> (u16, String, Vec<u8>) {
        ask(self.address, line, headers)
    }

    /// The same from anywhere: for many threads at once.
    pub(crate) fn asker(&self) -> impl Fn(&str) -> (u16, Vec<u8>) + Send + Clone + use<> {
        let address = self.address;
        move |path: &str| {
            let (status, _, body) = ask(address, &format!("GET {path}"), "");
            (status, body)
        }
    }

    /// Follows these topics of the stream of events.
    pub(crate) fn follow(&self, topics: &str) -> Ears {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET /api/v1/events?topics={topics} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Ears(BufReader::new(stream))
    }

    /// The body of a successful answer.
    pub(crate) fn page(&self, path: &str) -> String {
        let (status, _, body) = self.ask(&format!("GET {path}"), "");
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{path}: {body}\n{}", self.log());
        body
    }

    /// The same as JSON.
    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path)).unwrap()
    }

    /// Has a server tried at once, and tells what became of it.
    pub(crate) fn probe(&self, name: &str) -> Value {
        let line = format!("POST /api/v1/upstreams/news/{name}/probe");
        let (status, _, body) = self.ask(&line, "");
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{line}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

/// Somebody who listens to events.
pub(crate) struct Ears(BufReader<TcpStream>);

impl Ears {
    /// The next event, or a comment, which comes when there is none for a while: it has no name.
    pub(crate) fn event(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).unwrap();
            assert!(read > 0, "the stream has ended");
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim_end().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap());
            } else if line.starts_with(':') {
                return (String::new(), Value::Null);
            }
        }
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(address: SocketAddr, line: &str, headers: &str) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let body = answer.split_off(end + 4);
    let head = String::from_utf8(answer).unwrap();
    (head[9..12].parse().unwrap(), head.to_lowercase(), body)
}
