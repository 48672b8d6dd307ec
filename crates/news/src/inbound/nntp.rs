//! The NNTP server: newsreaders see all servers as one, whose article numbers never change (RFC 3977).
//!
//! [`NntpServer`] accepts connections and gives each a [`session`], which reads commands, asks the model in domain words and
//! writes replies. [`wire`] has the bytes, [`standing`] who somebody is, [`share`] what one household may have.

mod article;
mod articles;
mod figures;
mod lists;
mod novelty;
mod packing;
mod posting;
mod ranges;
mod session;
mod share;
mod standing;
mod telling;
mod unread;
mod wire;

use std::io::Write;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_engine::{Own, OwnKind, OwnReason, Vitals, about};
use weir_net::{ServerTls, Stream};
use weir_web::Porter;
use weir_web::seats::Seats;

use crate::error::Error;
use crate::model::Model;
use crate::rules::{NntpRules, NntpStart};

use self::session::Session;
use self::share::Shares;

pub(crate) use self::figures::{NntpFigures, OpenKind};

/// Time before the next try after the system has refused a connection, for want of descriptors for example.
const BREATHER: Duration = Duration::from_millis(100);

/// Time that sessions have to end at least, however short the drain is.
const LAST: Duration = Duration::from_secs(1);

/// Sockets that nobody answers yet.
#[derive(Debug, Default)]
pub struct NntpSockets {
    /// Of `news.nntp_listen`.
    pub plain: Option<StdListener>,
    /// Of `news.nntps_listen`.
    pub secure: Option<StdListener>,
}

/// The server. It answers from [`Self::serve`] on.
pub(crate) struct NntpServer {
    parts: Arc<NntpParts>,
    certificate: Option<(PathBuf, PathBuf)>,
    sockets: Mutex<NntpSockets>,
    /// Where it listens, by protocol.
    addresses: Vec<(&'static str, SocketAddr)>,
    vitals: Vitals,
    tasks: TaskTracker,
    /// Nobody has time any more.
    closing: CancellationToken,
}

/// What all sessions share.
struct NntpParts {
    model: Arc<Model>,
    /// Replaced as a whole by a reload.
    rules: ArcSwap<NntpRules>,
    host: String,
    public: bool,
    /// Replaced by a reload; nothing without a certificate.
    tls: ArcSwapOption<ServerTls>,
    compressed: usize,
    shares: Shares,
    figures: NntpFigures,
    seats: Seats,
    /// Cancelled when Weir is about to stop.
    leaving: CancellationToken,
    /// The zero of the seats' clock.
    began: Instant,
}

/// The parts, and who judges clients.
#[derive(Clone)]
struct NntpService {
    parts: Arc<NntpParts>,
    porter: Porter,
}

impl NntpServer {
    /// Takes the sockets over; nobody is served yet.
    ///
    /// # Errors
    /// When the certificate or a socket cannot be used.
    pub(crate) fn new(
        (start, rules): (NntpStart, NntpRules),
        (model, public): (Arc<Model>, bool),
        sockets: NntpSockets,
        vitals: Vitals,
    ) -> Result<Self, Error> {
        let certificate = start.certificate;
        let tls = read_certificate(certificate.as_ref())?;
        model.set_host(&start.host);
        let parts = NntpParts {
            model,
            rules: ArcSwap::from_pointee(rules),
            host: start.host,
            public,
            tls: ArcSwapOption::new(tls.map(Arc::new)),
            compressed: start.compressed,
            shares: Shares::new(start.in_flight),
            figures: NntpFigures::default(),
            seats: Seats::new(start.seating),
            leaving: CancellationToken::new(),
            began: Instant::now(),
        };
        let both = [("nntp", &sockets.plain), ("nntps", &sockets.secure)];
        let mut addresses = Vec::new();
        for (protocol, socket) in both {
            if let Some(socket) = socket {
                socket.set_nonblocking(true).map_err(Error::Socket)?;
                addresses.push((protocol, socket.local_addr().map_err(Error::Socket)?));
            }
        }
        Ok(Self {
            parts: Arc::new(parts),
            certificate,
            sockets: Mutex::new(sockets),
            addresses,
            vitals,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        })
    }

    /// Where it listens, by protocol.
    pub(crate) fn listening(&self) -> &[(&'static str, SocketAddr)] {
        &self.addresses
    }

    /// How long ago somebody signed in or read something, for as long as the process runs.
    pub(crate) fn last_success(
        &self,
    ) -> impl Fn() -> Option<Duration> + Send + Sync + 'static + use<> {
        let parts = self.parts.clone();
        move || {
            let at = parts.figures.last_success()?;
            Some(parts.began.elapsed().saturating_sub(at))
        }
    }

    pub(crate) fn figures(&self) -> &NntpFigures {
        &self.parts.figures
    }

    pub(crate) fn seats(&self) -> &Seats {
        &self.parts.seats
    }

    /// Answers from now on. Called within a runtime.
    pub(crate) fn serve(&self, porter: &Porter) {
        let NntpSockets { plain, secure } = std::mem::take(&mut *self.sockets.lock());
        let both = [("nntp", false, plain), ("nntps", true, secure)];
        for (name, encrypted, socket) in both {
            let Some(socket) = socket else { continue };
            let service = NntpService {
                parts: self.parts.clone(),
                porter: porter.clone(),
            };
            let vital = self.vitals.add("news", name);
            let closing = self.closing.clone();
            let state = (service, Some(socket));
            self.tasks
                .spawn(vital.drive(state, move |(service, socket)| {
                    let closing = closing.clone();
                    Box::pin(async move { service.listen(socket, encrypted, closing).await })
                }));
        }
    }

    /// Prepares the certificate anew, as it is now in its files, for [`Self::apply`].
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn stage(&self) -> Result<Option<ServerTls>, Error> {
        read_certificate(self.certificate.as_ref())
    }

    /// Takes other settings over.
    pub(crate) fn apply(&self, rules: NntpRules, tls: Option<ServerTls>) {
        self.parts.rules.store(Arc::new(rules));
        self.parts.tls.store(tls.map(Arc::new));
    }

    /// Nobody is accepted any more; whoever asks nothing is told that Weir stops, others after their answer.
    pub(crate) fn leave(&self) {
        self.parts.leaving.cancel();
    }

    /// Ends all sessions within `drain`.
    pub(crate) async fn stop(&self, drain: Duration) {
        self.leave();
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait()).await.is_ok() {
            return;
        }
        self.closing.cancel();
        let _ = tokio::time::timeout(LAST, self.tasks.wait()).await;
    }
}

impl NntpService {
    /// Accepts connections until Weir stops; then waits for those that are open, or cuts them once `closing`.
    async fn listen(
        &self,
        socket: &mut Option<StdListener>,
        encrypted: bool,
        closing: CancellationToken,
    ) {
        // A copy, for the next run needs it again if this one panics.
        let copy = socket.as_ref().map(StdListener::try_clone);
        let Some(copy) = copy else { return };
        let listener = match copy.and_then(TcpListener::from_std) {
            Ok(listener) => listener,
            Err(error) => panic!("a socket that was opened cannot be used: {error}"),
        };
        let leaving = &self.parts.leaving;
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = leaving.cancelled() => break,
                Some(_) = open.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.welcome_socket(&mut open, stream, peer, encrypted),
                Err(error) => {
                    tracing::warn!(front = "news", %error, "cannot accept a newsreader right now; trying again");
                    tokio::select! {
                        () = leaving.cancelled() => break,
                        () = tokio::time::sleep(BREATHER) => {}
                    }
                }
            }
        }
        // Both, or newcomers would wait in the queue of a socket that nobody looks at.
        drop((listener, socket.take()));
        let all = async { while open.join_next().await.is_some() {} };
        let cut = tokio::select! {
            () = all => false,
            () = closing.cancelled() => true,
        };
        if cut {
            tracing::warn!(
                front = "news",
                cut = open.len(),
                "newsreaders were cut off at the end of the drain time"
            );
            open.shutdown().await;
        }
    }

    fn welcome_socket(
        &self,
        open: &mut JoinSet<()>,
        stream: TcpStream,
        peer: SocketAddr,
        encrypted: bool,
    ) {
        // Replies are written in one piece where they are short; the last piece of a long one must not wait either.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::trace!(%error, "cannot set TCP_NODELAY");
        }
        let turned_away = self.welcome(open, stream, peer, encrypted);
        if let Some(stream) = turned_away.and_then(|stream| stream.into_std().ok())
            && !encrypted
        {
            // Its buffer is empty, so this goes out at once; if not, nobody waits.
            let _ = (&stream).write(b"400 Too many connections: try again later\r\n");
        }
    }

    /// Serves a connection in a task of its own; gives it back if there is no place for it.
    fn welcome<S: Stream>(
        &self,
        open: &mut JoinSet<()>,
        stream: S,
        peer: SocketAddr,
        encrypted: bool,
    ) -> Option<S> {
        let client = self.porter.client(peer.ip());
        let holder = self.porter.holder(&client);
        let began = self.parts.began;
        let now = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut stream = Some(stream);
        self.parts.seats.take(holder, now, |seat| {
            let place = (seat, began);
            let stream = Box::new(stream.take().expect("it is taken once"));
            let session = Session::new(self.clone(), stream, client.address, place);
            open.spawn(session.run(encrypted))
        });
        if stream.is_some() {
            // One burst for all addresses: whoever has many would push out every other record.
            self.parts.model.engine.note_refused(Own {
                example: Some(peer.ip().to_string().into()),
                ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::NEWSREADER)
            });
        }
        stream
    }
}

fn read_certificate(files: Option<&(PathBuf, PathBuf)>) -> Result<Option<ServerTls>, Error> {
    let Some((chain, key)) = files else {
        return Ok(None);
    };
    let read = |path: &PathBuf, name: &'static str| {
        std::fs::read(path).map_err(|source| Error::Certificate {
            key: name,
            path: path.clone(),
            why: source.to_string(),
        })
    };
    let pem = (read(chain, "news.tls_cert")?, read(key, "news.tls_key")?);
    let tls = ServerTls::new(&pem.0, &pem.1).map_err(|fault| {
        let (name, path) = match fault {
            weir_net::BadCertificate::NoKey => ("news.tls_key", key),
            _ => ("news.tls_cert", chain),
        };
        Error::Certificate {
            key: name,
            path: path.clone(),
            why: fault.to_string(),
        }
    })?;
    Ok(Some(tls))
}

#[cfg(test)]
pub(crate) mod tests;
