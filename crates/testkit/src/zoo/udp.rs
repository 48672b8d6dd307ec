//! A UDP tracker (BEP 15) and what UDP trackers have been seen to do.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use weir_net::{BoxFuture, Datagrams, Error};
use weir_tracker_proto::udp::{ConnectionId, Request, TransactionId, reply};
use weir_tracker_proto::{Counts, compact};

use super::{Book, Place, Seen, post};

const INTERVAL: u32 = 1800;

/// How the tracker answers every packet from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should, with these peers; each asker gets those of its own family.
    Good {
        /// Seconds.
        interval: u32,
        /// Peers of both families.
        peers: Vec<SocketAddr>,
    },
    /// As it should, but for the transaction id.
    WrongTransaction,
    /// The next packets are ignored, then all is well.
    Drop(u32),
    /// The next announces or scrapes are refused for their connection id; connecting gives a new one.
    RejectConnectionId(u32),
    /// Only the first bytes of an answer.
    Short,
    /// Bytes without meaning.
    Garbage,
    /// An error packet for everything but connecting.
    ErrorPacket(String),
    /// No answer to anything.
    Silent,
    /// Answers connecting, nothing else.
    SilentAnnounce,
}

impl Behaviour {
    /// A good tracker with one peer of each family.
    pub fn good() -> Self {
        let peers = vec![
            SocketAddr::from(([198, 51, 100, 7], 51_413)),
            SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 7], 51_413)),
        ];
        Self::Good {
            interval: INTERVAL,
            peers,
        }
    }
}

/// A running tracker; it ends when dropped.
pub struct Tracker {
    address: SocketAddr,
    book: Arc<Book<Behaviour>>,
    _task: JoinSet<()>,
}

impl Tracker {
    /// Starts a tracker.
    pub async fn start(place: Place<'_>, behaviour: Behaviour) -> io::Result<Self> {
        let (socket, address) = post(place).await?;
        let book = Book::new(behaviour);
        let mut task = JoinSet::new();
        task.spawn(serve(socket, book.clone()));
        Ok(Self {
            address,
            book,
            _task: task,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its announce URL.
    pub fn url(&self) -> String {
        format!("udp://{}/announce", self.address)
    }

    /// Changes what it does, from the next packet on.
    pub fn set(&self, behaviour: Behaviour) {
        self.book.set(behaviour);
    }

    /// The packets that arrived, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.book.seen()
    }
}

async fn serve(socket: Arc<dyn Datagrams>, book: Arc<Book<Behaviour>>) {
    let mut packet = [0; 2048];
    let mut connection = ConnectionId(0x1122_3344_5566_7700);
    while let Ok((length, from)) = socket.receive(&mut packet).await {
        let packet = &packet[..length];
        book.note(packet);
        let answer = answer(packet, from, &book, &mut connection);
        if let Some(answer) = answer {
            let _ = socket.send(&answer, from).await;
        }
    }
}

fn answer(
    packet: &[u8],
    from: SocketAddr,
    book: &Book<Behaviour>,
    connection: &mut ConnectionId,
) -> Option<Vec<u8>> {
    let good = Behaviour::good();
    let behaviour = book.behaviour();
    match &behaviour {
        Behaviour::Good { .. } => well(packet, from, &behaviour, *connection),
        Behaviour::WrongTransaction => {
            let mut answer = well(packet, from, &good, *connection)?;
            answer[4..8].iter_mut().for_each(|byte| *byte = !*byte);
            Some(answer)
        }
        Behaviour::Drop(left) => {
            let left = left.saturating_sub(1);
            book.set(if left == 0 {
                good
            } else {
                Behaviour::Drop(left)
            });
            None
        }
        Behaviour::RejectConnectionId(left) => {
            if is_connect(packet) {
                return well(packet, from, &good, *connection);
            }
            connection.0 += 1;
            let left = left.saturating_sub(1);
            book.set(if left == 0 {
                good
            } else {
                Behaviour::RejectConnectionId(left)
            });
            error(packet, "Connection ID missmatch.")
        }
        Behaviour::Short => Some(well(packet, from, &good, *connection)?[..8].to_vec()),
        Behaviour::Garbage => Some(b"\xde\xad\xbe\xef".repeat(9)),
        Behaviour::ErrorPacket(_) | Behaviour::SilentAnnounce if is_connect(packet) => {
            well(packet, from, &good, *connection)
        }
        Behaviour::ErrorPacket(text) => error(packet, text),
        Behaviour::Silent | Behaviour::SilentAnnounce => None,
    }
}

fn is_connect(packet: &[u8]) -> bool {
    matches!(Request::parse(packet), Ok(Request::Connect { .. }))
}

fn error(packet: &[u8], text: &str) -> Option<Vec<u8>> {
    let transaction = u32::from_be_bytes(*packet.get(12..)?.first_chunk()?);
    let mut out = Vec::new();
    reply::write_error(TransactionId(transaction), text, 512, &mut out);
    Some(out)
}

fn well(
    packet: &[u8],
    from: SocketAddr,
    behaviour: &Behaviour,
    connection: ConnectionId,
) -> Option<Vec<u8>> {
    let Behaviour::Good { interval, peers } = behaviour else {
        return None;
    };
    let counts = Counts {
        complete: 1,
        downloaded: 1,
        incomplete: 0,
    };
    match Request::parse(packet).ok()? {
        Request::Connect { transaction } => Some(reply::connect(transaction, connection).to_vec()),
        Request::Announce {
            connection: shown,
            transaction,
            ..
        } if shown == connection => {
            let mut out = reply::announce_head(transaction, *interval, 0, 1).to_vec();
            for peer in peers {
                match (peer, from.is_ipv4()) {
                    (SocketAddr::V4(peer), true) => out.extend_from_slice(&compact::from_v4(*peer)),
                    (SocketAddr::V6(peer), false) => {
                        out.extend_from_slice(&compact::from_v6(*peer))
                    }
                    _ => {}
                }
            }
            Some(out)
        }
        Request::Scrape {
            connection: shown,
            transaction,
            hashes,
        } if shown == connection => {
            let mut out = Vec::new();
            let counts = hashes.map(|_| counts);
            reply::write_scrape(transaction, counts, &mut out);
            Some(out)
        }
        _ => error(packet, "Connection ID missmatch."),
    }
}

/// A kernel socket as the tracker's side of the post.
pub(super) struct Loopback(pub(super) UdpSocket);

impl Datagrams for Loopback {
    fn send<'a>(&'a self, packet: &'a [u8], to: SocketAddr) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let sent = self.0.send_to(packet, to).await;
            sent.map(drop).map_err(|error| Error::Other(error.kind()))
        })
    }

    fn receive<'a>(
        &'a self,
        into: &'a mut [u8],
    ) -> BoxFuture<'a, Result<(usize, SocketAddr), Error>> {
        Box::pin(async move {
            let received = self.0.recv_from(into).await;
            received.map_err(|error| Error::Other(error.kind()))
        })
    }
}
