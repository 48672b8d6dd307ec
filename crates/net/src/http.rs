//! HTTP/1.1 to upstreams: one question, one bounded answer.
//!
//! The fronts bring URLs and read bodies; this module knows connections, proxies, redirects, packed
//! bodies and what an upstream says about being asked too often. It asks once: whether there is a
//! further attempt is the engine's decision.

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

/// What one question consists of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Where to; a user and password in it are sent as Basic authorization.
    pub url: &'a SecretUrl,
    /// Appended to the URL's own query, byte for byte; may be empty.
    pub query: &'a str,
    /// In place of the URL's host in the `Host` header; TLS still asks for the URL's host.
    pub host: Option<&'a str>,
    /// `http://` (absolute form for http, CONNECT for https) or `socks5://` (names are resolved by the
    /// proxy), with user and password if it wants them.
    pub proxy: Option<&'a SecretUrl>,
    /// Which addresses of the host, or of the proxy, may be used.
    pub family: Family,
    /// Bytes of the body at most, as they arrive and once more when they are unpacked.
    pub body_limit: usize,
    /// How many redirects are followed. With none the redirect itself is the answer, as is always one
    /// that leads to another scheme (`magnet:`).
    pub redirects: u8,
    /// Which private addresses the URL and whatever it redirects to may have.
    pub reach: Reach<'a>,
    /// The `Accept` header.
    pub accept: &'a str,
    /// The `User-Agent` header.
    pub user_agent: &'a str,
    /// Further headers, sent to the URL's own host only.
    pub headers: &'a [(&'a str, &'a str)],
    /// JSON that is sent by POST; without it the question is a GET. A redirect is then the answer.
    pub post: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A question with cautious choices: no private hosts, no redirects, one mebibyte.
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
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, also if it means failure.
    pub status: u16,
    /// How long the upstream wants to be left alone, at most 24 hours.
    pub retry_after: Option<Duration>,
    /// What the body is said to be.
    pub content_type: Option<String>,
    /// The body, unpacked.
    pub body: Bytes,
    /// The address that answered; not known through a proxy.
    pub from: Option<IpAddr>,
    headers: HeaderMap,
}

impl Response {
    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether this answer means that the upstream is asked too often.
    pub fn overload(&self) -> Option<Overload> {
        overload(self.status, self.retry_after)
    }
}

/// The upstream is asked too often and should be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// For how long, if it said so.
    pub retry_after: Option<Duration>,
}

/// Whether an answer means "leave me alone": 429 always, 503 only with `Retry-After`, because without it
/// that is any server whose back end is down. One rule for all fronts.
pub fn overload(status: u16, retry_after: Option<Duration>) -> Option<Overload> {
    let asked_to = status == 429 || (status == 503 && retry_after.is_some());
    asked_to.then_some(Overload { retry_after })
}

/// What connections may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for all addresses of a host together, without names and TLS.
    pub connect: Duration,
    /// Connections kept open between requests, over all upstreams.
    pub idle: usize,
    /// Connections kept open to one upstream.
    pub idle_per_upstream: usize,
    /// How long a connection is kept open without a request.
    pub idle_time: Duration,
    /// Bytes of an answer's head.
    pub head: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: 128,
            idle_per_upstream: 4,
            // Most servers close after 60 to 75 s; a little less spares a futile try.
            idle_time: Duration::from_secs(55),
            head: 64 << 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_is_429_or_503_with_a_time() {
        let second = Some(Duration::from_secs(1));
        for (status, retry_after, expected) in [
            (429, None, true),
            (429, second, true),
            (503, second, true),
            (503, None, false),
            (500, second, false),
            (200, second, false),
            (404, None, false),
        ] {
            let overload = overload(status, retry_after);
            let wanted = expected.then_some(Overload { retry_after });
            assert_eq!(overload, wanted, "{status} {retry_after:?}");
        }
    }
}
