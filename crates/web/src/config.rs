//! The `web` section: where the listener is, who may come in, and how much one client may ask of it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use weir_config::Secret;

/// Settings of the web listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The key that opens everything; none means the one made on the first start.
    pub api_key: Option<Secret>,
    /// Whether signing in is needed at all.
    pub auth: Auth,
    /// Networks that may read `/stats` and `/metrics` without a key.
    pub trusted: Vec<IpNet>,
    /// Proxies whose word on the client's address counts.
    pub trusted_proxies: Vec<IpNet>,
    /// What one client may ask.
    pub limits: Limits,
    /// Wrong keys an address may send within the window.
    pub sign_in_tries: u32,
    /// The time in which wrong keys are counted.
    pub sign_in_window: Duration,
    /// How long a session lasts after its last use.
    pub session_lifetime: Duration,
}

/// Whether signing in is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// A key or a session opens everything, nothing else does.
    Required,
    /// Everyone who reaches the listener may do everything.
    None,
}

/// Bounds on what one client may ask of the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head.
    pub header_bytes: usize,
    /// Header lines of a request.
    pub headers: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Time for the head to arrive.
    pub header_timeout: Duration,
    /// Time for the answer to begin.
    pub request_timeout: Duration,
    /// Time a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// Connections open at once; more wait to be accepted.
    pub connections: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)),
            api_key: None,
            auth: Auth::Required,
            trusted: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
            sign_in_tries: 5,
            sign_in_window: Duration::from_secs(60),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 16 * 1024,
            headers: 100,
            body_bytes: 1024 * 1024,
            header_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            connections: 1024,
        }
    }
}
