//! Clients of a tracker, over HTTP and UDP: they announce, and insist on a good answer.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::num::NonZeroU16;

use weir_tracker_proto::http::{
    Answer, read_announce_reply, read_scrape_reply, write_announce_query, write_scrape_query,
};
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, request};
use weir_tracker_proto::{Announce, Counts, Event, InfoHash, PeerId};

use super::PATIENCE;

/// One peer of a torrent. Trackers believe the address that it says it has, because it calls from this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) torrent: InfoHash,
    pub(super) at: SocketAddr,
    pub(super) left: u64,
}

impl Peer {
    /// A leecher of a torrent at a public address.
    pub(super) fn new(torrent: u8, number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self {
            torrent: InfoHash([torrent; 20]),
            at: SocketAddr::from(([198, 51, 100 + high, low], 6881)),
            left: 5,
        }
    }

    /// The same at another address.
    pub(super) fn at(self, address: &str) -> Self {
        let at = address.parse().unwrap();
        Self { at, ..self }
    }

    /// The same with the whole file.
    pub(super) fn seeds(self) -> Self {
        Self { left: 0, ..self }
    }

    fn announce(&self, event: Event) -> Announce {
        let port = NonZeroU16::new(self.at.port()).unwrap();
        let mut id = *b"-WT0000-............";
        let mut rest = &mut id[8..];
        write!(rest, "{:012}", port).unwrap();
        Announce {
            left: self.left,
            event,
            numwant: Some(200),
            compact: Some(true),
            ip: Some(self.at.ip()),
            ..Announce::new(self.torrent, PeerId(id), port)
        }
    }

    /// Announces over HTTP; gives the peers of the answer.
    pub(super) fn http(&self, tracker: SocketAddr, event: Event) -> Vec<SocketAddr> {
        let mut target = String::from("/announce");
        write_announce_query(&self.announce(event), None, &mut target);
        let body = get(tracker, &target);
        match read_announce_reply(&body) {
            Ok(Answer::Given(answer)) => {
                assert!(answer.interval.is_some(), "{answer:?}");
                answer.peers.addresses().collect()
            }
            other => panic!("{tracker} answered {other:?}"),
        }
    }
}

/// What a scrape says of a torrent.
pub(super) fn scrape(tracker: SocketAddr, torrent: u8) -> Counts {
    let (mut target, hash) = (String::from("/scrape"), InfoHash([torrent; 20]));
    write_scrape_query([hash], &mut target);
    let body = get(tracker, &target);
    match read_scrape_reply(&body) {
        Ok(Answer::Given(answer)) => answer.files.counts(hash).unwrap_or_default(),
        other => panic!("{tracker} answered {other:?}"),
    }
}

fn get(tracker: SocketAddr, target: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(tracker).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    answer.split_off(end.unwrap() + 4)
}

/// A client over UDP, which has a connection id.
pub(super) struct UdpClient {
    socket: UdpSocket,
    connection: ConnectionId,
    asked: u32,
}

impl UdpClient {
    pub(super) fn connect(tracker: SocketAddr) -> Self {
        let socket = UdpSocket::bind((IpAddr::from(Ipv4Addr::LOCALHOST), 0)).unwrap();
        socket.connect(tracker).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send(&request::connect(TransactionId(0))).unwrap();
        let mut packet = [0; 64];
        let length = socket.recv(&mut packet).unwrap();
        let reply = Reply::parse(&packet[..length], Family::V4).unwrap();
        let Reply::Connect { connection, .. } = reply else {
            panic!("{reply:?}");
        };
        Self {
            socket,
            connection,
            asked: 0,
        }
    }

    /// Announces a peer; gives the peers of the answer.
    pub(super) fn announce(&mut self, peer: &Peer, event: Event) -> Vec<SocketAddr> {
        self.asked += 1;
        let transaction = TransactionId(self.asked);
        let announce = peer.announce(event);
        let packet = request::announce(self.connection, transaction, &announce);
        self.socket.send(&packet).unwrap();
        let mut packet = [0; 4096];
        let length = self.socket.recv(&mut packet).unwrap();
        match Reply::parse(&packet[..length], Family::V4).unwrap() {
            Reply::Announce {
                transaction: of,
                peers,
                ..
            } if of == transaction => peers.addresses().collect(),
            other => panic!("{other:?}"),
        }
    }
}
