//! The news front: several news servers read as one.
//!
//! What is here so far: the way to the servers ([`outbound`]), the calls to them on the engine ([`call`]), and several
//! servers asked as one ([`federation`]).

#![forbid(unsafe_code)]

pub mod call;
pub mod config;
mod error;
pub mod federation;
mod judge;
pub mod outbound;
mod policy;
mod server;

pub use config::Config;
pub use error::Error;
pub use judge::NewsFault;
pub use policy::{CLASSES, HIGH, LOW, NORMAL, policy};
pub use server::Server;
