//! Announces and scrapes over UDP (BEP 15, 41): one socket for each family, and a table of what is under way.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};
use weir_net::{Datagrams, Error, Family, Ground};
use weir_tracker_proto::udp::reply::Reply;
use weir_tracker_proto::udp::request::{
    announce as announce_packet, connect, write_scrape, write_url,
};
use weir_tracker_proto::udp::{ConnectionId, TransactionId, reply};
use weir_tracker_proto::{Announce, InfoHash, ReplyError};

use super::{GivenAnswer, NoUsableAnswer, Said, TrackerTarget, endpoints};

/// Longer answers are cut off: what a tracker may send at once fits into one packet.
const PACKET: usize = 8 << 10;

/// A socket and the task that reads from it.
type OpenedSocket = (Arc<dyn Datagrams>, AbortHandle);

/// Makes all calls over UDP, through one socket of each family: with one for each call, a busy queue would use up the
/// machine's descriptors.
pub(super) struct UdpCaller {
    ground: Arc<dyn Ground>,
    life: Duration,
    sockets: [Turn<Option<OpenedSocket>>; 2],
    table: Arc<Transactions>,
    readers: Mutex<JoinSet<()>>,
}

/// The connection id that a tracker gave last, where from, and when.
#[derive(Debug, Default)]
pub(super) struct LastConnectionId(Turn<Option<(ConnectionId, SocketAddr, Instant)>>);

/// Who waits for which answer.
type Transactions = Mutex<HashMap<u32, WaitingCall>>;

struct WaitingCall {
    from: SocketAddr,
    answer: oneshot::Sender<Vec<u8>>,
}

/// A transaction id that is in use until this is dropped.
struct Transaction {
    table: Arc<Transactions>,
    id: TransactionId,
    answer: oneshot::Receiver<Vec<u8>>,
}

/// One attempt at a tracker.
struct UdpAttempt<'a> {
    client: &'a UdpCaller,
    target: &'a TrackerTarget,
    socket: Arc<dyn Datagrams>,
    to: SocketAddr,
    /// When a packet without an answer is sent once more.
    again: Instant,
    answered: AtomicBool,
    /// The turn in which its address was chosen.
    turn: usize,
}

impl UdpCaller {
    pub(super) fn new(ground: Arc<dyn Ground>, life: Duration) -> Self {
        Self {
            ground,
            life,
            sockets: Default::default(),
            table: Arc::default(),
            readers: Mutex::default(),
        }
    }

    pub(super) async fn announce(
        &self,
        target: &TrackerTarget,
        addresses: &[SocketAddr],
        announce: &Announce,
        within: Duration,
    ) -> Result<Said, NoUsableAnswer> {
        let attempt = self.attempt(target, addresses, within).await?;
        let packet = |connection, transaction| {
            let mut packet = announce_packet(connection, transaction, announce).to_vec();
            write_url(path(target).as_bytes(), &mut packet);
            packet
        };
        let answer = attempt.ask(packet).await?;
        attempt.answered();
        match attempt.read(&answer)? {
            Reply::Announce {
                interval,
                seeders,
                leechers,
                peers,
                ..
            } => Ok(Said::Given(GivenAnswer {
                interval: Some(interval),
                seeders: Some(seeders),
                leechers: Some(leechers),
                peers: endpoints(peers.addresses()),
                from: Some(attempt.to.ip()),
                ..GivenAnswer::default()
            })),
            Reply::Cut { .. } => Ok(refused(String::new())),
            Reply::Error { message, .. } => Ok(refused(target.secrets.words(&message.to_string()))),
            _ => Err(NoUsableAnswer::Unreadable(ReplyError::Empty)),
        }
    }

    /// Any answer will do.
    pub(super) async fn scrape(
        &self,
        target: &TrackerTarget,
        addresses: &[SocketAddr],
        hash: InfoHash,
        within: Duration,
    ) -> Result<(), NoUsableAnswer> {
        let attempt = self.attempt(target, addresses, within).await?;
        let packet = |connection, transaction| {
            let mut packet = Vec::new();
            write_scrape(connection, transaction, [hash], &mut packet);
            packet
        };
        let answer = attempt.ask(packet).await?;
        attempt.answered();
        attempt.read(&answer).map(drop)
    }

    /// Ends the readers.
    pub(super) fn stop(&self) {
        self.readers.lock().abort_all();
    }

    async fn attempt<'a>(
        &'a self,
        target: &'a TrackerTarget,
        addresses: &[SocketAddr],
        within: Duration,
    ) -> Result<UdpAttempt<'a>, NoUsableAnswer> {
        let turn = target.turn.load(Ordering::Relaxed);
        let to = addresses[turn % addresses.len()];
        Ok(UdpAttempt {
            client: self,
            target,
            socket: self.socket(to).await?,
            to,
            again: Instant::now() + within / 2,
            answered: AtomicBool::new(false),
            turn,
        })
    }

    /// The socket of a family, with a task that reads from it.
    async fn socket(&self, to: SocketAddr) -> Result<Arc<dyn Datagrams>, Error> {
        let (index, family) = match to {
            SocketAddr::V4(_) => (0, Family::V4),
            SocketAddr::V6(_) => (1, Family::V6),
        };
        let mut place = self.sockets[index].lock().await;
        // Without its reader, no answer would ever be heard on it.
        if let Some((socket, reader)) = &*place
            && !reader.is_finished()
        {
            return Ok(Arc::clone(socket));
        }
        let socket = self.ground.bind(family).await?;
        let (table, read_from) = (Arc::clone(&self.table), Arc::clone(&socket));
        let mut readers = self.readers.lock();
        while readers.try_join_next().is_some() {}
        let reader = readers.spawn(read(read_from, table));
        *place = Some((Arc::clone(&socket), reader));
        Ok(socket)
    }

    fn begin(&self, from: SocketAddr) -> Transaction {
        let (sender, answer) = oneshot::channel();
        let mut table = self.table.lock();
        let id = loop {
            // Not to be guessed: an answer to it is believed.
            let id = getrandom::u32().unwrap_or_else(|_| fastrand::u32(..));
            if !table.contains_key(&id) {
                break id;
            }
        };
        let answer_to = WaitingCall {
            from,
            answer: sender,
        };
        table.insert(id, answer_to);
        Transaction {
            table: Arc::clone(&self.table),
            id: TransactionId(id),
            answer,
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.table.lock().remove(&self.id.0);
    }
}

impl UdpAttempt<'_> {
    /// Asks with the connection id at hand or a new one; once more with a new one if the tracker does not like it.
    async fn ask(
        &self,
        packet: impl Fn(ConnectionId, TransactionId) -> Vec<u8>,
    ) -> Result<Vec<u8>, NoUsableAnswer> {
        let (connection, old) = self.connection(None).await?;
        let answer = self.exchange(|id| packet(connection, id)).await?;
        let complains = matches!(self.read(&answer), Ok(Reply::Error { .. }));
        if !(old && complains) {
            return Ok(answer);
        }
        let (connection, _) = self.connection(Some(connection)).await?;
        self.exchange(|id| packet(connection, id)).await
    }

    /// A connection id that is not `bad`, and whether it was used before.
    async fn connection(
        &self,
        bad: Option<ConnectionId>,
    ) -> Result<(ConnectionId, bool), NoUsableAnswer> {
        let mut place = self.target.connection.0.lock().await;
        if let Some((id, to, since)) = *place
            && to == self.to
            && Some(id) != bad
            && since.elapsed() < self.client.life
        {
            return Ok((id, true));
        }
        *place = None;
        let answer = self.exchange(|id| connect(id).to_vec()).await?;
        match self.read(&answer)? {
            Reply::Connect { connection, .. } => {
                *place = Some((connection, self.to, Instant::now()));
                Ok((connection, false))
            }
            Reply::Error { message, .. } => Err(NoUsableAnswer::No(
                self.target.secrets.words(&message.to_string()),
            )),
            _ => Err(NoUsableAnswer::Unreadable(ReplyError::Empty)),
        }
    }

    /// Sends a packet, once more at half of the time, and waits for its answer.
    async fn exchange(
        &self,
        packet: impl FnOnce(TransactionId) -> Vec<u8>,
    ) -> Result<Vec<u8>, NoUsableAnswer> {
        let mut transaction = self.client.begin(self.to);
        let packet = packet(transaction.id);
        self.socket.send(&packet, self.to).await?;
        if self.again > Instant::now() {
            tokio::select! {
                answer = &mut transaction.answer => return answer.map_err(|_| Error::Cut.into()),
                () = sleep_until(self.again) => self.socket.send(&packet, self.to).await?,
            }
        }
        let answer = (&mut transaction.answer).await;
        answer.map_err(|_| Error::Cut.into())
    }

    fn read<'b>(&self, answer: &'b [u8]) -> Result<Reply<'b>, NoUsableAnswer> {
        let family = match self.to {
            SocketAddr::V4(_) => reply::Family::V4,
            SocketAddr::V6(_) => reply::Family::V6,
        };
        Reply::parse(answer, family).map_err(NoUsableAnswer::Unreadable)
    }

    fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }
}

impl Drop for UdpAttempt<'_> {
    fn drop(&mut self) {
        if !*self.answered.get_mut() {
            // The next attempt tries the next address, however many failed at this one together.
            let (turn, relaxed) = (&self.target.turn, Ordering::Relaxed);
            let _ = turn.compare_exchange(self.turn, self.turn.wrapping_add(1), relaxed, relaxed);
        }
    }
}

/// Hands packets to those who wait for them.
async fn read(socket: Arc<dyn Datagrams>, table: Arc<Transactions>) {
    let mut packet = vec![0; PACKET];
    loop {
        let Ok((length, from)) = socket.receive(&mut packet).await else {
            // Errors of single packets do not come here.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        let Some(id) = packet[..length].get(4..8) else {
            continue;
        };
        let id = u32::from_be_bytes(id.try_into().expect("four bytes were taken"));
        let mut table = table.lock();
        if table.get(&id).is_some_and(|waiting| waiting.from == from)
            && let Some(waiting) = table.remove(&id)
        {
            drop(waiting.answer.send(packet[..length].to_vec()));
        }
    }
}

/// What follows the port in its URL: the path with its query, which may be a passkey (BEP 41).
fn path(target: &TrackerTarget) -> String {
    let url = target.url.expose_url();
    let path = match url.path() {
        "/" => "",
        path => path,
    };
    match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

fn refused(reason: String) -> Said {
    Said::Refused {
        reason,
        retry_in: None,
    }
}
