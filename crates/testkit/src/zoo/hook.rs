//! A hook that takes messages by POST, and what hooks have been seen to do with them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Door, Guest, Place};

/// Bytes of a request at most.
const REQUEST: usize = 1 << 20;
/// Large answers are written in pieces.
const PIECE: usize = 64 << 10;

/// How the hook answers every message from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// With a status and a short text.
    Says(u16, String),
    /// With a status and the seconds of `Retry-After`.
    RetryAfter(u16, u64),
    /// Takes the message and never answers.
    Hang,
    /// Takes the message and closes without a word.
    Cut,
    /// 200 and so many bytes of body, without saying so before.
    Huge(usize),
    /// 200, and a body that stops in the middle.
    HalfBody,
    /// 200, and a body that never comes.
    NoBody,
    /// Leads elsewhere, by 307.
    Redirect(String),
}

impl Behaviour {
    /// As it should.
    pub fn good() -> Self {
        Self::Says(200, "ok".to_owned())
    }
}

/// One message as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// When it was complete.
    pub at: Instant,
    /// Request line and headers.
    pub head: String,
    /// What was sent.
    pub body: String,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A running hook; it ends when dropped.
pub struct Hook {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    received: Mutex<Vec<Received>>,
}

impl Hook {
    /// Starts a hook.
    pub async fn start(place: Place<'_>, behaviour: Behaviour) -> io::Result<Self> {
        let (door, address) = Door::open(place).await?;
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(behaviour),
            received: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(door, shared.clone()));
        Ok(Self {
            address,
            shared,
            _tasks: tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path there.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Changes what it does, from the next message on.
    pub fn set(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock() = behaviour;
    }

    /// What it was sent, oldest first, whatever it answered.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }
}

async fn accept(mut door: Door, shared: Arc<Shared>) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = door.accept() => {
                let Some(guest) = guest else { return };
                guests.spawn(serve(guest, shared.clone()));
            }
            Some(_) = guests.join_next() => {}
        }
    }
}

/// Serves one message.
async fn serve(mut guest: Box<dyn Guest>, shared: Arc<Shared>) {
    let Some((head, body)) = request(&mut guest).await else {
        return;
    };
    let at = Instant::now();
    shared.received.lock().push(Received { at, head, body });
    let behaviour = shared.behaviour.lock().clone();
    let answer = |status: u16, headers: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} Said\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let text = match &behaviour {
        Behaviour::Says(status, words) => answer(*status, "", words),
        Behaviour::RetryAfter(status, seconds) => {
            answer(*status, &format!("Retry-After: {seconds}\r\n"), "later")
        }
        Behaviour::Redirect(to) => answer(307, &format!("Location: {to}\r\n"), ""),
        Behaviour::Hang => return std::future::pending().await,
        Behaviour::Cut => return,
        Behaviour::Huge(_) => "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_owned(),
        Behaviour::HalfBody | Behaviour::NoBody => {
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_owned()
        }
    };
    let _ = guest.write_all(text.as_bytes()).await;
    match behaviour {
        Behaviour::NoBody => std::future::pending().await,
        Behaviour::Huge(size) => {
            let piece = vec![b'x'; PIECE];
            for _ in 0..size.div_ceil(PIECE) {
                if guest.write_all(&piece).await.is_err() {
                    return;
                }
            }
        }
        _ => {}
    }
    let _ = guest.shutdown().await;
}

/// Head and body of a request.
async fn request(guest: &mut Box<dyn Guest>) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                let is_length = key.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            let body = end + 4;
            if bytes.len() >= body + length.unwrap_or(0) {
                return Some((head, String::from_utf8_lossy(&bytes[body..]).into_owned()));
            }
        }
        if bytes.len() > REQUEST || guest.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
