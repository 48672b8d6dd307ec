//! What a connection is doing, and for how long it may: this sees bytes arrive and leave, and requests begin and end.
//!
//! hyper's own header time-out also runs while a kept-alive connection is idle, so it cannot tell a slow client from a
//! quiet one. This can, and it tells the connection's [`Seat`] whose move it is: a client that has not sent its whole
//! request, or does not take its answer, may have to go when others need the place.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
};

use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::Instant,
};

use super::connection::millis;
use crate::{rules::ListenerRules, seats::Seat};

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head is expected or has begun to arrive.
    Head,
    /// The head has arrived, but not all of the body.
    Body,
    /// A whole request is being answered.
    Busy,
    /// An answer is being sent; `stuck` if the client does not take it.
    Answer { stuck: bool },
    /// The last answer is complete, though perhaps still being sent; nothing has arrived since.
    Idle,
}

pub(super) struct Watch {
    /// Written by the service and by the socket; read by the connection's loop.
    state: Mutex<WatchState>,
    changed: Notify,
    seat: Seat,
    /// The zero of the seats' clock.
    began: Instant,
}

struct WatchState {
    phase: Phase,
    since: Instant,
    /// The next request began to arrive while the answer was being sent.
    ahead: bool,
    /// The client is signed in.
    proven: bool,
}

impl Watch {
    pub(super) fn new(seat: Seat, began: Instant) -> Self {
        Self {
            state: Mutex::new(WatchState {
                phase: Phase::Head,
                since: Instant::now(),
                ahead: false,
                proven: false,
            }),
            changed: Notify::new(),
            seat,
            began,
        }
    }

    /// # Cancel safety
    /// A change is either seen or still to be seen.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// A head has arrived. Until its body has too, the next move is still the client's.
    pub(super) fn head_is_there(&self, body: &Incoming) {
        let mut state = self.state.lock();
        if body.is_end_stream() {
            self.set(&mut state, Phase::Busy);
            self.seat.works();
        } else {
            self.set(&mut state, Phase::Body);
        }
    }

    fn body_is_there(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Body {
            self.set(&mut state, Phase::Busy);
            self.seat.works();
        }
    }

    /// The answer has begun, and is sent from now on.
    pub(super) fn answers(&self) {
        let mut state = self.state.lock();
        self.set(&mut state, Phase::Answer { stuck: false });
        self.seat.works();
    }

    /// The answer is complete.
    fn answered(&self) {
        let mut state = self.state.lock();
        let ahead = std::mem::take(&mut state.ahead);
        self.set(&mut state, if ahead { Phase::Head } else { Phase::Idle });
        self.seat.waits(millis(self.began));
    }

    /// Bytes arrived: after a silence they begin a head.
    fn bytes(&self) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Idle => self.set(&mut state, Phase::Head),
            Phase::Answer { .. } => state.ahead = true,
            Phase::Head | Phase::Body | Phase::Busy => {}
        }
    }

    /// Part of an answer was sent, or could not be: a client that takes it slowly is not idle, one that does not take it
    /// at all is.
    fn wrote(&self, progress: bool) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Idle if progress => {
                state.since = Instant::now();
                self.changed.notify_one();
            }
            Phase::Answer { stuck } if stuck == progress => {
                self.set(&mut state, Phase::Answer { stuck: !progress });
                if progress {
                    self.seat.works();
                } else {
                    self.seat.waits(millis(self.began));
                }
            }
            _ => {}
        }
    }

    fn note<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.wrote(written.is_ready());
        written
    }

    fn set(&self, state: &mut WatchState, phase: Phase) {
        (state.phase, state.since) = (phase, Instant::now());
        self.changed.notify_one();
    }

    /// Whether there is no request yet.
    pub(super) fn silent(&self) -> bool {
        self.state.lock().phase == Phase::Head
    }

    /// When the connection is closed if nothing changes. The body of a client that is signed in, and an answer, are
    /// limited by the time-out of the whole request instead.
    pub(super) fn limit(&self, rules: &ListenerRules) -> Option<Instant> {
        let state = self.state.lock();
        let limit = match state.phase {
            Phase::Head => rules.header_timeout,
            Phase::Body if !state.proven => rules.header_timeout,
            Phase::Idle | Phase::Answer { stuck: true } => rules.idle_timeout,
            Phase::Body | Phase::Busy | Phase::Answer { stuck: false } => return None,
        };
        Some(state.since + limit)
    }
}

/// Comes with each request: lets its body take the time of the whole request, once its sender is known to be signed in.
#[derive(Clone)]
pub(crate) struct Patience(Weak<Watch>);

impl Patience {
    pub(super) fn new(watch: &Arc<Watch>) -> Self {
        Self(Arc::downgrade(watch))
    }

    /// Grants it to this connection: a client that was signed in once may also take its time over its next body.
    pub(crate) fn grant(&self) {
        if let Some(watch) = self.0.upgrade() {
            watch.state.lock().proven = true;
            watch.changed.notify_one();
        }
    }
}

/// The body of a request, as it arrives.
pub(super) struct Arriving {
    body: Incoming,
    watch: Arc<Watch>,
}

impl Arriving {
    pub(super) fn new(body: Incoming, watch: Arc<Watch>) -> Self {
        Self { body, watch }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.watch.body_is_there();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Held by the body of an answer: tells when all of it has been handed over.
pub(super) struct Leaving(Arc<Watch>);

impl Leaving {
    pub(super) fn new(watch: Arc<Watch>) -> Self {
        Self(watch)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// A socket that tells its watch when bytes arrive and leave.
pub(super) struct WatchedStream<S> {
    stream: S,
    watch: Arc<Watch>,
}

impl<S> WatchedStream<S> {
    pub(super) fn new(stream: S, watch: Arc<Watch>) -> Self {
        Self { stream, watch }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.watch.bytes();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch.note(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watch.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
