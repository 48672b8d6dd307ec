//! The news front: several news servers read as one.

#![forbid(unsafe_code)]

pub mod config;
mod judge;
mod outbound;

pub use config::Config;
