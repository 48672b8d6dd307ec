//! Scripted upstreams for tests and the demonstration.
//!
//! [`memory`] is a network without a kernel, for tests that pause time; [`zoo`] holds trackers,
//! indexers and news servers that misbehave, in memory for *when* and on loopback for *what*; [`dns`] is a small name server,
//! [`policy`] has the numbers of an engine, [`html`] reads pages, [`inn`] starts real news servers and [`redis`] real stores, [`tap`]
//! listens in on a conversation and disturbs it, [`proxy`] disturbs the way to a store. Whatever
//! runs here ends when it is dropped, and sends a bounded number of bytes.

#![forbid(unsafe_code)]

pub mod dns;
pub mod html;
#[cfg(feature = "inn")]
pub mod inn;
#[cfg(feature = "log")]
pub mod log;
pub mod memory;
pub mod policy;
pub mod proxy;
#[cfg(feature = "redis")]
pub mod redis;
pub mod tap;
pub mod zoo;
