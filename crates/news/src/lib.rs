//! The news front: several news servers read as one.
//!
//! What is here so far: the way to the servers ([`outbound`]), the calls to them on the engine ([`call`]), several servers
//! asked as one ([`federation`]), threads of articles ([`thread`]) and article numbers of our own ([`numbers`]).

#![forbid(unsafe_code)]

pub mod call;
pub mod config;
mod error;
pub mod federation;
mod judge;
pub mod numbers;
pub mod outbound;
mod policy;
mod server;
pub mod thread;

pub use config::Config;
pub use error::Error;
pub use judge::NewsFault;
pub use policy::{CLASSES, HIGH, LOW, NORMAL, policy};
pub use server::Server;
