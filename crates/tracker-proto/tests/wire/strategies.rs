//! Arbitrary values of our types.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroU16, NonZeroU32};

use proptest::option;
use proptest::prelude::*;
use weir_tracker_proto::{Announce, Counts, Endpoint, Event, InfoHash, PeerId};

pub(crate) fn hash() -> impl Strategy<Value = InfoHash> {
    any::<[u8; 20]>().prop_map(InfoHash)
}

pub(crate) fn counts() -> impl Strategy<Value = Counts> {
    any::<[u32; 3]>().prop_map(|[complete, downloaded, incomplete]| Counts {
        complete,
        downloaded,
        incomplete,
    })
}

pub(crate) fn v4() -> impl Strategy<Value = SocketAddrV4> {
    (any::<Ipv4Addr>(), 1_u16..).prop_map(|(ip, port)| SocketAddrV4::new(ip, port))
}

pub(crate) fn v6() -> impl Strategy<Value = SocketAddrV6> {
    (any::<Ipv6Addr>(), 1_u16..).prop_map(|(ip, port)| SocketAddrV6::new(ip, port, 0, 0))
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::None),
        Just(Event::Started),
        Just(Event::Stopped),
        Just(Event::Completed),
        Just(Event::Paused),
    ]
}

/// An announce as HTTP can carry it.
pub(crate) fn announce() -> impl Strategy<Value = Announce> {
    let who = (hash(), any::<[u8; 20]>(), any::<NonZeroU16>());
    let figures = (any::<u64>(), any::<u64>(), 0..=i64::MAX as u64);
    let wishes = (
        event(),
        option::of(any::<u32>()),
        option::of(any::<NonZeroU32>()),
        any::<bool>(),
        any::<bool>(),
    );
    let places = (
        option::of(any::<IpAddr>().prop_filter("unset", |ip| !ip.is_unspecified())),
        option::of(endpoint(any::<Ipv4Addr>())),
        option::of(endpoint(any::<Ipv6Addr>())),
    );
    (who, figures, wishes, places).prop_map(|(who, figures, wishes, places)| Announce {
        info_hash: who.0,
        peer_id: PeerId(who.1),
        port: who.2,
        uploaded: figures.0,
        downloaded: figures.1,
        left: figures.2,
        event: wishes.0,
        numwant: wishes.1,
        key: wishes.2,
        compact: Some(wishes.3),
        no_peer_id: wishes.4,
        ip: places.0,
        ipv4: places.1,
        ipv6: places.2,
    })
}

/// An announce as UDP can carry it.
pub(crate) fn udp_announce() -> impl Strategy<Value = Announce> {
    announce().prop_map(|announce| Announce {
        event: match announce.event {
            Event::Paused => Event::None,
            event => event,
        },
        numwant: announce.numwant.map(|numwant| numwant >> 1),
        ip: announce.ip.filter(IpAddr::is_ipv4),
        compact: None,
        no_peer_id: false,
        ipv4: None,
        ipv6: None,
        ..announce
    })
}

/// A further address; an unset one would be none.
fn endpoint<A: Into<IpAddr> + Copy + Debug>(
    address: impl Strategy<Value = A>,
) -> impl Strategy<Value = Endpoint<A>> {
    let address = address.prop_filter("unset", |address| !(*address).into().is_unspecified());
    let port = option::of(any::<NonZeroU16>());
    (address, port).prop_map(|(address, port)| Endpoint { address, port })
}
