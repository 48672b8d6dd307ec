//! HTTP/1.1 to upstreams: one request, one answer of limited size.
//!
//! The fronts provide URLs and read bodies; this module takes care of connections, proxies, redirects, compressed
//! bodies and answers that mean "too many requests". It makes one attempt: whether there is another is up
//! to the engine.

mod body;
mod client;
mod line;
mod pool;
mod proxy;
mod retry_after;
mod socks;
mod target;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use weir_config::SecretUrl;

pub use crate::tls::Roots;
use crate::{Family, Reach};
pub use client::{Client, Clock};

/// One request and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The URL; a user name and password in it are sent as Basic authorization.
    pub url: &'a SecretUrl,
    /// Appended to the URL's own query, byte for byte; may be empty.
    pub query: &'a str,
    /// The `Host` header, if not the URL's host; TLS still checks the URL's host.
    pub host: Option<&'a str>,
    /// `http://` (absolute form for http, CONNECT for https) or `socks5://` (the proxy resolves names), with user name
    /// and password if it needs them.
    pub proxy: Option<&'a SecretUrl>,
    /// Which addresses of the host, or of the proxy, may be used.
    pub family: Family,
    /// Maximum size of the body, both as it arrives and decompressed.
    pub body_limit: usize,
    /// How many redirects are followed. If 0, the redirect itself is the answer, as a redirect to another
    /// scheme (`magnet:`) always is.
    pub redirects: u8,
    /// Which private addresses the URL and its redirects may lead to.
    pub reach: Reach<'a>,
    /// The `Accept` header.
    pub accept: &'a str,
    /// The `User-Agent` header.
    pub user_agent: &'a str,
    /// More headers, sent only to the URL's own host.
    pub headers: &'a [(&'a str, &'a str)],
    /// JSON to send by POST, which follows no redirects; without it the request is a GET.
    pub post: Option<&'a str>,
    /// The status is the answer: a body that is too long, is cut off or does not arrive within a moment is left empty
    /// rather than making an error of an answer that says what became of the request.
    pub by_status: bool,
}

impl<'a> Request<'a> {
    /// A request with cautious defaults: no private hosts, no redirects, at most 1 MiB.
    pub fn new(url: &'a SecretUrl) -> Self {
        Self {
            url,
            query: "",
            host: None,
            proxy: None,
            family: Family::Any,
            body_limit: 1 << 20,
            redirects: 0,
            reach: Reach::Public,
            accept: "*/*",
            user_agent: concat!("Weir/", env!("CARGO_PKG_VERSION")),
            headers: &[],
            post: None,
            by_status: false,
        }
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, even if it means failure.
    pub status: u16,
    /// How long the upstream asks us to wait, at most 24 hours.
    pub retry_after: Option<Duration>,
    /// The `Content-Type` header.
    pub content_type: Option<String>,
    /// The body, decompressed.
    pub body: Bytes,
    /// The address that answered; `None` behind a proxy.
    pub from: Option<IpAddr>,
    headers: HeaderMap,
}

impl Response {
    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Limits on connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to connect, for all addresses of a host together; looking up names and TLS are not included.
    pub connect: Duration,
    /// Maximum idle connections kept open, for all upstreams together.
    pub idle: usize,
    /// Maximum idle connections kept open to one upstream.
    pub idle_per_upstream: usize,
    /// How long an idle connection is kept open.
    pub idle_time: Duration,
    /// Maximum size of an answer's head.
    pub head: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: 128,
            idle_per_upstream: 4,
            // Most servers close after 60 to 75 s; closing a little earlier avoids requests on a dying connection.
            idle_time: Duration::from_secs(55),
            head: 64 << 10,
        }
    }
}
