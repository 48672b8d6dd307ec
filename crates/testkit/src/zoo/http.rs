//! An HTTP tracker and everything that HTTP trackers have been seen to do.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::flood::Flood;
use super::serve::{Acts, Plays, accept};
use super::{Book, Door, Place, Seen, script};

/// A well-behaved answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Good {
    /// Seconds.
    pub interval: i64,
    /// Seconds; left out if there is none.
    pub min_interval: Option<i64>,
    /// Peers of both families; each goes where it belongs.
    pub peers: Vec<SocketAddr>,
    /// What should be sent along next time.
    pub tracker_id: Option<String>,
    /// Peers as dictionaries rather than compact.
    pub dictionaries: bool,
    /// The body is packed.
    pub gzip: bool,
    /// A warning beside the answer.
    pub warning: Option<String>,
}

impl Default for Good {
    fn default() -> Self {
        Self {
            interval: 1800,
            min_interval: None,
            peers: vec![SocketAddr::from(([198, 51, 100, 7], 51_413))],
            tracker_id: None,
            dictionaries: false,
            gzip: false,
            warning: None,
        }
    }
}

/// What `Retry-After` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// It is not there.
    None,
    /// Seconds.
    Seconds(u64),
    /// Any text, such as a date.
    Text(String),
}

/// How the tracker answers every request from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    Good(Good),
    /// With a status and a short text.
    Status(u16, RetryAfter),
    /// Accepts and never answers.
    Hang,
    /// Promises a body and closes in the middle of it.
    HalfBody,
    /// A good answer, one byte at a time with a pause after each.
    Drip(Duration),
    /// Closes before it has read anything.
    CloseAtOnce,
    /// Reads the request and closes without a word.
    CloseAfterRequest,
    /// Reads the request and resets the connection.
    Reset,
    /// Bytes that are not HTTP.
    Garbage,
    /// A page for people, with status 200.
    Html,
    /// Status 200 and no body.
    Empty,
    /// A good body whose second half is missing, with a matching length.
    Truncated,
    /// Lists in lists in lists.
    NestingBomb,
    /// A string that claims to be longer than any memory.
    EndlessString,
    /// So many bytes of body, without saying so before.
    HugeBody(usize),
    /// A packed body that unpacks to so many bytes.
    GzipBomb(usize),
    /// A head that never ends, up to so many bytes.
    HugeHead(usize),
    /// An answer that does not end, up to so many bytes.
    Flood(Flood, usize),
    /// A good answer but for its interval: zero, negative, huge.
    Interval(i64),
    /// A failure that asks to be retried after minutes (BEP 31).
    RetryIn(u32),
    /// A failure that asks never to be retried (BEP 31).
    RetryNever,
    /// A failure reason and nothing else.
    FailureOnly(String),
    /// To another address.
    Redirect(String),
    /// To itself, for ever.
    RedirectLoop,
}

/// A running tracker; it ends when dropped.
pub struct Tracker {
    address: SocketAddr,
    book: Arc<Book<Behaviour>>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Tracker {
    /// Starts a tracker.
    pub async fn start(place: Place<'_>, behaviour: Behaviour) -> io::Result<Self> {
        let (door, address) = Door::open(place).await?;
        let book = Book::new(behaviour);
        let connections = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(door, book.clone(), connections.clone()));
        Ok(Self {
            address,
            book,
            connections,
            _tasks: tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its announce URL.
    pub fn url(&self) -> String {
        format!("http://{}/announce", self.address)
    }

    /// Changes what it does, from the next request on; a connection that hangs goes on hanging.
    pub fn set(&self, behaviour: Behaviour) {
        self.book.set(behaviour);
    }

    /// What it was asked, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.book.seen()
    }

    /// How many bytes of answers were taken from it.
    pub fn written(&self) -> usize {
        self.book.written()
    }

    /// How many connections it has accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Plays for Behaviour {
    fn turns_away(&self) -> bool {
        *self == Self::CloseAtOnce
    }

    fn acts(&self, _book: &Book<Self>, head: &[u8]) -> Acts {
        script::of(self, head)
    }
}
