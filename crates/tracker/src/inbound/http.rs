//! Announces and scrapes over HTTP.
//!
//! A thread has a runtime of its own and a task for each connection that stays. A task that waits holds no buffer: what
//! comes is read into one that the thread's tasks share, and answered before the next task runs. Connections that ask
//! for something else go to the ordinary router, with what was read.

mod accept;
mod connection;

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use weir_engine::Vital;
use weir_tracker_proto::bencode::push_decimal;
use weir_tracker_proto::http;
use weir_web::Guest;
use weir_web::seats::Seats;

#[cfg(any(test, feature = "bench"))]
use self::connection::HttpConnection;
#[cfg(any(test, feature = "bench"))]
use super::proxy::{self, Preamble};
use super::request::{self, Asks, NoHead, RequestHead};
use crate::clock::{Now, TrackerClock};
#[cfg(any(test, feature = "bench"))]
use crate::conversation::{ConversationEnd, Wire};
use crate::forwarding::HeldReply;
use crate::reply::{self, AnnounceReply, TrackerRefusal};
use crate::tally::{ListenerTally, TallyKind};
use crate::tracker::{Carries, ClientTerms, Tracker};

/// Bytes read at once, into one buffer for all connections of a thread.
const READ: usize = 16 << 10;
/// Replies that wait to be sent on one connection; further requests on it are answered when they are.
const UNSENT: usize = 16 << 10;

/// What one connection may ask.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimits {
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
    pub(crate) clock: TrackerClock,
    pub(crate) tally: Arc<ListenerTally>,
    pub(crate) limits: ConnectionLimits,
    pub(crate) guests: mpsc::Sender<Guest>,
    /// Hears of connections that panic.
    vital: Vital,
    /// The places of connections that stay, of all threads.
    pub(crate) seats: Seats,
    buffers: Mutex<RequestBuffers>,
}

/// Where requests are read and replies are written, by one task at a time.
struct RequestBuffers {
    input: Box<[u8]>,
    output: Vec<u8>,
    body: Vec<u8>,
    v4: Vec<u8>,
    v6: Vec<u8>,
    random: fastrand::Rng,
    /// When what is at hand was read.
    now: Now,
    /// The first request was counted before its reply was held.
    counted: bool,
}

/// How a connection goes on.
enum AfterAnswer {
    /// It waits for more.
    Wait,
    /// What was read holds more requests, to be answered when the replies so far are sent.
    GoOn,
    /// It is closed when all is written.
    Close,
    /// Likewise, but not before the client has stopped sending: closing with something unread would take the reply
    /// from it.
    Linger,
    /// The router takes over.
    Leave,
    /// The next request is answered when this has ended, or when its time is over.
    Hold(HeldReply),
}

impl Http {
    pub(crate) fn new(
        tracker: Arc<Tracker>,
        clock: TrackerClock,
        tally: Arc<ListenerTally>,
        limits: ConnectionLimits,
        (guests, seats, vital): (mpsc::Sender<Guest>, Seats, Vital),
    ) -> Self {
        let buffers = RequestBuffers {
            input: vec![0; READ.max(limits.bytes)].into_boxed_slice(),
            output: Vec::with_capacity(READ),
            body: Vec::with_capacity(READ),
            v4: Vec::new(),
            v6: Vec::new(),
            random: fastrand::Rng::new(),
            now: clock.now(),
            counted: false,
        };
        Self {
            tracker,
            clock,
            tally,
            limits,
            guests,
            vital,
            seats,
            buffers: Mutex::new(buffers),
        }
    }

    fn seconds(&self) -> u32 {
        self.clock.now().seconds
    }
}

impl Http {
    /// Answers the requests in a part of the input; says where the rest begins.
    #[inline]
    fn answer_requests(
        &self,
        buffers: &mut RequestBuffers,
        part: Range<usize>,
        client: IpAddr,
        terms: &ClientTerms,
    ) -> (AfterAnswer, usize) {
        let Range {
            start: mut used,
            end,
        } = part;
        while used < end {
            if buffers.output.len() >= UNSENT {
                return (AfterAnswer::GoOn, used);
            }
            // Beyond what a request may be long nothing is looked at: what is answered must not depend on how much of
            // it came in one piece.
            let window = end.min(used + self.limits.bytes);
            match request::read(&buffers.input[used..window], client, &terms.trust) {
                Ok(head) if head.kind == Asks::Other => return (AfterAnswer::Leave, used),
                Ok(head) => {
                    let query = used + head.query.start..used + head.query.end;
                    if let Some(held) = self.answer_one(buffers, &head, query, terms) {
                        return (AfterAnswer::Hold(held), used);
                    }
                    used += head.length;
                    if !head.keep {
                        return (AfterAnswer::Close, end);
                    }
                }
                Err(NoHead::Partial) if end - used < self.limits.bytes => break,
                Err(wrong) => {
                    self.tally.count(TallyKind::Malformed);
                    buffers.output.extend_from_slice(refused(wrong));
                    return (AfterAnswer::Linger, end);
                }
            }
        }
        (AfterAnswer::Wait, used)
    }

    /// Appends the reply to one request, unless it is held.
    fn answer_one(
        &self,
        buffers: &mut RequestBuffers,
        head: &RequestHead,
        query: Range<usize>,
        terms: &ClientTerms,
    ) -> Option<HeldReply> {
        buffers.body.clear();
        let RequestBuffers { input, body, .. } = buffers;
        let query = &input[query];
        let refusal = match head.kind {
            Asks::Announce => match http::parse_announce(query) {
                Ok(announce) => {
                    buffers.v4.clear();
                    buffers.v6.clear();
                    let told = self.tracker.announce(
                        terms,
                        &announce,
                        head.client,
                        Carries::Both,
                        (buffers.now, &mut buffers.random),
                        [&mut buffers.v4, &mut buffers.v6],
                    );
                    let was_counted = std::mem::take(&mut buffers.counted);
                    if let Ok(told) = &told
                        && !was_counted
                    {
                        self.tally.count(TallyKind::http(told.went));
                    }
                    if let Ok(AnnounceReply {
                        held: held @ Some(_),
                        ..
                    }) = told
                    {
                        return held;
                    }
                    told.map(|told| {
                        let compact = announce.compact.unwrap_or(true);
                        let peers = [buffers.v4.as_slice(), &buffers.v6];
                        reply::announce_http(&told, head.client, compact, peers, body);
                    })
                }
                Err(error) => Err(TrackerRefusal::Malformed(error)),
            },
            _ => self.scrape(query, terms, body),
        };
        if let Err(refusal) = refusal {
            self.tally.count(match refusal {
                TrackerRefusal::Malformed(_) => TallyKind::Malformed,
                _ => TallyKind::Refused,
            });
            refusal.write_http(body);
        }
        write_head(head, body.len(), &mut buffers.output);
        buffers.output.extend_from_slice(&buffers.body);
        None
    }

    fn scrape(
        &self,
        query: &[u8],
        terms: &ClientTerms,
        body: &mut Vec<u8>,
    ) -> Result<(), TrackerRefusal> {
        let hashes =
            http::parse_scrape(query, terms.scrape_hashes).map_err(TrackerRefusal::Malformed)?;
        self.tally.count(TallyKind::HttpScrape);
        let mut swarms: Vec<_> = hashes
            .map(|hash| (hash, self.tracker.scrape(terms, hash)))
            .collect();
        http::write_scrape(&mut swarms, None, body);
        Ok(())
    }
}

fn write_head(head: &RequestHead, length: usize, out: &mut Vec<u8>) {
    let connection: &[u8] = match (head.keep, head.old) {
        (true, false) => b"\r\n\r\n",
        (true, true) => b"\r\nConnection: keep-alive\r\n\r\n",
        (false, _) => b"\r\nConnection: close\r\n\r\n",
    };
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ");
    push_decimal(out, length as u64);
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

/// Connections without a socket.
#[cfg(any(test, feature = "bench"))]
impl Http {
    /// Answers what comes over `wire` to the end, or until nothing more comes.
    pub(crate) fn converse<'a>(
        self: Arc<Self>,
        peer: std::net::SocketAddr,
        wire: &mut Wire<'a, impl Iterator<Item = &'a [u8]>>,
    ) -> ConversationEnd {
        HttpConnection::new(self, peer).converse(wire)
    }

    /// Makes random choices the same each time.
    pub(crate) fn seed(&self, seed: u64) {
        self.buffers.lock().random = fastrand::Rng::with_seed(seed);
    }
}

/// How many replies these bytes deserve, read at one go.
#[cfg(any(test, feature = "bench"))]
pub(crate) fn whole_requests(
    mut bytes: &[u8],
    peer: IpAddr,
    trust: &crate::trust::Trust,
    longest: usize,
) -> usize {
    let mut client = peer;
    if trust.is_proxy(peer) {
        match proxy::read(bytes) {
            Preamble::Says(length, named) => {
                bytes = &bytes[length..];
                client = named.unwrap_or(peer);
            }
            Preamble::Absent => {}
            Preamble::Partial | Preamble::Malformed => return 0,
        }
    }
    let mut count = 0;
    while !bytes.is_empty() {
        let window = &bytes[..bytes.len().min(longest)];
        match request::read(window, client, trust) {
            Ok(head) if head.kind == Asks::Other => break,
            Ok(head) => {
                count += 1;
                bytes = &bytes[head.length..];
                if !head.keep {
                    break;
                }
            }
            Err(NoHead::Partial) if bytes.len() < longest => break,
            Err(_) => return count + 1,
        }
    }
    count
}

/// Requests without a socket.
#[cfg(feature = "bench")]
impl Http {
    pub(crate) fn answer_bytes(&self, bytes: &[u8], client: IpAddr) -> usize {
        let mut buffers = self.buffers.lock();
        let buffers = &mut *buffers;
        buffers.output.clear();
        buffers.input[..bytes.len()].copy_from_slice(bytes);
        let terms = self.tracker.terms();
        self.answer_requests(buffers, 0..bytes.len(), client, &terms);
        buffers.output.len()
    }
}
