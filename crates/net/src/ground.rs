//! The seam to the network: names, streams and datagrams.
//!
//! [`System`](crate::System) is the machine's; tests bring one in memory, because paused time must not
//! wait for a kernel.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Error;

/// What connections stand on.
pub trait Ground: Send + Sync + 'static {
    /// All addresses of a name, in the order in which they should be tried; never an empty list.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>>;

    /// Opens a stream. May wait for ever: the caller bounds it.
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>>;

    /// The address of this machine that packets to another come from; `None` where that is not known.
    fn own(&self, to: SocketAddr) -> Option<IpAddr> {
        let _ = to;
        None
    }

    /// An unconnected socket on a port of the system's choice. `Any` can send to both families where
    /// the machine has both.
    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>>;
}

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// Packets to and from anyone.
pub trait Datagrams: Send + Sync + 'static {
    /// Sends one packet. Success says that it left, not that it arrived.
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, Result<(), Error>>;

    /// The next packet and who sent it; what does not fit is cut off. That an earlier packet could not
    /// be delivered is passed over, because the socket serves many upstreams.
    ///
    /// # Cancel safety
    /// A dropped future has taken no packet.
    fn receive<'a>(
        &'a self,
        into: &'a mut [u8],
    ) -> BoxFuture<'a, Result<(usize, SocketAddr), Error>>;
}

/// Which addresses of a host may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Family {
    /// Both.
    #[default]
    Any,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

impl Family {
    /// Whether an address is one of these.
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}
