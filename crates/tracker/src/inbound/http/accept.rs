//! Takes connections in, and ends those whose time is over.
//!
//! What came with a connection is answered at once. One that is closed after its reply, as most clients do, is over
//! then, and costs neither a task nor a place among those that the runtime watches.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::Socket;
use tokio::io::unix::AsyncFd;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use weir_web::seats::Holder;

use super::Http;
use super::connection::HttpConnection;

/// Connections taken in before others get a turn.
const AT_ONCE: usize = 64;
/// Between two lines of the log about the same trouble.
const QUIET: u32 = 60;

/// The connections of one listener.
struct OpenConnections {
    http: Arc<Http>,
    tasks: JoinSet<()>,
    deadlines: HashMap<Id, (Arc<AtomicU32>, AbortHandle)>,
    /// When trouble may be logged again.
    quiet_until: u32,
}

impl Http {
    /// Accepts and answers until `stop`.
    pub(crate) async fn run(self: Arc<Self>, listener: AsyncFd<Socket>, stop: CancellationToken) {
        let mut open = OpenConnections {
            http: self,
            tasks: JoinSet::new(),
            deadlines: HashMap::new(),
            quiet_until: 0,
        };
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stopped = std::pin::pin!(stop.cancelled());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => return,
                Some(ended) = open.tasks.join_next_with_id(), if !open.tasks.is_empty() => {
                    let id = ended.map_or_else(|error| open.ended_badly(error), |(id, ())| id);
                    open.deadlines.remove(&id);
                }
                _ = second.tick(), if !open.tasks.is_empty() => open.end_late(),
                // All are taken in, and who only sits there goes: nobody waits in the kernel's queue behind them.
                ready = listener.readable() => {
                    let Ok(mut ready) = ready else { return };
                    let mut left = AT_ONCE;
                    while left > 0 {
                        left -= 1;
                        match ready.try_io(|listener| accept(listener.get_ref())) {
                            Ok(Ok((stream, peer))) => open.take_in(stream, peer),
                            Ok(Err(error)) => {
                                open.cannot_accept(&error).await;
                                break;
                            }
                            Err(_would_block) => break,
                        }
                    }
                    if left == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }
}

impl OpenConnections {
    /// A connection was cut or panicked; the others go on.
    fn ended_badly(&self, error: JoinError) -> Id {
        let id = error.id();
        if let Ok(panic) = error.try_into_panic() {
            self.http.vital.panicked(&*panic);
        }
        id
    }

    fn take_in(&mut self, stream: TcpStream, peer: SocketAddr) {
        #[cfg(test)]
        crate::fault::on_accept(peer.ip());
        let connection = HttpConnection::new(Arc::clone(&self.http), peer);
        // Answered here and not in a task of its own: a panic would end all connections of this thread. The buffers,
        // which they share, are filled anew for each answer.
        let begun = self.http.vital.guard(|| connection.begin(&stream));
        let Some((mut connection, begun)) = begun.flatten() else {
            return;
        };
        let deadline = connection.share_deadline();
        let http = &self.http;
        let trust = &http.tracker.terms().trust;
        let holder = Holder::at(peer.ip(), |address| trust.is_proxy(address));
        let (tasks, deadlines) = (&mut self.tasks, &mut self.deadlines);
        http.seats.take(holder, http.clock.now().moment.0, |seat| {
            let task = tasks.spawn(connection.serve(stream, begun, seat));
            deadlines.insert(task.id(), (deadline, task.clone()));
            task
        });
    }

    async fn cannot_accept(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            return;
        }
        let now = self.http.seconds();
        if now >= self.quiet_until {
            self.quiet_until = now + QUIET;
            tracing::warn!(%error, "cannot accept tracker connections for the moment");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Ends connections whose time is over.
    fn end_late(&mut self) {
        let now = self.http.seconds();
        for (deadline, task) in self.deadlines.values() {
            if deadline.load(Ordering::Relaxed) < now {
                task.abort();
            }
        }
    }
}

fn accept(listener: &Socket) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((stream.into(), peer))
}
