//! The news front: several news servers read as one.
//!
//! Pages, the API and the NNTP server (`inbound`) ask the [`model`] in domain words and are given values ([`reading`]). It answers from what it knows, else
//! asks the servers ([`federation`], [`call`], [`outbound`]); threads ([`thread`]) and article numbers of our own
//! ([`numbers`]) are made here as well.

#![forbid(unsafe_code)]

mod agree;
pub mod api;
mod articles;
mod bring;
pub mod call;
mod card;
mod catalogue;
pub mod config;
mod contribution;
mod coverage;
mod errand;
mod error;
pub mod federation;
mod feed;
mod front;
mod inbound;
mod judge;
mod keeping;
mod lines;
pub mod marks;
mod metrics;
pub mod model;
mod newest;
mod newsgroup;
pub mod numbered;
pub mod numbers;
pub mod outbound;
pub mod pages;
mod policy;
pub mod posting;
pub mod reader;
pub mod reading;
pub mod rules;
pub mod seeking;
mod server;
mod silence;
mod stats;
mod store;
pub mod text;
pub mod thread;
mod threads;
mod tryout;
mod upstreams;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use error::Error;
pub use front::{Front, Storage};
pub use inbound::nntp::NntpSockets;
pub use judge::NewsFault;
pub use policy::{CLASSES, HIGH, LOW, NORMAL, policy};
pub use server::Server;
