//! Counts what is read from a connection, and ends what has no end.
//!
//! It stands on the wire, below TLS: whatever keeps a reader busy without giving it anything (informational
//! replies, the framing of chunks, records without content) is made of bytes, and these are counted. The
//! time of a call is bounded by its caller, who can only do so while a poll comes back; so reading also
//! pauses now and then, however much there is to read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Stream;

/// Reads in a row before others have their turn.
const RUN: usize = 16;

/// What may still be read from a connection; shared with the stream that is counted.
#[derive(Debug)]
pub(crate) struct Meter {
    left: AtomicUsize,
    over: AtomicBool,
}

impl Meter {
    /// Wraps a stream of which `most` bytes may be read until [`allow`](Self::allow) says something else.
    pub(crate) fn on(stream: Box<dyn Stream>, most: usize) -> (Box<dyn Stream>, Arc<Self>) {
        let meter = Arc::new(Self {
            left: AtomicUsize::new(most),
            over: AtomicBool::new(false),
        });
        let metered = Metered {
            stream,
            meter: meter.clone(),
            run: 0,
        };
        (Box::new(metered), meter)
    }

    /// From now on so many bytes may be read, and one read's worth beyond.
    pub(crate) fn allow(&self, most: usize) {
        self.left.store(most, Ordering::Relaxed);
    }

    /// Whether somebody tried to read more than was allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

struct Metered {
    stream: Box<dyn Stream>,
    meter: Arc<Meter>,
    /// Reads since the last pause.
    run: usize,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.meter.left.load(Ordering::Relaxed);
        if left == 0 {
            self.meter.over.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        if self.run == RUN {
            self.run = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, into);
        self.run = if poll.is_ready() { self.run + 1 } else { 0 };
        let read = into.filled().len() - before;
        let left = left.saturating_sub(read);
        self.meter.left.store(left, Ordering::Relaxed);
        poll
    }
}

impl AsyncWrite for Metered {
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
