//! Weir itself, and what it knows of a swarm.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::network::{NAME, Network};
use crate::{PATIENCE, Torrent, reached, tail};

/// The port of both its listeners: nobody else is on this host.
const PORT: u16 = 6969;

/// How a client reaches Weir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    HttpV4,
    HttpV6,
    UdpV4,
    UdpV6,
    /// By a name, so that a client takes the family it has, or both.
    HttpName,
}

impl By {
    /// The URL in the torrent.
    pub(crate) fn url(self) -> String {
        let (v4, v6) = (Network::V4, Network::V6);
        match self {
            Self::HttpV4 => format!("http://{v4}:{PORT}/announce"),
            Self::HttpV6 => format!("http://[{v6}]:{PORT}/announce"),
            Self::HttpName => format!("http://{NAME}:{PORT}/announce"),
            Self::UdpV4 => format!("udp://{v4}:{PORT}/announce"),
            Self::UdpV6 => format!("udp://[{v6}]:{PORT}/announce"),
        }
    }
}

/// A running Weir in the middle of a network; killed when dropped.
pub(crate) struct Weir {
    child: Child,
    directory: TempDir,
}

/// What a scrape says of a swarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) complete: u32,
    pub(crate) downloaded: u32,
    pub(crate) incomplete: u32,
}

impl Weir {
    /// Starts it on the network's own host and waits until clients may come.
    pub(crate) fn start(_: &Network) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path();
        fs::write(
            path.join("weir.yaml"),
            "tracker: { announce_interval: 5s }\n",
        )
        .expect("a temporary file");
        let log = File::create(path.join("log")).expect("a temporary file");
        let child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["serve", "--data", "data", "--web", "127.0.0.1:0"])
            .args(["--http-listen", &format!("[::]:{PORT}")])
            .args(["--udp-listen", &format!("[::]:{PORT}")])
            .current_dir(path)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let weir = Self { child, directory };
        let listens = reached(|| {
            let log = weir.log();
            let lines = log.lines().filter(|line| line.contains("listening"));
            // HTTP and UDP, each in both families.
            lines.filter(|line| line.contains("tracker")).count() == 4
        });
        assert!(listens, "Weir does not listen: {}", weir.log());
        weir
    }

    /// What it printed last.
    pub(crate) fn log(&self) -> String {
        tail(&self.directory.path().join("log"))
    }

    /// Who takes part, as anybody may ask.
    pub(crate) fn scrape(&self, torrent: &Torrent) -> Counts {
        let body = ask(&format!("/scrape?info_hash={}", escaped(&torrent.hash)));
        let number = |key: &str| number(&body, key).unwrap_or(0);
        Counts {
            complete: number("8:complete"),
            downloaded: number("10:downloaded"),
            incomplete: number("10:incomplete"),
        }
    }

    /// The peers that a leecher is told, sorted; it does not take part afterwards.
    pub(crate) fn peers(&self, torrent: &Torrent) -> Vec<SocketAddr> {
        let announce = |event: &str| {
            ask(&format!(
                "/announce?info_hash={}&peer_id=-XX0000-abcdefghijkl&port=9&uploaded=0&downloaded=0&left=1&compact=1\
                 &event={event}",
                escaped(&torrent.hash)
            ))
        };
        let body = announce("started");
        announce("stopped");
        let v4 = string(&body, "5:peers").unwrap_or_default().chunks_exact(6);
        let v4 = v4.map(|peer| {
            let ip: [u8; 4] = peer[..4].try_into().expect("four of six bytes");
            let port = u16::from_be_bytes([peer[4], peer[5]]);
            SocketAddrV4::new(Ipv4Addr::from(ip), port).into()
        });
        let v6 = string(&body, "6:peers6").unwrap_or_default();
        let v6 = v6.chunks_exact(18).map(|peer| {
            let ip: [u8; 16] = peer[..16].try_into().expect("sixteen of eighteen bytes");
            let port = u16::from_be_bytes([peer[16], peer[17]]);
            SocketAddrV6::new(Ipv6Addr::from(ip), port, 0, 0).into()
        });
        let mut peers: Vec<SocketAddr> = v4.chain(v6).collect();
        peers.sort();
        peers
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The body of the tracker's answer.
fn ask(target: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).expect("Weir listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time above zero");
    let head = format!("GET {target} HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("Weir reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("Weir answers");
    let end = find(&answer, b"\r\n\r\n").expect("an HTTP head");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    answer.split_off(end)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

/// Where the first `wanted` ends.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let at = bytes.windows(wanted.len()).position(|part| part == wanted);
    at.map(|at| at + wanted.len())
}

/// The number after a bencoded key.
fn number(bytes: &[u8], key: &str) -> Option<u32> {
    let digits = &bytes[find(bytes, format!("{key}i").as_bytes())?..];
    let end = digits.iter().position(|byte| *byte == b'e')?;
    str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// The bytes after a bencoded key.
fn string<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let rest = &bytes[find(bytes, key.as_bytes())?..];
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let length: usize = str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    rest.get(colon + 1..colon + 1 + length)
}
