//! The web part from outside: its router called as a service, and its listener on real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without may panic"
)]

mod access;
mod answers;
mod api;
mod forms;
mod guests;
mod keys;
mod links;
mod lock_out;
mod nodes;
mod proxies;
mod reading;
mod server;
mod sign_in;
mod support;
mod templates;
mod upstreams;
