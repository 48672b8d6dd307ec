//! What clients ask: an announce or a scrape, from the raw bytes of a query.
//!
//! Unknown keys are ignored, keys are taken as they stand (nobody escapes them), and the last of
//! repeated keys counts, except for `info_hash`. A value that only advises us (`ip`, `ipv4`, `ipv6`,
//! `event`, `compact`) and means nothing is ignored as well; BEP 3 allows a host name as `ip`, which
//! we do not look up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroU16, NonZeroU32};
use std::str::FromStr;

use super::query::{Key, Number, Pairs, decoded, hex_digit, number};
use crate::announce::{Announce, Endpoint, Event, UNKNOWN_LEFT};
use crate::error::RequestError;
use crate::hash::{InfoHash, PeerId};

/// Reads an announce from a query, the part of the request target after `?`.
pub fn parse_announce(query: &[u8]) -> Result<Announce, RequestError> {
    let (mut has_hash, mut has_id, mut has_port) = (false, false, false);
    let mut announce = Announce::new(InfoHash([0; 20]), PeerId([0; 20]), NonZeroU16::MIN);
    let mut pairs = Pairs::new(query);
    while let Some(key) = pairs.key() {
        match key {
            Key::InfoHash if has_hash => return Err(RequestError::ManyInfoHashes),
            Key::InfoHash => {
                announce.info_hash = InfoHash(pairs.twenty(RequestError::InfoHashLength)?);
                has_hash = true;
            }
            Key::PeerId => {
                announce.peer_id = PeerId(pairs.twenty(RequestError::PeerIdLength)?);
                has_id = true;
            }
            Key::Port => {
                announce.port = parse_port(&mut pairs)?;
                has_port = true;
            }
            Key::Uploaded => announce.uploaded = count(&mut pairs, "uploaded", 0)?,
            Key::Downloaded => announce.downloaded = count(&mut pairs, "downloaded", 0)?,
            Key::Left => announce.left = count(&mut pairs, "left", UNKNOWN_LEFT)?,
            Key::Event => announce.event = parse_event(pairs.value())?,
            Key::Numwant => announce.numwant = parse_numwant(&mut pairs)?,
            Key::Secret => announce.key = parse_key(pairs.value())?,
            Key::Compact => announce.compact = flag(pairs.value()),
            Key::NoPeerId => announce.no_peer_id = flag(pairs.value()) == Some(true),
            Key::Ip => {
                announce.ip = text(pairs.value())?.filter(|ip: &IpAddr| !ip.is_unspecified());
            }
            Key::Ipv4 => announce.ipv4 = parse_ipv4(pairs.value())?,
            Key::Ipv6 => announce.ipv6 = parse_ipv6(pairs.value())?,
            Key::Other => {
                pairs.value();
            }
        }
    }
    match (has_hash, has_id, has_port) {
        (true, true, true) => Ok(announce),
        (false, ..) => Err(RequestError::NoInfoHash),
        (_, false, _) => Err(RequestError::NoPeerId),
        (.., false) => Err(RequestError::NoPort),
    }
}

/// The info hashes of a scrape, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrape<'a> {
    pairs: Pairs<'a>,
    left: usize,
}

/// Reads a scrape from a query; hashes beyond `limit` are left out and not even looked at.
///
/// A scrape without any hash would ask for every swarm there is, which is refused.
pub fn parse_scrape(query: &[u8], limit: usize) -> Result<Scrape<'_>, RequestError> {
    let mut found = 0;
    let mut pairs = Pairs::new(query);
    while found < limit
        && let Some(key) = pairs.key()
    {
        if key == Key::InfoHash {
            pairs.twenty(RequestError::InfoHashLength)?;
            found += 1;
        } else {
            pairs.value();
        }
    }
    if found == 0 {
        return Err(RequestError::NoInfoHash);
    }
    Ok(Scrape {
        pairs: Pairs::new(query),
        left: found,
    })
}

impl Iterator for Scrape<'_> {
    type Item = InfoHash;

    fn next(&mut self) -> Option<InfoHash> {
        self.left = self.left.checked_sub(1)?;
        while self.pairs.key()? != Key::InfoHash {
            self.pairs.value();
        }
        let hash = self.pairs.twenty(RequestError::InfoHashLength);
        hash.ok().map(InfoHash)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Scrape<'_> {}

#[inline]
fn parse_port(pairs: &mut Pairs<'_>) -> Result<NonZeroU16, RequestError> {
    let port = match next_number(pairs)? {
        Ok(Number::Count(port)) => u16::try_from(port).ok().and_then(NonZeroU16::new),
        _ => None,
    };
    port.ok_or(RequestError::Port)
}

#[inline]
fn count(pairs: &mut Pairs<'_>, name: &'static str, negative: u64) -> Result<u64, RequestError> {
    match next_number(pairs)? {
        Ok(Number::Count(count)) => Ok(count),
        Ok(Number::Negative) => Ok(negative),
        Err(_) => Err(RequestError::NotANumber(name)),
    }
}

#[inline]
fn parse_numwant(pairs: &mut Pairs<'_>) -> Result<Option<u32>, RequestError> {
    match next_number(pairs)? {
        Ok(Number::Count(count)) => Ok(Some(u32::try_from(count).unwrap_or(u32::MAX))),
        Ok(Number::Negative) | Err(b"") => Ok(None),
        Err(_) => Err(RequestError::NotANumber("numwant")),
    }
}

/// The next value as a number, or as it stands if it is none.
#[inline]
fn next_number<'a>(pairs: &mut Pairs<'a>) -> Result<Result<Number, &'a [u8]>, RequestError> {
    match pairs.count() {
        Some(count) => Ok(Ok(Number::Count(count))),
        None => odd_number(pairs.value()),
    }
}

#[cold]
fn odd_number(value: &[u8]) -> Result<Result<Number, &[u8]>, RequestError> {
    Ok(number(value)?.ok_or(value))
}

fn parse_event(value: &[u8]) -> Result<Event, RequestError> {
    if let Some(event) = event(value) {
        return Ok(event);
    }
    let mut room = [0; 64];
    Ok(event(decoded(value, &mut room)?).unwrap_or_default())
}

fn event(name: &[u8]) -> Option<Event> {
    match name {
        b"started" => Some(Event::Started),
        b"stopped" => Some(Event::Stopped),
        b"completed" => Some(Event::Completed),
        b"paused" => Some(Event::Paused),
        _ => None,
    }
}

/// A key is whatever the client likes; most send up to eight hexadecimal digits, which stay the
/// number they are (it is the same key over UDP), and anything else is folded into one (FNV-1a).
fn parse_key(value: &[u8]) -> Result<Option<NonZeroU32>, RequestError> {
    if let Some(number) = hexadecimal(value) {
        return Ok(NonZeroU32::new(number));
    }
    let mut room = [0; 64];
    let key = decoded(value, &mut room)?;
    let number = hexadecimal(key).unwrap_or_else(|| {
        let fold = |hash: u32, &byte: &u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        key.iter().fold(0x811c_9dc5, fold)
    });
    Ok(NonZeroU32::new(number))
}

/// Up to eight hexadecimal digits as a number; none are zero, which is no key.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    if digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0, |number, &byte| {
        Some(number << 4 | u32::from(hex_digit(byte)?))
    })
}

fn flag(value: &[u8]) -> Option<bool> {
    match value {
        b"1" => Some(true),
        b"0" => Some(false),
        _ => None,
    }
}

fn parse_ipv4(value: &[u8]) -> Result<Option<Endpoint<Ipv4Addr>>, RequestError> {
    let address = text(value)?.map(|address| Endpoint {
        address,
        port: None,
    });
    let endpoint = match address {
        None => text(value)?.map(|socket: SocketAddrV4| Endpoint {
            address: *socket.ip(),
            port: NonZeroU16::new(socket.port()),
        }),
        found => found,
    };
    Ok(endpoint.filter(|endpoint| !endpoint.address.is_unspecified()))
}

fn parse_ipv6(value: &[u8]) -> Result<Option<Endpoint<Ipv6Addr>>, RequestError> {
    let address = text(value)?.map(|address| Endpoint {
        address,
        port: None,
    });
    let endpoint = match address {
        None => text(value)?.map(|socket: SocketAddrV6| Endpoint {
            address: *socket.ip(),
            port: NonZeroU16::new(socket.port()),
        }),
        found => found,
    };
    Ok(endpoint.filter(|endpoint| !endpoint.address.is_unspecified()))
}

/// A value as what it is the text of, if it is.
fn text<T: FromStr>(value: &[u8]) -> Result<Option<T>, RequestError> {
    let mut room = [0; 64];
    let text = str::from_utf8(decoded(value, &mut room)?).ok();
    Ok(text.and_then(|text| text.parse().ok()))
}
