//! System calls without a safe form: many packets in one (`recvmmsg`, `sendmmsg`), and connections that are accepted
//! with their first bytes.
//!
//! The only unsafe code of the tracker. One call for each packet halves the rate at which announces are answered; the
//! standard library has no call for several. What holds: the kernel writes only into [`Memory`], which is heap memory
//! that never moves and is reached through one pointer; lengths that the kernel reports are cut to what it was given.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Packets in one call.
pub(super) const BATCH: usize = 64;
/// Longer packets are cut; no request of ours is as long.
const PACKET: usize = 2048;

/// What the kernel reads and writes.
struct Memory {
    packets: [[u8; PACKET]; BATCH],
    addresses: [libc::sockaddr_storage; BATCH],
    received: [libc::iovec; BATCH],
    in_heads: [libc::mmsghdr; BATCH],
    replies: [libc::iovec; BATCH],
    out_heads: [libc::mmsghdr; BATCH],
}

/// Packets that were received together, and the replies to them.
pub(super) struct Batch {
    memory: *mut Memory,
    received: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        // SAFETY: all fields are integers, pointers or arrays of them, for which zero bytes are valid.
        let memory = Box::into_raw(unsafe { Box::<Memory>::new_zeroed().assume_init() });
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
            }
        }
        batch
    }

    /// Waits for at least one packet and takes all that are there; says how many.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        for index in 0..self.received {
            // SAFETY: as in `new`. The kernel overwrote the length with that of the last sender's address.
            unsafe {
                let head = &raw mut (*self.memory).in_heads[index].msg_hdr;
                (*head).msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            }
        }
        self.received = 0;
        // SAFETY: `in_heads` has BATCH heads, each set up in `new` with an address and a buffer of the lengths it
        // says; all of it lives as long as `self`, which is borrowed for the call.
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

    /// A packet of the last [`Batch::receive`] and who sent it.
    pub(super) fn packet(&self, index: usize) -> Option<(&[u8], SocketAddr)> {
        assert!(index < self.received);
        // SAFETY: `index` is within the arrays; the kernel does not write while `self` is borrowed here, and the
        // packet is borrowed from `self`. Its bytes were zero at first, so all are initialised.
        unsafe {
            let head = &raw const (*self.memory).in_heads[index];
            let length = ((*head).msg_len as usize).min(PACKET);
            let packet: *const u8 = (&raw const (*self.memory).packets[index]).cast();
            let address = address(&(*self.memory).addresses[index])?;
            Some((std::slice::from_raw_parts(packet, length), address))
        }
    }

    /// Sends parts of `bytes` to the senders of the packets named beside them; says how many the system did not take.
    pub(super) fn reply(
        &mut self,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        replies: &[(usize, Range<usize>)],
    ) -> usize {
        assert!(replies.len() <= BATCH);
        for (place, (to, range)) in replies.iter().enumerate() {
            assert!(*to < self.received);
            let part = &bytes[range.clone()];
            // SAFETY: `place` and `to` are within the arrays. The kernel only reads from `part`, which outlives the
            // call below.
            unsafe {
                let memory = self.memory;
                (*memory).replies[place] = libc::iovec {
                    iov_base: part.as_ptr().cast_mut().cast(),
                    iov_len: part.len(),
                };
                let head = &raw mut (*memory).out_heads[place].msg_hdr;
                (*head).msg_name = (*memory).in_heads[*to].msg_hdr.msg_name;
                (*head).msg_namelen = (*memory).in_heads[*to].msg_hdr.msg_namelen;
                (*head).msg_iov = &raw mut (*memory).replies[place];
                (*head).msg_iovlen = 1;
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

/// Lets `accept` wait until a connection has sent something, or for so many seconds.
pub(super) fn defer_accept(socket: BorrowedFd<'_>, seconds: libc::c_int) -> io::Result<()> {
    // SAFETY: the value is an integer that lives across the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the runtime of this thread watch a socket that others connect to.
pub(crate) fn watch(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: a `Socket` owns its descriptor and names the same one until it is dropped, which the result does after
    // it has ended the watch.
    let watched = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    watched.map_err(Into::into)
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw` and is given back once.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

fn address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let raw: *const libc::sockaddr_storage = storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the kernel wrote an IPv4 address there, says its family; the storage is larger and aligned.
            let v4 = unsafe { &*raw.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: likewise, for IPv6.
            let v6 = unsafe { &*raw.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(SocketAddr::new(IpAddr::V6(ip), u16::from_be(v6.sin6_port)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

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
            let mut batch = Batch::new();
            let mut seen = 0;
            while seen < 3 {
                let count = batch.receive(server.as_fd()).unwrap();
                let mut bytes = Vec::new();
                let mut replies = Vec::new();
                for index in 0..count {
                    let (packet, from) = batch.packet(index).unwrap();
                    let number = usize::from(packet[0]);
                    assert_eq!(packet.len(), 10 + number);
                    assert_eq!(from, clients[number].local_addr().unwrap());
                    let start = bytes.len();
                    bytes.extend_from_slice(&packet[..5 + number]);
                    replies.push((index, start..bytes.len()));
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
        let mut batch = Batch::new();
        for length in [60_000, 0, PACKET, 1] {
            client.send(&vec![7; length]).unwrap();
            assert_eq!(batch.receive(server.as_fd()).unwrap(), 1);
            let (packet, _) = batch.packet(0).unwrap();
            assert_eq!(packet, vec![7; length.min(PACKET)]);
        }
    }

    #[test]
    fn a_reply_that_cannot_be_sent_does_not_keep_the_others() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"x", server.local_addr().unwrap()).unwrap();
        let mut batch = Batch::new();
        batch.receive(server.as_fd()).unwrap();
        let bytes = vec![1; 70_000];
        // No packet is as long as the first.
        let failed = batch.reply(server.as_fd(), &bytes, &[(0, 0..70_000), (0, 0..5)]);
        assert_eq!(failed, 1);
        let mut reply = [0; 100];
        assert_eq!(client.recv(&mut reply).unwrap(), 5);
    }
}
