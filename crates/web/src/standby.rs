//! The web listener before Weir can serve and after it stopped: whoever connects is told so at once, instead of waiting in
//! the kernel's queue or being refused. `/healthz` says alive, `/readyz` what is missing, everything else is 503.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{Failure, RequestId, pages::failure::is_api, ready};

/// Connections at once; more wait in the kernel.
const AT_ONCE: usize = 64;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long those who are being answered have at the end.
const GRACE: Duration = Duration::from_millis(200);
/// When to come back, in seconds.
const AGAIN: u64 = 2;

/// Why nothing else is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standby {
    /// Not yet.
    Starting,
    /// No longer.
    Stopping,
}

impl Standby {
    fn sentence(self) -> &'static str {
        match self {
            Self::Starting => "Weir is starting.",
            Self::Stopping => "Weir is stopping.",
        }
    }
}

/// Answers until `end`; then connections under way have a moment left, and the listener is given back.
pub async fn stand_by(listener: TcpListener, why: Standby, end: CancellationToken) -> TcpListener {
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept(), if open.len() < AT_ONCE => accepted,
        };
        match accepted {
            Ok((stream, _)) => drop(open.spawn(serve(stream, why))),
            Err(error) => {
                tracing::debug!(%error, "cannot accept connections right now");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    let answered = async { while open.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, answered).await;
    open.shutdown().await;
    listener
}

async fn serve(stream: TcpStream, why: Standby) {
    let service = service_fn(move |request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(&request, why))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever went wrong, it was the other end.
    let _ = tokio::time::timeout(PATIENCE, connection).await;
}

fn answer<B>(request: &Request<B>, why: Standby) -> Response<Body> {
    let path = request.uri().path();
    let mut response = match path {
        "/healthz" => "alive\n".into_response(),
        "/readyz" => ready::answer(&[why.sentence().to_owned()], request.headers()),
        _ => {
            let failure = Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                why.sentence(),
                "Try again in a moment.",
            );
            let (failure, id) = (failure.retry_after(AGAIN), RequestId::new(0));
            match is_api(path) {
                true => failure.json(&id),
                false => failure.text(&id),
            }
        }
    };
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            HeaderName::from_static("content-security-policy"),
            "default-src 'none'",
        ),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
