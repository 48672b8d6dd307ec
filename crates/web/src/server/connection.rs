//! One connection: HTTP/1.1 with limits on head, body and silence. [`Watch`] knows what it is doing.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Request, Response, header, uri::PathAndQuery},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::watch::{Arriving, Leaving, Patience, Watch, WatchedStream};
use crate::{
    App,
    body::keeping,
    metrics::Connections,
    rules::ListenerRules,
    seats::{Holder, Seat, Seats},
};

/// What all connections share.
#[derive(Clone)]
pub(super) struct Service {
    app: App,
    rules: Arc<ListenerRules>,
    router: Router,
    seats: Seats,
    /// The zero of the seats' clock.
    began: Instant,
    connections: Connections,
    shutdown: CancellationToken,
    /// Whether a connection may send more than one request.
    keep: bool,
}

impl Service {
    pub(super) fn new(
        app: &App,
        (router, seats): (Router, Seats),
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            app: app.clone(),
            rules: app.listener_rules(),
            router,
            seats,
            began: Instant::now(),
            connections: app.connections().clone(),
            shutdown,
            keep: true,
        }
    }

    /// The same for connections that may send only one request.
    pub(super) fn once(self) -> Self {
        Self {
            keep: false,
            ..self
        }
    }

    /// Serves one connection to its end in a task of its own, if there is a place for it. `read` has already been read
    /// from it.
    pub(super) fn welcome(
        &self,
        tasks: &mut JoinSet<()>,
        (read, stream): (Vec<u8>, TcpStream),
        peer: SocketAddr,
    ) {
        let settings = self.app.keeper().settings();
        let proxies = &settings.rules.trusted_proxies;
        let is_proxy = |address| proxies.iter().any(|net| net.contains(&address));
        let holder = Holder::at(peer.ip(), is_proxy);
        let now = millis(self.began);
        self.seats.take(holder, now, |seat| {
            tasks.spawn(self.clone().serve(read, stream, peer, seat))
        });
    }

    async fn serve(self, read: Vec<u8>, stream: TcpStream, peer: SocketAddr, seat: Seat) {
        // Answers are small and must not wait for more data.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::trace!(%error, "cannot set TCP_NODELAY");
        }
        if read.is_empty() {
            return self.serve_io(stream, peer, seat).await;
        }
        let (rest, out) = stream.into_split();
        let input = io::Cursor::new(read).chain(rest);
        let stream = tokio::io::join(input, out);
        self.serve_io(stream, peer, seat).await;
    }

    async fn serve_io(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        seat: Seat,
    ) {
        self.connections.inc();
        let _counted = OpenConnection(&self.connections);
        let watch = Arc::new(Watch::new(seat, self.began));
        let io = TokioIo::new(WatchedStream::new(stream, Arc::clone(&watch)));
        let service = service_fn(|request| self.answer(request, peer, Arc::clone(&watch)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(self.keep)
            .header_read_timeout(None)
            .max_headers(self.rules.headers)
            .max_buf_size(self.rules.header_bytes)
            .serve_connection(io, service);
        let mut connection = std::pin::pin!(connection);
        let mut stopping = false;
        loop {
            let limit = watch.limit(&self.rules);
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::trace!(%error, "a connection broke");
                    }
                    return;
                }
                () = self.shutdown.cancelled(), if !stopping => {
                    stopping = true;
                    // A head that has only begun to arrive is not yet a request, and would hold up the shutdown.
                    connection.as_mut().graceful_shutdown();
                    if watch.silent() {
                        return;
                    }
                }
                () = watch.changed() => {}
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
        watch.head_is_there(request.body());
        let mut request = request.map(|body| Body::new(Arriving::new(body, Arc::clone(&watch))));
        take_absolute_form(&mut request);
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(Patience::new(&watch));
        let response = self.router.clone().oneshot(request).await?;
        watch.answers();
        Ok(response.map(|body| keeping(body, Leaving::new(watch))))
    }
}

/// A target in absolute form names the host, whatever the header `Host` says (RFC 9112, section 3.2.2). It is moved into
/// that header, so that routes, links and the check of host names see only one form: a rule that looked at the header
/// while the target names another host could be bypassed.
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

/// Milliseconds since then.
pub(super) fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

struct OpenConnection<'a>(&'a Connections);

impl Drop for OpenConnection<'_> {
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
