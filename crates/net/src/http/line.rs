//! One connection, used for one request after another.
//!
//! Whoever sends a request also drives the connection; there is no task for it. So a dropped request closes the
//! connection, and nothing runs that nobody waits for.

use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::meter::{Meter, write_through};
use crate::{Error, Stream};

/// Maximum headers of one answer.
const HEADERS: usize = 128;

/// Maximum preliminary replies (100, 102, 103) before the answer; servers send one or two.
const PRELIMINARY: usize = 8;

/// Bytes that framing may add to twice the size of a body: chunk sizes, TLS records, what was read ahead.
const FRAMING: usize = 256 << 10;

/// Maximum pieces of a body, plus one for each [`PIECE`] bytes. Programs that write a feed word by word
/// stay below; one piece per byte would cost us more than the sender.
const PIECES: usize = 16 << 10;
const PIECE: usize = 16;

/// An open connection that speaks HTTP/1.1.
pub(super) struct Line {
    sender: http1::SendRequest<String>,
    connection: http1::Connection<TokioIo<Listened>, String>,
    /// The connection is finished and must not be polled again.
    ended: bool,
    /// Set by the stream when anything arrives.
    heard: Arc<AtomicBool>,
    /// How much may still be read for the current answer.
    meter: Arc<Meter>,
    head_limit: usize,
    /// The address at the other end; `None` behind a proxy.
    pub(super) to: Option<IpAddr>,
}

impl Line {
    /// `meter` is that of the stream.
    pub(super) async fn open(
        stream: Box<dyn Stream>,
        meter: Arc<Meter>,
        head_limit: usize,
        to: Option<IpAddr>,
    ) -> Result<Self, Error> {
        let heard = Arc::new(AtomicBool::new(false));
        let stream = Listened {
            stream,
            heard: heard.clone(),
        };
        // Lenient about mistakes of servers that leave no doubt about what is meant.
        let opened = http1::Builder::new()
            .title_case_headers(true)
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(HEADERS)
            .max_buf_size(buffer(head_limit))
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = opened.map_err(|error| told(&error, head_limit))?;
        Ok(Self {
            sender,
            connection,
            ended: false,
            heard,
            meter,
            head_limit,
            to,
        })
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn ask(
        &mut self,
        mut request: Request<String>,
    ) -> Result<Response<Incoming>, Error> {
        self.heard.store(false, Ordering::Relaxed);
        // All heads together, and the part of the body that hyper reads ahead.
        self.meter.allow(2 * buffer(self.head_limit) + FRAMING);
        let preliminary = Arc::new(AtomicUsize::new(0));
        let (counted, meter) = (preliminary.clone(), self.meter.clone());
        hyper::ext::on_informational(&mut request, move |_| {
            if counted.fetch_add(1, Ordering::Relaxed) == PRELIMINARY {
                meter.allow(0);
            }
        });
        let mut answer = pin!(self.sender.send_request(request));
        let (connection, ended) = (&mut self.connection, &mut self.ended);
        let answer = poll_fn(|cx| {
            drive(connection, ended, cx);
            match answer.as_mut().poll(cx) {
                Poll::Pending if *ended => Poll::Ready(None),
                poll => poll.map(Some),
            }
        });
        let answer = answer.await;
        // They may all have arrived at once with the answer, before the meter could stop them.
        if preliminary.load(Ordering::Relaxed) > PRELIMINARY {
            return Err(Error::TooMany("preliminary replies"));
        }
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(self.told(Some(&error), self.head_limit)),
            None => Err(self.told(None, self.head_limit)),
        }
    }

    /// The whole body, as it arrives.
    pub(super) async fn read(&mut self, mut body: Incoming, limit: usize) -> Result<Bytes, Error> {
        let too_large = Error::TooLarge { limit };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(too_large);
        }
        self.meter
            .allow(limit.saturating_mul(2).saturating_add(FRAMING));
        let mut whole = BytesMut::new();
        let mut pieces = 0;
        loop {
            // Pieces that have already arrived must not keep the thread from other tasks.
            tokio::task::consume_budget().await;
            let frame = poll_fn(|cx| {
                drive(&mut self.connection, &mut self.ended, cx);
                match Pin::new(&mut body).poll_frame(cx) {
                    Poll::Pending if self.ended => Poll::Ready(Some(Err(None))),
                    poll => poll.map_err(Some),
                }
            });
            let Some(frame) = frame.await else {
                return Ok(whole.freeze());
            };
            let frame = frame.map_err(|error| self.told(error.as_ref(), limit))?;
            if let Ok(data) = frame.into_data() {
                if data.len() > limit - whole.len() {
                    return Err(too_large);
                }
                whole.extend_from_slice(&data);
                pieces += 1;
                if pieces > PIECES + whole.len() / PIECE {
                    return Err(Error::TooMany("small pieces"));
                }
            }
        }
    }

    /// Whether anything has arrived since the last request was sent.
    pub(super) fn was_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Whether another request can be sent: the last answer is complete and the upstream has not closed.
    pub(super) fn is_open(&mut self) -> bool {
        // Nothing needs to be woken: the next request polls it again.
        let mut context = Context::from_waker(Waker::noop());
        drive(&mut self.connection, &mut self.ended, &mut context);
        !self.ended && self.sender.is_ready()
    }

    /// Why the connection failed; without an error it was closed. `limit` is the limit in force at that time.
    fn told(&self, error: Option<&hyper::Error>, limit: usize) -> Error {
        if self.meter.is_over() {
            return Error::TooLarge { limit };
        }
        error.map_or(Error::Cut, |error| told(error, self.head_limit))
    }
}

/// Maximum bytes read ahead; hyper panics below 8 KiB.
fn buffer(head_limit: usize) -> usize {
    head_limit.max(8 << 10)
}

/// Lets the connection read and write. Its error is ignored here: whoever waits for the answer gets it too.
fn drive(
    connection: &mut http1::Connection<TokioIo<Listened>, String>,
    ended: &mut bool,
    cx: &mut Context<'_>,
) {
    if !*ended && Pin::new(connection).poll(cx).is_ready() {
        *ended = true;
    }
}

fn told(error: &hyper::Error, head_limit: usize) -> Error {
    if error.is_parse_too_large() {
        return Error::TooLarge { limit: head_limit };
    }
    if error.is_parse() {
        return Error::Unreadable;
    }
    if error.is_user() {
        return Error::Unsendable("the request as a whole");
    }
    let source = error.source();
    let Some(source) = source.and_then(|source| source.downcast_ref::<io::Error>()) else {
        return Error::Cut;
    };
    match source.kind() {
        // The framing of the body or the TLS records make no sense.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Error::Unreadable,
        _ => Error::of_system(source),
    }
}

/// A stream that notes when something is read from it.
struct Listened {
    stream: Box<dyn Stream>,
    heard: Arc<AtomicBool>,
}

impl AsyncRead for Listened {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, into);
        if into.filled().len() > before {
            self.heard.store(true, Ordering::Relaxed);
        }
        match poll {
            // Many servers end TLS without `close_notify`. Whether something is missing follows from the answer's
            // length or, if it has none, from parsing the body.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Poll::Ready(Ok(()))
            }
            poll => poll,
        }
    }
}

write_through!(Listened);
