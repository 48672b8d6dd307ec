//! The network of this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpStream, UdpSocket};

use crate::prompt::Prompt;
use crate::resolver::Resolver;
use crate::{Datagrams, Error, Family, Ground, Stream};

/// Errors about earlier packets that one call ignores at most; if there are more, the socket itself is broken.
const PASSED_OVER: usize = 64;

/// The kernel's sockets and the machine's name servers.
pub struct System {
    resolver: Resolver,
}

impl System {
    /// Uses `/etc/resolv.conf` and `/etc/hosts`, and reads them again when they change. Without them names cannot be
    /// resolved, but everything else works.
    pub fn new() -> Self {
        let resolver = Resolver::machine();
        Self { resolver }
    }

    /// Asks only these name servers.
    pub fn with_name_servers(servers: Vec<SocketAddr>) -> Self {
        let resolver = Resolver::given(&servers);
        Self { resolver }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Ground for System {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Box::pin(self.resolver.resolve(name))
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await;
            let stream = stream.map_err(|error| Error::of_system(&error))?;
            // Each request is a single write, so Nagle's algorithm would only add delay.
            stream
                .set_nodelay(true)
                .map_err(|error| Error::of_system(&error))?;
            Ok(Box::new(Prompt { stream }) as Box<dyn Stream>)
        })
    }

    fn own(&self, to: SocketAddr) -> Option<IpAddr> {
        let domain = Domain::for_address(to);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).ok()?;
        // `connect` sends nothing on UDP: the system only picks a route.
        socket.connect(&to.into()).ok()?;
        let own = socket.local_addr().ok()?.as_socket()?;
        Some(own.ip().to_canonical())
    }

    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        Box::pin(async move {
            let bound = match family {
                Family::V4 => open_v4(),
                Family::V6 => open_v6(true),
                // A machine without IPv6 has no socket for both.
                Family::Any => open_v6(false).or_else(|_| open_v4()),
            };
            let bound = bound.map_err(|error| Error::of_system(&error))?;
            Ok(Arc::new(bound) as Arc<dyn Datagrams>)
        })
    }
}

/// A UDP socket. On one for both families, Linux sends to plain IPv4 addresses but reports senders as mapped IPv6.
struct Udp(UdpSocket);

fn open_v4() -> io::Result<Udp> {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    open(Domain::IPV4, any, |_| Ok(()))
}

fn open_v6(only: bool) -> io::Result<Udp> {
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    open(Domain::IPV6, any, |socket| socket.set_only_v6(only))
}

fn open(
    domain: Domain,
    address: SocketAddr,
    set: impl FnOnce(&Socket) -> io::Result<()>,
) -> io::Result<Udp> {
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    set(&socket)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into()).map(Udp)
}

impl Datagrams for Udp {
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            for _ in 0..PASSED_OVER {
                match self.0.send_to(packet, to).await {
                    Ok(_) => return Ok(()),
                    // The kernel reports an error about an earlier packet before it sends this one.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(Error::of_system(&error)),
                }
            }
            Err(Error::Refused)
        })
    }

    fn receive<'a>(
        &'a self,
        into: &'a mut [u8],
    ) -> BoxFuture<'a, Result<(usize, SocketAddr), Error>> {
        Box::pin(async move {
            let mut passed_over = 0;
            loop {
                match self.0.recv_from(into).await {
                    Ok((length, from)) => {
                        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
                        return Ok((length, from));
                    }
                    Err(error) if passed_over < PASSED_OVER && is_of_a_packet(&error) => {
                        passed_over += 1;
                    }
                    Err(error) => return Err(Error::of_system(&error)),
                }
            }
        })
    }
}

fn is_of_a_packet(error: &io::Error) -> bool {
    matches!(
        Error::of_system(error),
        Error::Refused | Error::NoRoute | Error::Unreachable | Error::TimedOut | Error::Cut
    )
}
