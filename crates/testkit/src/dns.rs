//! A name server on loopback that knows what it is told.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use crate::memory::Name;

const A: u16 = 1;
const AAAA: u16 = 28;
const FAILURE: u8 = 2;
const NO_SUCH_NAME: u8 = 3;

/// Questions that are remembered.
const REMEMBERED: usize = 10_000;

/// Answers over UDP until it is dropped. Names that it was not told of do not exist.
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    _task: JoinSet<()>,
}

#[derive(Default)]
struct State {
    names: HashMap<String, Name>,
    failing: bool,
    silent: bool,
    silent_kinds: Vec<u16>,
    questions: Vec<String>,
}

impl Server {
    /// Listens on a free port.
    pub async fn start() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let state: Arc<Mutex<State>> = Arc::default();
        let mut task = JoinSet::new();
        task.spawn(serve(socket, state.clone()));
        Ok(Self {
            address,
            state,
            _task: task,
        })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says what is known about a name, in lower case.
    pub fn set(&self, name: &str, known: Name) {
        self.state.lock().names.insert(name.to_owned(), known);
    }

    /// Answers nothing at all, or answers again.
    pub fn set_silent(&self, silent: bool) {
        self.state.lock().silent = silent;
    }

    /// Answers every question with SERVFAIL, or properly again.
    pub fn set_failing(&self, failing: bool) {
        self.state.lock().failing = failing;
    }

    /// Never answers questions for IPv6 addresses, as some servers do.
    pub fn ignore_v6(&self) {
        self.state.lock().silent_kinds.push(AAAA);
    }

    /// The names that were asked for, `A a.example` or `AAAA a.example`.
    pub fn questions(&self) -> Vec<String> {
        self.state.lock().questions.clone()
    }
}

async fn serve(socket: UdpSocket, state: Arc<Mutex<State>>) {
    let mut packet = [0; 1500];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut packet).await else {
            continue;
        };
        let answer = answer(&packet[..length], &mut state.lock());
        if let Some(answer) = answer {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

fn answer(packet: &[u8], state: &mut State) -> Option<Vec<u8>> {
    let (name, end) = name(packet)?;
    let kind = u16::from_be_bytes(*packet.get(end..)?.first_chunk()?);
    let spoken = match kind {
        A => "A ",
        AAAA => "AAAA ",
        _ => "other ",
    };
    if state.questions.len() < REMEMBERED {
        state.questions.push(format!("{spoken}{name}"));
    }
    if state.silent || state.silent_kinds.contains(&kind) {
        return None;
    }
    let known = state.names.get(&name).cloned();
    let (code, addresses) = match known {
        _ if state.failing => (FAILURE, Vec::new()),
        Some(Name::Silent) => return None,
        Some(Name::Addresses(addresses)) => (0, addresses),
        Some(Name::Unknown) | None => (NO_SUCH_NAME, Vec::new()),
    };
    let wanted = |address: &IpAddr| address.is_ipv4() == (kind == A);
    let wanted: Vec<IpAddr> = addresses.into_iter().filter(wanted).collect();
    Some(reply(packet, packet.get(12..end + 4)?, code, &wanted))
}

/// RFC 1035 §4: the question once more, then the addresses, each pointing back to its name.
fn reply(packet: &[u8], question: &[u8], code: u8, addresses: &[IpAddr]) -> Vec<u8> {
    let mut out = packet[..2].to_vec();
    out.extend_from_slice(&[0x81, 0x80 | code, 0, 1, 0]);
    out.push(u8::try_from(addresses.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(question);
    for address in addresses.iter().take(usize::from(u8::MAX)) {
        let (kind, bytes) = match address {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        };
        out.extend_from_slice(&[0xc0, 12]);
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0, 60, 0]);
        out.push(if kind == A { 4 } else { 16 });
        out.extend_from_slice(&bytes);
    }
    out
}

/// The name asked for and where it ends.
fn name(packet: &[u8]) -> Option<(String, usize)> {
    let mut at = 12;
    let mut name = String::new();
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            return Some((name, at));
        }
        let label = packet.get(at..at + length)?;
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&String::from_utf8_lossy(label).to_lowercase());
        at += length;
    }
}
