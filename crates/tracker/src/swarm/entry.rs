//! One peer as it is kept: its address and port as they go over the wire, then two flags and the
//! minute of its last announce. Eight bytes in IPv4, twenty in IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::clock::{Age, Minute, Past};

/// A peer in IPv4.
pub(super) const V4: usize = 8;
/// A peer in IPv6.
pub(super) const V6: usize = 20;

/// What stands behind the address.
const TAIL: usize = 2;

/// Its download was counted.
const COUNTED: u16 = 1 << 15;
/// It does not want more of what it lacks (BEP 21).
const PAUSED: u16 = 1 << 14;
/// The rest is the minute of its last announce.
const STAMP: u16 = PAUSED - 1;

/// What stood behind a peer's address before it announced again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EntryTail(u16);

impl EntryTail {
    /// Minutes since its last announce then.
    pub(super) fn silent_for(self, now: Minute) -> u16 {
        now.since_stamp(self.0 & STAMP)
    }

    pub(super) fn is_paused(self) -> bool {
        self.0 & PAUSED != 0
    }

    pub(super) fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }
}

/// A peer, `N` bytes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerEntry<const N: usize>([u8; N]);

impl<const N: usize> PeerEntry<N> {
    /// How many bytes of it are the address and port.
    pub(super) const WIRE: usize = N - TAIL;
    pub(super) const EMPTY: Self = Self([0; N]);

    /// Its address and port as peers are sent.
    #[inline]
    pub(super) fn wire(&self) -> &[u8] {
        &self.0[..N - TAIL]
    }

    /// Its address without the port.
    #[inline]
    pub(super) fn address(&self) -> &[u8] {
        &self.0[..N - TAIL - 2]
    }

    /// All of it, as it is stored.
    pub(super) fn bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// Its address and port alone, the rest zero.
    pub(super) fn place(&self) -> [u8; N] {
        let mut place = self.0;
        place[N - TAIL..].fill(0);
        place
    }

    pub(super) fn from_bytes(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    #[inline]
    pub(super) fn is_at(&self, other: &Self) -> bool {
        self.wire() == other.wire()
    }

    #[inline]
    pub(super) fn is_stale(&self, now: Minute, age: Age) -> bool {
        now.since_stamp(self.tail() & STAMP) > age.0
    }

    /// The same for many peers.
    #[inline]
    pub(super) fn is_past(&self, past: Past) -> bool {
        past.has(self.tail())
    }

    /// Minutes since its last announce.
    pub(super) fn silent_for(&self, now: Minute) -> u16 {
        now.since_stamp(self.tail() & STAMP)
    }

    pub(super) fn stamp(&mut self, now: Minute) {
        let tail = self.tail() & !STAMP | now.stamp();
        self.set_tail(tail);
    }

    /// Counts its download; `false` if that was done before.
    pub(super) fn count(&mut self) -> bool {
        let tail = self.tail();
        self.set_tail(tail | COUNTED);
        tail & COUNTED == 0
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        let tail = self.tail() & !PAUSED;
        self.set_tail(if paused { tail | PAUSED } else { tail });
    }

    /// What stands behind its address.
    #[inline]
    pub(super) fn entry_tail(&self) -> EntryTail {
        EntryTail(self.tail())
    }

    #[inline]
    fn tail(&self) -> u16 {
        u16::from_le_bytes([self.0[N - 2], self.0[N - 1]])
    }

    #[inline]
    fn set_tail(&mut self, tail: u16) {
        self.0[N - TAIL..].copy_from_slice(&tail.to_le_bytes());
    }
}

/// Where others reach a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeerEndpoint {
    /// In IPv4: address and port.
    V4([u8; 6]),
    /// In IPv6: address and port.
    V6([u8; 18]),
}

impl PeerEndpoint {
    /// The endpoint of an address; an IPv4 address in IPv6 clothes is one of IPv4.
    #[inline]
    pub fn new(address: IpAddr, port: u16) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let mut wire = [0; 6];
                wire[..4].copy_from_slice(&address.octets());
                wire[4..].copy_from_slice(&port.to_be_bytes());
                Self::V4(wire)
            }
            IpAddr::V6(address) => {
                let mut wire = [0; 18];
                wire[..16].copy_from_slice(&address.octets());
                wire[16..].copy_from_slice(&port.to_be_bytes());
                Self::V6(wire)
            }
        }
    }

    /// The endpoint as peers are sent: 6 bytes in IPv4, 18 in IPv6.
    pub(crate) fn wire(&self) -> &[u8] {
        match self {
            Self::V4(wire) => wire,
            Self::V6(wire) => wire,
        }
    }

    /// An endpoint as peers are sent: 6 bytes in IPv4, 18 in IPv6.
    pub(super) fn from_wire(wire: &[u8]) -> Self {
        if let Ok(wire) = wire.try_into() {
            return Self::V4(wire);
        }
        Self::V6(wire.try_into().expect("entries have one of two lengths"))
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.socket().ip()
    }

    /// Its address and port.
    pub fn socket(&self) -> SocketAddr {
        match self {
            Self::V4([a, b, c, d, high, low]) => {
                let port = u16::from_be_bytes([*high, *low]);
                (Ipv4Addr::new(*a, *b, *c, *d), port).into()
            }
            Self::V6(wire) => {
                let (address, port) = wire.split_at(16);
                let address: [u8; 16] = address.try_into().expect("it was split after 16 bytes");
                let port = u16::from_be_bytes([port[0], port[1]]);
                (Ipv6Addr::from(address), port).into()
            }
        }
    }
}

#[inline]
pub(super) fn v4(wire: [u8; 6], now: Minute) -> PeerEntry<V4> {
    fresh(&wire, now)
}

#[inline]
pub(super) fn v6(wire: [u8; 18], now: Minute) -> PeerEntry<V6> {
    fresh(&wire, now)
}

#[inline]
fn fresh<const N: usize>(wire: &[u8], now: Minute) -> PeerEntry<N> {
    let mut entry = PeerEntry::EMPTY;
    entry.0[..N - TAIL].copy_from_slice(wire);
    entry.set_tail(now.stamp());
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_stamp_leave_one_another_alone() {
        let now = Minute(20_000);
        let mut entry = v4([10, 0, 0, 1, 0x1a, 0xe1], now);
        assert!(entry.count(), "first time");
        assert!(!entry.count(), "counted before");
        entry.set_paused(true);
        entry.stamp(now.plus(7));
        assert_eq!(entry.silent_for(now.plus(9)), 2);
        assert!(!entry.count());
        entry.set_paused(false);
        assert_eq!(entry.silent_for(now.plus(9)), 2);
        assert_eq!(entry.wire(), [10, 0, 0, 1, 0x1a, 0xe1]);
        assert_eq!(entry.address(), [10, 0, 0, 1]);
    }

    #[test]
    fn a_peer_is_stale_when_its_age_is_over_not_before() {
        // Across the wrap of the stamp.
        for start in [100, 16_380, 32_760] {
            let entry = v6([1; 18], Minute(start));
            assert!(!entry.is_stale(Minute(start + 180), Age(180)));
            assert!(entry.is_stale(Minute(start + 181), Age(180)));
        }
    }

    #[test]
    fn a_peer_seen_by_a_thread_whose_clock_is_ahead_is_fresh() {
        for start in [100, 16_383, 16_384] {
            let entry = v4([1; 6], Minute(start + 1));
            assert!(!entry.is_stale(Minute(start), Age(180)));
            assert_eq!(entry.silent_for(Minute(start)), 0);
        }
    }

    #[test]
    fn endpoints_are_read_back() {
        for text in ["10.1.2.3:6881", "[2001:db8::7]:1", "127.0.0.1:65535"] {
            let socket: SocketAddr = text.parse().unwrap();
            assert_eq!(
                PeerEndpoint::new(socket.ip(), socket.port()).socket(),
                socket
            );
        }
        let dressed: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(
            PeerEndpoint::new(dressed, 1),
            PeerEndpoint::V4([10, 0, 0, 1, 0, 1])
        );
    }
}
