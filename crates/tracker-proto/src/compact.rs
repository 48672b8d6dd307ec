//! Compact addresses: 6 bytes for IPv4 (BEP 23), 18 for IPv6 (BEP 7).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

/// Bytes of a compact IPv4 address with its port.
pub const V4: usize = 6;

/// Bytes of a compact IPv6 address with its port.
pub const V6: usize = 18;

/// Writes an IPv4 address and port.
pub fn from_v4(address: SocketAddrV4) -> [u8; V4] {
    let [a, b, c, d] = address.ip().octets();
    let [high, low] = address.port().to_be_bytes();
    [a, b, c, d, high, low]
}

/// Reads an IPv4 address and port.
pub fn to_v4(bytes: [u8; V4]) -> SocketAddrV4 {
    let [a, b, c, d, high, low] = bytes;
    SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]))
}

/// Writes an IPv6 address and port; flow label and scope are no part of it.
pub fn from_v6(address: SocketAddrV6) -> [u8; V6] {
    let mut bytes = [0; V6];
    bytes[..16].copy_from_slice(&address.ip().octets());
    bytes[16..].copy_from_slice(&address.port().to_be_bytes());
    bytes
}

/// Reads an IPv6 address and port.
pub fn to_v6(bytes: [u8; V6]) -> SocketAddrV6 {
    let port = u16::from_be_bytes([bytes[16], bytes[17]]);
    let (address, _) = bytes.split_first_chunk::<16>().expect("18 bytes hold 16");
    SocketAddrV6::new(Ipv6Addr::from(*address), port, 0, 0)
}

/// Reads IPv4 addresses one after another; a cut one at the end is left out.
pub fn v4s(bytes: &[u8]) -> impl ExactSizeIterator<Item = SocketAddrV4> + '_ {
    bytes.as_chunks().0.iter().copied().map(to_v4)
}

/// Reads IPv6 addresses one after another; a cut one at the end is left out.
pub fn v6s(bytes: &[u8]) -> impl ExactSizeIterator<Item = SocketAddrV6> + '_ {
    bytes.as_chunks().0.iter().copied().map(to_v6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_big_endian_after_the_address() {
        let v4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 7), 6881);
        assert_eq!(from_v4(v4), [10, 0, 0, 7, 0x1a, 0xe1]);
        let v6 = SocketAddrV6::new("2001:db8::7".parse().unwrap(), 6881, 0, 0);
        let bytes = from_v6(v6);
        assert_eq!(bytes[..4], [0x20, 0x01, 0x0d, 0xb8]);
        assert_eq!(bytes[15..], [7, 0x1a, 0xe1]);
        assert_eq!((to_v4(from_v4(v4)), to_v6(bytes)), (v4, v6));
    }

    #[test]
    fn a_cut_address_is_left_out() {
        assert_eq!(v4s(&[0; 13]).len(), 2);
        assert_eq!(v6s(&[0; 35]).len(), 1);
        assert_eq!(v4s(&[]).len(), 0);
    }
}
