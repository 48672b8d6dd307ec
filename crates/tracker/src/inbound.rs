//! The listeners: they read what clients send, ask [`crate::tracker`], and write what it says.
//!
//! Each core has a thread for each protocol and family with a socket of its own; the kernel spreads clients over them.

pub(crate) mod connection_id;
pub(crate) mod http;
pub(crate) mod own;
mod plain;
mod proxy;
mod request;
pub(crate) mod socket;
pub(crate) mod start;
#[expect(
    unsafe_code,
    reason = "the system calls that take many packets at once have no safe form"
)]
pub(crate) mod system;
pub(crate) mod udp;
