//! Whose turn is it? Pure decisions about outbound calls: no tokio, no sockets, no clock.

pub mod job;
pub mod moment;
pub mod policy;
