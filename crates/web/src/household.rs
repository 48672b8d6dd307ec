//! Whose requests count together.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 one: a household or a rented server has all of a /64, so counting single IPv6
/// addresses would give it as many tries, places and shares as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Household {
    /// The address.
    V4([u8; 4]),
    /// The first half of the address.
    V6([u8; 8]),
}

impl Household {
    /// Who is at an address, however it is written.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }

    /// The octets that count, of the 4 or 16 of an address; for code where making the value would be too slow.
    pub fn octets(address: &[u8]) -> &[u8] {
        match address.len() {
            16 => &address[..8],
            _ => address,
        }
    }
}

impl fmt::Display for Household {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(octets) => Ipv4Addr::from(*octets).fmt(f),
            Self::V6(half) => {
                let network = u128::from(u64::from_be_bytes(*half)) << 64;
                write!(f, "{}/64", Ipv6Addr::from_bits(network))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Household {
        Household::of(text.parse().expect("an address"))
    }

    #[test]
    fn a_household_is_one_however_it_writes_its_address() {
        assert_eq!(at("203.0.113.7"), at("::ffff:203.0.113.7"));
        assert_eq!(at("2001:db8:1:2::3"), at("2001:db8:1:2:ffff::"));
        assert_ne!(at("2001:db8:1:2::3"), at("2001:db8:1:3::3"));
        assert_eq!(at("203.0.113.7").to_string(), "203.0.113.7");
        assert_eq!(at("2001:db8:1:2::3").to_string(), "2001:db8:1:2::/64");
    }

    #[test]
    fn the_octets_that_count_are_those_of_the_value() {
        let v4 = Ipv4Addr::new(203, 0, 113, 7);
        let v6: Ipv6Addr = "2001:db8:1:2::3".parse().expect("an address");
        let Household::V4(octets) = Household::of(v4.into()) else {
            panic!("{v4}");
        };
        assert_eq!(Household::octets(&v4.octets()), octets);
        let Household::V6(octets) = Household::of(v6.into()) else {
            panic!("{v6}");
        };
        assert_eq!(Household::octets(&v6.octets()), octets);
    }
}
