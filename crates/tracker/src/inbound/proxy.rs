//! The PROXY protocol, versions 1 and 2: what a proxy that passes bytes on says of its client before anything else.
//! It is read from `trusted_proxies` alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const V2: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest first line of version 1.
const V1_LINE: usize = 107;

/// What stands at the beginning of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preamble {
    /// So many bytes that name the client, or nobody (a proxy that asks for itself).
    Says(usize, Option<IpAddr>),
    /// Nothing of the kind.
    Absent,
    /// The rest of it is to come.
    Partial,
    /// It cannot be read.
    Malformed,
}

/// Reads what stands at the beginning.
pub(super) fn read(bytes: &[u8]) -> Preamble {
    if begins(bytes, V2) {
        return v2(bytes);
    }
    if begins(bytes, b"PROXY ") {
        return v1(bytes);
    }
    Preamble::Absent
}

/// Whether `bytes` begin so, as far as they go.
fn begins(bytes: &[u8], start: &[u8]) -> bool {
    let both = bytes.len().min(start.len());
    both > 0 && bytes[..both] == start[..both]
}

fn v1(bytes: &[u8]) -> Preamble {
    let within = &bytes[..bytes.len().min(V1_LINE)];
    let Some(end) = within.windows(2).position(|two| two == b"\r\n") else {
        return match bytes.len() < V1_LINE {
            true => Preamble::Partial,
            false => Preamble::Malformed,
        };
    };
    let Ok(line) = str::from_utf8(&bytes[..end]) else {
        return Preamble::Malformed;
    };
    let mut words = line.split(' ').skip(1);
    match (words.next(), words.next().map(str::parse)) {
        (Some("UNKNOWN"), _) => Preamble::Says(end + 2, None),
        (Some("TCP4" | "TCP6"), Some(Ok(client))) => Preamble::Says(end + 2, Some(client)),
        _ => Preamble::Malformed,
    }
}

fn v2(bytes: &[u8]) -> Preamble {
    let Some([version, family, high, low]) = bytes.get(12..16) else {
        return Preamble::Partial;
    };
    let length = 16 + usize::from(u16::from_be_bytes([*high, *low]));
    // The addresses come first and are short; what follows them may be anything, and this is ample.
    if length > 1024 || version >> 4 != 2 {
        return Preamble::Malformed;
    }
    let Some(addresses) = bytes.get(16..length) else {
        return Preamble::Partial;
    };
    let client: Option<IpAddr> = match (version & 15, family >> 4) {
        (0, _) => None,
        (1, 1) => addresses
            .first_chunk::<4>()
            .map(|ip| Ipv4Addr::from(*ip).into()),
        (1, 2) => addresses
            .first_chunk::<16>()
            .map(|ip| Ipv6Addr::from(*ip).into()),
        (1, _) => None,
        _ => return Preamble::Malformed,
    };
    Preamble::Says(length, client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_client() {
        let line = b"PROXY TCP4 198.51.100.7 203.0.113.1 5000 6969\r\nGET";
        let client = "198.51.100.7".parse().ok();
        assert_eq!(read(line), Preamble::Says(47, client));
        for cut in 1..47 {
            assert_eq!(read(&line[..cut]), Preamble::Partial, "{cut}");
        }
        assert_eq!(read(b"PROXY UNKNOWN\r\n"), Preamble::Says(15, None));
        assert_eq!(read(b"PROXY TCP4 x\r\n"), Preamble::Malformed);
        assert_eq!(
            read(&[b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat()),
            Preamble::Malformed
        );
        assert_eq!(read(b"GET /"), Preamble::Absent);
        assert_eq!(read(b""), Preamble::Absent);
    }

    #[test]
    fn a_packed_header_names_the_client() {
        let mut header = V2.to_vec();
        header.extend([0x21, 0x11, 0, 14]);
        header.extend([198, 51, 100, 7, 203, 0, 113, 1, 1, 2, 3, 4, 9, 9]);
        let all = header.len();
        header.extend(b"GET");
        assert_eq!(
            read(&header),
            Preamble::Says(all, "198.51.100.7".parse().ok())
        );
        for cut in 1..all {
            assert_eq!(read(&header[..cut]), Preamble::Partial, "{cut}");
        }
        header[12] = 0x20;
        assert_eq!(
            read(&header),
            Preamble::Says(all, None),
            "it asks for itself"
        );
        header[12] = 0x31;
        assert_eq!(read(&header), Preamble::Malformed);
        header[12] = 0x21;
        header[14] = 0xff;
        assert_eq!(
            read(&header),
            Preamble::Malformed,
            "longer than anyone needs"
        );
    }
}
