//! The clients: how each is set up to use only the tracker, and how it is stopped so that it announces `stopped`.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::network::Host;
use crate::{Torrent, reached, signal, tail};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Aria2,
    Libtorrent,
    Qbittorrent,
    Rtorrent,
    Transmission,
}

/// The peer port of every client; each is alone on its host.
pub(crate) const PORT: u16 = 6881;

/// The port on which transmission and qBittorrent take commands from their own host.
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
    /// Starts a client that already has the file.
    pub(crate) fn seed(program: Program, host: Host, torrent: &Torrent, tracker: &str) -> Self {
        Self::start(program, host, torrent, tracker, true)
    }

    /// Starts a client that does not have the file.
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
                write(
                    "qBittorrent/config/qBittorrent.conf",
                    qbittorrent_conf().as_bytes(),
                );
                qbittorrent(&host, path)
            }
            Program::Rtorrent => {
                write("rtorrent.rc", rtorrent_rc(path).as_bytes());
                fs::create_dir(path.join("session")).expect("a temporary directory");
                rtorrent(&host, path)
            }
            Program::Transmission => {
                write("settings.json", transmission_settings().as_bytes());
                transmission(&host, path)
            }
        };
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = command
            .env_clear()
            .env("HOME", path)
            .env("PATH", env::var_os("PATH").unwrap_or_default())
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
        let path = self.directory.path();
        tail(&path.join("log")) + &tail(&path.join(RTORRENT_LOG))
    }

    /// Stops it in a way that makes it tell its tracker.
    pub(crate) fn stop(&self) {
        match self.program {
            // Stopped by a signal alone, version 3.00 does not announce `stopped` over HTTP.
            Program::Transmission => self.transmission_order("torrent-stop", ""),
            Program::Aria2 | Program::Rtorrent => signal(&self.child, "INT"),
            Program::Libtorrent | Program::Qbittorrent => signal(&self.child, "TERM"),
        }
    }

    /// Sends transmission a command and waits until it has carried it out.
    fn transmission_order(&self, method: &str, arguments: &str) {
        let body = format!(r#"{{"method":"{method}","arguments":{{{arguments}}}}}"#);
        // Its token, which it sends when it refuses a command without one.
        let mut header = "Accept: */*".to_owned();
        let mut last = String::new();
        let obeyed = reached(|| {
            let Ok(answer) = self.order(&header, &body) else {
                return false;
            };
            let mut lines = answer.lines();
            if let Some(token) = lines.find(|line| line.starts_with("X-Transmission-Session-Id:")) {
                token.clone_into(&mut header);
            }
            last = answer;
            last.contains(r#""result":"success""#)
        });
        assert!(
            obeyed,
            "transmission refused {body}: {last}\n{}",
            self.log()
        );
    }

    fn order(&self, header: &str, body: &str) -> io::Result<String> {
        let mut stream = self.host.connect(ORDERS)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(
            stream,
            "POST /transmission/rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n\
             Content-Length: {}\r\n\r\n{body}",
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
        .arg(format!(
            "--dht-file-path6={}",
            path_text(&path.join("dht6"))
        ))
        .arg(format!("--listen-port={PORT}"))
        .args(["--seed-ratio=0.0", "--check-integrity=true"])
        .args(["--file-allocation=none", "--summary-interval=0"])
        .args([
            "--console-log-level=info",
            "--enable-color=false",
            "--show-console-readout=false",
        ])
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
    // It announces from each address that it listens on.
    command.args(host.v4.map(|v4| format!("{v4}:{PORT}")));
    command.args(host.v6.map(|v6| format!("[{v6}]:{PORT}")));
    command
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

fn qbittorrent_conf() -> String {
    format!(
        r"[LegalNotice]
Accepted=true
[BitTorrent]
Session\DHTEnabled=false
Session\PeXEnabled=false
Session\LSDEnabled=false
Session\BTProtocol=TCP
Session\Port={PORT}
[Network]
PortForwardingEnabled=false
[Preferences]
WebUI\Address=127.0.0.1
WebUI\Port={ORDERS}
"
    )
}

fn rtorrent(host: &Host, path: &Path) -> Command {
    let mut command = host.command("rtorrent");
    let rc = path_text(&path.join("rtorrent.rc"));
    command
        .args(["-n", "-o", &format!("import={rc}")])
        .arg(path.join("weir.torrent"));
    command
}

/// Without a terminal it prints nothing.
const RTORRENT_LOG: &str = "rtorrent.log";

fn rtorrent_rc(path: &Path) -> String {
    // If it checks all pieces at the end (`pieces.hash.on_completion`), it does not announce `completed`.
    format!(
        "system.daemon.set = true
directory.default.set = {}
session.path.set = {}
dht.mode.set = disable
protocol.pex.set = no
network.port_range.set = {PORT}-{PORT}
network.port_random.set = no
pieces.hash.on_completion.set = no
log.open_file = log, {}
log.add_output = info, log
log.add_output = tracker_debug, log
",
        path_text(&path.join("files")),
        path_text(&path.join("session")),
        path_text(&path.join(RTORRENT_LOG)),
    )
}

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

fn transmission_settings() -> String {
    format!(
        r#"{{
"dht-enabled": false,
"lpd-enabled": false,
"pex-enabled": false,
"utp-enabled": false,
"port-forwarding-enabled": false,
"peer-port": {PORT},
"rpc-bind-address": "127.0.0.1",
"rpc-port": {ORDERS}
}}"#
    )
}
