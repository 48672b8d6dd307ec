//! The section `web`, split in two: the rules for each request, and what the listener is built with.
//!
//! No key can be forgotten: the section is destructured without `..`, so a key that nobody reads does not compile.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{IpNet, Secret};

use crate::{Auth, Config, Pace, WebLimits};

/// The rules for each request; a reload replaces them.
#[derive(Debug)]
pub(crate) struct RequestRules {
    /// The operator's own key.
    pub(crate) api_key: Option<Secret>,
    pub(crate) auth: Auth,
    pub(crate) trusted: Vec<IpNet>,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) hosts: Vec<String>,
    pub(crate) wrong_keys: Pace,
    /// What one household of strangers may read.
    pub(crate) readers: Pace,
    pub(crate) session_lifetime: Duration,
    pub(crate) body_bytes: usize,
    pub(crate) request_timeout: Duration,
    pub(crate) streams_per_address: usize,
}

/// What the listener is built with, once.
#[derive(Debug)]
pub(crate) struct ListenerRules {
    pub(crate) header_bytes: usize,
    pub(crate) headers: usize,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) connections: usize,
    pub(crate) connections_per_address: Option<NonZeroU32>,
}

/// Splits the section.
pub(crate) fn split(config: Config) -> (RequestRules, ListenerRules) {
    let Config {
        listen: _, // opened by whoever runs the app
        api_key,
        auth,
        trusted,
        trusted_proxies,
        hosts,
        sign_in_tries,
        sign_in_window,
        reading_pages,
        reading_window,
        session_lifetime,
        limits,
    } = config;
    let WebLimits {
        header_bytes,
        headers,
        body_bytes,
        header_timeout,
        request_timeout,
        idle_timeout,
        connections,
        connections_per_address,
        streams_per_address,
    } = limits;
    let requests = RequestRules {
        api_key,
        auth,
        trusted,
        trusted_proxies,
        hosts,
        wrong_keys: Pace {
            times: sign_in_tries.get(),
            window: sign_in_window,
        },
        readers: Pace {
            times: reading_pages.get(),
            window: reading_window,
        },
        session_lifetime,
        body_bytes: body_bytes.len(),
        request_timeout,
        streams_per_address: streams_per_address.get() as usize,
    };
    let listener = ListenerRules {
        header_bytes: header_bytes.len(),
        headers: headers.get() as usize,
        header_timeout,
        idle_timeout,
        connections: connections.get() as usize,
        connections_per_address,
    };
    (requests, listener)
}
