//! One connection: HTTP/1.1 with bounds on the head and on silence.
//!
//! hyper's own header time-out also runs while a kept-alive connection is idle, so it cannot tell a slow client from
//! a quiet one. [`Watch`] can: it sees bytes arrive and requests begin and end.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Request, Response, header, uri::PathAndQuery},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{App, Limits, metrics::Connections};

/// hyper wants room for at least this much of a head.
const LEAST_HEAD: usize = 8192;

/// What all connections share.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) limits: Arc<Limits>,
    router: Router,
    connections: Connections,
    shutdown: CancellationToken,
    /// Whether a connection may ask more than once.
    keep: bool,
}

impl Service {
    pub(super) fn new(app: &App, router: Router, shutdown: CancellationToken) -> Self {
        Self {
            limits: Arc::new(app.keeper().settings().config.limits.clone()),
            router,
            connections: app.connections().clone(),
            shutdown,
            keep: true,
        }
    }

    /// The same for connections that may ask once.
    pub(super) fn once(self) -> Self {
        Self {
            keep: false,
            ..self
        }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        hurry(&stream);
        self.serve_io(stream, peer).await;
    }

    /// Serves one connection of which `read` was read already.
    pub(super) async fn serve_from(self, read: Vec<u8>, stream: TcpStream, peer: SocketAddr) {
        hurry(&stream);
        let (rest, out) = stream.into_split();
        let input = io::Cursor::new(read).chain(rest);
        self.serve_io(tokio::io::join(input, out), peer).await;
    }

    async fn serve_io(self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr) {
        self.connections.inc();
        let _counted = Counted(&self.connections);
        let watch = Arc::new(Watch::new());
        let io = TokioIo::new(Watched {
            stream,
            watch: Arc::clone(&watch),
        });
        let service = service_fn(|request| self.answer(request, peer, Arc::clone(&watch)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(self.keep)
            .header_read_timeout(None)
            .max_headers(self.limits.headers)
            .max_buf_size(self.limits.header_bytes.max(LEAST_HEAD))
            .serve_connection(io, service);
        let mut connection = std::pin::pin!(connection);
        let mut stopping = false;
        loop {
            let limit = watch.limit(&self.limits);
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::trace!(%error, "a connection broke");
                    }
                    return;
                }
                () = self.shutdown.cancelled(), if !stopping => {
                    stopping = true;
                    // A head that has begun to arrive is not a request yet, and would hold up the end.
                    connection.as_mut().graceful_shutdown();
                    if watch.silent() {
                        return;
                    }
                }
                () = watch.changed.notified() => {}
                () = until(limit) => return,
            }
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        watch: Arc<Watch>,
    ) -> Result<Response<Body>, std::convert::Infallible> {
        watch.set(Phase::Busy);
        let mut request = request.map(Body::new);
        take_absolute_form(&mut request);
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = self.router.clone().oneshot(request).await;
        watch.set(Phase::Idle);
        response
    }
}

/// A target in absolute form names the host, whatever the header `Host` says (RFC 9112, section 3.2.2). It becomes that
/// header, so that routes, links and the judgement of names see one form alone: a rule that looked at the header while
/// the target names another host could be walked around.
fn take_absolute_form<B>(request: &mut Request<B>) {
    let Some(authority) = request.uri().authority() else {
        return;
    };
    let host = authority.as_str();
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    let Ok(host) = HeaderValue::from_str(host) else {
        return;
    };
    let resource = request.uri().path_and_query().cloned();
    let resource = resource.unwrap_or_else(|| PathAndQuery::from_static("/"));
    request.headers_mut().insert(header::HOST, host);
    *request.uri_mut() = resource.into();
}

/// Answers are small and are not to wait for more.
fn hurry(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::trace!(%error, "no TCP_NODELAY");
    }
}

struct Counted<'a>(&'a Connections);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head is expected or has begun to arrive.
    Head,
    /// A request is being answered.
    Busy,
    /// The last answer was made and perhaps still goes out; nothing has come since.
    Idle,
}

struct Watch {
    /// Written by the service (busy, idle) and by the socket (head); read by the connection's loop.
    phase: Mutex<(Phase, Instant)>,
    changed: Notify,
}

impl Watch {
    fn new() -> Self {
        Self {
            phase: Mutex::new((Phase::Head, Instant::now())),
            changed: Notify::new(),
        }
    }

    fn set(&self, phase: Phase) {
        *self.phase.lock() = (phase, Instant::now());
        self.changed.notify_one();
    }

    /// Bytes came in: after silence they begin a head.
    fn bytes(&self) {
        let mut phase = self.phase.lock();
        if phase.0 == Phase::Idle {
            *phase = (Phase::Head, Instant::now());
            self.changed.notify_one();
        }
    }

    fn silent(&self) -> bool {
        self.phase.lock().0 == Phase::Head
    }

    /// An answer goes out: a client that takes it slowly is not idle, one that does not take it at all is.
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.wrote();
        }
        written
    }

    fn wrote(&self) {
        let mut phase = self.phase.lock();
        if phase.0 == Phase::Idle {
            phase.1 = Instant::now();
            self.changed.notify_one();
        }
    }

    /// When the connection is closed if nothing changes.
    fn limit(&self, limits: &Limits) -> Option<Instant> {
        let (phase, since) = *self.phase.lock();
        match phase {
            Phase::Head => Some(since + limits.header_timeout),
            Phase::Idle => Some(since + limits.idle_timeout),
            Phase::Busy => None,
        }
    }
}

/// A socket that tells its watch when bytes arrive.
struct Watched<S> {
    stream: S,
    watch: Arc<Watch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
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
