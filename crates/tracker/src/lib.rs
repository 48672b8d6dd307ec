//! The tracker front: swarms, the listeners before them and the forwarders behind them.

// So that properties shared with the fuzzer find it by its name.
#[cfg(test)]
extern crate self as weir_tracker;

mod allowance;
#[cfg(feature = "bench")]
pub mod bench;
mod card;
mod catalogue;
mod clock;
pub mod config;
mod contribution;
#[cfg(any(test, feature = "bench"))]
pub mod conversation;
#[cfg(test)]
mod fault;
mod forwarder;
mod forwarding;
mod front;
mod inbound;
mod keeper;
mod lists;
mod look;
mod metrics;
mod outbound;
mod pages;
mod reply;
mod sealed;
mod stats;
pub mod swarm;
mod tally;
mod tracker;
mod trust;

pub use forwarder::policy::{policy, rate};
pub use front::{Around, Error, Front};
pub use lists::ListError;
pub use pages::announce_urls;
