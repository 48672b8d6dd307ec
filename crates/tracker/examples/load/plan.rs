//! What is asked, of whom, for how long.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::time::Duration;

use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

const USAGE: &str = "usage: load udp|http ADDRESS:PORT [options]
  --torrents N       info hashes (10000)
  --peers N          peers of each (10)
  --numwant N        peers wanted (50)
  --seconds N        how long (10)
  --threads N        client threads (1)
  --connections N    sockets or connections of each thread (4 for udp, 64 for http)
  --window N         announces under way on each UDP socket (64)
  --once             announce each peer of each torrent once, then end
  --close            a connection for each HTTP request";

/// A kind of tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Udp,
    Http,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) protocol: Protocol,
    pub(crate) tracker: SocketAddr,
    torrents: u32,
    peers: u32,
    pub(crate) numwant: u32,
    pub(crate) time: Duration,
    pub(crate) threads: u32,
    pub(crate) connections: u32,
    pub(crate) window: u32,
    pub(crate) once: bool,
    pub(crate) close: bool,
}

impl Plan {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let mut next = || words.next();
        let protocol = match next().as_deref() {
            Some("udp") => Protocol::Udp,
            Some("http") => Protocol::Http,
            _ => return Err(USAGE.into()),
        };
        let tracker = next().and_then(|word| word.parse().ok()).ok_or(USAGE)?;
        let mut plan = Self {
            protocol,
            tracker,
            torrents: 10_000,
            peers: 10,
            numwant: 50,
            time: Duration::from_secs(10),
            threads: 1,
            connections: if protocol == Protocol::Udp { 4 } else { 64 },
            window: 64,
            once: false,
            close: false,
        };
        while let Some(word) = next() {
            let mut number = || {
                let number = next().and_then(|word| word.parse::<u32>().ok());
                number.ok_or_else(|| format!("{word} wants a number\n{USAGE}"))
            };
            match word.as_str() {
                "--torrents" => plan.torrents = number()?.max(1),
                "--peers" => plan.peers = number()?.max(1),
                "--numwant" => plan.numwant = number()?,
                "--seconds" => plan.time = Duration::from_secs(number()?.into()),
                "--threads" => plan.threads = number()?.max(1),
                "--connections" => plan.connections = number()?.max(1),
                "--window" => plan.window = number()?.max(1),
                "--once" => plan.once = true,
                "--close" => plan.close = true,
                _ => return Err(format!("there is no option {word}\n{USAGE}")),
            }
        }
        Ok(plan)
    }

    /// The announces of one thread, in an order that jumps between torrents.
    pub(crate) fn announces(&self, thread: u32) -> impl Iterator<Item = Announce> + use<> {
        let all = u64::from(self.torrents) * u64::from(self.peers);
        let (torrents, numwant) = (u64::from(self.torrents), self.numwant);
        let mine = (u64::from(thread)..all).step_by(self.threads as usize);
        let rounds = if self.once { 1 } else { usize::MAX };
        std::iter::repeat_n(mine, rounds)
            .flatten()
            .map(move |number| announce(number % torrents, number / torrents, numwant))
    }
}

fn announce(torrent: u64, peer: u64, numwant: u32) -> Announce {
    let mut hash = [0; 20];
    for (piece, salt) in hash.chunks_mut(8).zip(1..) {
        let word = scatter(torrent * 4 + salt).to_be_bytes();
        piece.copy_from_slice(&word[..piece.len()]);
    }
    let port = NonZeroU16::new(6881).unwrap_or(NonZeroU16::MIN);
    let mut announce = Announce::new(InfoHash(hash), PeerId(*b"-WL0100-loadloadload"), port);
    announce.ip = Some(Ipv4Addr::from(0x0a00_0001 + peer as u32).into());
    announce.left = u64::from(!peer.is_multiple_of(3)) * 1000;
    announce.numwant = Some(numwant);
    announce.compact = Some(true);
    announce.event = Event::None;
    announce
}

/// Spreads numbers that lie close together.
fn scatter(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
