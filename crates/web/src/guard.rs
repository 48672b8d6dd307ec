//! The outermost layer: gives the request an ID and a span, judges the client, limits body and time, catches panics
//! and puts the security headers on every answer, whatever made it.

use std::{net::SocketAddr, panic::AssertUnwindSafe, time::Duration};

use axum::{
    RequestExt,
    extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;
use tracing::Instrument;

use crate::{
    App, Client, Failure, RequestId, forms,
    pages::{
        self,
        failure::{BareLook, is_api},
    },
};

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                   form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Set unless the handler has set its own.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (header::CACHE_CONTROL, "no-store"),
];

/// The layer itself.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = app.next_id();
    let settings = app.keeper().settings();
    let rules = &settings.rules;
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0.ip());
    let client = peer.map_or_else(Client::unknown, |peer| {
        Client::judge(peer, request.headers(), rules)
    });
    let look = BareLook {
        api: is_api(request.uri().path()),
        theme: pages::theme::chosen(request.headers()),
    };
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    debug_assert!(
        !is_api(&route) || app.is_described(&route),
        "{route} is not in /api/openapi.json: make it with `ApiRoutes`"
    );
    // Never the address as it was sent: its query may hold a key, its path a link.
    let span = tracing::debug_span!("request", front = "web", id = id.as_str(), method = %request.method(), route);
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(id.clone());

    let mut response = if declared(request.headers()) > rules.body_bytes as u64 {
        pages::failure::bare(&app, &id, look, &forms::too_large(rules.body_bytes))
    } else {
        DefaultBodyLimit::max(rules.body_bytes).apply(&mut request);
        let answer = answer(next, request.with_limited_body(), rules.request_timeout)
            .instrument(span.clone());
        match answer.await {
            Ok(response) => app
                .streams()
                .admit(response, client.address, rules.streams_per_address)
                .unwrap_or_else(|failure| pages::failure::bare(&app, &id, look, &failure)),
            Err(failure) => pages::failure::bare(&app, &id, look, &failure),
        }
    };
    finish(response.headers_mut(), &id);
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), client = %client.address, "answered"));
    response
}

/// Runs the inner layers for a limited time, whatever they do.
async fn answer(next: Next, request: Request, limit: Duration) -> Result<Response, Failure> {
    let run = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(limit, run).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(_panic)) => {
            tracing::error!("a handler panicked");
            Err(Failure::internal())
        }
        Err(_elapsed) => {
            tracing::warn!("a request took too long and was cut off");
            Err(Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!(
                    "This took longer than {} s, so Weir gave up.",
                    limit.as_secs_f64()
                ),
                "Try again in a moment.",
            )
            .retry_after(1))
        }
    }
}

fn declared(headers: &HeaderMap) -> u64 {
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .unwrap_or(0)
}

fn finish(headers: &mut HeaderMap, id: &RequestId) {
    for (name, value) in HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        headers.insert("x-request-id", id);
    }
}
