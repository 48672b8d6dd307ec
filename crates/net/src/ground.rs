//! The seam to the network: names, streams and datagrams.
//!
//! [`System`](crate::System) is the machine's network. Tests use one in memory, because tokio's paused time does not
//! wait for real sockets.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Error;

/// A network: looks up names and opens sockets.
pub trait Ground: Send + Sync + 'static {
    /// All addresses of a name, in the order in which they should be tried; never an empty list.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>>;

    /// Opens a stream. This may wait forever: the caller sets a limit.
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>>;

    /// The local address that packets to `to` would come from; `None` if that is not known.
    fn own(&self, to: SocketAddr) -> Option<IpAddr> {
        let _ = to;
        None
    }

    /// An unconnected socket on a port that the system chooses. With `Any` it can send to both families if the
    /// machine has both.
    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>>;
}

/// A connection: bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// A socket for packets to and from anyone.
pub trait Datagrams: Send + Sync + 'static {
    /// Sends one packet. Success means that it was sent, not that it arrived.
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, Result<(), Error>>;

    /// The next packet and its sender; what does not fit is cut off. Errors about earlier packets are
    /// ignored, because the socket serves many upstreams.
    ///
    /// # Cancel safety
    /// Dropping the future loses no packet.
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
    /// Only IPv4.
    V4,
    /// Only IPv6.
    V6,
}

impl Family {
    /// Whether an address belongs to this family.
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}
