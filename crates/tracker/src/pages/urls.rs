//! The addresses to paste into a client.

use std::net::{IpAddr, SocketAddr};

/// Announce URLs of the listeners, each once, as someone sees them who reached Weir at `host` (without a port). A
/// listener on one address alone is named by that one.
pub fn announce_urls(
    listening: &[(&'static str, SocketAddr)],
    host: &str,
) -> Vec<(&'static str, String)> {
    let mut urls = Vec::new();
    for (protocol, address) in listening {
        let port = address.port();
        let url = match address.ip() {
            ip if ip.is_unspecified() => format!("{protocol}://{host}:{port}/announce"),
            _ => format!("{protocol}://{address}/announce"),
        };
        if !urls.contains(&(*protocol, url.clone())) {
            urls.push((*protocol, url));
        }
    }
    // Clients that may choose try the first, and both protocols count.
    urls.sort_by_key(|(protocol, _)| *protocol);
    urls
}

/// The host in a `Host` header, without its port.
pub(super) fn host(header: &str) -> &str {
    match header.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => header,
    }
}

/// Whether an address is reached from this machine alone.
pub(super) fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let name = host(authority).trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_for_all_is_named_as_it_was_reached() {
        let at = |text: &str| text.parse().unwrap();
        let listening = [
            ("udp", at("[::]:6969")),
            ("udp", at("0.0.0.0:6969")),
            ("http", at("192.0.2.7:80")),
        ];
        let urls = announce_urls(&listening, "weir.example");
        assert_eq!(
            urls,
            [
                ("http", "http://192.0.2.7:80/announce".to_owned()),
                ("udp", "udp://weir.example:6969/announce".to_owned()),
            ]
        );
    }

    #[test]
    fn hosts_lose_their_port() {
        assert_eq!(host("weir.example:7070"), "weir.example");
        assert_eq!(host("weir.example"), "weir.example");
        assert_eq!(host("[::1]:7070"), "[::1]");
        assert_eq!(host("[::1]"), "[::1]");
        assert!(is_local("http://[::1]:6969/announce") && is_local("udp://127.0.0.1:1/announce"));
        assert!(!is_local("http://weir.example:1/announce"));
    }
}
