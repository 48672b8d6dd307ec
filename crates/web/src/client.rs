//! Who is asking: the client's address, judged by `trusted_proxies`.
//!
//! A proxy's headers count only if the proxy is configured. A forwarding header from anyone else proves that there is
//! a proxy we know nothing about, so its address says nothing about the client. Such a client is neither loopback nor
//! trusted, or a tunnel on this machine would open `/metrics` to the world.
//!
//! The address alone proves little if a browser is led here: another site may point its own name at this machine (DNS
//! rebinding), and its script then reads what we show to everyone near. The host name in the request gives it away, so
//! a client that uses an unrecognised name is not treated as near either.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::{HeaderMap, HeaderValue, header};
use ipnet::IpNet;

use crate::forwarded::{Behind, address, behind, by_https, forwards};
use crate::rules::RequestRules;

/// The client of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// Its address, as far as it is known; never an IPv4-mapped IPv6 address.
    pub address: IpAddr,
    /// It runs on this machine.
    pub loopback: bool,
    /// It is in `web.trusted`.
    pub trusted: bool,
    /// A trusted proxy forwarded its request.
    pub proxied: bool,
    /// It used https, according to that proxy.
    pub https: bool,
    /// It used a host name for us that might be another site's.
    pub strange_name: bool,
}

impl Client {
    /// Judges one request by the address of the connection and its headers.
    pub(crate) fn judge(peer: IpAddr, headers: &HeaderMap, rules: &RequestRules) -> Self {
        let peer = peer.to_canonical();
        let within =
            |nets: &[IpNet], address: IpAddr| nets.iter().any(|net| net.contains(&address));
        let is_proxy = |address: IpAddr| within(&rules.trusted_proxies, address);
        let lines = || {
            let lines = headers.iter();
            lines.map(|(name, value)| (name.as_str(), value.as_bytes()))
        };
        let forwarded = lines().any(|(name, _)| forwards(name));
        // A proxy without forwarding headers speaks for itself; it may be a browser on the proxy's machine.
        let proxied = forwarded && is_proxy(peer);
        let Behind {
            address,
            sure: known,
        } = match proxied {
            true => behind(peer, lines, is_proxy),
            false => Behind {
                address: peer,
                sure: !forwarded,
            },
        };
        let mut names = headers.get_all(header::HOST).iter();
        // Behind a proxy too: a rebinding page can write any forwarding header, and if its browser runs on the proxy's
        // machine, nothing else tells the two apart.
        let strange_name = !names.all(|name| is_ours(name, &rules.hosts));
        let known = known && !strange_name;
        Self {
            address,
            loopback: known && address.is_loopback(),
            trusted: known && within(&rules.trusted, address),
            proxied,
            https: proxied && by_https(lines),
            strange_name,
        }
    }

    /// A client about which nothing is known: neither loopback nor trusted.
    pub(crate) fn unknown() -> Self {
        Self {
            address: Ipv4Addr::UNSPECIFIED.into(),
            loopback: false,
            trusted: false,
            proxied: false,
            https: false,
            strange_name: false,
        }
    }

    /// The address at which it reaches us, for links: `https://weir.example`.
    pub fn origin(&self, headers: &HeaderMap) -> String {
        let told = headers
            .get("x-forwarded-host")
            .filter(|_| self.proxied)
            .and_then(|told| told.to_str().ok()?.split(',').next());
        let host = || headers.get(header::HOST)?.to_str().ok();
        let name = told.map(str::trim).filter(|told| is_name(told));
        let name = name.or_else(host).filter(|name| !name.is_empty());
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}", name.unwrap_or("localhost"))
    }

    /// Whether it may open `/stats` and `/metrics` without a key.
    pub fn near(&self) -> bool {
        self.loopback || self.trusted
    }
}

/// Whether this host name is ours: an address, a local name, or one of `web.hosts`.
fn is_ours(host: &HeaderValue, hosts: &[String]) -> bool {
    let Ok(host) = host.to_str() else {
        return false;
    };
    if address(host).is_some() {
        return true;
    }
    // Anything that no browser writes here, such as a user before the name, might hide another site's name.
    if !is_name(host) || host.contains('[') {
        return host.is_empty();
    }
    let name = host.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches('.');
    name.is_empty()
        || weir_config::is_local_name(name)
        || hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

/// Whether this can be the host of an address: a name or number, with or without a port.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, rules};

    fn judge(peer: &str, headers: &[(&'static str, &str)]) -> Client {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let config = Config {
            trusted: vec!["192.0.2.0/24".parse().unwrap()],
            trusted_proxies: vec![
                "10.0.0.0/8".parse().unwrap(),
                "127.0.0.2/32".parse().unwrap(),
            ],
            hosts: vec!["weir.example".into()],
            ..Config::default()
        };
        Client::judge(peer.parse().unwrap(), &map, &rules::split(config).0)
    }

    #[test]
    fn links_lead_where_the_client_came_from() {
        let origin = |peer: &str, headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            judge(peer, headers).origin(&map)
        };
        let host = ("host", "inside:7070");
        let told = ("x-forwarded-host", "weir.example, inside");
        let https = ("x-forwarded-proto", "https");
        assert_eq!(origin("192.0.2.7", &[]), "http://localhost");
        assert_eq!(origin("192.0.2.7", &[host]), "http://inside:7070");
        assert_eq!(origin("192.0.2.7", &[host, told]), "http://inside:7070");
        let by_proxy = [host, told, https];
        assert_eq!(origin("10.0.0.1", &by_proxy), "https://weir.example");
        let odd = [host, ("x-forwarded-host", "a/b?c")];
        assert_eq!(origin("10.0.0.1", &odd), "http://inside:7070");
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
        for name in [
            "x-forwarded-for",
            "x-forwarded-proto",
            "x-real-ip",
            "forwarded",
            "via",
            "cf-connecting-ip",
        ] {
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
    fn a_claim_to_be_the_proxy_itself_does_not_hide_the_client() {
        // The proxy sets X-Real-IP and passes on what the client wrote into the others.
        let claim = ("x-forwarded-for", "127.0.0.2");
        let client = judge("127.0.0.2", &[claim, ("x-real-ip", "198.51.100.9")]);
        assert_eq!(client.address, IpAddr::from([198, 51, 100, 9]));
        assert!(!client.near());
    }

    #[test]
    fn nobody_chooses_the_address_that_is_counted() {
        for claim in ["203.0.113.1", "203.0.113.2", "nonsense"] {
            let headers = [("x-forwarded-for", claim), ("x-real-ip", "198.51.100.9")];
            assert_eq!(
                judge("10.0.0.1", &headers).address,
                IpAddr::from([10, 0, 0, 1])
            );
        }
    }

    #[test]
    fn a_proxy_that_forwards_without_an_address_says_nothing_of_the_client() {
        assert!(judge("127.0.0.2", &[]).loopback, "it asks for itself");
        for name in ["via", "x-forwarded-host", "x-forwarded-proto"] {
            assert!(!judge("127.0.0.2", &[(name, "x")]).near(), "{name}");
        }
    }

    #[test]
    fn a_name_that_might_be_anybodys_takes_the_standing() {
        let by = |host| judge("127.0.0.1", &[("host", host)]);
        for host in [
            "localhost:7070",
            "127.0.0.1:7070",
            "[::1]:7070",
            "192.0.2.7",
            "nas",
            "nas.local",
            "weir.home.arpa:80",
            "host.docker.internal:7070",
            "Weir.Example.:7070",
        ] {
            assert!(by(host).near(), "{host}");
        }
        for host in [
            "evil.example:7070",
            "127.0.0.1.evil.example",
            "evil.example",
            "localhost.evil.example",
            "xlocal.example",
        ] {
            let client = by(host);
            assert!(!client.near() && client.strange_name, "{host}");
            assert!(!judge("192.0.2.7", &[("host", host)]).near(), "{host}");
        }
        assert!(
            !by("user@nas").near() && !by("a:b@evil.example").near(),
            "a user is not a name"
        );
        assert!(!by("[::1].evil.example").near(), "nor is that an address");
    }

    #[test]
    fn a_proxy_that_asks_for_itself_is_asked_for_the_name_like_anybody() {
        // A browser on the machine of the proxy, led here by another site.
        let rebound = judge("127.0.0.2", &[("host", "evil.example:7070")]);
        assert!(rebound.strange_name && !rebound.near(), "{rebound:?}");
        assert!(!rebound.proxied);
        assert!(judge("127.0.0.2", &[("host", "localhost:7070")]).near());
    }

    #[test]
    fn a_page_that_writes_forwarding_headers_is_no_nearer() {
        // The same browser: its script may set these, because page and Weir have the same name.
        for (header, value) in [
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-for", "192.0.2.7"),
            ("x-forwarded-for", "127.0.0.2"),
            ("x-forwarded-host", "localhost"),
            ("x-forwarded-proto", "http"),
        ] {
            let headers = [("host", "evil.example"), (header, value)];
            let rebound = judge("127.0.0.2", &headers);
            assert!(rebound.strange_name && !rebound.near(), "{headers:?}");
        }
        let ours = [("host", "weir.example"), ("x-forwarded-for", "192.0.2.7")];
        assert!(judge("127.0.0.2", &ours).near(), "a name of `web.hosts`");
    }

    #[test]
    fn https_is_believed_from_a_proxy_alone() {
        assert!(judge("10.0.0.1", &[("x-forwarded-proto", "https")]).https);
        assert!(judge("10.0.0.1", &[("forwarded", "for=192.0.2.7;proto=https")]).https);
        assert!(!judge("198.51.100.1", &[("x-forwarded-proto", "https")]).https);
    }
}
