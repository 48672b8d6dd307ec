//! Counts what is read from a connection, and cuts off an endless answer.
//!
//! It counts below TLS, because whatever keeps a reader busy without giving it anything (informational
//! replies, chunk framing, empty records) consists of bytes on the wire. The caller limits the time of a call,
//! which only works if polls return; so reading also pauses now and then, however much there is to read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Stream;

/// Reads in a row before other tasks get a turn.
const RUN: usize = 16;

/// What may still be read from a connection; shared with the stream that is counted. `Relaxed` suffices: one task at a
/// time polls the stream and sets the allowance.
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

    /// Allows `most` more bytes from now on; the last read may exceed that by what it got at once.
    pub(crate) fn allow(&self, most: usize) {
        self.left.store(most, Ordering::Relaxed);
    }

    /// Whether a read was refused because the allowance was used up.
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

/// Implements writing for a wrapper around `stream` that only looks at what is read.
macro_rules! write_through {
    ($wrapper:ty) => {
        impl AsyncWrite for $wrapper {
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

            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.stream).poll_shutdown(cx)
            }
        }
    };
}
pub(crate) use write_through;

write_through!(Metered);
