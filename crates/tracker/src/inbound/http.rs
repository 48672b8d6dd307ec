//! Announces and scrapes over HTTP.
//!
//! A thread has a runtime of its own and a task for each connection. A task that waits holds no buffer: what comes is
//! read into one that the thread's tasks share, and answered before the next task runs. Connections that ask for
//! something else go to the ordinary router, with what was read.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_tracker_proto::http;

use super::proxy::{self, Preamble};
use super::request::{self, Asks, Head, NoHead};
use crate::clock::Clock;
use crate::reply::{self, Refusal};
use crate::tally::{Kind, Tally};
use crate::tracker::{Carries, Terms, Tracker};

/// Bytes read at once.
const READ: usize = 16 << 10;
/// Replies that wait to be sent on one connection; further requests on it are answered when they are.
const UNSENT: usize = 16 << 10;
/// With nearly all connections taken, one that rests may do so only this long.
const CROWDED_IDLE: u32 = 5;

/// A connection that asks for something else, and what it has sent so far.
#[derive(Debug)]
pub struct Guest {
    /// The connection.
    pub stream: std::net::TcpStream,
    /// What was read of it.
    pub read: Vec<u8>,
    /// Where it comes from, by the word of a proxy at its beginning if there was one.
    pub peer: SocketAddr,
}

/// What connections may ask of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Open at once.
    pub(crate) connections: usize,
    /// Seconds between requests.
    pub(crate) idle: u32,
    /// Seconds for a request to arrive, and for a reply to be taken.
    pub(crate) request: u32,
    /// Bytes of a request.
    pub(crate) bytes: usize,
}

/// What the connections of a thread share.
pub(crate) struct Http {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) clock: Clock,
    pub(crate) tally: Arc<Tally>,
    pub(crate) limits: Limits,
    pub(crate) guests: mpsc::Sender<Guest>,
    desk: Mutex<Desk>,
}

/// Where requests are read and replies are written, by one task at a time.
struct Desk {
    input: Box<[u8]>,
    output: Vec<u8>,
    body: Vec<u8>,
    v4: Vec<u8>,
    v6: Vec<u8>,
    random: fastrand::Rng,
}

/// How a connection goes on.
enum Next {
    /// It waits for more.
    Wait,
    /// What was read holds more requests, to be answered when the replies so far are sent.
    GoOn,
    /// It is closed when all is written.
    Close,
    /// The router takes over.
    Leave,
}

impl Http {
    pub(crate) fn new(
        tracker: Arc<Tracker>,
        clock: Clock,
        tally: Arc<Tally>,
        limits: Limits,
        guests: mpsc::Sender<Guest>,
    ) -> Self {
        let desk = Desk {
            input: vec![0; READ.max(limits.bytes)].into_boxed_slice(),
            output: Vec::with_capacity(READ),
            body: Vec::with_capacity(READ),
            v4: Vec::new(),
            v6: Vec::new(),
            random: fastrand::Rng::new(),
        };
        Self {
            tracker,
            clock,
            tally,
            limits,
            guests,
            desk: Mutex::new(desk),
        }
    }

    /// Accepts and answers until `stop`.
    pub(crate) async fn run(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let mut open = JoinSet::new();
        let mut deadlines = Vec::new();
        let mut second = tokio::time::interval(Duration::from_secs(1));
        loop {
            let crowded = open.len() >= self.limits.connections;
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                Some(_) = open.join_next(), if !open.is_empty() => {}
                accepted = listener.accept(), if !crowded => match accepted {
                    Ok((stream, peer)) => {
                        let deadline = Arc::new(AtomicU32::new(self.seconds() + self.limits.request));
                        let connection = Connection {
                            http: Arc::clone(&self),
                            stream,
                            peer,
                            client: peer.ip(),
                            deadline: Arc::clone(&deadline),
                            unread: Vec::new(),
                            begun: false,
                            goes_on: false,
                        };
                        let task = open.spawn(connection.serve());
                        deadlines.push((deadline, task));
                    }
                    Err(error) => self.cannot_accept(&error).await,
                },
                _ = second.tick(), if !open.is_empty() => {
                    let nearly_full = open.len() * 10 > self.limits.connections * 9;
                    self.end_late(&mut deadlines, nearly_full);
                }
            }
        }
    }

    async fn cannot_accept(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if !matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            tracing::warn!(%error, "cannot accept tracker connections for the moment");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ends connections whose time is over.
    fn end_late(
        &self,
        deadlines: &mut Vec<(Arc<AtomicU32>, tokio::task::AbortHandle)>,
        nearly_full: bool,
    ) {
        let now = self.seconds();
        let sooner = match nearly_full {
            true => self.limits.idle.saturating_sub(CROWDED_IDLE),
            false => 0,
        };
        deadlines.retain(|(deadline, task)| {
            let late = deadline.load(Ordering::Relaxed).saturating_sub(sooner) < now;
            if late {
                task.abort();
            }
            !late && !task.is_finished()
        });
    }

    fn seconds(&self) -> u32 {
        self.clock.now().seconds
    }
}

/// One connection.
struct Connection {
    http: Arc<Http>,
    stream: TcpStream,
    peer: SocketAddr,
    /// Who asks, if a proxy we trust said so at the beginning.
    client: IpAddr,
    /// When it is ended; read each second by the thread's loop.
    deadline: Arc<AtomicU32>,
    /// The beginning of a request that is not whole yet.
    unread: Vec<u8>,
    /// What a proxy says at the beginning has been read.
    begun: bool,
    /// `unread` may hold whole requests.
    goes_on: bool,
}

impl Connection {
    async fn serve(mut self) {
        drop(self.stream.set_nodelay(true)); // a wish
        loop {
            if !self.goes_on && self.stream.readable().await.is_err() {
                return;
            }
            let answered = self.answer();
            let (next, unsent) = match answered {
                Ok(answered) => answered,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return,
            };
            if !unsent.is_empty() && self.send(&unsent).await.is_err() {
                return;
            }
            self.goes_on = matches!(next, Next::GoOn);
            match next {
                Next::Wait | Next::GoOn => {}
                Next::Close => return self.close().await,
                Next::Leave => return self.leave(),
            }
        }
    }

    /// Reads what is there and answers all that is whole; says what could not be sent at once.
    fn answer(&mut self) -> io::Result<(Next, Vec<u8>)> {
        let http = Arc::clone(&self.http);
        let mut desk = http.desk.lock();
        let desk = &mut *desk;
        let had = self.unread.len();
        desk.input[..had].copy_from_slice(&self.unread);
        let mut count = 0;
        if !self.goes_on {
            count = self.stream.try_read(&mut desk.input[had..])?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        desk.output.clear();
        let terms = http.tracker.terms();
        let (next, used) = self.answer_input(desk, had + count, &terms);
        self.keep_unread(&desk.input[used..had + count]);
        let sent = match desk.output.is_empty() {
            true => 0,
            false => match self.stream.try_write(&desk.output) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            },
        };
        Ok((next, desk.output[sent..].to_vec()))
    }

    /// Keeps the beginning of a request, and the time until which it must be whole.
    fn keep_unread(&mut self, rest: &[u8]) {
        let begins = self.unread.is_empty();
        if rest.is_empty() {
            self.set_deadline(self.http.limits.idle);
            if !begins {
                self.unread = Vec::new();
            }
            return;
        }
        // Further pieces of the same request buy no time.
        if begins || rest.len() < self.unread.len() {
            self.set_deadline(self.http.limits.request);
        }
        self.unread.clear();
        self.unread.extend_from_slice(rest);
    }

    /// Answers what is whole in the first `length` bytes of the input; says how many bytes that was.
    fn answer_input(&mut self, desk: &mut Desk, length: usize, terms: &Terms) -> (Next, usize) {
        let mut used = 0;
        if !self.begun {
            match self.read_preamble(&desk.input[..length], terms) {
                Some(preamble) => used = preamble,
                None => return (Next::Close, length),
            }
        }
        if !self.begun {
            return (Next::Wait, used);
        }
        self.http
            .answer_requests(desk, used..length, self.client, terms)
    }

    /// How long the words of a proxy at the beginning are; `None` if they cannot be read.
    fn read_preamble(&mut self, input: &[u8], terms: &Terms) -> Option<usize> {
        self.begun = true;
        if !terms.trust.is_proxy(self.peer.ip()) {
            return Some(0);
        }
        match proxy::read(input) {
            Preamble::Says(length, client) => {
                self.client = client.unwrap_or(self.client);
                Some(length)
            }
            Preamble::Absent => Some(0),
            Preamble::Partial => {
                self.begun = false;
                Some(0)
            }
            Preamble::Malformed => None,
        }
    }

    async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        self.set_deadline(self.http.limits.request);
        while !bytes.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that nothing more comes, and waits for the client to say the same: closing with something unread would
    /// take the reply from it.
    async fn close(mut self) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        self.set_deadline(2);
        if self.stream.shutdown().await.is_err() || self.unread.is_empty() {
            return;
        }
        let mut rest = [0; 512];
        while self
            .stream
            .read(&mut rest)
            .await
            .is_ok_and(|count| count > 0)
        {}
    }

    fn leave(self) {
        let Ok(stream) = self.stream.into_std() else {
            return;
        };
        let guest = Guest {
            stream,
            read: self.unread,
            // The word of a proxy at the beginning was cut off, and would be forgotten with it.
            peer: SocketAddr::new(self.client, self.peer.port()),
        };
        // If the router has its hands full, the connection is closed.
        drop(self.http.guests.try_send(guest));
    }

    fn set_deadline(&self, seconds: u32) {
        let at = self.http.seconds() + seconds;
        self.deadline.store(at, Ordering::Relaxed);
    }
}

impl Http {
    /// Answers the requests in a part of the input; says where the rest begins.
    #[inline]
    fn answer_requests(
        &self,
        desk: &mut Desk,
        part: Range<usize>,
        client: IpAddr,
        terms: &Terms,
    ) -> (Next, usize) {
        let Range {
            start: mut used,
            end,
        } = part;
        while used < end {
            if desk.output.len() >= UNSENT {
                return (Next::GoOn, used);
            }
            match request::read(&desk.input[used..end], client, &terms.trust) {
                Ok(head) if head.kind == Asks::Other => return (Next::Leave, used),
                Ok(head) => {
                    let query = used + head.query.start..used + head.query.end;
                    used += head.length;
                    self.answer_one(desk, &head, query, terms);
                    if !head.keep {
                        return (Next::Close, end);
                    }
                }
                Err(NoHead::Partial) if end - used < self.limits.bytes => break,
                Err(wrong) => {
                    self.tally.count(Kind::Malformed);
                    desk.output.extend_from_slice(refused(wrong));
                    return (Next::Close, end);
                }
            }
        }
        (Next::Wait, used)
    }

    /// Appends the reply to one request.
    fn answer_one(&self, desk: &mut Desk, head: &Head, query: Range<usize>, terms: &Terms) {
        desk.body.clear();
        let Desk { input, body, .. } = desk;
        let query = &input[query];
        let refusal = match head.kind {
            Asks::Announce => match http::parse_announce(query) {
                Ok(announce) => {
                    desk.v4.clear();
                    desk.v6.clear();
                    let told = self.tracker.announce(
                        terms,
                        &announce,
                        head.client,
                        Carries::Both,
                        (self.clock.now(), &mut desk.random),
                        [&mut desk.v4, &mut desk.v6],
                    );
                    told.map(|told| {
                        self.tally.count(Kind::HttpAnnounce);
                        let compact = announce.compact.unwrap_or(true);
                        let peers = [desk.v4.as_slice(), &desk.v6];
                        reply::announce_http(&told, head.client, compact, peers, body);
                    })
                }
                Err(error) => Err(Refusal::Malformed(error)),
            },
            _ => self.scrape(query, terms, body),
        };
        if let Err(refusal) = refusal {
            self.tally.count(match refusal {
                Refusal::Malformed(_) => Kind::Malformed,
                _ => Kind::Refused,
            });
            refusal.write_http(body);
        }
        write_head(head, body.len(), &mut desk.output);
        desk.output.extend_from_slice(&desk.body);
    }

    fn scrape(&self, query: &[u8], terms: &Terms, body: &mut Vec<u8>) -> Result<(), Refusal> {
        let hashes = http::parse_scrape(query, terms.scrape_hashes).map_err(Refusal::Malformed)?;
        self.tally.count(Kind::HttpScrape);
        let mut swarms: Vec<_> = hashes
            .map(|hash| (hash, self.tracker.scrape(terms, hash)))
            .collect();
        http::write_scrape(&mut swarms, None, body);
        Ok(())
    }
}

fn write_head(head: &Head, length: usize, out: &mut Vec<u8>) {
    let connection: &[u8] = match (head.keep, head.old) {
        (true, false) => b"\r\n\r\n",
        (true, true) => b"\r\nConnection: keep-alive\r\n\r\n",
        (false, _) => b"\r\nConnection: close\r\n\r\n",
    };
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ");
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = length;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
    out.extend_from_slice(connection);
}

/// The reply to what is no request.
fn refused(wrong: NoHead) -> &'static [u8] {
    match wrong {
        NoHead::Malformed => {
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 29\r\nConnection: close\r\n\r\nThis cannot be read as HTTP.\n"
        }
        NoHead::Partial | NoHead::TooMany => {
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain\r\nContent-Length: 25\r\nConnection: close\r\n\r\nThe request is too long.\n"
        }
    }
}

/// Requests without a socket.
#[cfg(feature = "bench")]
impl Http {
    pub(crate) fn answer_bytes(&self, bytes: &[u8], client: IpAddr) -> usize {
        let mut desk = self.desk.lock();
        let desk = &mut *desk;
        desk.output.clear();
        desk.input[..bytes.len()].copy_from_slice(bytes);
        let terms = self.tracker.terms();
        self.answer_requests(desk, 0..bytes.len(), client, &terms);
        desk.output.len()
    }
}
