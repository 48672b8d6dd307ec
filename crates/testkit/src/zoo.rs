//! Trackers, indexers, news servers and hooks that behave well, badly, or one after the other.
//!
//! The same one runs in memory, where time can be paused, and on loopback, where real bytes are
//! read. It remembers what it was asked and changes its behaviour when told to.

pub mod flood;
pub mod hook;
pub mod http;
pub mod indexer;
pub mod news;
mod script;
mod serve;
pub mod udp;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::Instant;
use weir_net::Datagrams;

use crate::memory::{Accepted, Listener, Network};

/// Requests that are remembered; a test that makes more does not look at them one by one.
const REMEMBERED: usize = 100_000;

/// Where one stands.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// In a network in memory.
    Memory(&'a Network, SocketAddr),
    /// On a free port of this machine.
    Loopback,
}

/// One request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it was complete.
    pub at: Instant,
    /// The head of an HTTP request, or a packet.
    pub bytes: Vec<u8>,
}

/// What one does now and what it was asked; shared between its handle and its tasks.
struct Book<B> {
    behaviour: Mutex<B>,
    seen: Mutex<Vec<Seen>>,
    /// Bytes that the system, or the other side in memory, has taken from it.
    written: AtomicUsize,
}

impl<B: Clone> Book<B> {
    fn new(behaviour: B) -> Arc<Self> {
        Arc::new(Self {
            behaviour: Mutex::new(behaviour),
            seen: Mutex::default(),
            written: AtomicUsize::new(0),
        })
    }

    fn set(&self, behaviour: B) {
        *self.behaviour.lock() = behaviour;
    }

    fn behaviour(&self) -> B {
        self.behaviour.lock().clone()
    }

    fn note(&self, bytes: &[u8]) {
        let mut seen = self.seen.lock();
        if seen.len() < REMEMBERED {
            let at = Instant::now();
            let bytes = bytes.to_vec();
            seen.push(Seen { at, bytes });
        }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }
}

/// Listens in memory or on loopback.
enum Door {
    Memory(Listener),
    Loopback(TcpListener),
}

/// A connection that can be cut off rudely.
trait Guest: AsyncRead + AsyncWrite + Send + Unpin {
    /// Ends it so that the other side gets an error.
    fn reset(self: Box<Self>);
}

impl Guest for Accepted {
    fn reset(self: Box<Self>) {
        (*self).reset();
    }
}

impl Guest for TcpStream {
    fn reset(self: Box<Self>) {
        // Closing without lingering sends a reset instead of an end.
        let _ = socket2::SockRef::from(&*self).set_linger(Some(std::time::Duration::ZERO));
    }
}

impl Door {
    async fn open(place: Place<'_>) -> io::Result<(Self, SocketAddr)> {
        match place {
            Place::Memory(network, address) => Ok((Self::Memory(network.listen(address)), address)),
            Place::Loopback => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let address = listener.local_addr()?;
                Ok((Self::Loopback(listener), address))
            }
        }
    }

    async fn accept(&mut self) -> Option<Box<dyn Guest>> {
        match self {
            Self::Memory(listener) => Some(Box::new(listener.accept().await?)),
            Self::Loopback(listener) => {
                let (stream, _) = listener.accept().await.ok()?;
                // Short answers in a row must not wait for each other.
                let _ = stream.set_nodelay(true);
                Some(Box::new(stream))
            }
        }
    }
}

/// A socket in memory or on loopback, at a known address.
async fn post(place: Place<'_>) -> io::Result<(Arc<dyn Datagrams>, SocketAddr)> {
    match place {
        Place::Memory(network, address) => Ok((Arc::new(network.datagrams(address)), address)),
        Place::Loopback => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let address = socket.local_addr()?;
            Ok((Arc::new(udp::Loopback(socket)), address))
        }
    }
}
