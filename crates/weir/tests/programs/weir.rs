//! The binary, running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{KEY, PATIENCE};

/// Killed when dropped.
pub(crate) struct Weir {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Weir {
    /// Starts it with the `weir.yaml` of a directory.
    pub(crate) fn start(directory: &Path) -> Self {
        let mut child = command(directory)
            .args(["serve", "--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(directory.join("log")).unwrap())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            let url = line.split_once("http://")?.1;
            url.split('/').next()?.parse().ok()
        });
        // Keeps reading, so that later output does not find the pipe closed.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            address: url.expect("it prints where it is"),
        }
    }

    /// Stops it, and waits until it has ended.
    pub(crate) fn stop(mut self) {
        let kill = format!("kill -TERM {}", self.child.id());
        let told = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(told.success() && self.child.wait().unwrap().success());
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Status, head and body of an answer.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        self.ask("GET", path, headers, "")
    }

    /// The body of what a successful POST of JSON answers.
    pub(crate) fn post(&self, path: &str, json: &str) -> String {
        let headers = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            json.len()
        );
        let (status, _, body) = self.ask("POST", path, &headers, json);
        let body = String::from_utf8(body).unwrap();
        assert!((200..300).contains(&status), "{path}: {body}");
        body
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n{headers}\r\n{body}",
            self.address
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

    /// The body of a successful answer.
    pub(crate) fn text(&self, path: &str) -> String {
        let (status, _, body) = self.get(path, "");
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The binary, in this directory and in an empty environment.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .current_dir(directory)
        .env_clear()
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
    command
}
