//! What nodes of one tracker tell one another, as bytes: who came to a swarm and who went, and what other trackers
//! answered.
//!
//! A batch is a version, a head, and what happened, one after another to its end.
//! Numbers are little-endian, addresses as peers are sent. Bytes of a batch come from a store that others can write to:
//! nothing in them is believed before it was looked at, and reading them costs no more than they are long.

use crate::{InfoHash, compact};

/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 2;

/// Peers of one answer at most, of both families.
pub const ANSWER_PEERS: usize = 50;

/// Bytes before the first event of a batch.
pub const HEAD: usize = 1 + 9 + 8 + 4;

/// The longest event: flags, info hash, an address of IPv6, downloads, minutes.
pub const LONGEST_EVENT: usize = 1 + 20 + compact::V6 + 4 + 2;

/// The longest answer.
pub const LONGEST_ANSWER: usize = 1 + 20 + 16 + 4 + 4 + 2 + ANSWER_PEERS * compact::V6;

const KIND: u8 = 0b11;
const SEEDER: u8 = 1 << 2;
const PAUSED: u8 = 1 << 3;
const COUNTED: u8 = 1 << 4;
const IPV6: u8 = 1 << 5;
const DOWNLOADS: u8 = 1 << 6;
const SILENT: u8 = 1 << 7;

const GOOD: u8 = 1;

/// Why a batch cannot be read, or not to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBatch {
    /// Another version wrote it.
    #[error("it was written by another version")]
    Version,
    /// It ends in the middle.
    #[error("it is cut off")]
    Short,
    /// There are bits or numbers in it that mean nothing.
    #[error("it says something that has no meaning")]
    Meaning,
}

/// An address and port, as peers are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactPeer {
    /// In IPv4.
    V4([u8; compact::V4]),
    /// In IPv6.
    V6([u8; compact::V6]),
}

impl CompactPeer {
    /// Its bytes.
    pub fn wire(&self) -> &[u8] {
        match self {
            Self::V4(wire) => wire,
            Self::V6(wire) => wire,
        }
    }
}

/// What a peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerDid {
    /// It is there: it came, changed, or said so again.
    IsHere,
    /// It left.
    Left,
    /// It finished, and its download was counted.
    Completed,
}

/// Something that happened to a peer of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerEvent {
    /// Which swarm.
    pub hash: InfoHash,
    /// Which peer.
    pub at: CompactPeer,
    /// What it did.
    pub did: PeerDid,
    /// It has all of it.
    pub seeder: bool,
    /// It wants no more of what it lacks (BEP 21).
    pub paused: bool,
    /// Its download was counted before.
    pub counted: bool,
    /// How often somebody finished it, as far as the writer knows.
    pub downloads: u32,
    /// Minutes since the peer announced, where it is told of again and did nothing; 0 for what just happened.
    pub silent: u16,
}

impl PeerEvent {
    /// Appends it to a batch.
    pub fn write(&self, to: &mut Vec<u8>) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let kind = match self.did {
            PeerDid::IsHere => 0,
            PeerDid::Left => 1,
            PeerDid::Completed => 2,
        };
        let mut event = [0; LONGEST_EVENT];
        event[0] = kind
            | flag(self.seeder, SEEDER)
            | flag(self.paused, PAUSED)
            | flag(self.counted, COUNTED)
            | flag(matches!(self.at, CompactPeer::V6(_)), IPV6)
            | flag(self.downloads > 0, DOWNLOADS)
            | flag(self.silent > 0, SILENT);
        event[1..21].copy_from_slice(&self.hash.0);
        let end = match &self.at {
            CompactPeer::V4(wire) => {
                event[21..27].copy_from_slice(wire);
                27
            }
            CompactPeer::V6(wire) => {
                event[21..39].copy_from_slice(wire);
                39
            }
        };
        event[end..end + 4].copy_from_slice(&self.downloads.to_le_bytes());
        let end = if self.downloads > 0 { end + 4 } else { end };
        event[end..end + 2].copy_from_slice(&self.silent.to_le_bytes());
        let end = if self.silent > 0 { end + 2 } else { end };
        // At once: what takes part after part of it asks for room each time.
        to.extend_from_slice(&event[..end]);
    }

    #[inline]
    fn read(bytes: &mut Front<'_>) -> Result<Self, BadBatch> {
        let [flags] = bytes.take()?;
        let did = match flags & KIND {
            0 => PeerDid::IsHere,
            1 => PeerDid::Left,
            2 => PeerDid::Completed,
            _ => return Err(BadBatch::Meaning),
        };
        let hash = InfoHash(bytes.take()?);
        let at = match flags & IPV6 {
            0 => CompactPeer::V4(bytes.take()?),
            _ => CompactPeer::V6(bytes.take()?),
        };
        let downloads = match flags & DOWNLOADS {
            0 => 0,
            _ => match u32::from_le_bytes(bytes.take()?) {
                0 => return Err(BadBatch::Meaning),
                some => some,
            },
        };
        let silent = match flags & SILENT {
            0 => 0,
            _ => match u16::from_le_bytes(bytes.take()?) {
                0 => return Err(BadBatch::Meaning),
                some => some,
            },
        };
        Ok(Self {
            hash,
            at,
            did,
            seeder: flags & SEEDER != 0,
            paused: flags & PAUSED != 0,
            counted: flags & COUNTED != 0,
            downloads,
            silent,
        })
    }
}

/// What another tracker answered, or that it did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldAnswer {
    /// About which swarm.
    pub hash: InfoHash,
    /// Which tracker, as all nodes know it.
    pub tracker: [u8; 16],
    /// Seconds until it may be asked again.
    pub due: u32,
    /// How many seconds its peers are kept, if there was a good answer; else those that are known stay.
    pub peers_live: Option<u32>,
    /// Its peers in IPv4; with those in IPv6 no more than [`ANSWER_PEERS`].
    pub v4: Vec<[u8; compact::V4]>,
    /// Its peers in IPv6.
    pub v6: Vec<[u8; compact::V6]>,
}

impl ToldAnswer {
    /// Appends it to a batch, with as many of its peers as there may be.
    pub fn write(&self, to: &mut Vec<u8>) {
        let v4 = &self.v4[..self.v4.len().min(ANSWER_PEERS)];
        let v6 = &self.v6[..self.v6.len().min(ANSWER_PEERS - v4.len())];
        to.push(if self.peers_live.is_some() { GOOD } else { 0 });
        to.extend_from_slice(&self.hash.0);
        to.extend_from_slice(&self.tracker);
        to.extend_from_slice(&self.due.to_le_bytes());
        if let Some(live) = self.peers_live {
            to.extend_from_slice(&live.to_le_bytes());
            to.extend([v4.len() as u8, v6.len() as u8]);
            v4.iter().for_each(|peer| to.extend_from_slice(peer));
            v6.iter().for_each(|peer| to.extend_from_slice(peer));
        }
    }

    fn read(bytes: &mut Front<'_>) -> Result<Self, BadBatch> {
        let [flags] = bytes.take()?;
        if flags & !GOOD != 0 {
            return Err(BadBatch::Meaning);
        }
        let mut answer = Self {
            hash: InfoHash(bytes.take()?),
            tracker: bytes.take()?,
            due: u32::from_le_bytes(bytes.take()?),
            peers_live: None,
            v4: Vec::new(),
            v6: Vec::new(),
        };
        if flags & GOOD != 0 {
            answer.peers_live = Some(u32::from_le_bytes(bytes.take()?));
            let [v4, v6] = bytes.take()?.map(usize::from);
            if v4 + v6 > ANSWER_PEERS {
                return Err(BadBatch::Meaning);
            }
            answer.v4 = bytes.some(v4)?;
            answer.v6 = bytes.some(v6)?;
        }
        Ok(answer)
    }
}

/// What a batch says of itself. It is sealed with it, so that whoever can write to the store cannot put it elsewhere, nor there
/// again later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The stream that it was written to.
    pub stream: [u8; 9],
    /// When it was written, in milliseconds of the store's clock as far as that was known.
    pub written: u64,
    /// How old it was then, in milliseconds.
    pub age: u32,
}

impl Head {
    /// Begins a batch.
    pub fn write(&self, to: &mut Vec<u8>) {
        to.push(VERSION);
        to.extend_from_slice(&self.stream);
        to.extend_from_slice(&self.written.to_le_bytes());
        to.extend_from_slice(&self.age.to_le_bytes());
    }
}

/// A batch that is being read.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// What it says of itself.
    pub head: Head,
    rest: Front<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the head of a batch.
    ///
    /// # Errors
    /// When another version wrote it, or when it is too short.
    pub fn open(bytes: &'a [u8]) -> Result<Self, BadBatch> {
        let mut rest = Front(bytes);
        match rest.take()? {
            [VERSION] => {
                let head = Head {
                    stream: rest.take()?,
                    written: u64::from_le_bytes(rest.take()?),
                    age: u32::from_le_bytes(rest.take()?),
                };
                Ok(Self { head, rest })
            }
            _ => Err(BadBatch::Version),
        }
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.rest.0.is_empty()
    }

    /// What happened to peers; ends after the first that cannot be read.
    pub fn events(self) -> impl Iterator<Item = Result<PeerEvent, BadBatch>> + 'a {
        each(self.rest, PeerEvent::read)
    }

    /// What other trackers answered; ends after the first that cannot be read.
    pub fn answers(self) -> impl Iterator<Item = Result<ToldAnswer, BadBatch>> + 'a {
        each(self.rest, ToldAnswer::read)
    }
}

/// What happened to peers, from a batch that has no head yet; ends after the first that cannot be read.
pub fn events(body: &[u8]) -> impl Iterator<Item = Result<PeerEvent, BadBatch>> {
    each(Front(body), PeerEvent::read)
}

fn each<'a, T>(
    mut rest: Front<'a>,
    read: impl Fn(&mut Front<'a>) -> Result<T, BadBatch>,
) -> impl Iterator<Item = Result<T, BadBatch>> {
    std::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let read = read(&mut rest);
        if read.is_err() {
            rest.0 = &[];
        }
        Some(read)
    })
}

/// Bytes that are read from their front.
#[derive(Clone, Debug)]
struct Front<'a>(&'a [u8]);

impl Front<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadBatch> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(BadBatch::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn some<const N: usize>(&mut self, count: usize) -> Result<Vec<[u8; N]>, BadBatch> {
        let (taken, rest) = self.0.split_at_checked(count * N).ok_or(BadBatch::Short)?;
        self.0 = rest;
        Ok(taken.as_chunks().0.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn peers() -> impl Strategy<Value = CompactPeer> {
        prop_oneof![
            any::<[u8; 6]>().prop_map(CompactPeer::V4),
            any::<[u8; 18]>().prop_map(CompactPeer::V6),
        ]
    }

    prop_compose! {
        fn events()(
            hash: [u8; 20], at in peers(), kind in 0..3_u8,
            seeder: bool, paused: bool, counted: bool, downloads: u32, silent: u16,
        ) -> PeerEvent {
            let did = [PeerDid::IsHere, PeerDid::Left, PeerDid::Completed][usize::from(kind)];
            PeerEvent { hash: InfoHash(hash), at, did, seeder, paused, counted, downloads, silent }
        }
    }

    prop_compose! {
        fn answers()(
            hash: [u8; 20], tracker: [u8; 16], due: u32, good: bool, live: u32,
            v4 in proptest::collection::vec(any::<[u8; 6]>(), 0..30),
            v6 in proptest::collection::vec(any::<[u8; 18]>(), 0..20),
        ) -> ToldAnswer {
            let (v4, v6) = if good { (v4, v6) } else { (Vec::new(), Vec::new()) };
            let peers_live = good.then_some(live);
            ToldAnswer { hash: InfoHash(hash), tracker, due, peers_live, v4, v6 }
        }
    }

    proptest! {
        #[test]
        fn events_are_read_back(
            stream: [u8; 9], written: u64, age: u32, all in proptest::collection::vec(events(), 0..50),
        ) {
            let head = Head { stream, written, age };
            let mut bytes = Vec::new();
            head.write(&mut bytes);
            prop_assert_eq!(bytes.len(), HEAD);
            for event in &all {
                let before = bytes.len();
                event.write(&mut bytes);
                prop_assert!(bytes.len() - before <= LONGEST_EVENT);
            }
            let batch = Batch::open(&bytes).unwrap();
            prop_assert_eq!((batch.head, batch.is_empty()), (head, all.is_empty()));
            let read: Result<Vec<_>, _> = batch.events().collect();
            prop_assert_eq!(read.unwrap(), all);
            // Wherever it is cut off, what stands before is read and the end is noticed.
            let cut = bytes.len().saturating_sub(1).max(HEAD);
            let whole = Batch::open(&bytes[..cut]).unwrap().events();
            prop_assert!(whole.filter(Result::is_err).count() <= 1);
        }

        #[test]
        fn answers_are_read_back(all in proptest::collection::vec(answers(), 0..10)) {
            let mut bytes = Vec::new();
            Head::default().write(&mut bytes);
            for answer in &all {
                let before = bytes.len();
                answer.write(&mut bytes);
                prop_assert!(bytes.len() - before <= LONGEST_ANSWER);
            }
            let read: Result<Vec<_>, _> = Batch::open(&bytes).unwrap().answers().collect();
            prop_assert_eq!(read.unwrap(), all);
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes: Vec<u8>) {
            if let Ok(batch) = Batch::open(&bytes) {
                prop_assert!(batch.clone().events().count() <= bytes.len());
                prop_assert!(batch.answers().count() <= bytes.len());
            }
        }
    }

    #[test]
    fn an_answer_has_no_more_peers_than_there_may_be() {
        let answer = ToldAnswer {
            hash: InfoHash([1; 20]),
            tracker: [2; 16],
            due: 1800,
            peers_live: Some(3600),
            v4: vec![[3; 6]; 60],
            v6: vec![[4; 18]; 60],
        };
        let mut bytes = Vec::new();
        Head::default().write(&mut bytes);
        answer.write(&mut bytes);
        let read = Batch::open(&bytes).unwrap().answers().next();
        let read = read.unwrap().unwrap();
        assert_eq!((read.v4.len(), read.v6.len()), (50, 0));
        let counts = bytes.len() - 50 * 6 - 2;
        bytes[counts] = 51;
        let read = Batch::open(&bytes).unwrap().answers().next();
        assert_eq!(read, Some(Err(BadBatch::Meaning)));
    }

    #[test]
    fn what_another_version_wrote_is_not_read() {
        assert_eq!(
            Batch::open(&[1, 0, 0, 0, 0]).unwrap_err(),
            BadBatch::Version
        );
        assert_eq!(Batch::open(&[VERSION, 0, 0]).unwrap_err(), BadBatch::Short);
        assert_eq!(Batch::open(&[]).unwrap_err(), BadBatch::Short);
    }
}
