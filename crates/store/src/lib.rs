//! What must survive a restart.
//!
//! [`sqlite::File`] is one database file with one writer thread; every crate that stores something has its own
//! tables in it. [`state::State`] keeps the engine's rows, in memory or in such a file. [`shared::SharedStore`] is what several
//! nodes share, and [`Siv`] seals what leaves this machine. This crate knows neither the engine nor any front.

mod error;
pub mod shared;
mod siv;
pub mod sqlite;
pub mod state;

pub use error::Error;
/// Re-exported so that owners of tables write their closures against the same version.
pub use rusqlite;
pub use siv::Siv;
