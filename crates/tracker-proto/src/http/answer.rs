//! What an upstream answers to a forwarder, read with patience for the ways of real trackers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::reply::RetryIn;
use crate::announce::Counts;
use crate::bencode::{self, Dict, List, Value};
use crate::compact;
use crate::error::ReplyError;
use crate::hash::InfoHash;
use crate::text::Text;

/// A reply that could be read: what was asked for, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a, T> {
    /// What was asked for.
    Given(T),
    /// A refusal.
    Refused(Failure<'a>),
}

/// An upstream's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// Its words.
    pub reason: Text<'a>,
    /// When it wants to be asked again (BEP 31), if it says.
    pub retry_in: Option<RetryIn>,
    /// Its interval in seconds, if it gives one even so.
    pub interval: Option<u32>,
}

/// What an upstream says to an announce. Every part may be missing; numbers that make no sense are
/// as good as missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnnounceAnswer<'a> {
    /// Seconds until the next announce.
    pub interval: Option<u32>,
    /// Seconds before which it does not want to be asked.
    pub min_interval: Option<u32>,
    /// Seeders.
    pub complete: Option<u32>,
    /// Leechers.
    pub incomplete: Option<u32>,
    /// How often a peer completed.
    pub downloaded: Option<u32>,
    /// To be sent with the next announce.
    pub tracker_id: Option<&'a [u8]>,
    /// A word for people.
    pub warning: Option<Text<'a>>,
    /// Where it sees us (BEP 24).
    pub external_ip: Option<IpAddr>,
    /// The peers, in whatever shape they came.
    pub peers: Peers<'a>,
}

/// The peers of an announce reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers<'a> {
    compact: &'a [u8],
    compact6: &'a [u8],
    dictionaries: Option<List<'a>>,
}

/// What an upstream says to a scrape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrapeAnswer<'a> {
    /// The swarms.
    pub files: Files<'a>,
    /// Seconds that it wants between scrapes.
    pub min_request_interval: Option<u32>,
}

/// The swarms of a scrape reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files<'a> {
    entries: Option<Dict<'a>>,
}

/// Reads the body of an announce reply; bytes after its end do not matter.
pub fn read_announce_reply(body: &[u8]) -> Result<Answer<'_, AnnounceAnswer<'_>>, ReplyError> {
    let dict = dictionary(body)?;
    if let Some(failure) = failure(dict) {
        return Ok(Answer::Refused(failure));
    }
    let number = |key: &[u8]| dict.get(key).and_then(count);
    let bytes = |key: &[u8]| dict.get(key).and_then(Value::bytes);
    let answer = AnnounceAnswer {
        interval: number(b"interval"),
        min_interval: number(b"min interval"),
        complete: number(b"complete"),
        incomplete: number(b"incomplete"),
        downloaded: number(b"downloaded"),
        tracker_id: bytes(b"tracker id"),
        warning: bytes(b"warning message").map(Text),
        external_ip: bytes(b"external ip").and_then(external_ip),
        peers: Peers::read(dict)?,
    };
    let has_peers = dict.get(b"peers").or(dict.get(b"peers6")).is_some();
    if !has_peers && answer == AnnounceAnswer::default() {
        return Err(ReplyError::Empty);
    }
    Ok(Answer::Given(answer))
}

/// Reads the body of a scrape reply; bytes after its end do not matter.
pub fn read_scrape_reply(body: &[u8]) -> Result<Answer<'_, ScrapeAnswer<'_>>, ReplyError> {
    let dict = dictionary(body)?;
    if let Some(failure) = failure(dict) {
        return Ok(Answer::Refused(failure));
    }
    let files = dict.get(b"files").ok_or(ReplyError::Empty)?;
    let flags = dict.get(b"flags").and_then(Value::dict);
    let interval = flags.and_then(|flags| flags.get(b"min_request_interval"));
    Ok(Answer::Given(ScrapeAnswer {
        files: Files {
            entries: Some(files.dict().ok_or(ReplyError::Field("files"))?),
        },
        min_request_interval: interval.and_then(count),
    }))
}

impl<'a> Peers<'a> {
    /// All addresses, of both families. Host names, which we do not look up, peers without a port
    /// and what is no peer at all are left out.
    pub fn addresses(self) -> impl Iterator<Item = SocketAddr> + 'a {
        let v4 = compact::v4s(self.compact).map(SocketAddr::V4);
        let v6 = compact::v6s(self.compact6).map(SocketAddr::V6);
        let dictionaries = self.dictionaries.into_iter().flatten();
        let dictionaries = dictionaries.filter_map(|peer| address(peer.dict()?));
        let all = v4.chain(v6).chain(dictionaries);
        all.filter(|address| address.port() != 0)
    }

    fn read(reply: Dict<'a>) -> Result<Self, ReplyError> {
        let mut peers = Self::default();
        match reply.get(b"peers") {
            Some(Value::List(list)) => peers.dictionaries = Some(list),
            Some(value) => peers.compact = whole(value, compact::V4, "peers")?,
            None => {}
        }
        if let Some(value) = reply.get(b"peers6") {
            peers.compact6 = whole(value, compact::V6, "peers6")?;
        }
        Ok(peers)
    }
}

impl<'a> Files<'a> {
    /// The counts of one swarm, if the reply has them.
    pub fn counts(self, hash: InfoHash) -> Option<Counts> {
        let mut all = self.iter();
        all.find(|(found, _)| *found == hash)
            .map(|(_, counts)| counts)
    }

    /// The swarms whose keys are info hashes, in the order they came.
    pub fn iter(self) -> impl Iterator<Item = (InfoHash, Counts)> + 'a {
        let entries = self.entries.into_iter().flatten();
        entries.filter_map(|(key, value)| Some((info_hash(key)?, counts(value.dict()?))))
    }
}

/// An info hash as key. npm's `bittorrent-tracker` sends it as if its bytes were characters, written
/// in UTF-8: such a key is longer than 20 bytes, but has 20 characters that are all bytes.
fn info_hash(key: &[u8]) -> Option<InfoHash> {
    if let Ok(hash) = key.try_into() {
        return Some(InfoHash(hash));
    }
    let mut hash = [0; 20];
    let mut characters = str::from_utf8(key).ok()?.chars();
    for byte in &mut hash {
        *byte = u8::try_from(characters.next()?).ok()?;
    }
    characters.next().is_none().then_some(InfoHash(hash))
}

fn dictionary(body: &[u8]) -> Result<Dict<'_>, ReplyError> {
    let (value, _) = bencode::read_prefix(body)?;
    value.dict().ok_or(ReplyError::NotADictionary)
}

fn failure(dict: Dict<'_>) -> Option<Failure<'_>> {
    Some(Failure {
        reason: Text(dict.get(b"failure reason")?.bytes()?),
        retry_in: dict.get(b"retry in").and_then(retry_in),
        interval: dict.get(b"interval").and_then(count),
    })
}

/// Minutes as an integer or as digits in a string, or the word `never`.
fn retry_in(value: Value<'_>) -> Option<RetryIn> {
    match value {
        Value::Integer(_) => count(value).map(RetryIn::Minutes),
        Value::Bytes(b"never") => Some(RetryIn::Never),
        Value::Bytes(digits) => {
            let minutes = str::from_utf8(digits).ok()?.parse().ok()?;
            Some(RetryIn::Minutes(minutes))
        }
        _ => None,
    }
}

fn external_ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    let v6 = <[u8; 16]>::try_from(bytes).ok()?;
    Some(Ipv6Addr::from(v6).into())
}

fn address(peer: Dict<'_>) -> Option<SocketAddr> {
    let ip = str::from_utf8(peer.get(b"ip")?.bytes()?).ok()?;
    let ip: IpAddr = ip.trim_matches(['[', ']']).parse().ok()?;
    let port = peer.get(b"port")?.integer()?;
    Some(SocketAddr::new(ip, u16::try_from(port).ok()?))
}

fn counts(file: Dict<'_>) -> Counts {
    let number = |key: &[u8]| file.get(key).and_then(count).unwrap_or(0);
    Counts {
        complete: number(b"complete"),
        downloaded: number(b"downloaded"),
        incomplete: number(b"incomplete"),
    }
}

/// A string of so many bytes a piece.
fn whole<'a>(value: Value<'a>, piece: usize, key: &'static str) -> Result<&'a [u8], ReplyError> {
    let bytes = value
        .bytes()
        .filter(|bytes| bytes.len().is_multiple_of(piece));
    bytes.ok_or(ReplyError::Field(key))
}

/// A count; one beyond 32 bits is the largest, a negative one is none.
fn count(value: Value<'_>) -> Option<u32> {
    let number = u64::try_from(value.integer()?).ok()?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}
