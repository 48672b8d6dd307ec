//! Starts and stops the tracker: sockets, threads, the sweep, the files of the swarms.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::Socket;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use weir_config::IpNet;
use weir_engine::{Outward, Timeline, Vital, Vitals};
use weir_net::BoxFuture;
use weir_web::seats::{Seating, Seats};
use weir_web::{Contribution, Guest, Refused, Reload, Requests, Staged};

use crate::clock::{Clock, wall_seconds};
use crate::config::Config;
use crate::error::Error;
use crate::files::{self, Directory, Restored, Rounds};
use crate::forwarder::{Forwarders, Names};
use crate::forwarding::Forwarding;
use crate::inbound::connection_id::ConnectionIds;
use crate::inbound::http::{Http, Limits};
use crate::inbound::own::{self, Own};
use crate::inbound::socket::{self, Group, Kind};
use crate::inbound::system;
use crate::inbound::udp::{Desk, Udp, reply_late};
use crate::ledger::{self, Ledger, snapshot as sheets};
use crate::lists::Lists;
use crate::pages::announce_urls;
use crate::swarm::snapshot::Written;
use crate::swarm::{Swarms, Totals};
use crate::tally::Tallies;
use crate::tracker::{Terms, Tracker, rules};
use crate::trust::Trust;

/// The name of this front.
const FRONT: &str = "tracker";
/// Packets of one socket on their way to where their replies are held.
const LATE: usize = 1024;
/// Connections that may wait for the ordinary router.
const GUESTS: usize = 256;

/// What the rest of Weir tells the tracker.
#[derive(Clone, Debug)]
pub struct Around {
    /// Where its files are.
    pub directory: PathBuf,
    /// Clients whose word about addresses counts (`web.trusted`).
    pub trusted: Vec<IpNet>,
    /// Proxies whose word about clients counts (`web.trusted_proxies`).
    pub trusted_proxies: Vec<IpNet>,
}

impl Around {
    pub(crate) fn trust(&self) -> Trust {
        Trust {
            clients: self.trusted.clone(),
            proxies: self.trusted_proxies.clone(),
        }
    }
}

/// The running tracker.
pub struct Front {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) tallies: Tallies,
    pub(crate) clock: Clock,
    listening: Vec<(&'static str, SocketAddr)>,
    udp: Vec<Arc<Socket>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stopped: Arc<AtomicBool>,
    /// Where threads and tasks are watched that must not end.
    vitals: Vitals,
    pub(crate) stop: CancellationToken,
    /// Ends when its sender is dropped.
    keeper: Mutex<Option<(SyncSender<()>, JoinHandle<()>)>>,
    /// Connections for the web listener, until they are handed over.
    pub(crate) guests: Mutex<Option<mpsc::Receiver<Guest>>>,
    /// The places of HTTP connections.
    pub(crate) seats: Seats,
    pub(crate) forwarders: Option<Arc<Forwarders>>,
    /// Names of forwarders by slot.
    names: Names,
    /// Replies over UDP that are held; they end with their threads.
    late: JoinSet<()>,
}

impl Front {
    /// Opens the listeners and answers from then on. Called within a runtime, which does the work that is not urgent.
    /// Without `outward` nothing is sent on.
    ///
    /// # Errors
    /// When a port, a list or a thread is not to be had.
    pub fn start(
        config: &Config,
        around: &Around,
        timeline: Timeline,
        outward: Option<Outward>,
    ) -> Result<Self, Error> {
        let threads = threads(config);
        let lists = Lists::read(config.allow_file.as_deref(), config.deny_file.as_deref())?;
        let udp = open(Kind::Udp, config.udp_listen, threads)?;
        let tcp = open(Kind::Tcp, config.http_listen, threads)?;
        let clock = Clock::on(timeline);
        let (directory, swarms) =
            restore(config, around, clock).map_err(|source| Error::Files {
                path: around.directory.clone(),
                source,
            })?;
        let terms = Terms::new(config, around.trust(), lists);
        let (guests, waiting) = mpsc::channel(GUESTS);
        let vitals = outward
            .as_ref()
            .map(|outward| outward.engine.vitals().clone());
        let seating = Seating::new(
            config.http_connections.get() as usize,
            config.http_connections_per_address,
        );
        let mut front = Self {
            tracker: Arc::new(Tracker::new(swarms, terms)),
            tallies: Tallies::default(),
            clock,
            listening: Vec::new(),
            udp: Vec::new(),
            threads: Mutex::default(),
            stopped: Arc::default(),
            vitals: vitals.unwrap_or_default(),
            stop: CancellationToken::new(),
            keeper: Mutex::default(),
            guests: Mutex::new(Some(waiting)),
            seats: Seats::new(seating),
            forwarders: None,
            names: Names::default(),
            late: JoinSet::new(),
        };
        if let Some(outward) = outward {
            front.forward(config, outward, &directory)?;
        }
        front.keep(directory, clock, config.snapshot_every)?;
        front.start_udp(udp, clock)?;
        front.start_http(tcp, clock, &limits(config), &guests)?;
        Ok(front)
    }

    /// Where it listens, by protocol.
    pub fn listening(&self) -> &[(&'static str, SocketAddr)] {
        &self.listening
    }

    /// How many swarms and peers there are.
    pub fn totals(&self) -> Totals {
        self.tracker.swarms.totals()
    }

    /// Stops listening and ends the threads that serve clients; the second time nothing is left to do.
    fn stop_listening(&self) {
        self.stop.cancel();
        self.stopped.store(true, Ordering::Release);
        for socket in &self.udp {
            // It is not connected, says the system, and wakes the thread that waits on it all the same.
            drop(socket.shutdown(std::net::Shutdown::Both));
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            join(thread);
        }
    }

    /// Opens the way to other trackers.
    fn forward(
        &mut self,
        config: &Config,
        outward: Outward,
        directory: &Directory,
    ) -> Result<(), Error> {
        let limits = ledger::Limits {
            sheets: config.max_swarms.get() as usize,
            peers: config.max_forwarder_peers.get() as usize,
            peers_of_one: config.forwarder_peers.get() as usize,
        };
        let (forwarding, rings) = Forwarding::new(
            outward.engine.gate(),
            outward.engine.timeline(),
            Ledger::new(limits, directory.key()),
            config.first_wait_replies.get() as usize,
        );
        self.tracker.set_forwarding(forwarding);
        let tracker = &self.tracker;
        let now = sheets::Written {
            seconds: self.clock.now().seconds,
            wall: wall_seconds(),
        };
        let ledger = tracker.forwarding().ledger();
        let restored = directory.restore_sheets(ledger, &tracker.swarms, now);
        *self.names.lock() = restored.map_err(|source| Error::Files {
            path: directory.path().into(),
            source,
        })?;
        let names = Arc::clone(&self.names);
        let forwarders = Forwarders::start(config, tracker, self.clock, outward, rings, names)?;
        self.forwarders = Some(forwarders);
        Ok(())
    }

    fn start_udp(&mut self, groups: Vec<Group>, clock: Clock) -> Result<(), Error> {
        let ids = ConnectionIds::new()?;
        let own = Arc::<Own>::default();
        if groups
            .iter()
            .any(|group| group.address.ip().is_unspecified())
        {
            self.watch_addresses(&own)?;
        }
        for group in groups {
            self.listening.push(("udp", group.address));
            for socket in group.sockets {
                let socket = Arc::new(socket);
                self.udp.push(Arc::clone(&socket));
                let (late, waiting) = mpsc::channel(LATE);
                let vital = self.vitals.add(FRONT, "udp");
                let desk = Desk {
                    tracker: Arc::clone(&self.tracker),
                    ids: ids.clone(),
                    clock,
                    own: Arc::clone(&own),
                    vital: vital.clone(),
                };
                if self.forwarders.is_some() {
                    let udp = Udp::new(desk.clone(), self.tallies.add(), mpsc::channel(1).0);
                    let socket = Arc::clone(&socket);
                    let late = self.vitals.add(FRONT, "held replies");
                    let replies = late.drive((udp, waiting), move |(udp, waiting)| {
                        let socket = Arc::clone(&socket);
                        Box::pin(async move { reply_late(udp, &socket, waiting).await })
                    });
                    self.late.spawn(replies);
                }
                let mut udp = Udp::new(desk, self.tallies.add(), late);
                let stopped = Arc::clone(&self.stopped);
                self.thread_of(vital, move || udp.run(&socket, &stopped))?;
            }
        }
        Ok(())
    }

    /// Starts the thread that keeps what is known of the machine's addresses up to date. It may have to wait for the
    /// kernel, which listeners must not.
    fn watch_addresses(&mut self, own: &Arc<Own>) -> Result<(), Error> {
        own.look();
        let (own, stop) = (Arc::clone(own), self.stop.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(Error::Thread)?;
        self.thread("addresses", move || {
            let look = async {
                while let Err(_passed) = tokio::time::timeout(own::LOOK, stop.cancelled()).await {
                    own.look();
                }
            };
            runtime.block_on(look);
            Ok(())
        })
    }

    fn start_http(
        &mut self,
        groups: Vec<Group>,
        clock: Clock,
        limits: &Limits,
        guests: &mpsc::Sender<Guest>,
    ) -> Result<(), Error> {
        let mut by_thread: Vec<Vec<Socket>> = Vec::new();
        for group in groups {
            self.listening.push(("http", group.address));
            by_thread.resize_with(group.sockets.len(), Vec::new);
            for (sockets, socket) in by_thread.iter_mut().zip(group.sockets) {
                sockets.push(socket);
            }
        }
        for sockets in by_thread {
            let (tracker, tally) = (Arc::clone(&self.tracker), self.tallies.add());
            let vital = self.vitals.add(FRONT, "http");
            let parts = (
                limits.clone(),
                (guests.clone(), self.seats.clone(), vital.clone()),
            );
            let stop = self.stop.clone();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build()
                .map_err(Error::Thread)?;
            self.thread_of(vital, move || {
                // A new one for each run, for it counts connections, and those of the run before were cut.
                let (limits, shared) = parts.clone();
                let (tracker, tally) = (Arc::clone(&tracker), Arc::clone(&tally));
                let http = Arc::new(Http::new(tracker, clock, tally, limits, shared));
                runtime.block_on(serve(&http, &sockets, &stop))
            })?;
        }
        Ok(())
    }

    /// Starts a thread whose work is done again should it panic or fail; it returns `Ok` when the tracker stops.
    pub(crate) fn thread(
        &self,
        name: &'static str,
        run: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<(), Error> {
        self.thread_of(self.vitals.add(FRONT, name), run)
    }

    fn thread_of(
        &self,
        vital: Vital,
        run: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<(), Error> {
        let stopped = Arc::clone(&self.stopped);
        self.threads.lock().push(spawn(vital, stopped, run)?);
        Ok(())
    }

    /// Starts the thread that has time.
    fn keep(&mut self, directory: Directory, clock: Clock, every: Duration) -> Result<(), Error> {
        let tracker = Arc::clone(&self.tracker);
        let names = Arc::clone(&self.names);
        let (keep, stop) = std::sync::mpsc::sync_channel(1);
        let vital = self.vitals.add(FRONT, "swarms");
        let watch = vital.clone();
        let mut rounds = Rounds::new(every);
        let thread = spawn(vital, Arc::clone(&self.stopped), move || {
            files::run(
                &tracker,
                &directory,
                clock,
                &mut rounds,
                &names,
                &watch,
                &stop,
            );
            Ok(())
        })?;
        *self.keeper.lock() = Some((keep, thread));
        Ok(())
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, requests: &Requests) -> Result<Contribution, Refused> {
        Ok(self.contribute(requests)?)
    }

    fn greeting(&self) -> String {
        let urls = announce_urls(&self.listening, "127.0.0.1");
        if urls.is_empty() {
            return "The tracker is off: neither `tracker.http_listen` nor `tracker.udp_listen` is set.\n".to_owned();
        }
        let lines: String = urls.iter().map(|(_, url)| format!("  {url}\n")).collect();
        format!(
            "The tracker answers; announce to it at this machine's name or address, here:\n{lines}"
        )
    }

    fn look_up_anew(&self) {
        if let Some(forwarders) = &self.forwarders {
            forwarders.look_up_anew();
        }
    }

    /// Other trackers are told within `drain` whose peers stopped.
    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop_listening();
            if let Some(forwarders) = &self.forwarders {
                forwarders.stop(drain).await;
            }
        })
    }

    fn close(&self) {
        self.stop_listening();
        let keeper = self.keeper.lock().take();
        if let Some((keep, thread)) = keeper {
            // Now that nobody changes anything, the rest is written.
            drop(keep);
            join(thread);
        }
    }
}

impl<C: AsRef<Config> + AsRef<weir_web::Config>> Reload<C> for Front {
    /// Ports, threads and caps stay as they were at the start.
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (config, web): (&Config, &weir_web::Config) = (config.as_ref(), config.as_ref());
        let lists = Lists::read(config.allow_file.as_deref(), config.deny_file.as_deref())?;
        let terms = Terms::new(config, Trust::new(web), lists);
        let config = config.clone();
        let (tracker, forwarders) = (Arc::clone(&self.tracker), self.forwarders.clone());
        Ok(Box::new(move || {
            tracker.set_terms(terms);
            if let Some(forwarders) = forwarders {
                forwarders.reload(&config);
            }
        }))
    }
}

fn restore(config: &Config, around: &Around, clock: Clock) -> io::Result<(Directory, Swarms)> {
    let directory = Directory::open(&around.directory)?;
    let swarms = Swarms::new(rules(config), directory.key());
    let now = Written {
        minute: clock.now().minute,
        wall: wall_seconds(),
    };
    let Restored { peers, bad } = directory.restore(&swarms, now)?;
    if peers > 0 || bad > 0 {
        let swarms = swarms.totals().swarms;
        tracing::info!(swarms, peers, bad, "swarms are back");
    }
    Ok((directory, swarms))
}

/// Starts a thread that is watched. Its name is that of its part.
fn spawn(
    vital: Vital,
    stopped: Arc<AtomicBool>,
    run: impl FnMut() -> Result<(), String> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let thread = std::thread::Builder::new().name(format!("weir-{}", vital.name()));
    let stopped = move || stopped.load(Ordering::Acquire);
    let thread = thread.spawn(move || vital.run(stopped, run));
    thread.map_err(Error::Thread)
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a tracker thread had panicked");
    }
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

fn open(kind: Kind, address: Option<SocketAddr>, threads: usize) -> Result<Vec<Group>, Error> {
    let Some(address) = address else {
        return Ok(Vec::new());
    };
    let (key, flag) = match kind {
        Kind::Udp => ("tracker.udp_listen", "-u"),
        Kind::Tcp => ("tracker.http_listen", "-l"),
    };
    socket::open(kind, address, threads).map_err(|source| Error::Listen {
        address,
        key,
        flag,
        source,
    })
}

/// One for each core that this process may use; more than four take one another's time.
fn threads(config: &Config) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    config
        .listener_threads
        .map_or(cores.min(4), |threads| threads.get() as usize)
}

fn limits(config: &Config) -> Limits {
    let seconds = |time: Duration| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX / 2);
    Limits {
        idle: seconds(config.http_idle_timeout),
        request: seconds(config.http_request_timeout),
        bytes: config.http_request_bytes.len(),
    }
}

#[cfg(test)]
mod tests;
