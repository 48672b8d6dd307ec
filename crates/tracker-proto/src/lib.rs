//! BitTorrent tracker wire formats: bencode, HTTP announces and scrapes, UDP packets.
//!
//! Parses and writes both sides of both protocols, nothing else: no sockets, no clock, no decisions.
//! Listeners and forwarders of `tracker` use it, as do scripted upstreams in tests. An announce
//! becomes the same [`Announce`] whichever way it came; reading a request never allocates.

#![forbid(unsafe_code)]

pub mod announce;
pub mod bencode;
pub mod compact;
mod error;
mod hash;
pub mod http;
pub mod nodes;
mod program;
mod text;
pub mod udp;

pub use announce::{Announce, Counts, Endpoint, Event, UNKNOWN_LEFT};
pub use error::{ReplyError, RequestError};
pub use hash::{InfoHash, NotAnInfoHash, PeerId};
pub use text::Text;
