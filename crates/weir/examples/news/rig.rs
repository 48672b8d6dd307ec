//! A running Weir, and what it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

/// The first word that makes this program Weir.
pub(crate) const SERVE: &str = "--weir";

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running Weir with an empty data directory; killed when dropped.
pub(crate) struct Rig {
    child: Child,
    pub(crate) web: SocketAddr,
    /// Where newsreaders connect.
    pub(crate) nntp: SocketAddr,
    /// The path that signs in.
    link: String,
    _dir: TempDir,
}

impl Rig {
    /// Starts one that reads from a news server and whose pages are public.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let dir = TempDir::with_prefix("weir-news-").unwrap();
        let (host, port) = (server.ip(), server.port());
        let nntp = free_address();
        let config = format!(
            "log: {{ level: warn }}\nnews:\n  public: true\n  nntp_listen: \"{nntp}\"\n  servers:\n    \
             - {{ name: main, host: {host}, port: {port}, tls: off }}\n"
        );
        fs::write(dir.path().join("weir.yaml"), config).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg(SERVE)
            .args(["--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .current_dir(dir.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("http://")?;
            let (address, path) = rest.split_once('/')?;
            Some((address.parse().ok()?, format!("/{}", path.trim())))
        });
        let (web, link) = url.expect("Weir tells where its pages are");
        // What it prints later is nobody's, but somebody has to take it.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            web,
            nntp,
            link,
            _dir: dir,
        }
    }

    /// Fetches a page, which must be there; tells the time to its last byte, in milliseconds.
    pub(crate) fn fetch(&self, path: &str) -> (f64, String) {
        let (took, answer) = self.ask(path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        (took, answer)
    }

    /// Signs in as a browser does; gives the cookie.
    pub(crate) fn sign_in(&self) -> String {
        let (_, answer) = self.ask(&self.link);
        let cookies = answer.lines().filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        let cookies: Vec<&str> = cookies
            .filter_map(|value| value.split(';').next())
            .collect();
        assert!(!cookies.is_empty(), "{answer}");
        cookies.join("; ")
    }

    fn ask(&self, path: &str) -> (f64, String) {
        let start = Instant::now();
        let mut stream = TcpStream::connect(self.web).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.web
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let took = millis(start);
        (took, String::from_utf8_lossy(&answer).into_owned())
    }

    /// Its processor time so far, in milliseconds.
    pub(crate) fn processor(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // Behind the name, which may have spaces: the 12th and 13th, in hundredths of a second.
        let (_, fields) = text.rsplit_once(')').unwrap();
        let fields = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = fields.map(|field| field.parse::<f64>().unwrap()).sum();
        ticks * 10.0
    }

    /// Its memory in bytes: now, and at the most so far.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes =
                line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
            kilobytes.unwrap() * 1024.0
        };
        (value("VmRSS:"), value("VmHWM:"))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that nobody listens at, as far as that can be known.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// Milliseconds since then.
pub(crate) fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
