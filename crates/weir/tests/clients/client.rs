//! The clients: how each is told to use nothing but the tracker, and how it is stopped so that it says goodbye.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::network::Host;
use crate::{Torrent, tail, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Aria2,
    Libtorrent,
    Qbittorrent,
    Rtorrent,
    Transmission,
}

/// The port on which transmission and qBittorrent take orders from their own host.
const ORDERS: u16 = 9091;

const LIBTORRENT: &str = include_str!("libtorrent.py");

/// A running client with one torrent; killed when dropped.
pub(crate) struct Client {
    pub(crate) program: Program,
    pub(crate) host: Host,
    child: Child,
    directory: TempDir,
}

impl Client {
    /// Starts a client that has the file already.
    pub(crate) fn seed(program: Program, host: Host, torrent: &Torrent, tracker: &str) -> Self {
        Self::start(program, host, torrent, tracker, true)
    }

    /// Starts a client that has nothing of it.
    pub(crate) fn leech(program: Program, host: Host, torrent: &Torrent, tracker: &str) -> Self {
        Self::start(program, host, torrent, tracker, false)
    }

    fn start(program: Program, host: Host, torrent: &Torrent, tracker: &str, seeds: bool) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path();
        let write = |name: &str, bytes: &[u8]| {
            let file = path.join(name);
            let parent = file.parent().expect("it is in the directory");
            fs::create_dir_all(parent).expect("a temporary directory");
            fs::write(file, bytes).expect("a temporary file");
        };
        write("weir.torrent", &torrent.file(tracker));
        fs::create_dir(path.join("files")).expect("a temporary directory");
        if seeds {
            write(&format!("files/{}", Torrent::NAME), &torrent.content);
        }
        let mut command = match program {
            Program::Aria2 => aria2(&host, path, tracker.starts_with("udp:")),
            Program::Libtorrent => libtorrent(&host, path),
            Program::Qbittorrent => {
                write("qBittorrent/config/qBittorrent.conf", &qbittorrent_conf());
                qbittorrent(&host, path)
            }
            Program::Rtorrent => {
                write("rtorrent.rc", &rtorrent_rc(path));
                fs::create_dir(path.join("session")).expect("a temporary directory");
                rtorrent(&host, path)
            }
            Program::Transmission => {
                write("settings.json", TRANSMISSION_SETTINGS.as_bytes());
                transmission(&host, path)
            }
        };
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = command
            .env_clear()
            .env("HOME", path)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("`nsenter` is in Debian's util-linux");
        let client = Self {
            program,
            host,
            child,
            directory,
        };
        if program == Program::Transmission {
            let file = path_text(&client.directory.path().join("weir.torrent"));
            client.transmission_order("torrent-add", &format!(r#""filename":"{file}""#));
        }
        client
    }

    /// Whether it has the whole file, byte for byte.
    pub(crate) fn has(&self, torrent: &Torrent) -> bool {
        let file = self.directory.path().join("files").join(Torrent::NAME);
        fs::read(file).is_ok_and(|bytes| bytes == torrent.content)
    }

    /// What it printed last.
    pub(crate) fn log(&self) -> String {
        tail(&self.directory.path().join("log"))
    }

    /// Asks it to stop in the way that makes it tell its tracker.
    pub(crate) fn stop(&self) {
        match self.program {
            // Ended by a signal alone, version 3.00 says no goodbye over HTTP.
            Program::Transmission => self.transmission_order("torrent-stop", ""),
            Program::Aria2 | Program::Rtorrent => self.signal("INT"),
            Program::Libtorrent | Program::Qbittorrent => self.signal("TERM"),
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.is_ok_and(|status| status.success()), "{kill} failed");
    }

    /// Gives transmission an order and waits until it obeys.
    fn transmission_order(&self, method: &str, arguments: &str) {
        let body = format!(r#"{{"method":"{method}","arguments":{{{arguments}}}}}"#);
        let mut token = String::new();
        until("transmission takes an order", || {
            let Ok(answer) = self.order("/transmission/rpc", &token, &body) else {
                return false;
            };
            if let Some(line) = answer
                .lines()
                .find(|line| line.starts_with("X-Transmission-Session-Id:"))
            {
                line.clone_into(&mut token);
            }
            answer.contains(r#""result":"success""#)
        });
    }

    fn order(&self, path: &str, header: &str, body: &str) -> io::Result<String> {
        let mut stream = self.host.connect(ORDERS)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let header = if header.is_empty() { "Accept: */*" } else { header };
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn path_text(path: &Path) -> String {
    path.to_str().expect("temporary names are plain").to_owned()
}

fn aria2(host: &Host, path: &Path, udp: bool) -> Command {
    let mut command = host.command("aria2c");
    command
        .arg("--no-conf")
        .arg(format!("--dir={}", path_text(&path.join("files"))))
        .args(["--enable-peer-exchange=false", "--bt-enable-lpd=false"])
        // Its UDP trackers are part of its DHT, which a private torrent does not use.
        .arg(format!("--enable-dht={udp}"))
        .arg(format!("--enable-dht6={udp}"))
        .arg(format!("--dht-file-path={}", path_text(&path.join("dht"))))
        .arg(format!("--dht-file-path6={}", path_text(&path.join("dht6"))))
        .args(["--dht-listen-port=6882", "--listen-port=6881"])
        .args(["--seed-ratio=0.0", "--check-integrity=true"])
        .args(["--file-allocation=none", "--summary-interval=5"])
        .args(["--console-log-level=info", "--enable-color=false"])
        .arg(path.join("weir.torrent"));
    command
}

fn libtorrent(host: &Host, path: &Path) -> Command {
    // Debian's own interpreter: another one on the path has no such module.
    let mut command = host.command("/usr/bin/python3");
    command
        .args(["-c", LIBTORRENT])
        .arg(path.join("weir.torrent"))
        .arg(path.join("files"));
    if let Some(v4) = host.v4 {
        command.arg(v4.to_string());
    }
    if let Some(v6) = host.v6 {
        command.arg(format!("[{v6}]"));
    }
    command
}

fn qbittorrent_conf() -> Vec<u8> {
    format!(
        r"[LegalNotice]
Accepted=true
[BitTorrent]
Session\DHTEnabled=false
Session\PeXEnabled=false
Session\LSDEnabled=false
Session\BTProtocol=TCP
Session\Port=6881
Session\Preallocation=false
[Network]
PortForwardingEnabled=false
[Preferences]
WebUI\Enabled=true
WebUI\Address=127.0.0.1
WebUI\Port={ORDERS}
"
    )
    .into_bytes()
}

fn qbittorrent(host: &Host, path: &Path) -> Command {
    let mut command = host.command("qbittorrent-nox");
    command
        .arg(format!("--profile={}", path_text(path)))
        .arg(format!("--save-path={}", path_text(&path.join("files"))))
        .arg("--add-paused=false")
        .arg(path.join("weir.torrent"));
    command
}

fn rtorrent_rc(path: &Path) -> Vec<u8> {
    let at = |name: &str| path_text(&path.join(name));
    format!(
        "system.daemon.set = true
session.path.set = {}
directory.default.set = {}
dht.mode.set = disable
protocol.pex.set = no
network.port_range.set = 6881-6881
network.port_random.set = no
trackers.use_udp.set = yes
pieces.hash.on_completion.set = yes
log.open_file = \"log\", {}
log.add_output = \"info\", \"log\"
log.add_output = \"tracker_debug\", \"log\"
",
        at("session"),
        at("files"),
        at("log2")
    )
    .into_bytes()
}

fn rtorrent(host: &Host, path: &Path) -> Command {
    let mut command = host.command("rtorrent");
    let rc: PathBuf = path.join("rtorrent.rc");
    command
        .arg("-n")
        .args(["-o", &format!("import={}", path_text(&rc))])
        .arg(path.join("weir.torrent"));
    command
}

const TRANSMISSION_SETTINGS: &str = r#"{
    "dht-enabled": false,
    "lpd-enabled": false,
    "pex-enabled": false,
    "utp-enabled": false,
    "port-forwarding-enabled": false,
    "peer-port": 6881,
    "preallocation": 0,
    "rpc-bind-address": "127.0.0.1",
    "rpc-port": 9091,
    "rpc-host-whitelist-enabled": false,
    "trash-original-torrent-files": false
}"#;

fn transmission(host: &Host, path: &Path) -> Command {
    let mut command = host.command("transmission-daemon");
    command
        .args(["--foreground", "--log-debug"])
        .arg("--config-dir")
        .arg(path)
        .arg("--download-dir")
        .arg(path.join("files"));
    command
}
