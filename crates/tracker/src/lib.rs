//! The tracker front: swarms, the listeners before them and the forwarders behind them.

// So that properties shared with the fuzzer find it by its name.
#[cfg(test)]
extern crate self as weir_tracker;

mod asked;
#[cfg(feature = "bench")]
pub mod bench;
mod call;
mod card;
mod catalogue;
mod clock;
pub mod config;
mod connect;
mod contribution;
#[cfg(any(test, feature = "bench"))]
pub mod conversation;
mod error;
mod exchange;
#[cfg(test)]
mod fault;
mod files;
mod forwarder;
mod forwarding;
mod front;
mod heard;
mod inbound;
mod judge;
mod last_words;
mod ledger;
mod lists;
mod look;
mod metrics;
mod outbound;
mod pages;
mod policy;
mod programs;
mod reply;
mod rules;
mod sealed;
mod sharing;
mod stats;
pub mod swarm;
mod tally;
mod threads;
mod tracker;
mod trust;
mod tryout;
mod upstreams;

pub use error::Error;
pub use front::Front;
pub use lists::ListError;
pub use pages::announce_urls;
pub use policy::{policy, rate};
