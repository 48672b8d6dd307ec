//! Addresses that are pasted into other programs.

use std::net::IpAddr;

use askama::Template;

/// An address to paste into another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasteAddress {
    /// What it is called there.
    pub label: &'static str,
    /// The address.
    pub url: String,
}

/// Addresses, each with a button that copies it; `{{ paste|safe }}` in a template writes them.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/paste.html")]
pub struct Paste {
    prefix: &'static str,
    addresses: Vec<PasteAddress>,
}

impl Paste {
    /// These addresses; `prefix` tells their fields from others on the page.
    pub fn new(prefix: &'static str, addresses: Vec<PasteAddress>) -> Self {
        Self { prefix, addresses }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    fn all_are_local(&self) -> bool {
        !self.is_empty() && self.addresses.iter().all(|address| is_local(&address.url))
    }
}

/// The host in `host:port`, without the port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The host of a URL, without a port.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    host(rest.split('/').next().unwrap_or_default())
}

/// Whether a URL is reached from this machine alone.
pub fn is_local(url: &str) -> bool {
    let name = host_of(url).trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_their_port() {
        assert_eq!(host_of("http://weir.example:7070"), "weir.example");
        assert_eq!(host_of("udp://weir.example/announce"), "weir.example");
        assert_eq!(host_of("http://[::1]:7070/x"), "[::1]");
        assert_eq!(host_of("http://[::1]"), "[::1]");
    }

    #[test]
    fn loopback_is_told_apart() {
        for url in [
            "http://127.0.0.1:7070",
            "http://[::1]:7070/announce",
            "udp://127.0.0.1:1/announce",
            "http://LocalHost",
        ] {
            assert!(is_local(url), "{url}");
        }
        for url in ["http://weir.example:7070", "https://192.0.2.7"] {
            assert!(!is_local(url), "{url}");
        }
    }

    #[test]
    fn addresses_are_there_to_copy() {
        let url = |host: &str| PasteAddress {
            label: "HTTP",
            url: format!("http://{host}:1/a?b&c"),
        };
        let written = Paste::new("x", vec![url("weir.example")]).to_string();
        assert!(
            written.contains(r#"value="http://weir.example:1/a?b&#38;c""#),
            "{written}"
        );
        assert!(written.contains(r#"data-copy="x-1""#), "{written}");
        assert!(!written.contains("this machine only"), "{written}");
        let written = Paste::new("x", vec![url("127.0.0.1")]).to_string();
        assert!(written.contains("this machine only"), "{written}");
        assert_eq!(Paste::new("x", Vec::new()).to_string(), "");
    }
}
