//! The machine's own addresses, and which replies leave from the right one by themselves.
//!
//! A client drops a reply that does not come from the address it asked. So on a socket that is bound to all addresses,
//! each packet comes with the address it was sent to, and its reply says where to leave from. To say so costs the kernel,
//! for IPv4, about a twentieth of what a pair of packets costs; where the machine has no other address, the route gives
//! the same one, and it is left out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};

use super::system;

/// How old what is known may be. Addresses come and go while Weir runs: VPNs, containers, privacy addresses.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// What is known of the machine's addresses; written by one thread, read by all listeners.
#[derive(Debug, Default)]
pub(crate) struct OwnAddresses(ArcSwap<OnlyAddresses>);

/// The only addresses of each family, IPv4 first. With none or several, every reply is told its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnlyAddresses([SoleAddress; 2]);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SoleAddress {
    /// Of those that others may ask.
    address: Option<IpAddr>,
    loopback: Option<IpAddr>,
}

impl OwnAddresses {
    pub(crate) fn load(&self) -> Guard<Arc<OnlyAddresses>> {
        self.0.load()
    }

    /// Looks at the interfaces. Where that is forbidden, nothing is known and every reply is told its address.
    pub(crate) fn look(&self) {
        let known = match system::addresses() {
            Ok(addresses) => OnlyAddresses::from_all(&addresses),
            Err(_) => OnlyAddresses::default(),
        };
        if known != **self.0.load() {
            self.0.store(Arc::new(known));
        }
    }
}

impl OnlyAddresses {
    fn from_all(addresses: &[IpAddr]) -> Self {
        let only = |is_v4: bool, is_loopback: bool| {
            let mut wanted = addresses.iter().filter(|address| {
                address.is_ipv4() == is_v4
                    && address.is_loopback() == is_loopback
                    // Every interface has one, and no reply to another network leaves from it.
                    && !is_link_local(address)
            });
            let first = wanted.next()?;
            // The same one may be at several interfaces.
            wanted.all(|other| other == first).then_some(*first)
        };
        Self([true, false].map(|is_v4| SoleAddress {
            address: only(is_v4, false),
            loopback: only(is_v4, true),
        }))
    }

    /// Whether a reply to this client leaves from the address that it asked without being told so.
    #[inline]
    pub(crate) fn is_sure(&self, asked: IpAddr, client: IpAddr) -> bool {
        let only = &self.0[usize::from(asked.is_ipv6())];
        match asked.is_loopback() {
            // All of 127.0.0.0/8 can be asked, and the route answers from 127.0.0.1.
            true => only.loopback == Some(asked) && client == asked,
            // Whom a route reaches within the machine or the link gets an address from there.
            false => {
                only.address == Some(asked) && !client.is_loopback() && !is_link_local(&client)
            }
        }
    }
}

/// Only of IPv6: an IPv4 one is chosen like any other.
fn is_link_local(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(addresses: &str) -> OnlyAddresses {
        let all: Vec<IpAddr> = addresses.split(' ').map(ip).collect();
        OnlyAddresses::from_all(&all)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn with_one_address_in_each_family_the_route_is_right() {
        let one = known("127.0.0.1 ::1 192.0.2.2 2001:db8::2 fe80::1 fe80::2");
        for (asked, client) in [
            ("192.0.2.2", "198.51.100.7"),
            ("192.0.2.2", "192.0.2.2"),
            ("127.0.0.1", "127.0.0.1"),
            ("2001:db8::2", "2001:db8:1::7"),
            ("::1", "::1"),
        ] {
            assert!(one.is_sure(ip(asked), ip(client)), "{asked} {client}");
        }
        for (asked, client) in [
            ("127.0.0.2", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.2"),
            ("192.0.2.2", "127.0.0.1"),
            ("2001:db8::2", "fe80::9"),
            ("fe80::1", "fe80::9"),
            // One that came since, or a whole network that is ours by a route.
            ("192.0.2.3", "198.51.100.7"),
        ] {
            assert!(!one.is_sure(ip(asked), ip(client)), "{asked} {client}");
        }
    }

    #[test]
    fn with_several_addresses_every_reply_is_told() {
        let several = known("127.0.0.1 127.0.0.9 192.0.2.2 192.0.2.3 2001:db8::2 fd00::2");
        for (asked, client) in [
            ("192.0.2.2", "198.51.100.7"),
            ("192.0.2.3", "198.51.100.7"),
            ("2001:db8::2", "2001:db8:1::7"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert!(!several.is_sure(ip(asked), ip(client)), "{asked} {client}");
        }
        let nothing = OnlyAddresses::default();
        assert!(!nothing.is_sure(ip("192.0.2.2"), ip("198.51.100.7")));
        let twice = known("192.0.2.2 192.0.2.2 10.0.0.1 ::1");
        assert!(!twice.is_sure(ip("192.0.2.2"), ip("198.51.100.7")));
        let twice = known("192.0.2.2 192.0.2.2 ::1");
        assert!(twice.is_sure(ip("192.0.2.2"), ip("198.51.100.7")));
    }

    #[test]
    fn this_machine_has_a_loopback_address() {
        let addresses = system::addresses().unwrap();
        assert!(addresses.contains(&ip("127.0.0.1")), "{addresses:?}");
    }
}
