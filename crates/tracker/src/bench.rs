//! Single requests without sockets, for the benches.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

use weir_engine::{Gate, Rate, Timeline};
use weir_store::shared::Seal;
use weir_tracker_proto::nodes::{self, Batch};
use weir_tracker_proto::udp::{Family, Reply, TransactionId, request};
use weir_tracker_proto::{Announce, InfoHash, PeerId};
use weir_web::seats::{Seating, Seats};

use crate::clock::TrackerClock;
use crate::config::{Config, OverloadReply};
use crate::forwarding::Forwarding;
use crate::inbound::connection_id::ConnectionIds;
use crate::inbound::http::{ConnectionLimits, Http};
use crate::inbound::udp::{UdpListener, UdpShared};
use crate::ledger::{self, Ledger};
use crate::rules::split;
use crate::sharing::{Lately, Outlet};
use crate::swarm::{Age, Minute, Mirrored, Swarms};
use crate::tally::Tallies;
use crate::tracker::Tracker;

const SOURCE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 6881);

/// Trackers that announces would go on to.
const FORWARDERS: u32 = 100;

/// What other trackers have to do with the swarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// There are none.
    None,
    /// Their queue is full and there are no tokens: each announce is the first of its swarm and is put off.
    Busy,
    /// They are being asked about every swarm.
    Asked,
}

/// Both listeners of a thread, over the same swarms.
pub struct Listeners {
    tracker: Arc<Tracker>,
    udp: UdpListener,
    http: Http,
    /// What the other nodes are to hear of.
    outlet: Option<Arc<Outlet>>,
    lately: Lately,
    /// Milliseconds of the store.
    time: u64,
}

impl Listeners {
    /// Listeners with `swarms` swarms of `peers` peers each.
    pub fn with(swarms: u32, peers: u32) -> Self {
        Self::beside(Others::None, swarms, peers)
    }

    /// The same, with other nodes that hear of every change. Each node has a key of its own, or what lies side by side at one
    /// would lie side by side at the others too.
    pub fn shared(swarms: u32, peers: u32, key: u8) -> Self {
        let outlet = Arc::new(Outlet::new(Age(180), true));
        let mut listeners = Self::build(Others::None, (swarms, peers), key, Some(outlet));
        listeners.pack(&Seal::new("a secret"));
        listeners
    }

    /// Packs what happened in the last fifth of a second as it goes to the store.
    pub fn pack(&mut self, seal: &Seal) -> Vec<Vec<u8>> {
        let mut sealed = Vec::new();
        self.time += 200;
        if let Some(outlet) = &self.outlet {
            outlet.take(|part| {
                let mut batch = Vec::with_capacity(nodes::HEAD + part.bytes.len());
                nodes::Head::default().write(&mut batch);
                batch.extend_from_slice(&part.bytes);
                self.lately.note_own(&part.bytes, self.time);
                sealed.push(seal.seal(&batch));
            });
        }
        sealed
    }

    /// Takes in what another node packed; says how many events that was.
    pub fn take_in(&mut self, seal: &Seal, sealed: &[u8]) -> usize {
        let Some(outlet) = &self.outlet else { return 0 };
        self.time += 1;
        let batch = seal
            .open(sealed)
            .expect("it was sealed with the same secret");
        let batch = Batch::open(&batch).expect("it was packed here");
        let times = (self.time, self.time);
        let swarms = (&**outlet, &*self.tracker.swarms);
        let (events, minutes) = (batch.events().flatten(), (0, Minute::START));
        let mut count = 0;
        let heard = |_: &_, told: Option<_>| count += usize::from(told.is_some());
        (self.lately).hear(swarms, events, times, minutes, heard);
        count
    }

    /// The same beside other trackers.
    pub fn beside(others: Others, swarms: u32, peers: u32) -> Self {
        Self::build(others, (swarms, peers), 1, None)
    }

    fn build(
        others: Others,
        (swarms, peers): (u32, u32),
        key: u8,
        outlet: Option<Arc<Outlet>>,
    ) -> Self {
        let (start, reload) = split(&Config {
            max_swarms: NonZeroU32::MAX,
            max_peers: NonZeroU32::MAX,
            overload_reply: OverloadReply::Peers,
            ..Config::default()
        });
        let ids = ConnectionIds::new().expect("random numbers");
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH);
        let (clock, tallies) = (TrackerClock::on(timeline), Tallies::default());
        let forwarding = match others {
            Others::None => Forwarding::to_nobody(),
            Others::Busy | Others::Asked => full(),
        };
        if others == Others::Busy {
            forwarding.set_forwarders(FORWARDERS);
        }
        let tracker = Arc::new(Tracker::new(
            Arc::new(Swarms::new(start.swarms, [key; 16]).shared(outlet.clone())),
            forwarding,
            reload.terms,
        ));
        let limits = ConnectionLimits {
            idle: 1,
            request: 1,
            bytes: 8192,
        };
        let (guests, _) = tokio::sync::mpsc::channel(1);
        let vital = weir_engine::Vitals::default().add("tracker", "bench");
        let mut listeners = Self {
            udp: UdpListener::new(
                UdpShared {
                    tracker: Arc::clone(&tracker),
                    ids,
                    clock,
                    own: Arc::default(),
                    vital: vital.clone(),
                },
                tallies.add(),
                tokio::sync::mpsc::channel(1).0,
            ),
            http: Http::new(
                Arc::clone(&tracker),
                clock,
                tallies.add(),
                limits,
                (guests, Seats::new(Seating::new(1, None)), vital),
            ),
            lately: Lately::new(tracker.swarms.seed()),
            time: 1_000_000,
            tracker,
            outlet,
        };
        for swarm in 0..swarms {
            for peer in 0..peers {
                let packet = listeners.packet(swarm, peer);
                listeners.udp(&packet);
            }
            if others == Others::Asked {
                let hash = hash(swarm).0;
                let mirrored = Mirrored {
                    pending: true,
                    peers: false,
                    due: Minute::START.plus(60),
                };
                listeners.swarms().mirror(&hash, mirrored, Minute::START);
            }
        }
        if others == Others::Asked {
            // Only now, or no announce had found a place and no swarm were forwarded.
            listeners.tracker.forwarding.set_forwarders(FORWARDERS);
        }
        listeners
    }

    /// The swarms behind them.
    pub fn swarms(&self) -> &Swarms {
        &self.tracker.swarms
    }

    /// The packet by which a peer announces again.
    pub fn packet(&mut self, swarm: u32, peer: u32) -> [u8; request::ANNOUNCE_LEN] {
        let connect = request::connect(TransactionId(1));
        let reply = self.udp.answer_bytes(&connect, SOURCE);
        let Ok(Reply::Connect { connection, .. }) = Reply::parse(reply, Family::V4) else {
            unreachable!("a connect request gets a connection id");
        };
        let mut announce = Announce::new(hash(swarm), PeerId([b'p'; 20]), NonZeroU16::MAX);
        announce.ip = Some(Ipv4Addr::from(0x0a00_0000 + peer).into());
        announce.left = (peer % 3).into();
        request::announce(connection, TransactionId(2), &announce)
    }

    /// The request by which a peer announces again.
    pub fn request(&self, swarm: u32, peer: u32) -> Vec<u8> {
        let hash: String = hash(swarm)
            .0
            .iter()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        let ip = Ipv4Addr::from(0x0a00_0000 + peer);
        let left = peer % 3;
        format!("GET /announce?info_hash={hash}&peer_id=-qB4650-abcdefghijkl&port=65535&uploaded=0&downloaded=0&left={left}&corrupt=0&key=5F2B1C00&numwant=50&compact=1&no_peer_id=1&supportcrypto=1&redundant=0&ip={ip} HTTP/1.1\r\nHost: tracker.example:6969\r\nUser-Agent: qBittorrent/4.6.5\r\nAccept-Encoding: gzip\r\nConnection: keep-alive\r\n\r\n").into_bytes()
    }

    /// Answers a packet; says how long the reply is.
    pub fn udp(&mut self, packet: &[u8]) -> usize {
        self.udp.answer_bytes(packet, SOURCE).len()
    }

    /// Answers a request; says how long the reply is.
    pub fn http(&self, request: &[u8]) -> usize {
        self.http.answer_bytes(request, SOURCE.ip())
    }
}

/// The way to other trackers, with a full queue and no tokens.
fn full() -> Arc<Forwarding> {
    let rate = Rate {
        per_second: 1,
        burst: 0,
    };
    let gate = Arc::new(Gate::new(100, rate));
    assert_eq!(gate.reserve(100), 100, "an empty queue");
    let limits = ledger::LedgerLimits {
        sheets: 100,
        peers: 100,
        peers_of_one: 100,
    };
    let ledger = Ledger::new(limits, [1; 16]);
    let (forwarding, _) = Forwarding::new(gate, ledger, 10, 60, 10_000);
    forwarding
}

fn hash(swarm: u32) -> InfoHash {
    let mut hash = [0x5a; 20];
    hash[..4].copy_from_slice(&swarm.wrapping_mul(0x9e37_79b9).to_be_bytes());
    InfoHash(hash)
}
