//! Announces over UDP, as many as are answered or at a given pace, of peers that are known, new, or some of both.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::time::Duration;

use tokio::time::Instant;
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, request};
use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

/// A reply that has not come by then does not come.
const PATIENCE: Duration = Duration::from_millis(500);
/// Connection ids are good for two minutes; this is well within.
const RECONNECT: Duration = Duration::from_secs(50);
/// Announces under way on a socket.
const WINDOW: usize = 64;
/// Peers wanted, as most clients ask.
const NUMWANT: u32 = 50;

/// A socket with a connection id.
pub(crate) struct Client {
    socket: UdpSocket,
    connection: ConnectionId,
    connected: Instant,
    number: u32,
    under_way: usize,
}

/// A peer by number, in a torrent by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whom {
    pub(crate) torrent: u32,
    pub(crate) peer: u32,
    /// It has all of it.
    pub(crate) seeder: bool,
}

impl Whom {
    /// One of three has all of it.
    pub(crate) fn new(torrent: u32, peer: u32) -> Self {
        Self {
            torrent,
            peer,
            seeder: peer.is_multiple_of(3),
        }
    }

    /// Addresses are from 11.0.0.0 upwards: as good as any public ones.
    pub(crate) fn address(self) -> Ipv4Addr {
        Ipv4Addr::from(0x0b00_0000 + self.peer)
    }

    fn announce(self, event: Event) -> Announce {
        let mut hash = [0; 20];
        for (piece, salt) in hash.chunks_mut(8).zip(1..) {
            let word = scatter(u64::from(self.torrent) * 4 + salt).to_be_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
        let port = NonZeroU16::new(6881).unwrap();
        Announce {
            ip: Some(self.address().into()),
            left: u64::from(!self.seeder) * 1000,
            numwant: Some(NUMWANT),
            event,
            ..Announce::new(InfoHash(hash), PeerId(*b"-WL0100-loadloadload"), port)
        }
    }
}

impl Client {
    pub(crate) fn new(tracker: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect(tracker).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Self {
            socket,
            connection: ConnectionId(0),
            connected: Instant::now(),
            number: 0,
            under_way: 0,
        };
        client.connect();
        client
    }

    fn connect(&mut self) {
        let mut packet = [0; 4096];
        self.socket
            .send(&request::connect(TransactionId(u32::MAX)))
            .unwrap();
        loop {
            let length = self.socket.recv(&mut packet).unwrap();
            if let Ok(Reply::Connect { connection, .. }) =
                Reply::parse(&packet[..length], Family::V4)
            {
                self.connection = connection;
                self.connected = Instant::now();
                return;
            }
        }
    }

    fn send(&mut self, whom: Whom, event: Event) {
        if self.under_way == 0 && self.connected.elapsed() > RECONNECT {
            self.connect();
        }
        self.number = self.number.wrapping_add(1);
        let transaction = TransactionId(self.number);
        let packet = request::announce(self.connection, transaction, &whom.announce(event));
        self.socket.send(&packet).unwrap();
        self.under_way += 1;
    }

    /// One announce and the peers of its answer; `None` if it was lost.
    pub(crate) fn ask(&mut self, whom: Whom, event: Event) -> Option<Vec<SocketAddr>> {
        self.send(whom, event);
        self.under_way = 0;
        let mut packet = [0; 4096];
        loop {
            let length = self.socket.recv(&mut packet).ok()?;
            if let Ok(Reply::Announce {
                transaction, peers, ..
            }) = Reply::parse(&packet[..length], Family::V4)
                && transaction.0 == self.number
            {
                return Some(peers.addresses().collect());
            }
        }
    }

    /// Takes the next reply, if there is one; gives whether it was a good one.
    fn take(&mut self) -> Option<bool> {
        let mut packet = [0; 4096];
        match self.socket.recv(&mut packet) {
            Ok(length) => {
                self.under_way = self.under_way.saturating_sub(1);
                let reply = Reply::parse(&packet[..length], Family::V4);
                Some(matches!(reply, Ok(Reply::Announce { .. })))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// How many were answered, refused and lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answered {
    pub(crate) good: u64,
    pub(crate) bad: u64,
    pub(crate) lost: u64,
}

impl Answered {
    pub(crate) fn add(&mut self, other: Self) {
        self.good += other.good;
        self.bad += other.bad;
        self.lost += other.lost;
    }
}

/// Announces to one tracker as fast as it answers, until there are no more or the time is over.
pub(crate) fn as_fast_as_answered(
    tracker: SocketAddr,
    whom: impl Iterator<Item = (Whom, Event)>,
    time: Duration,
) -> Answered {
    let mut clients: Vec<Client> = (0..4).map(|_| Client::new(tracker)).collect();
    let (mut whom, mut answered) = (whom.fuse(), Answered::default());
    let end = Instant::now() + time;
    let mut more = true;
    while more || clients.iter().any(|client| client.under_way > 0) {
        more &= Instant::now() < end;
        for client in &mut clients {
            while more && client.under_way < WINDOW {
                match whom.next() {
                    Some((whom, event)) => client.send(whom, event),
                    None => more = false,
                }
            }
            // Half of the window is taken at once, so that the tracker has whole batches.
            let rest = if more { WINDOW / 2 } else { 0 };
            while client.under_way > rest {
                match client.take() {
                    Some(true) => answered.good += 1,
                    Some(false) => answered.bad += 1,
                    None => {
                        answered.lost += client.under_way as u64;
                        client.under_way = 0;
                    }
                }
            }
        }
    }
    answered
}

/// Announces to one tracker so many times a second, whether it answers or not.
pub(crate) fn at_a_pace(
    tracker: SocketAddr,
    whom: impl Iterator<Item = (Whom, Event)>,
    per_second: f64,
    time: Duration,
) -> Answered {
    let mut client = Client::new(tracker);
    let (mut sent, mut answered) = (0_u64, Answered::default());
    let began = Instant::now();
    let mut connected = began;
    for (whom, event) in whom {
        let now = Instant::now();
        if now - began >= time {
            break;
        }
        if now - connected > RECONNECT {
            connected = now;
            client.under_way = 0;
            client.connect();
        }
        client.send(whom, event);
        sent += 1;
        let due = began + Duration::from_secs_f64(sent as f64 / per_second);
        client.socket.set_nonblocking(true).unwrap();
        while let Some(good) = client.take() {
            answered.good += u64::from(good);
            answered.bad += u64::from(!good);
        }
        client.socket.set_nonblocking(false).unwrap();
        if let Some(wait) = due.checked_duration_since(Instant::now())
            // Not for each of them: a few at a time.
            && wait > Duration::from_millis(2)
        {
            std::thread::park_timeout(wait);
        }
    }
    while answered.good + answered.bad < sent {
        match client.take() {
            Some(good) => {
                answered.good += u64::from(good);
                answered.bad += u64::from(!good);
            }
            None => break,
        }
    }
    answered.lost = sent - answered.good - answered.bad;
    answered
}

/// Spreads numbers that lie close together.
pub(crate) fn scatter(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
