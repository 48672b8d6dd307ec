//! Opens the sockets of both listeners, and starts the threads that answer on them.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::Mutex;
use socket2::Socket;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use weir_web::Guest;
use weir_web::seats::{Seating, Seats};

use super::connection_id::ConnectionIds;
use super::http::{ConnectionLimits, Http};
use super::own::{self, OwnAddresses};
use super::socket::{self, SocketGroup, Transport};
use super::system;
use super::udp::{UdpListener, UdpShared, reply_late};
use crate::clock::TrackerClock;
use crate::error::Error;
use crate::tally::Tallies;
use crate::threads::Threads;
use crate::tracker::Tracker;

/// Packets of one socket on their way to where their replies are held; those beyond are answered at once.
const LATE: usize = 1024;
/// Connections that may wait for the ordinary router; those beyond are closed.
const GUESTS: usize = 256;
/// Listener threads where the configuration does not say how many: more take one another's time.
const THREADS: usize = 4;

/// Where both listeners listen, and whom the one for HTTP accepts.
pub(crate) struct Listening {
    pub(crate) udp: Option<SocketAddr>,
    pub(crate) http: Option<SocketAddr>,
    /// Of each listener; `None` is one for each core, within reason.
    pub(crate) threads: Option<NonZeroU32>,
    pub(crate) seating: Seating,
    pub(crate) limits: ConnectionLimits,
}

/// Sockets that nobody answers yet. They are opened before anything runs, so that a port that is taken stops nothing.
pub(crate) struct Sockets {
    udp: Vec<SocketGroup>,
    tcp: Vec<SocketGroup>,
}

/// The listeners, once their threads run.
pub(crate) struct RunningListeners {
    /// Where they listen, by protocol.
    pub(crate) addresses: Vec<(&'static str, SocketAddr)>,
    /// The places of HTTP connections.
    pub(crate) seats: Seats,
    /// Connections for the ordinary router, until they are handed over.
    pub(crate) guests: Mutex<Option<mpsc::Receiver<Guest>>>,
    udp: Vec<Arc<Socket>>,
    /// Replies over UDP that are held; they end with their threads.
    late: JoinSet<()>,
}

/// What both listeners answer from, and the pages show.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) clock: TrackerClock,
    pub(crate) tallies: Tallies,
}

impl Sockets {
    /// One socket of each kind and family for each core that this process may use.
    pub(crate) fn open(rules: &Listening) -> Result<Self, Error> {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let threads = rules.threads.map(|threads| threads.get() as usize);
        let threads = threads.unwrap_or(cores.min(THREADS));
        Ok(Self {
            udp: open(Transport::Udp, rules.udp, threads)?,
            tcp: open(Transport::Tcp, rules.http, threads)?,
        })
    }
}

fn open(
    kind: Transport,
    address: Option<SocketAddr>,
    threads: usize,
) -> Result<Vec<SocketGroup>, Error> {
    let Some(address) = address else {
        return Ok(Vec::new());
    };
    let (key, flag) = match kind {
        Transport::Udp => ("tracker.udp_listen", "-u"),
        Transport::Tcp => ("tracker.http_listen", "-l"),
    };
    socket::open(kind, address, threads).map_err(|source| Error::Listen {
        address,
        key,
        flag,
        source,
    })
}

impl RunningListeners {
    /// Answers from now on. Called within a runtime, which has the replies over UDP that are held.
    pub(crate) fn start(
        sockets: Sockets,
        rules: Listening,
        answering: &Answering,
        threads: &Threads,
    ) -> Result<Self, Error> {
        let (guests, waiting) = mpsc::channel(GUESTS);
        let mut listeners = Self {
            addresses: Vec::new(),
            seats: Seats::new(rules.seating),
            guests: Mutex::new(Some(waiting)),
            udp: Vec::new(),
            late: JoinSet::new(),
        };
        listeners.start_udp(sockets.udp, answering, threads)?;
        listeners.start_http(sockets.tcp, rules.limits, answering, &guests, threads)?;
        Ok(listeners)
    }

    /// Wakes the threads that wait for packets; the others hear of a stop by themselves.
    pub(crate) fn close(&self) {
        for socket in &self.udp {
            // It is not connected, says the system, and wakes the thread that waits on it all the same.
            drop(socket.shutdown(std::net::Shutdown::Both));
        }
    }

    fn start_udp(
        &mut self,
        groups: Vec<SocketGroup>,
        answering: &Answering,
        threads: &Threads,
    ) -> Result<(), Error> {
        let ids = ConnectionIds::new()?;
        let own = Arc::<OwnAddresses>::default();
        let mut addresses = groups.iter().map(|group| group.address.ip());
        if addresses.any(|address| address.is_unspecified()) {
            watch_addresses(&own, threads)?;
        }
        for group in groups {
            self.addresses.push(("udp", group.address));
            for socket in group.sockets {
                let socket = Arc::new(socket);
                self.udp.push(Arc::clone(&socket));
                let vital = threads.watch("udp");
                let shared = UdpShared {
                    tracker: Arc::clone(&answering.tracker),
                    ids: ids.clone(),
                    clock: answering.clock,
                    own: Arc::clone(&own),
                    vital: vital.clone(),
                };
                let (late, waiting) = mpsc::channel(LATE);
                self.start_late(
                    Arc::clone(&socket),
                    shared.clone(),
                    waiting,
                    answering,
                    threads,
                );
                let mut udp = UdpListener::new(shared, answering.tallies.add(), late);
                let stopped = threads.stop_flag();
                threads.start_watched(vital, move || udp.run(&socket, &stopped))?;
            }
        }
        Ok(())
    }

    /// Starts the task that sends the replies of a socket which are held.
    fn start_late(
        &mut self,
        socket: Arc<Socket>,
        shared: UdpShared,
        waiting: mpsc::Receiver<super::udp::LatePacket>,
        answering: &Answering,
        threads: &Threads,
    ) {
        // No reply is held twice, so nobody takes what it would hand on.
        let nobody = mpsc::channel(1).0;
        let udp = UdpListener::new(shared, Arc::default(), nobody);
        let tally = answering.tallies.add();
        let vital = threads.watch("held replies");
        let replies = vital.drive((udp, waiting), move |(udp, waiting)| {
            let socket = Arc::clone(&socket);
            let tally = Arc::clone(&tally);
            Box::pin(async move { reply_late(udp, (&socket, &tally), waiting).await })
        });
        self.late.spawn(replies);
    }

    fn start_http(
        &mut self,
        groups: Vec<SocketGroup>,
        limits: ConnectionLimits,
        answering: &Answering,
        guests: &mpsc::Sender<Guest>,
        threads: &Threads,
    ) -> Result<(), Error> {
        // A thread has one socket of each family.
        let mut by_thread: Vec<Vec<Socket>> = Vec::new();
        for group in groups {
            self.addresses.push(("http", group.address));
            by_thread.resize_with(group.sockets.len(), Vec::new);
            for (sockets, socket) in by_thread.iter_mut().zip(group.sockets) {
                sockets.push(socket);
            }
        }
        for sockets in by_thread {
            let (tracker, clock) = (Arc::clone(&answering.tracker), answering.clock);
            let tally = answering.tallies.add();
            let vital = threads.watch("http");
            let shared = (guests.clone(), self.seats.clone(), vital.clone());
            let (limits, stop) = (limits.clone(), threads.stop_token());
            let runtime = Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build();
            let runtime = runtime.map_err(Error::Thread)?;
            threads.start_watched(vital, move || {
                // A new one for each run, for it counts connections, and those of the run before were cut.
                let (tracker, tally) = (Arc::clone(&tracker), Arc::clone(&tally));
                let http = Http::new(tracker, clock, tally, limits.clone(), shared.clone());
                runtime.block_on(serve(&Arc::new(http), &sockets, &stop))
            })?;
        }
        Ok(())
    }
}

/// Starts the thread that keeps what is known of the machine's addresses up to date. It may have to wait for the kernel,
/// which listeners must not.
fn watch_addresses(own: &Arc<OwnAddresses>, threads: &Threads) -> Result<(), Error> {
    own.look();
    let (own, stop) = (Arc::clone(own), threads.stop_token());
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(Error::Thread)?;
    threads.start("addresses", move || {
        let look = async {
            while let Err(_passed) = tokio::time::timeout(own::LOOK, stop.cancelled()).await {
                own.look();
            }
        };
        runtime.block_on(look);
        Ok(())
    })
}

/// Serves until `stop`. The sockets stay open whatever happens, so connections wait for the next run.
async fn serve(
    http: &Arc<Http>,
    sockets: &[Socket],
    stop: &CancellationToken,
) -> Result<(), String> {
    let mut listeners = JoinSet::new();
    for socket in sockets {
        let listener = socket
            .set_nonblocking(true)
            .and_then(|()| socket.try_clone());
        let listener = listener.and_then(system::watch);
        let listener = listener.map_err(|error| format!("a socket cannot be used: {error}"))?;
        listeners.spawn(Arc::clone(http).run(listener, stop.clone()));
    }
    while let Some(ended) = listeners.join_next().await {
        match ended.map_err(JoinError::try_into_panic) {
            Ok(()) if stop.is_cancelled() => {}
            Ok(()) => return Err("a listener ended".to_owned()),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(error)) => return Err(error.to_string()),
        }
    }
    Ok(())
}
