//! The addresses to paste into a client.

use std::net::SocketAddr;

use weir_web::kit::{PasteAddress, authority_of, host_of};

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

/// The same to paste into a torrent, for somebody who reaches our pages at this origin.
pub(crate) fn announce_addresses(
    listening: &[(&'static str, SocketAddr)],
    origin: &str,
) -> Vec<PasteAddress> {
    let urls = announce_urls(listening, host_of(origin)).into_iter();
    urls.map(|(protocol, url)| {
        let (label, key) = match protocol {
            "udp" => ("UDP", "tracker.udp_listen"),
            _ => ("HTTP", "tracker.http_listen"),
        };
        let authority = authority_of(&url);
        let is_bound_here = listening.iter().any(|(other, address)| {
            *other == protocol && address.ip().is_loopback() && authority == address.to_string()
        });
        PasteAddress {
            label,
            url,
            key,
            is_bound_here,
        }
    })
    .collect()
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
    fn a_listener_for_this_machine_alone_is_known_as_one() {
        let at = |text: &str| text.parse().unwrap();
        let listening = [("http", at("127.0.0.1:80")), ("udp", at("0.0.0.0:80"))];
        for origin in ["http://weir.example:7070", "http://127.0.0.1:7070"] {
            let found = announce_addresses(&listening, origin);
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.key, one.is_bound_here))
                .collect();
            let all = [("tracker.http_listen", true), ("tracker.udp_listen", false)];
            assert_eq!(found, all, "{origin}");
        }
        // One for all on a port that begins like that of another.
        let listening = [("http", at("127.0.0.1:80")), ("http", at("0.0.0.0:8080"))];
        let found = announce_addresses(&listening, "http://127.0.0.1:7070").into_iter();
        let found: Vec<_> = found.map(|one| (one.url, one.is_bound_here)).collect();
        let all = [
            ("http://127.0.0.1:80/announce".to_owned(), true),
            ("http://127.0.0.1:8080/announce".to_owned(), false),
        ];
        assert_eq!(found, all);
    }
}
