//! Announces and scrapes over UDP (BEP 15).
//!
//! A thread waits for packets, answers all that came together, and sends the replies together. A packet whose answer
//! panics costs its sender the reply and nobody else anything.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::Socket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use weir_engine::Vital;
use weir_tracker_proto::udp::{
    ConnectionId, Request, TransactionId, Unreadable,
    reply::{self, ANNOUNCE_HEAD_LEN},
};
use weir_tracker_proto::{Announce, RequestError};

use super::connection_id::ConnectionIds;
use super::own::OwnAddresses;
use super::system::{BATCH, Here, OutgoingPacket, PacketBatch, Received, send_from};
use crate::clock::{Now, TrackerClock};
use crate::forwarding::HeldReply;
use crate::reply::TrackerRefusal;
use crate::tally::{ListenerTally, TallyKind};
use crate::tracker::{Carries, ClientTerms, Tracker};

/// An error packet says no more than this, to whomever.
const SENTENCE: usize = 256;

/// What those who answer the packets of one socket share.
#[derive(Clone)]
pub(crate) struct UdpShared {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) ids: ConnectionIds,
    pub(crate) clock: TrackerClock,
    /// The machine's addresses.
    pub(crate) own: Arc<OwnAddresses>,
    /// Hears of panics.
    pub(crate) vital: Vital,
}

/// What a listener thread works with.
pub(crate) struct UdpListener {
    shared: UdpShared,
    tally: Arc<ListenerTally>,
    random: fastrand::Rng,
    /// All replies to one batch, one behind the other.
    out: Vec<u8>,
    /// Peers of the family that this socket does not carry.
    other: Vec<u8>,
    replies: Vec<OutgoingPacket>,
    /// Where packets go whose replies are held.
    late: mpsc::Sender<LatePacket>,
}

/// A packet whose reply is held.
pub(crate) struct LatePacket {
    pub(crate) packet: Vec<u8>,
    pub(crate) source: SocketAddr,
    here: Option<Here>,
    pub(crate) held: HeldReply,
}

/// Replies to packets of one socket once nothing holds them any more. Ends when no more can come. They were counted when
/// they came; `tally` counts replies that cannot be sent.
pub(crate) async fn reply_late(
    udp: &mut UdpListener,
    (socket, tally): (&Socket, &ListenerTally),
    late: &mut mpsc::Receiver<LatePacket>,
) {
    let mut waiting = JoinSet::new();
    loop {
        let ended = tokio::select! {
            Some(LatePacket { packet, source, here, held }) = late.recv() => {
                let tracker = Arc::clone(&udp.shared.tracker);
                waiting.spawn(async move {
                    let is_here = tracker.wait_for(held).await;
                    is_here.then_some((packet, source, here))
                });
                continue;
            }
            Some(ended) = waiting.join_next() => ended,
            else => return,
        };
        let (packet, source, here) = match ended {
            Ok(Some(ended)) => ended,
            Ok(None) => continue,
            Err(error) => {
                if let Ok(panic) = error.try_into_panic() {
                    udp.shared.vital.panicked(&*panic);
                }
                continue;
            }
        };
        let vital = udp.shared.vital.clone();
        vital.guard(|| {
            let tracker = Arc::clone(&udp.shared.tracker);
            udp.out.clear();
            let received = Received {
                packet: &packet,
                source,
                here,
            };
            udp.answer(&received, &tracker.terms(), udp.shared.clock.now());
            if send_from(socket.as_fd(), &udp.out, source, here).is_err() {
                tally.count(TallyKind::Unsent);
            }
        });
    }
}

impl UdpListener {
    pub(crate) fn new(
        shared: UdpShared,
        tally: Arc<ListenerTally>,
        late: mpsc::Sender<LatePacket>,
    ) -> Self {
        Self {
            shared,
            late,
            tally,
            random: fastrand::Rng::new(),
            out: Vec::with_capacity(BATCH * 1500),
            other: Vec::new(),
            replies: Vec::with_capacity(BATCH),
        }
    }

    /// Answers until `stop` is set and the socket is shut down.
    ///
    /// # Errors
    /// When nothing can be received. It may be run again.
    pub(crate) fn run(&mut self, socket: &Socket, stop: &AtomicBool) -> Result<(), String> {
        let mut batch = PacketBatch::new();
        while !stop.load(Ordering::Acquire) {
            match batch.receive(socket.as_fd()) {
                Ok(count) => self.answer_all(&mut batch, count, socket),
                Err(error) if passing(&error) => {}
                Err(error) => return Err(format!("it cannot receive packets: {error}")),
            }
        }
        Ok(())
    }

    fn answer_all(&mut self, batch: &mut PacketBatch, count: usize, socket: &Socket) {
        self.out.clear();
        self.replies.clear();
        let vital = self.shared.vital.clone();
        let mut index = 0;
        while index < count {
            let done = vital.guard(|| self.answer_rest(batch, &mut index, count));
            if done.is_none() {
                // On with the packet behind the one that could not be answered, without what was written for it. Who
                // sends such packets gains a line in the log; a pause here would let a few of them stop the service.
                let written = self.replies.last().map_or(0, |reply| reply.part.end);
                self.out.truncate(written);
                index += 1;
            }
        }
        let unsent = batch.reply(socket.as_fd(), &self.out, &self.replies);
        for _ in 0..unsent {
            self.tally.count(TallyKind::Unsent);
        }
    }

    /// Answers the packets from `index` on, which counts those that are done.
    ///
    /// A panic may come with a shard locked. Locks are not poisoned: the next announce finds the shard as it was left,
    /// at worst with one record or count that is wrong until its swarm is empty. To refuse the shard for ever would
    /// cost more.
    fn answer_rest(&mut self, batch: &PacketBatch, index: &mut usize, count: usize) {
        let now = self.shared.clock.now();
        let tracker = Arc::clone(&self.shared.tracker);
        let terms = tracker.terms();
        let own = Arc::clone(&self.shared.own);
        let own = own.load();
        while *index < count {
            if let Some(received) = batch.packet(*index) {
                let start = self.out.len();
                self.answer(&received, &terms, now);
                if self.out.len() > start {
                    let client = received.source.ip();
                    let from = received.here;
                    self.replies.push(OutgoingPacket {
                        to: *index,
                        part: start..self.out.len(),
                        from: from.filter(|here| !own.is_sure(here.ip, client)),
                    });
                }
            }
            *index += 1;
        }
    }

    /// Appends the reply to one packet to `out`, if it gets one.
    #[inline]
    fn answer(&mut self, received: &Received<'_>, terms: &ClientTerms, now: Now) {
        let &Received {
            packet,
            source,
            here,
        } = received;
        let from = source.ip();
        let asked = PacketOrigin {
            from,
            now,
            length: packet.len(),
        };
        match Request::parse(packet) {
            Ok(Request::Connect { transaction }) => {
                self.tally.count(TallyKind::UdpConnect);
                let id = self.shared.ids.make(from, now);
                self.out.extend_from_slice(&reply::connect(transaction, id));
            }
            Ok(Request::Announce {
                connection,
                transaction,
                announce,
                ..
            }) => {
                if self.is_connected(connection, transaction, &asked) {
                    let start = self.out.len();
                    let held = self.announce(transaction, &announce, &asked, terms);
                    if let Some(held) = held {
                        let packet = packet.to_vec();
                        let late = LatePacket {
                            packet,
                            source,
                            here,
                            held,
                        };
                        if self.late.try_send(late).is_ok() {
                            self.out.truncate(start);
                        }
                    }
                }
            }
            Ok(Request::Scrape {
                connection,
                transaction,
                hashes,
            }) => {
                if self.is_connected(connection, transaction, &asked) {
                    self.tally.count(TallyKind::UdpScrape);
                    let hashes = hashes.take(terms.scrape_hashes);
                    let counts = hashes.map(|hash| self.shared.tracker.scrape(terms, hash));
                    reply::write_scrape(transaction, counts, &mut self.out);
                }
            }
            Err(Unreadable::Answerable {
                transaction,
                connection,
                error,
            }) => self.explain(transaction, connection, error, &asked),
            Err(Unreadable::Silent) => self.tally.count(TallyKind::Silent),
        }
    }

    #[inline]
    fn announce(
        &mut self,
        transaction: TransactionId,
        announce: &Announce,
        asked: &PacketOrigin,
        terms: &ClientTerms,
    ) -> Option<HeldReply> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; ANNOUNCE_HEAD_LEN]);
        self.other.clear();
        let carries = match asked.from {
            IpAddr::V4(_) => Carries::V4,
            IpAddr::V6(_) => Carries::V6,
        };
        let out = match carries {
            Carries::V6 => [&mut self.other, &mut self.out],
            _ => [&mut self.out, &mut self.other],
        };
        let when = (asked.now, &mut self.random);
        let told = self
            .shared
            .tracker
            .announce(terms, announce, asked.from, carries, when, out);
        match told {
            Ok(told) => {
                self.tally.count(TallyKind::udp(told.went));
                let counts = &told.counts;
                let head = reply::announce_head(
                    transaction,
                    told.interval,
                    counts.leechers,
                    counts.seeders,
                );
                self.out[start..start + ANNOUNCE_HEAD_LEN].copy_from_slice(&head);
                told.held
            }
            Err(refusal) => {
                self.tally.count(TallyKind::Refused);
                self.out.truncate(start);
                refusal.write_udp(transaction, SENTENCE, &mut self.out);
                None
            }
        }
    }

    /// Whether the client has proven its address; it is told if not.
    #[inline]
    fn is_connected(
        &mut self,
        connection: ConnectionId,
        transaction: TransactionId,
        asked: &PacketOrigin,
    ) -> bool {
        let connected = self.shared.ids.check(connection, asked.from, asked.now);
        if !connected {
            self.tally.count(TallyKind::Malformed);
            // Nothing longer than it sent, or we would be of use to those who write other people's addresses.
            TrackerRefusal::NotConnected.write_udp(
                transaction,
                asked.length.min(SENTENCE),
                &mut self.out,
            );
        }
        connected
    }

    fn explain(
        &mut self,
        transaction: TransactionId,
        connection: ConnectionId,
        error: RequestError,
        asked: &PacketOrigin,
    ) {
        if self.is_connected(connection, transaction, asked) {
            self.tally.count(TallyKind::Malformed);
            TrackerRefusal::Malformed(error).write_udp(transaction, SENTENCE, &mut self.out);
        }
    }
}

/// Who asked, when, and with how many bytes.
struct PacketOrigin {
    from: IpAddr,
    now: Now,
    length: usize,
}

/// Errors that are about one packet or client, not about the socket.
fn passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
        OutOfMemory, TimedOut, WouldBlock,
    };
    matches!(
        error.kind(),
        ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkUnreachable
            | OutOfMemory
            | TimedOut
            | WouldBlock
    )
}

/// Packets without a socket.
#[cfg(feature = "bench")]
impl UdpListener {
    pub(crate) fn answer_bytes(&mut self, packet: &[u8], source: SocketAddr) -> &[u8] {
        let now = self.shared.clock.now();
        let tracker = Arc::clone(&self.shared.tracker);
        let terms = tracker.terms();
        self.out.clear();
        let here = None;
        let received = Received {
            packet,
            source,
            here,
        };
        self.answer(&received, &terms, now);
        &self.out
    }
}
