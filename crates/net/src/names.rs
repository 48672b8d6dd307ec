//! From a host to the addresses that may be called: literals, names, and which addresses are off limits.
//!
//! A URL found in an answer must not lead into the operator's own network, whatever the name servers
//! say. So addresses are checked, not names, and the connection goes to exactly the address that was checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Host;

use crate::{Error, Family, Ground, Reach};

/// Looks up hosts, for streams and datagrams alike.
#[derive(Clone, Copy, Debug)]
pub struct Names;

impl Names {
    /// The addresses of `host` (a name, an address, an IPv6 address in brackets) that may be called, in
    /// the ground's order. Private ones are included only if `reach` allows them.
    pub async fn addresses(
        ground: &dyn Ground,
        host: &str,
        port: u16,
        family: Family,
        reach: Reach<'_>,
    ) -> Result<Vec<SocketAddr>, Error> {
        let found = match literal(host)? {
            Literal::Address(address) => vec![address],
            Literal::Name(name) => ground.resolve(&name).await?,
        };
        // An IPv4 address written as IPv6 leads to the IPv4 address.
        let found = found.iter().map(IpAddr::to_canonical);
        let found: Vec<IpAddr> = found.filter(|address| family.has(*address)).collect();
        if found.is_empty() {
            return Err(Error::NoAddress);
        }
        let allowed = reach.admit(found)?.into_iter();
        Ok(allowed
            .map(|address| SocketAddr::new(address, port))
            .collect())
    }
}

pub(crate) enum Literal {
    Address(IpAddr),
    Name(String),
}

/// Reads a host as browsers do, so that `0x7f.1` is recognised as loopback and not taken for a name.
pub(crate) fn literal(host: &str) -> Result<Literal, Error> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
        return Ok(Literal::Address(address.to_canonical()));
    }
    match Host::parse(host).map_err(|_| Error::NoSuchHost)? {
        Host::Ipv4(address) => Ok(Literal::Address(address.into())),
        Host::Ipv6(address) => Ok(Literal::Address(IpAddr::V6(address).to_canonical())),
        Host::Domain(name) => Ok(Literal::Name(name)),
    }
}

/// Whether an address leads to this machine, its local network or nowhere. Networks for documentation
/// count as public: nothing answers there.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

/// Whether an address can only mean this machine, its own link, a multicast group or nobody: told by somebody else, it
/// does not lead to any other machine. All of these are [private](is_private).
pub fn is_nowhere(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_nowhere_v4(address),
        IpAddr::V6(address) => match (carried(address), address.segments()) {
            (Some(inner), _) => is_nowhere_v4(inner),
            (None, [0, 0, 0, 0, 0, 0, _, _] | [0x100, 0, 0, 0, ..]) => true,
            (None, [first, ..]) => first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00,
        },
    }
}

fn is_nowhere_v4(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || first == 0
        || first >= 240
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    is_nowhere_v4(address)
        || address.is_private()
        // Carrier-grade NAT (RFC 6598), protocol assignments (RFC 6890), benchmarks (RFC 2544).
        || (a == 100 && b & 0xc0 == 64)
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && b & 0xfe == 18)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = carried(address) {
        return is_private_v4(inner);
    }
    match address.segments() {
        // Unspecified, loopback and the old v4-compatible form, none of which leave the machine.
        [0, 0, 0, 0, 0, 0, _, _] => true,
        // NAT64 for local use (RFC 8215).
        [0x64, 0xff9b, 1, ..] => true,
        // Discard-only (RFC 6666).
        [0x100, 0, 0, 0, ..] => true,
        // Unique local, link local, the old site local, multicast.
        [first, ..] => {
            first & 0xfe00 == 0xfc00
                || first & 0xffc0 == 0xfe80
                || first & 0xffc0 == 0xfec0
                || first & 0xff00 == 0xff00
        }
    }
}

/// The v4 address inside a v6 address (NAT64, SIIT, 6to4, Teredo), which is where it leads.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    // Teredo stores the address with all bits inverted (RFC 4380 §4).
    let (high, low) = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => (high, low),
        [0x2002, high, low, ..] => (high, low),
        [0x2001, 0, .., high, low] => (!high, !low),
        _ => return None,
    };
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_private_addresses_are_nobodys() {
        for (text, nowhere) in [
            ("0.0.0.0", true),
            ("0.1.2.3", true),
            ("127.9.9.9", true),
            ("169.254.1.1", true),
            ("224.0.0.1", true),
            ("240.0.0.1", true),
            ("255.255.255.255", true),
            ("::", true),
            ("::1", true),
            ("::7f00:1", true),
            ("::ffff:127.0.0.1", true),
            ("64:ff9b::127.0.0.1", true),
            ("2002:7f00:1::1", true),
            ("2002:a9fe:1::1", true),
            ("2001:0:1:2:3:4:80ff:fffe", true),
            ("100::1", true),
            ("fe80::1", true),
            ("ff02::1", true),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("192.168.1.1", false),
            ("fd00::1", false),
            ("fec0::1", false),
            ("64:ff9b::10.0.0.1", false),
            ("2002:c0a8:101::1", false),
            ("1.1.1.1", false),
            ("2606:4700::1111", false),
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(is_nowhere(address), nowhere, "{text}");
            assert!(!nowhere || is_private(address), "{text}");
        }
    }

    #[test]
    fn private_addresses_are_known_in_every_form() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:192.168.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "::ffff:0:10.0.0.1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001:0:1:2:3:4:80ff:fffe",
            "100::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert!(is_private(address), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.0.0.1",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.2.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:db8::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "::ffff:0:1.1.1.1",
            "2002:101:101::1",
            "2001:0:1:2:3:4:fefe:fefe",
            "fbff::1",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert!(!is_private(address), "{text}");
        }
    }

    #[test]
    fn hosts_are_read_as_browsers_read_them() {
        for (host, expected) in [
            ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("[::ffff:10.0.0.1]", "10.0.0.1"),
        ] {
            let Ok(Literal::Address(address)) = literal(host) else {
                panic!("{host} is an address");
            };
            assert_eq!(address.to_string(), expected, "{host}");
        }
        assert!(
            matches!(literal("Tracker.Example"), Ok(Literal::Name(name)) if name == "tracker.example")
        );
        assert!(
            matches!(literal("bücher.example"), Ok(Literal::Name(name)) if name == "xn--bcher-kva.example")
        );
        assert!(matches!(literal("a b"), Err(Error::NoSuchHost)));
        assert!(matches!(literal(""), Err(Error::NoSuchHost)));
    }
}
