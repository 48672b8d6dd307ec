//! Outbound connections: the only crate that opens a socket to an upstream.
//!
//! A front asks [`http::Client`] for a page, [`connect`]s a stream (secured by [`Tls`]) or binds [`Datagrams`]. All use a [`Ground`]: in production
//! the machine's network ([`System`]), in tests a network in memory. This crate limits sizes; the caller limits
//! the time of a whole call by dropping its future. When and how often an upstream is called is decided
//! elsewhere.

#![forbid(unsafe_code)]

mod aside;
mod dial;
mod error;
mod ground;
pub mod http;
mod meter;
mod names;
mod prompt;
mod reach;
mod resolver;
mod system;
mod tls;

pub use aside::{LONG, aside};
pub use dial::{Goal, connect};
pub use error::Error;
pub use futures_util::future::BoxFuture;
pub use ground::{Datagrams, Family, Ground, Stream};
pub use names::{Names, is_nowhere, is_private};
pub use reach::{Home, Reach};
pub use system::System;
pub use tls::{BadCertificate, Roots, ServerTls, Tls};
