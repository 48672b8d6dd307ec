//! Opens sockets: one for each thread and family on the same port, without letting a second Weir in.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd as _;

use socket2::{Domain, Protocol, Socket, Type};

/// Room for packets that wait for us, as much as the system gives.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Room for replies that wait to be sent.
const SEND_BUFFER: usize = 4 << 20;
/// Seconds for which a connection that sends nothing is not shown to us. One, and no more: until then it fills the
/// kernel's queue of new connections, where those that would ask wait behind it and nobody can be ended.
const DEFERRED: i32 = 1;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// What is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

/// Ports of the system's choice that are tried: one that is free for the first socket may be taken for the next.
const TRIES: usize = 16;

/// Sockets of one family, `threads` of them on one port.
#[derive(Debug)]
pub(crate) struct SocketGroup {
    /// Where they are bound.
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<Socket>,
}

/// Opens what `address` means: `[::]` is all of IPv6 and all of IPv4.
///
/// # Errors
/// When another program has the port, or the system refuses. A machine without IPv6 is no error: IPv4 is opened alone.
pub(crate) fn open(
    kind: Transport,
    address: SocketAddr,
    threads: usize,
) -> io::Result<Vec<SocketGroup>> {
    // A port of the system's choice is free in one family and for one socket; others may have it elsewhere by the time.
    let tries = if address.port() == 0 { TRIES } else { 1 };
    for _ in 1..tries {
        match open_once(kind, address, threads) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            opened => return opened,
        }
    }
    open_once(kind, address, threads)
}

fn open_once(kind: Transport, address: SocketAddr, threads: usize) -> io::Result<Vec<SocketGroup>> {
    if address.ip() != Ipv6Addr::UNSPECIFIED {
        return Ok(vec![group(kind, address, threads)?]);
    }
    match group(kind, address, threads) {
        Ok(v6) => {
            let v4 = (Ipv4Addr::UNSPECIFIED, v6.address.port()).into();
            Ok(vec![v6, group(kind, v4, threads)?])
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
            ) =>
        {
            Err(error)
        }
        Err(error) => {
            let v4 = group(
                kind,
                (Ipv4Addr::UNSPECIFIED, address.port()).into(),
                threads,
            )?;
            tracing::warn!(%error, "this machine has no IPv6: listening on {} alone", v4.address);
            Ok(vec![v4])
        }
    }
}

fn group(kind: Transport, address: SocketAddr, threads: usize) -> io::Result<SocketGroup> {
    // Sockets that share a port would let any other program of ours in that shares it too; so the port must be free
    // for one that does not.
    let alone = bound(kind, address, false)?;
    let address = local(&alone)?;
    drop(alone);
    let sockets = (0..threads).map(|_| bound(kind, address, true));
    Ok(SocketGroup {
        address,
        sockets: sockets.collect::<io::Result<_>>()?,
    })
}

fn bound(kind: Transport, address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let (form, protocol) = match kind {
        Transport::Udp => (Type::DGRAM, Protocol::UDP),
        Transport::Tcp => (Type::STREAM, Protocol::TCP),
    };
    let socket = Socket::new(Domain::for_address(address), form, Some(protocol))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_port(shared)?;
    match kind {
        Transport::Tcp => {
            // Connections that linger from before a restart must not keep the port.
            socket.set_reuse_address(true)?;
            // Both are inherited by the connections that are accepted: a reply goes out at once, and a connection
            // comes with its first bytes.
            socket.set_tcp_nodelay(true)?;
            super::system::defer_accept(socket.as_fd(), DEFERRED)?;
        }
        Transport::Udp if shared => {
            // The system may give less, never more; both are wishes.
            drop(socket.set_recv_buffer_size(RECEIVE_BUFFER));
            drop(socket.set_send_buffer_size(SEND_BUFFER));
        }
        Transport::Udp => {}
    }
    if kind == Transport::Udp && shared && address.ip().is_unspecified() {
        // On all addresses of the machine a reply has to be told which of them was asked.
        super::system::tell_asked(socket.as_fd(), address.ip())?;
    }
    socket.bind(&address.into())?;
    if kind == Transport::Tcp {
        socket.listen(BACKLOG)?;
    }
    Ok(socket)
}

fn local(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn several_sockets_share_a_port_and_a_second_weir_does_not() {
        for kind in [Transport::Udp, Transport::Tcp] {
            let groups = open(kind, HERE, 3).unwrap();
            let address = groups[0].address;
            assert_eq!(groups[0].sockets.len(), 3);
            let second = open(kind, address, 3).unwrap_err();
            assert_eq!(second.kind(), io::ErrorKind::AddrInUse, "{kind:?}");
            drop(groups);
            open(kind, address, 1).unwrap();
        }
    }

    #[test]
    fn all_addresses_are_those_of_both_families_on_one_port() {
        let all = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        let groups = open(Transport::Udp, all, 1).unwrap();
        assert_eq!(groups.len(), 2, "this machine has both");
        assert_eq!(groups[0].address.port(), groups[1].address.port());
        assert!(groups[0].address.is_ipv6() && groups[1].address.is_ipv4());
    }
}
