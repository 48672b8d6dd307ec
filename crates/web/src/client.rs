//! Who is asking: the client's address, judged after `trusted_proxies`.
//!
//! The word of a proxy counts only if the proxy is configured. A forwarding header from anyone else proves that
//! there is a proxy we know nothing about, so its address says nothing about the client: it is neither loopback nor
//! trusted then, or a tunnel on this machine would open `/metrics` to the world.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The client of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// Its address, as far as it can be known; never an IPv4 address in IPv6 clothes.
    pub address: IpAddr,
    /// It runs on this machine.
    pub loopback: bool,
    /// It is in `web.trusted`.
    pub trusted: bool,
    /// It came by https, says a trusted proxy.
    pub https: bool,
}

impl Client {
    /// Judges one request from the address of the connection and its headers.
    pub fn judge(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet], proxies: &[IpNet]) -> Self {
        let peer = peer.to_canonical();
        let within =
            |nets: &[IpNet], address: IpAddr| nets.iter().any(|net| net.contains(&address));
        let (address, known, https) = if within(proxies, peer) {
            let (address, known) = forwarded(peer, headers, |address| within(proxies, address));
            (address, known, by_https(headers))
        } else {
            (
                peer,
                !FORWARDING.iter().any(|name| headers.contains_key(*name)),
                false,
            )
        };
        Self {
            address,
            loopback: known && address.is_loopback(),
            trusted: known && within(trusted, address),
            https,
        }
    }

    /// A client of which nothing is known: neither loopback nor trusted.
    pub(crate) fn unknown() -> Self {
        Self {
            address: Ipv4Addr::UNSPECIFIED.into(),
            loopback: false,
            trusted: false,
            https: false,
        }
    }

    /// Whether `/stats` and `/metrics` are open to it without a key.
    pub fn near(&self) -> bool {
        self.loopback || self.trusted
    }
}

const FORWARDING: [&str; 5] = [
    "x-forwarded-for",
    "forwarded",
    "x-real-ip",
    "x-forwarded-host",
    "via",
];

/// The address a trusted proxy gives, and whether it is beyond doubt. Proxies often set one of these headers and
/// pass the others on as the client sent them, so headers that disagree leave a doubt.
fn forwarded(peer: IpAddr, headers: &HeaderMap, proxy: impl Fn(IpAddr) -> bool) -> (IpAddr, bool) {
    let chains = [
        headers
            .contains_key("x-forwarded-for")
            .then(|| last_foreign(list(headers, "x-forwarded-for"), &proxy)),
        headers
            .contains_key("forwarded")
            .then(|| last_foreign(forwarded_for(headers), &proxy)),
        headers
            .contains_key("x-real-ip")
            .then(|| last_foreign(list(headers, "x-real-ip"), &proxy)),
    ];
    let mut found: Option<IpAddr> = None;
    let mut known = true;
    for chain in chains.into_iter().flatten() {
        match (chain, found) {
            (Chain::Foreign(address), None) => found = Some(address),
            (Chain::Foreign(address), Some(before)) => known &= address == before,
            (Chain::Proxies(_), _) => {}
            (Chain::Unreadable, _) => known = false,
        }
        if let (Chain::Proxies(Some(first)), None) = (chain, found) {
            // Nobody but proxies in the chain: the first of them is asking for itself.
            return (first, known);
        }
    }
    (found.unwrap_or(peer), known)
}

#[derive(Clone, Copy)]
enum Chain {
    /// The last address that is not one of our proxies: everything before it is the client's own claim.
    Foreign(IpAddr),
    /// Only proxies, the first of them.
    Proxies(Option<IpAddr>),
    /// Something stands there that is no address.
    Unreadable,
}

fn last_foreign(entries: Vec<Option<IpAddr>>, proxy: impl Fn(IpAddr) -> bool) -> Chain {
    let mut first = None;
    for entry in entries.into_iter().rev() {
        match entry {
            None => return Chain::Unreadable,
            Some(address) if proxy(address) => first = Some(address),
            Some(address) => return Chain::Foreign(address),
        }
    }
    Chain::Proxies(first)
}

fn list(headers: &HeaderMap, name: &str) -> Vec<Option<IpAddr>> {
    parts(headers, name, ',')
        .map(|part| address(&part))
        .collect()
}

/// RFC 7239: elements by comma, pairs by semicolon.
fn forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    parts(headers, "forwarded", ',')
        .map(|element| pair(&element, "for").and_then(|value| address(&value)))
        .collect()
}

fn by_https(headers: &HeaderMap) -> bool {
    let last = |name| parts(headers, name, ',').last();
    last("x-forwarded-proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
        || last("forwarded")
            .and_then(|element| pair(&element, "proto"))
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

fn parts<'h>(headers: &'h HeaderMap, name: &str, by: char) -> impl Iterator<Item = String> + 'h {
    let lines: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    lines.into_iter().flat_map(move |line| {
        line.split(by)
            .map(|part| part.trim().to_owned())
            .collect::<Vec<_>>()
    })
}

fn pair(element: &str, name: &str) -> Option<String> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// An address with or without port and brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map(|(inside, _)| inside);
    bare.unwrap_or(text)
        .parse::<IpAddr>()
        .ok()
        .or_else(|| {
            text.parse::<std::net::SocketAddr>()
                .ok()
                .map(|with_port| with_port.ip())
        })
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(peer: &str, headers: &[(&'static str, &str)]) -> Client {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let trusted = ["192.0.2.0/24".parse().unwrap()];
        let proxies = [
            "10.0.0.0/8".parse().unwrap(),
            "127.0.0.2/32".parse().unwrap(),
        ];
        Client::judge(peer.parse().unwrap(), &map, &trusted, &proxies)
    }

    #[test]
    fn without_headers_the_peer_is_the_client() {
        assert!(judge("127.0.0.1", &[]).loopback);
        assert!(judge("::1", &[]).loopback);
        assert!(judge("::ffff:127.0.0.1", &[]).loopback);
        assert!(judge("192.0.2.7", &[]).trusted);
        assert!(!judge("198.51.100.1", &[]).near());
    }

    #[test]
    fn a_forwarding_header_from_an_untrusted_peer_takes_its_standing() {
        for name in ["x-forwarded-for", "x-real-ip", "forwarded", "via"] {
            let client = judge("127.0.0.1", &[(name, "127.0.0.1")]);
            assert!(!client.near(), "{name}");
            assert_eq!(
                client.address,
                IpAddr::from([127, 0, 0, 1]),
                "the claim is not believed"
            );
            assert!(!judge("192.0.2.7", &[(name, "192.0.2.8")]).near(), "{name}");
        }
    }

    #[test]
    fn the_last_address_before_our_proxies_counts() {
        let client = judge(
            "10.0.0.1",
            &[("x-forwarded-for", "127.0.0.1, 198.51.100.9, 10.0.0.3")],
        );
        assert_eq!(client.address, IpAddr::from([198, 51, 100, 9]));
        assert!(!client.near());
        assert!(judge("10.0.0.1", &[("x-forwarded-for", "192.0.2.7")]).trusted);
        assert!(
            judge(
                "10.0.0.1",
                &[("forwarded", "for=\"[2001:db8::1]:80\", for=127.0.0.1")]
            )
            .loopback
        );
        assert_eq!(
            judge("10.0.0.1", &[("forwarded", "for=\"[2001:db8::1]:80\"")]).address,
            "2001:db8::1".parse::<IpAddr>().unwrap()
        );
        assert_eq!(
            judge("10.0.0.1", &[("x-real-ip", "203.0.113.5")]).address,
            IpAddr::from([203, 0, 113, 5])
        );
    }

    #[test]
    fn repeated_header_lines_are_one_list() {
        let client = judge(
            "10.0.0.1",
            &[
                ("x-forwarded-for", "192.0.2.7"),
                ("x-forwarded-for", "203.0.113.5"),
            ],
        );
        assert_eq!(client.address, IpAddr::from([203, 0, 113, 5]));
    }

    #[test]
    fn headers_that_disagree_or_cannot_be_read_give_no_standing() {
        assert!(
            !judge(
                "10.0.0.1",
                &[
                    ("x-forwarded-for", "192.0.2.7"),
                    ("x-real-ip", "203.0.113.5")
                ]
            )
            .near()
        );
        assert!(
            judge(
                "10.0.0.1",
                &[("x-forwarded-for", "192.0.2.7"), ("x-real-ip", "10.0.0.9")]
            )
            .trusted
        );
        assert!(!judge("127.0.0.2", &[("x-forwarded-for", "127.0.0.1, unknown")]).near());
    }

    #[test]
    fn https_is_believed_from_a_proxy_alone() {
        assert!(judge("10.0.0.1", &[("x-forwarded-proto", "https")]).https);
        assert!(judge("10.0.0.1", &[("forwarded", "for=192.0.2.7;proto=https")]).https);
        assert!(!judge("198.51.100.1", &[("x-forwarded-proto", "https")]).https);
    }
}
