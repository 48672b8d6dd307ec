//! A network in memory: names, streams and datagrams that follow paused time.

mod datagrams;
mod stream;

use std::collections::HashMap;
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Stream};

pub use datagrams::Socket;
pub use stream::{Accepted, Listener};

/// Connections that wait to be accepted; more wait outside.
const BACKLOG: usize = 128;

/// A cheap handle; clones are the same network.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Our own network is away; streams listen to it.
    down: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    names: HashMap<String, Name>,
    listeners: HashMap<SocketAddr, mpsc::Sender<Accepted>>,
    sockets: HashMap<SocketAddr, mpsc::Sender<datagrams::Packet>>,
    faults: HashMap<SocketAddr, Fault>,
    /// Packets to an address that are still to be lost.
    losses: HashMap<SocketAddr, u64>,
    tries: HashMap<SocketAddr, usize>,
    next_port: u16,
}

/// What is known about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its addresses, in this order.
    Addresses(Vec<IpAddr>),
    /// There is no such name; the same as for names never mentioned.
    Unknown,
    /// The name server does not answer, which takes five seconds as in reality.
    Silent,
}

/// What happens to those who connect to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Refused, as where nobody listens.
    Refused,
    /// No route to the host.
    NoRoute,
    /// The network cannot be reached.
    Unreachable,
    /// Nothing happens, ever.
    Silent,
    /// It works after this time.
    Slow(Duration),
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Network {
    /// A network without names, listeners or faults.
    pub fn new() -> Self {
        let (down, _) = watch::channel(false);
        let state = Mutex::default();
        let shared = Arc::new(Shared { state, down });
        Self { shared }
    }

    /// This network as a [`Ground`].
    pub fn ground(&self) -> Arc<dyn Ground> {
        Arc::new(self.clone())
    }

    /// Says what is known about a name.
    pub fn set_name(&self, name: &str, known: Name) {
        let mut state = self.shared.state.lock();
        state.names.insert(name.to_owned(), known);
    }

    /// Gives a name its addresses; `resolves("a.example", &["192.0.2.1"])`.
    ///
    /// # Panics
    /// If a text is no address.
    pub fn resolves(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|text| match text.parse() {
            Ok(address) => address,
            Err(_) => panic!("{text} is no address"),
        });
        self.set_name(name, Name::Addresses(addresses.collect()));
    }

    /// Listens at an address, in place of whoever listened there.
    pub fn listen(&self, address: SocketAddr) -> Listener {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        self.shared.state.lock().listeners.insert(address, sender);
        Listener::new(address, receiver)
    }

    /// A socket at an address of one's choice, for a scripted server.
    pub fn datagrams(&self, address: SocketAddr) -> Socket {
        Socket::bind(self, vec![address])
    }

    /// Changes what happens to those who connect to an address; nothing takes the fault away.
    pub fn set_fault(&self, address: SocketAddr, fault: impl Into<Option<Fault>>) {
        let faults = &mut self.shared.state.lock().faults;
        match fault.into() {
            Some(fault) => faults.insert(address, fault),
            None => faults.remove(&address),
        };
    }

    /// The next `count` packets to an address are lost.
    pub fn lose(&self, address: SocketAddr, count: u64) {
        self.shared.state.lock().losses.insert(address, count);
    }

    /// Our whole network is away or back: name servers are silent, connecting is impossible, packets are
    /// lost, open streams stand still until it is back.
    pub fn set_down(&self, down: bool) {
        self.shared.down.send_replace(down);
    }

    /// How often somebody tried to connect to an address, also in vain.
    pub fn connections(&self, address: SocketAddr) -> usize {
        let state = self.shared.state.lock();
        state.tries.get(&address).copied().unwrap_or(0)
    }

    fn is_down(&self) -> bool {
        *self.shared.down.borrow()
    }

    async fn open(&self, to: SocketAddr) -> Result<Box<dyn Stream>, Error> {
        let fault = {
            let mut state = self.shared.state.lock();
            *state.tries.entry(to).or_default() += 1;
            state.faults.get(&to).copied()
        };
        if self.is_down() {
            return Err(Error::Unreachable);
        }
        match fault {
            Some(Fault::Refused) => return Err(Error::Refused),
            Some(Fault::NoRoute) => return Err(Error::NoRoute),
            Some(Fault::Unreachable) => return Err(Error::Unreachable),
            Some(Fault::Silent) => pending().await,
            Some(Fault::Slow(time)) => sleep(time).await,
            None => {}
        }
        let (client, server) = stream::pair(self.shared.down.subscribe());
        let listener = self.shared.state.lock().listeners.get(&to).cloned();
        let listener = listener.ok_or(Error::Refused)?;
        let sent = listener.send(server).await;
        sent.map_err(|_| Error::Refused)?;
        Ok(Box::new(client))
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let known = self.shared.state.lock().names.get(name).cloned();
        match known {
            _ if self.is_down() => self.silence().await,
            Some(Name::Addresses(addresses)) if !addresses.is_empty() => Ok(addresses),
            Some(Name::Silent) => self.silence().await,
            _ => Err(Error::NoSuchHost),
        }
    }

    async fn silence(&self) -> Result<Vec<IpAddr>, Error> {
        sleep(Duration::from_secs(5)).await;
        Err(Error::SilentDns)
    }
}

impl Ground for Network {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Box::pin(self.look_up(name))
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        Box::pin(self.open(to))
    }

    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        let socket = Socket::bind(self, self.own_addresses(family));
        Box::pin(async move { Ok(Arc::new(socket) as Arc<dyn Datagrams>) })
    }
}
