//! The notify front: tells people, through hooks, what went wrong and what works again.
//!
//! It looks at all fronts every few seconds (`round`), compares what it sees with what it saw (`watch`, without I/O and
//! clock), and puts what is worth a message into the outbox of each hook. A message is a call like any other: hooks are
//! upstreams of this front's engine, which keeps the time between messages and leaves a dead hook alone.

mod api;
mod call;
pub mod config;
mod contribution;
mod error;
mod front;
mod hook;
mod judge;
mod keep;
mod message;
mod model;
mod outbound;
mod outbox;
mod pages;
mod policy;
mod round;
mod rules;
mod seal;
mod shape;
mod stats;
mod subject;
mod test_message;
#[cfg(test)]
mod tests;
mod tower;
mod upstreams;
mod watch;

pub use error::Error;
pub use front::{Front, Storage};
pub use policy::policy;
pub use test_message::{Desk, HookRow};
