//! The tracker front: swarms, the listeners before them and the forwarders behind them.

#[cfg(feature = "bench")]
pub mod bench;
mod clock;
pub mod config;
mod front;
mod inbound;
mod keeper;
mod lists;
mod reply;
pub mod swarm;
mod tally;
mod tracker;
mod trust;

pub use front::{Around, Error, Front};
pub use inbound::http::Guest;
pub use lists::ListError;
