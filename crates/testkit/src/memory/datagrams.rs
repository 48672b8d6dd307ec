//! Datagrams in memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::sync::{Mutex, mpsc};
use weir_net::{BoxFuture, Datagrams, Error, Family};

use super::Network;

/// Packets that wait in one socket; more are lost.
const QUEUE: usize = 1024;

/// Where our own sockets are: addresses for documentation, which are nobody's.
const OWN_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 254));
const OWN_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe));

pub(super) struct Packet {
    from: SocketAddr,
    bytes: Vec<u8>,
}

/// An unconnected socket, a client's or a scripted server's. Its address is free again when it is dropped.
pub struct Socket {
    network: Network,
    /// One of each family that it has.
    addresses: Vec<SocketAddr>,
    received: Mutex<mpsc::Receiver<Packet>>,
}

impl Socket {
    pub(super) fn bind(network: &Network, addresses: Vec<SocketAddr>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let mut state = network.shared.state.lock();
        for address in &addresses {
            state.sockets.insert(*address, sender.clone());
        }
        drop(state);
        Self {
            network: network.clone(),
            addresses,
            received: Mutex::new(receiver),
        }
    }

    /// Its first address.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    fn deliver(&self, packet: &[u8], to: SocketAddr) -> Result<(), Error> {
        let from = self.addresses.iter().copied();
        let from = from.clone().find(|from| from.is_ipv4() == to.is_ipv4());
        let from = from.ok_or(Error::Unreachable)?;
        if self.network.is_down() {
            return Ok(());
        }
        let mut state = self.network.shared.state.lock();
        if let Some(left) = state.losses.get_mut(&to).filter(|left| **left > 0) {
            *left -= 1;
            return Ok(());
        }
        if let Some(receiver) = state.sockets.get(&to) {
            let bytes = packet.to_vec();
            // A full socket loses packets, as a real one does.
            let _ = receiver.try_send(Packet { from, bytes });
        }
        Ok(())
    }
}

impl Network {
    pub(super) fn own_addresses(&self, family: Family) -> Vec<SocketAddr> {
        let mut state = self.shared.state.lock();
        state.next_port = state
            .next_port
            .checked_add(1)
            .unwrap_or_default()
            .max(49_152);
        let port = state.next_port;
        let own = [OWN_V4, OWN_V6].into_iter();
        let own = own.filter(|address| family.has(*address));
        own.map(|address| SocketAddr::new(address, port)).collect()
    }
}

impl Datagrams for Socket {
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, Result<(), Error>> {
        let sent = self.deliver(packet, to);
        Box::pin(async move { sent })
    }

    fn receive<'a>(
        &'a self,
        into: &'a mut [u8],
    ) -> BoxFuture<'a, Result<(usize, SocketAddr), Error>> {
        Box::pin(async move {
            let packet = self.received.lock().await.recv().await.ok_or(Error::Cut)?;
            let length = packet.bytes.len().min(into.len());
            into[..length].copy_from_slice(&packet.bytes[..length]);
            Ok((length, packet.from))
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.network.shared.state.lock();
        for address in &self.addresses {
            state.sockets.remove(address);
        }
    }
}
