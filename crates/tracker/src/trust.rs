//! Whom we believe about addresses: a client says where it is (`ip=`, `ipv4=`, `ipv6=`, the field of UDP), and only
//! one of our own network or of `web.trusted` is taken at its word. Anyone else would make us send peers to strangers.

use std::net::IpAddr;

use weir_config::IpNet;
use weir_tracker_proto::Announce;
use weir_web::forwarded;

use crate::swarm::PeerEndpoint;

/// Who may speak for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// May say where a peer is.
    pub(crate) clients: Vec<IpNet>,
    /// May say who is behind them.
    pub(crate) proxies: Vec<IpNet>,
}

impl Trust {
    pub(crate) fn new(web: &weir_web::Config) -> Self {
        Self {
            clients: web.trusted.clone(),
            proxies: web.trusted_proxies.clone(),
        }
    }

    /// Where the peer is reached, and where in the other family.
    #[inline]
    pub(crate) fn endpoints(
        &self,
        announce: &Announce,
        source: IpAddr,
    ) -> (PeerEndpoint, Option<PeerEndpoint>) {
        let port = announce.port.get();
        let seen = PeerEndpoint::new(source, port);
        let says_nothing =
            announce.ip.is_none() && announce.ipv4.is_none() && announce.ipv6.is_none();
        if says_nothing || !self.believes(source) {
            return (seen, None);
        }
        let at = announce
            .ip
            .filter(usable)
            .map_or(seen, |ip| PeerEndpoint::new(ip, port));
        let v4 = announce
            .ipv4
            .map(|other| (other.address.into(), other.port));
        let v6 = announce
            .ipv6
            .map(|other| (other.address.into(), other.port));
        let also = [v4, v6].into_iter().flatten();
        let also = also
            .filter(|(address, _)| usable(address))
            .map(|(address, own)| PeerEndpoint::new(address, own.map_or(port, Into::into)))
            .find(|also| matches!(also, PeerEndpoint::V4(_)) != matches!(at, PeerEndpoint::V4(_)));
        (at, also)
    }

    fn believes(&self, source: IpAddr) -> bool {
        let source = source.to_canonical();
        let trusted = self.clients.iter().any(|net| net.contains(&source));
        // A proxy that did not make clear who is behind it may have a stranger there.
        trusted || is_private(source) && !self.is_proxy(source)
    }

    /// The client behind the proxy `peer`, by the headers it sent; what they do not make clear leaves its own address.
    pub(crate) fn behind<'a, H>(&self, peer: IpAddr, headers: impl Fn() -> H) -> IpAddr
    where
        H: Iterator<Item = (&'a str, &'a [u8])>,
    {
        forwarded::behind(peer, headers, |address| self.is_proxy(address)).address
    }

    /// Whether this is a proxy whose word counts.
    pub(crate) fn is_proxy(&self, source: IpAddr) -> bool {
        let source = source.to_canonical();
        self.proxies.iter().any(|net| net.contains(&source))
    }
}

/// Whether another machine can be there at all. Who is on this one, or on its link, is known by where it came from.
fn usable(address: &IpAddr) -> bool {
    !weir_net::is_nowhere(*address)
}

/// Whether an address is of our own network, or of this machine.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use weir_tracker_proto::{InfoHash, PeerId, announce};

    use super::*;

    fn said(ip: Option<&str>, v4: Option<&str>, v6: Option<&str>) -> Announce {
        let port = NonZeroU16::new(6881).unwrap();
        let mut said = Announce::new(InfoHash([1; 20]), PeerId([2; 20]), port);
        said.ip = ip.map(|ip| ip.parse().unwrap());
        said.ipv4 = v4.map(|ip| announce::Endpoint {
            address: ip.parse().unwrap(),
            port: None,
        });
        said.ipv6 = v6.map(|ip| announce::Endpoint {
            address: ip.parse().unwrap(),
            port: NonZeroU16::new(7000),
        });
        said
    }

    fn reached(trust: &Trust, said: &Announce, source: &str) -> Vec<String> {
        let (at, also) = trust.endpoints(said, source.parse().unwrap());
        let all = [Some(at), also].into_iter().flatten();
        all.map(|at| at.socket().to_string()).collect()
    }

    #[test]
    fn strangers_are_not_believed() {
        let none = Trust::default();
        let said = said(Some("9.9.9.9"), Some("8.8.8.8"), Some("2001:db8::1"));
        for stranger in ["203.0.113.5", "2001:db8::5"] {
            let seen = reached(&none, &said, stranger);
            assert_eq!(seen.len(), 1, "{seen:?}");
            assert!(seen[0].contains(stranger), "{seen:?}");
        }
    }

    #[test]
    fn our_own_network_and_trusted_clients_are() {
        let trust = Trust {
            clients: vec!["203.0.113.0/24".parse().unwrap()],
            proxies: Vec::new(),
        };
        let said = said(Some("9.9.9.9"), None, Some("2001:db8::1"));
        let near = [
            "10.0.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "203.0.113.5",
            "::ffff:10.0.0.1",
        ];
        for source in near {
            let seen = reached(&trust, &said, source);
            assert_eq!(seen, ["9.9.9.9:6881", "[2001:db8::1]:7000"], "{source}");
        }
    }

    #[test]
    fn a_proxy_is_not_believed_about_whom_it_did_not_name() {
        let trust = Trust {
            clients: Vec::new(),
            proxies: vec!["10.0.0.0/8".parse().unwrap()],
        };
        let said = said(Some("9.9.9.9"), None, None);
        assert_eq!(reached(&trust, &said, "10.0.0.1"), ["10.0.0.1:6881"]);
        let behind = |header: &str| {
            let headers = [("X-Forwarded-For", header.as_bytes())];
            let proxy = "10.0.0.1".parse().unwrap();
            trust.behind(proxy, || headers.into_iter()).to_string()
        };
        assert_eq!(behind("203.0.113.7:4711"), "203.0.113.7");
        assert_eq!(behind("[2001:db8::1]:4711"), "2001:db8::1");
        assert_eq!(behind("[2001:db8::1]"), "2001:db8::1");
        assert_eq!(behind("unknown"), "10.0.0.1");
    }

    #[test]
    fn an_address_where_nobody_can_be_is_not_taken() {
        let none = Trust::default();
        for nowhere in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "169.254.1.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
        ] {
            let seen = reached(&none, &said(Some(nowhere), None, None), "10.0.0.1");
            assert_eq!(seen, ["10.0.0.1:6881"], "{nowhere}");
        }
        let same = said(None, Some("10.0.0.9"), None);
        assert_eq!(
            reached(&none, &same, "10.0.0.1"),
            ["10.0.0.1:6881"],
            "one per family"
        );
    }
}
