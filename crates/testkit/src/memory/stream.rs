//! Streams in memory, and those who accept them.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::{mpsc, watch};
use weir_net::BoxFuture;

/// Bytes under way in each direction; a writer waits beyond that, as on a real connection.
const WINDOW: usize = 64 << 10;

/// Accepts connections at one address. Dropped, its address refuses.
pub struct Listener {
    address: SocketAddr,
    accepted: mpsc::Receiver<Accepted>,
}

impl Listener {
    pub(super) fn new(address: SocketAddr, accepted: mpsc::Receiver<Accepted>) -> Self {
        Self { address, accepted }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection; nothing when somebody else listens here now, or the network is gone.
    ///
    /// # Cancel safety
    /// A dropped future has taken no connection.
    pub async fn accept(&mut self) -> Option<Accepted> {
        self.accepted.recv().await
    }
}

/// The server's end of a stream.
pub struct Accepted {
    stream: DuplexStream,
    reset: Arc<AtomicBool>,
}

impl Accepted {
    /// Ends the stream with an error for the client instead of an end.
    pub fn reset(self) {
        self.reset.store(true, Ordering::Release);
    }
}

/// The client's end: stands still while the network is down.
pub(super) struct Outgoing {
    stream: DuplexStream,
    reset: Arc<AtomicBool>,
    down: watch::Receiver<bool>,
    /// There while the network is down and somebody waits.
    waiting: Option<BoxFuture<'static, ()>>,
}

pub(super) fn pair(down: watch::Receiver<bool>) -> (Outgoing, Accepted) {
    let (client, server) = duplex(WINDOW);
    let reset = Arc::new(AtomicBool::new(false));
    let client = Outgoing {
        stream: client,
        reset: reset.clone(),
        down,
        waiting: None,
    };
    let stream = server;
    (client, Accepted { stream, reset })
}

impl Outgoing {
    fn poll_up(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while *self.down.borrow() {
            let waiting = self.waiting.get_or_insert_with(|| {
                let mut down = self.down.clone();
                Box::pin(async move {
                    // The network itself is gone: nothing will ever change.
                    if down.wait_for(|down| !down).await.is_err() {
                        std::future::pending::<()>().await;
                    }
                })
            });
            if waiting.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.waiting = None;
        }
        Poll::Ready(())
    }

    fn was_reset(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }
}

impl AsyncRead for Outgoing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.poll_up(cx).is_pending() {
            return Poll::Pending;
        }
        let before = into.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, into);
        match poll {
            Poll::Ready(Ok(())) if into.filled().len() == before && self.was_reset() => {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            poll => poll,
        }
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.poll_up(cx).is_pending() {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Accepted {
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
