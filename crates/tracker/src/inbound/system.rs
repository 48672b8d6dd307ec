//! System calls without a safe form: many packets in one (`recvmmsg`, `sendmmsg`), the address that a packet was sent to
//! (packet info), the machine's own addresses, and connections that are accepted with their first bytes.
//!
//! The only unsafe code of the tracker. One call for each packet halves the rate at which announces are answered; the
//! standard library has no call for several. What holds: the kernel writes only into [`PacketMemory`], which is heap memory
//! that never moves and is reached through one pointer; lengths that the kernel reports are cut to what it was given.

use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use socket2::{SockAddr, Socket};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Packets in one system call: the more there are, the less each costs, and the longer the first waits for the last.
pub(super) const BATCH: usize = 64;
/// Longer packets are cut; no request of ours is as long.
const PACKET: usize = 2048;

/// What the kernel reads and writes.
struct PacketMemory {
    packets: [[u8; PACKET]; BATCH],
    addresses: [libc::sockaddr_storage; BATCH],
    in_controls: [Control; BATCH],
    received: [libc::iovec; BATCH],
    in_heads: [libc::mmsghdr; BATCH],
    out_controls: [Control; BATCH],
    replies: [libc::iovec; BATCH],
    out_heads: [libc::mmsghdr; BATCH],
}

/// The one control message that stands beside a packet: the address that was asked, or the one to reply from.
#[repr(C)]
struct Control {
    head: libc::cmsghdr,
    info: Info,
}

#[repr(C)]
union Info {
    v4: libc::in_pktinfo,
    v6: libc::in6_pktinfo,
}

/// Where the kernel puts what a control message says: right behind its head.
const INFO: usize = offset_of!(Control, info);
// SAFETY: both are arithmetic.
const _: () = unsafe {
    assert!(INFO == libc::CMSG_LEN(0) as usize);
    assert!(size_of::<Control>() >= libc::CMSG_SPACE(size_of::<Info>() as u32) as usize);
};

/// An address of this machine that a client asked. The reply leaves from it, or the client drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Here {
    pub(super) ip: IpAddr,
    /// The interface of a link-local address, which means nothing without it. 0 for all others: the way that a packet
    /// came need not be the way back, and routing knows better.
    interface: u32,
}

/// A packet, who sent it and to which of our addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    pub(super) packet: &'a [u8],
    pub(super) source: SocketAddr,
    /// `None` where the socket is bound to one address, or the system did not say.
    pub(super) here: Option<Here>,
}

/// A reply to a packet of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutgoingPacket {
    /// The position of the packet.
    pub(super) to: usize,
    /// The part of the bytes that are sent.
    pub(super) part: Range<usize>,
    /// Where it leaves from; `None` leaves that to the route.
    pub(super) from: Option<Here>,
}

/// Packets that were received together, and the replies to them.
pub(super) struct PacketBatch {
    memory: *mut PacketMemory,
    received: usize,
}

impl PacketBatch {
    pub(super) fn new() -> Self {
        // SAFETY: all fields are integers, pointers or arrays of them, for which zero bytes are valid.
        let memory = Box::into_raw(unsafe { Box::<PacketMemory>::new_zeroed().assume_init() });
        let batch = Self {
            memory,
            received: BATCH,
        };
        for index in 0..BATCH {
            // SAFETY: `memory` is a live allocation of ours that nothing else points into, and `index` is within its
            // arrays. Fields are written through raw pointers, so that pointers taken here stay valid.
            unsafe {
                let memory = batch.memory;
                (*memory).received[index] = libc::iovec {
                    iov_base: (&raw mut (*memory).packets[index]).cast(),
                    iov_len: PACKET,
                };
                let head = &raw mut (*memory).in_heads[index].msg_hdr;
                (*head).msg_name = (&raw mut (*memory).addresses[index]).cast();
                (*head).msg_iov = &raw mut (*memory).received[index];
                (*head).msg_iovlen = 1;
                (*head).msg_control = (&raw mut (*memory).in_controls[index]).cast();
            }
        }
        batch
    }

    /// Waits for at least one packet and takes all that are there; says how many.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        for index in 0..self.received {
            // SAFETY: as in `new`. The kernel overwrote both lengths with those of what it wrote.
            unsafe {
                let head = &raw mut (*self.memory).in_heads[index].msg_hdr;
                (*head).msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                (*head).msg_controllen = size_of::<Control>() as _;
            }
        }
        self.received = 0;
        // SAFETY: `in_heads` has BATCH heads, each set up in `new` with an address, a control message and a buffer of
        // the lengths it says; all of it lives as long as `self`, which is borrowed for the call.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                (&raw mut (*self.memory).in_heads).cast(),
                BATCH as libc::c_uint,
                libc::MSG_WAITFORONE,
                ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        self.received = count.min(BATCH);
        Ok(self.received)
    }

    /// A packet of the last [`PacketBatch::receive`].
    #[inline]
    pub(super) fn packet(&self, index: usize) -> Option<Received<'_>> {
        assert!(index < self.received);
        // SAFETY: `index` is within the arrays; the kernel does not write while `self` is borrowed here, and the
        // packet is borrowed from `self`. Its bytes were zero at first, so all are initialised.
        unsafe {
            let head = &raw const (*self.memory).in_heads[index];
            let length = ((*head).msg_len as usize).min(PACKET);
            let packet: *const u8 = (&raw const (*self.memory).packets[index]).cast();
            // Its type is another one with musl.
            let told: usize = (*head).msg_hdr.msg_controllen as _;
            Some(Received {
                source: address(&raw const (*self.memory).addresses[index])?,
                here: (*self.memory).in_controls[index].read(told),
                packet: std::slice::from_raw_parts(packet, length),
            })
        }
    }

    /// Sends parts of `bytes` to the senders of the packets named beside them; says how many the system did not take.
    pub(super) fn reply(
        &mut self,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        replies: &[OutgoingPacket],
    ) -> usize {
        assert!(replies.len() <= BATCH);
        for (place, reply) in replies.iter().enumerate() {
            assert!(reply.to < self.received);
            let part = &bytes[reply.part.clone()];
            // SAFETY: `place` and `to` are within the arrays. The kernel only reads from `part`, which outlives the
            // call below, and from the control message, of which it is given the length that was written.
            unsafe {
                let memory = self.memory;
                (*memory).replies[place] = libc::iovec {
                    iov_base: part.as_ptr().cast_mut().cast(),
                    iov_len: part.len(),
                };
                let head = &raw mut (*memory).out_heads[place].msg_hdr;
                (*head).msg_name = (*memory).in_heads[reply.to].msg_hdr.msg_name;
                (*head).msg_namelen = (*memory).in_heads[reply.to].msg_hdr.msg_namelen;
                (*head).msg_iov = &raw mut (*memory).replies[place];
                (*head).msg_iovlen = 1;
                let control = &raw mut (*memory).out_controls[place];
                (*head).msg_control = control.cast();
                (*head).msg_controllen = reply.from.map_or(0, |here| (*control).write(here)) as _;
            }
        }
        let (mut done, mut failed) = (0, 0);
        while done < replies.len() {
            // SAFETY: heads from `done` to the number of replies were set up above and point to live memory.
            let count = unsafe {
                let first: *mut libc::mmsghdr = (&raw mut (*self.memory).out_heads).cast();
                let rest = (replies.len() - done) as libc::c_uint;
                libc::sendmmsg(socket.as_raw_fd(), first.add(done), rest, 0)
            };
            match usize::try_from(count) {
                Ok(count) => done += count.max(1),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // The first of the rest cannot be sent (no route to it, a firewall); the others may.
                Err(_) => {
                    done += 1;
                    failed += 1;
                }
            }
        }
        failed
    }
}

impl Control {
    /// What the kernel wrote, `length` bytes of it.
    #[inline]
    fn read(&self, length: usize) -> Option<Here> {
        // With a length of 0 there is none, and the head is that of an earlier packet. One that was cut off for lack of
        // room (`MSG_CTRUNC`) would be too short.
        let said: usize = self.head.cmsg_len as _;
        let whole = |info: usize| length.min(said) >= INFO + info;
        match (self.head.cmsg_level, self.head.cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) if whole(size_of::<libc::in_pktinfo>()) => {
                // SAFETY: all bytes are initialised, and any of them make integers. Not the address in the packet's
                // head but the one to answer it from: where a broadcast was asked, these differ.
                let ip = unsafe { self.info.v4.ipi_spec_dst.s_addr };
                let ip = Ipv4Addr::from(u32::from_be(ip));
                (!ip.is_unspecified()).then_some(Here {
                    ip: ip.into(),
                    interface: 0,
                })
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if whole(size_of::<libc::in6_pktinfo>()) => {
                // SAFETY: likewise.
                let info = unsafe { self.info.v6 };
                let ip = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                // Nothing may leave from a multicast address; the route has a better one.
                (!ip.is_multicast() && !ip.is_unspecified()).then_some(Here {
                    ip: ip.into(),
                    interface: match ip.is_unicast_link_local() {
                        true => info.ipi6_ifindex,
                        false => 0,
                    },
                })
            }
            _ => None,
        }
    }

    /// Tells the kernel where a packet leaves from; gives the length. It ends with the last byte that counts and not
    /// where the next message would begin: so the kernel, for IPv6, need not allocate.
    #[inline]
    fn write(&mut self, here: Here) -> usize {
        let (level, kind, length);
        match here.ip {
            IpAddr::V4(ip) => {
                (level, kind) = (libc::IPPROTO_IP, libc::IP_PKTINFO);
                length = INFO + size_of::<libc::in_pktinfo>();
                self.info.v4 = libc::in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: libc::in_addr {
                        s_addr: u32::from(ip).to_be(),
                    },
                    ipi_addr: libc::in_addr { s_addr: 0 },
                };
            }
            IpAddr::V6(ip) => {
                (level, kind) = (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO);
                length = INFO + size_of::<libc::in6_pktinfo>();
                self.info.v6 = libc::in6_pktinfo {
                    ipi6_addr: libc::in6_addr {
                        s6_addr: ip.octets(),
                    },
                    ipi6_ifindex: here.interface,
                };
            }
        }
        self.head.cmsg_len = length as _;
        self.head.cmsg_level = level;
        self.head.cmsg_type = kind;
        length
    }
}

/// Sends one packet from an address of ours, without waiting for room.
pub(super) fn send_from(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    to: SocketAddr,
    from: Option<Here>,
) -> io::Result<()> {
    let to = SockAddr::from(to);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all fields are integers, pointers or arrays of them, for which zero bytes are valid.
    let (mut control, mut head): (Control, libc::msghdr) = unsafe { std::mem::zeroed() };
    head.msg_name = to.as_ptr().cast_mut().cast();
    head.msg_namelen = to.len();
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    if let Some(here) = from {
        head.msg_controllen = control.write(here) as _;
        head.msg_control = (&raw mut control).cast();
    }
    // SAFETY: the kernel only reads, and what the head points to lives until the end of this function, each of the
    // length that the head says.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const head, libc::MSG_DONTWAIT) };
    match sent {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a socket say of each packet to which address it was sent.
pub(super) fn tell_asked(socket: BorrowedFd<'_>, address: IpAddr) -> io::Result<()> {
    match address {
        IpAddr::V4(_) => set(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        IpAddr::V6(_) => {
            // Without it, replies from addresses that are ours by a route alone (`ip route add local`) are refused. A wish:
            // others are answered all the same.
            drop(set(socket, libc::IPPROTO_IPV6, libc::IPV6_FREEBIND, 1));
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)
        }
    }
}

/// Lets `accept` wait until a connection has sent something, or for so many seconds.
pub(super) fn defer_accept(socket: BorrowedFd<'_>, seconds: libc::c_int) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, seconds)
}

/// Sets an option that is an integer.
fn set(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the value is an integer that lives across the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The addresses of all interfaces.
pub(super) fn addresses() -> io::Result<Vec<IpAddr>> {
    let mut first: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: the list is written to `first`, which lives across the call.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: entries are valid until the list is freed below. Their addresses are as long as their family
        // says, which `address` relies on, or null where an interface has none.
        unsafe {
            if !(*next).ifa_addr.is_null() {
                found.extend(address((*next).ifa_addr.cast()).map(|address| address.ip()));
            }
            next = (*next).ifa_next;
        }
    }
    // SAFETY: the list came from `getifaddrs`, is freed once, and nothing of it was kept.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// Lets the runtime of this thread watch a socket that others connect to.
pub(crate) fn watch(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: a `Socket` owns its descriptor and names the same one until it is dropped, which the result does after
    // it has ended the watch.
    let watched = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    watched.map_err(Into::into)
}

impl Drop for PacketBatch {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw` and is given back once.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

/// Reads an address that the system wrote.
///
/// # Safety
/// It is as long and as aligned as an address of the family that it names.
unsafe fn address(raw: *const libc::sockaddr_storage) -> Option<SocketAddr> {
    // SAFETY: every address begins with its family.
    match i32::from(unsafe { (*raw.cast::<libc::sockaddr>()).sa_family }) {
        libc::AF_INET => {
            // SAFETY: so it is one of IPv4, says the caller.
            let v4 = unsafe { &*raw.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: likewise, for IPv6.
            let v6 = unsafe { &*raw.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            // A link-local client is not reached without its scope.
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    /// Only a reply that never comes takes as long.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

    #[test]
    fn packets_come_and_replies_go_to_their_senders() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let server = UdpSocket::bind(here).unwrap();
            let clients: Vec<_> = (0..3).map(|_| UdpSocket::bind(here).unwrap()).collect();
            for (number, client) in (0u8..).zip(&clients) {
                let packet = vec![number; 10 + usize::from(number)];
                client
                    .send_to(&packet, server.local_addr().unwrap())
                    .unwrap();
            }
            let mut batch = PacketBatch::new();
            let mut seen = 0;
            while seen < 3 {
                let count = batch.receive(server.as_fd()).unwrap();
                let mut bytes = Vec::new();
                let mut replies = Vec::new();
                for index in 0..count {
                    let received = batch.packet(index).unwrap();
                    let Received {
                        packet,
                        source,
                        here,
                    } = received;
                    let number = usize::from(packet[0]);
                    assert_eq!(packet.len(), 10 + number);
                    assert_eq!(source, clients[number].local_addr().unwrap());
                    assert_eq!(here, None, "the socket has but one");
                    let start = bytes.len();
                    bytes.extend_from_slice(&packet[..5 + number]);
                    replies.push(OutgoingPacket {
                        to: index,
                        part: start..bytes.len(),
                        from: here,
                    });
                }
                assert_eq!(batch.reply(server.as_fd(), &bytes, &replies), 0);
                seen += count;
            }
            for (number, client) in clients.iter().enumerate() {
                let mut reply = [0; 100];
                let length = client.recv(&mut reply).unwrap();
                assert_eq!(reply[..length], vec![number as u8; 5 + number]);
            }
        }
    }

    #[test]
    fn a_packet_that_is_too_long_is_cut_and_an_empty_one_is_one() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let mut batch = PacketBatch::new();
        for length in [60_000, 0, PACKET, 1] {
            client.send(&vec![7; length]).unwrap();
            assert_eq!(batch.receive(server.as_fd()).unwrap(), 1);
            let received = batch.packet(0).unwrap();
            assert_eq!(received.packet, vec![7; length.min(PACKET)]);
        }
    }

    /// A socket on all addresses, as the tracker's are.
    fn on_all(all: &str) -> UdpSocket {
        let server = UdpSocket::bind(all).unwrap();
        tell_asked(server.as_fd(), server.local_addr().unwrap().ip()).unwrap();
        server
    }

    /// A client that drops what does not come from the address it asks.
    fn asking(server: &UdpSocket, asked: IpAddr) -> UdpSocket {
        let here = if asked.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let client = UdpSocket::bind(here).unwrap();
        let port = server.local_addr().unwrap().port();
        client.connect((asked, port)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    }

    #[test]
    fn each_reply_leaves_from_the_address_that_was_asked() {
        let of_v4 = [1, 2, 3]
            .map(|last| IpAddr::from([127, 0, 0, last]))
            .to_vec();
        let of_v6 = addresses().unwrap().into_iter();
        // Those of a link need its name to be asked.
        let of_v6 = of_v6.filter(|ip| matches!(ip, IpAddr::V6(ip) if !ip.is_unicast_link_local()));
        let mut batch = PacketBatch::new();
        for (all, asked) in [("0.0.0.0:0", of_v4), ("[::]:0", of_v6.collect())] {
            let server = on_all(all);
            let clients: Vec<_> = asked.iter().map(|ip| asking(&server, *ip)).collect();
            for client in &clients {
                client.send(b"x").unwrap();
            }
            let mut left = asked.clone();
            while !left.is_empty() {
                let count = batch.receive(server.as_fd()).unwrap();
                let replies = (0..count).map(|to| {
                    let here = batch.packet(to).unwrap().here.unwrap();
                    left.retain(|asked| *asked != here.ip);
                    OutgoingPacket {
                        to,
                        part: 0..2,
                        from: Some(here),
                    }
                });
                let replies: Vec<_> = replies.collect();
                assert_eq!(batch.reply(server.as_fd(), b"yes", &replies), 0);
                for OutgoingPacket { to, from, .. } in replies {
                    let to = batch.packet(to).unwrap().source;
                    send_from(server.as_fd(), b"late", to, from).unwrap();
                }
            }
            for (client, asked) in clients.iter().zip(asked) {
                let mut reply = [0; 9];
                let mut receive = || {
                    client
                        .recv(&mut reply)
                        .map(|length| reply[..length].to_vec())
                };
                assert_eq!(receive().ok().as_deref(), Some(&b"ye"[..]), "{asked}");
                assert_eq!(receive().ok().as_deref(), Some(&b"late"[..]), "{asked}");
            }
        }
    }

    #[test]
    fn an_address_that_is_not_ours_is_no_source() {
        let server = on_all("0.0.0.0:0");
        let client = asking(&server, Ipv4Addr::LOCALHOST.into());
        let to = client.local_addr().unwrap();
        let from = |ip: [u8; 4]| {
            Some(Here {
                ip: ip.into(),
                interface: 0,
            })
        };
        assert!(send_from(server.as_fd(), b"x", to, from([203, 0, 113, 9])).is_err());
        send_from(server.as_fd(), b"x", to, None).unwrap();
    }

    #[test]
    fn a_control_message_that_is_cut_or_foreign_says_nothing() {
        for ip in ["192.0.2.7", "2001:db8::7"] {
            let here = Here {
                ip: ip.parse().unwrap(),
                interface: 0,
            };
            // SAFETY: see `send_from`.
            let mut control: Control = unsafe { std::mem::zeroed() };
            let length = control.write(here);
            assert_eq!(control.read(length), Some(here));
            assert_eq!(control.read(size_of::<Control>()), Some(here));
            for cut in 0..length {
                assert_eq!(control.read(cut), None, "{cut} bytes");
            }
            control.head.cmsg_len -= 1;
            assert_eq!(control.read(length), None);
            control.write(here);
            control.head.cmsg_type += 1;
            assert_eq!(control.read(length), None);
        }
    }

    #[test]
    fn only_link_local_addresses_keep_their_interface_and_groups_are_no_source() {
        let read = |ip: &str| {
            let ip: Ipv6Addr = ip.parse().unwrap();
            // SAFETY: see `send_from`.
            let mut control: Control = unsafe { std::mem::zeroed() };
            let here = Here {
                ip: ip.into(),
                interface: 3,
            };
            let length = control.write(here);
            control.read(length).map(|here| here.interface)
        };
        assert_eq!(read("fe80::1"), Some(3));
        assert_eq!(read("2001:db8::1"), Some(0));
        assert_eq!(read("ff02::1"), None);
        assert_eq!(read("::"), None);
    }

    #[test]
    fn a_reply_that_cannot_be_sent_does_not_keep_the_others() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"x", server.local_addr().unwrap()).unwrap();
        let mut batch = PacketBatch::new();
        batch.receive(server.as_fd()).unwrap();
        let bytes = vec![1; 70_000];
        // No packet is as long as the first.
        let replies = [0..70_000, 0..5].map(|part| OutgoingPacket {
            to: 0,
            part,
            from: None,
        });
        assert_eq!(batch.reply(server.as_fd(), &bytes, &replies), 1);
        let mut reply = [0; 100];
        assert_eq!(client.recv(&mut reply).unwrap(), 5);
    }
}
