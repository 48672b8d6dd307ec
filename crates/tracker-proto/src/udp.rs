//! UDP packets (BEP 15, with the options of BEP 41), both directions.
//!
//! [`request`] is what clients send, [`reply`] what trackers answer; each is written by one side and
//! read by the other. Whether a connection id is genuine and whether an address may be answered is
//! the listener's matter.

pub mod reply;
pub mod request;

pub use reply::{Family, Reply};
pub use request::{Options, Request, Unreadable};

/// What a client chose to know the reply by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransactionId(pub u32);

/// What a tracker gave a client to prove its address with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// Swarms in one scrape at most; so many fit into a packet that every network carries.
pub const MAX_SCRAPE: usize = 74;

/// What stands in place of a connection id in a connect request.
const MAGIC: u64 = 0x0417_2710_1980;

const CONNECT: u32 = 0;
const ANNOUNCE: u32 = 1;
const SCRAPE: u32 = 2;
const ERROR: u32 = 3;

/// Reads bytes of a known count at a place, if they are there.
fn field<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk().copied()
}

fn u32_at(packet: &[u8], at: usize) -> Option<u32> {
    field(packet, at).map(u32::from_be_bytes)
}

fn u64_at(packet: &[u8], at: usize) -> Option<u64> {
    field(packet, at).map(u64::from_be_bytes)
}
