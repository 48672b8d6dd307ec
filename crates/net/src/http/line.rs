//! One connection on which requests follow each other.
//!
//! The connection is driven by whoever asks, not by a task of its own: a dropped request closes it, and
//! nothing runs that nobody waits for.

use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{Error, Stream};

/// Headers of one answer at most.
const HEADERS: usize = 128;

/// An open connection that speaks HTTP/1.1.
pub(super) struct Line {
    sender: http1::SendRequest<String>,
    connection: http1::Connection<TokioIo<Listened>, String>,
    /// The connection has come to its end and must not be driven any more.
    ended: bool,
    /// Set by the stream when the upstream says anything.
    heard: Arc<AtomicBool>,
    head_limit: usize,
    /// Where it leads; not known through a proxy.
    pub(super) from: Option<IpAddr>,
}

impl Line {
    pub(super) async fn open(
        (stream, from): (Box<dyn Stream>, Option<IpAddr>),
        head_limit: usize,
    ) -> Result<Self, Error> {
        let heard = Arc::new(AtomicBool::new(false));
        let stream = Listened {
            stream,
            heard: heard.clone(),
        };
        // Lenient where servers err in ways that leave no doubt about what they mean.
        let opened = http1::Builder::new()
            .title_case_headers(true)
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(HEADERS)
            .max_buf_size(head_limit.max(8 << 10))
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = opened.map_err(|error| told(&error, head_limit))?;
        Ok(Self {
            sender,
            connection,
            ended: false,
            heard,
            head_limit,
            from,
        })
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn ask(
        &mut self,
        request: Request<String>,
    ) -> Result<Response<Incoming>, Error> {
        self.heard.store(false, Ordering::Relaxed);
        let mut answer = pin!(self.sender.send_request(request));
        let (connection, ended) = (&mut self.connection, &mut self.ended);
        let answer = poll_fn(|cx| {
            drive(connection, ended, cx);
            match answer.as_mut().poll(cx) {
                Poll::Pending if *ended => Poll::Ready(None),
                poll => poll.map(Some),
            }
        });
        let answer = answer.await.ok_or(Error::Cut)?;
        answer.map_err(|error| told(&error, self.head_limit))
    }

    /// The whole body, as it arrives.
    pub(super) async fn read(&mut self, mut body: Incoming, limit: usize) -> Result<Bytes, Error> {
        let too_large = Error::TooLarge { limit };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(too_large);
        }
        let mut whole = BytesMut::new();
        loop {
            let frame = poll_fn(|cx| {
                drive(&mut self.connection, &mut self.ended, cx);
                match Pin::new(&mut body).poll_frame(cx) {
                    Poll::Pending if self.ended => Poll::Ready(Some(Err(Error::Cut))),
                    poll => poll.map_err(|error| told(&error, self.head_limit)),
                }
            });
            let Some(frame) = frame.await else {
                return Ok(whole.freeze());
            };
            if let Ok(data) = frame?.into_data() {
                if data.len() > limit - whole.len() {
                    return Err(too_large);
                }
                whole.extend_from_slice(&data);
            }
        }
    }

    /// Whether the upstream has said anything since the last request was sent.
    pub(super) fn was_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Whether a further request can be sent: the last answer is over and the upstream has not closed.
    pub(super) fn is_open(&mut self) -> bool {
        // Nobody is waiting: the next one who looks drives it again.
        let mut context = Context::from_waker(Waker::noop());
        drive(&mut self.connection, &mut self.ended, &mut context);
        !self.ended && self.sender.is_ready()
    }
}

/// Lets the connection read and write. Why it ended is told to whoever waits for the answer.
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
        // A body whose framing makes no sense, and TLS records that do not.
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
            // TLS that ends without a goodbye, as many servers do. Whether something is missing is told
            // by the answer's length, and where it has none, by whoever reads the body.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Poll::Ready(Ok(()))
            }
            poll => poll,
        }
    }
}

impl AsyncWrite for Listened {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
