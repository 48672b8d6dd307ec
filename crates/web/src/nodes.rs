//! Several nodes: tables that all of them hold, and what pages and programs are told of the others.

pub(crate) mod api;
pub(crate) mod metrics;
pub(crate) mod part;
mod replica;
mod sealed;
pub(crate) mod view;

pub use self::replica::{Fields, Held, HeldRow, LOOK, Replica, Taken};
