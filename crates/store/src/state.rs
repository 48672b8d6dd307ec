//! The engine's rows: what each front knows of its upstreams, and its agenda.
//!
//! [`State`] has two implementations, [`MemoryState`] and [`SqliteState`]; one story (`state/story.rs`) holds for both.
//! Rows are plain values in wall time. Left to the engine: translating them to and from its own types, which
//! upstreams are configured, and cutting the end of a rest to what its kind allows.
//!
//! # What is promised
//!
//! - [`State::save`] takes the changes in before it returns and never waits for a disk. The changes of one call land
//!   together or not at all, and those of earlier calls land no later.
//! - A start is one inserted row. While the disk cannot follow, changes of one row are folded into the newest, and
//!   beyond a few thousand waiting starts further ones are folded into one later start of the same upstream with their
//!   sum: a reservation is never lost and never ends early. Only agenda changes can be refused, with [`Error::Full`].
//! - When nothing else waits a commit follows at once; under load everything that gathered during one commit goes into
//!   the next. What was committed survives `kill -9`, so what is lost is at most two commits' work. Their size is
//!   bounded (some thousand starts, [`Error::Full`] for the agenda, one row per upstream), which keeps that within a
//!   second on any disk that deserves the name.
//! - A commit that fails (a full disk) loses nothing: its changes are kept and go with the next ones.
//! - A row that cannot be read is left out, told in the log and counted in [`Kept::unreadable`].

mod batch;
mod load;
mod memory;
mod row;
mod sqlite;
mod value;
mod write;

pub use self::{
    memory::MemoryState,
    row::{AgendaRow, Change, Kept, KeptUpstream, Limit, Off, Rest, Start, UpstreamRow},
    sqlite::{MIGRATIONS, SqliteState},
    value::{Budget, Cause, Ledger, Payload, Wall, Window, Windows},
};
use crate::Error;

/// Keeps the engine's rows. All methods are ordinary functions, callable from any thread.
pub trait State: Send + Sync {
    /// Everything kept of one front, including all changes saved before. Starts and other past events that lie in the
    /// future (the wall clock was set back) are moved to `now`, here and in what is kept. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read at all; single rows that cannot be read are only counted.
    fn load(&self, front: &str, now: Wall) -> Result<Kept, Error>;

    /// Takes changes in, in their order, and returns without waiting for the disk.
    ///
    /// # Errors
    /// [`Error::Full`] when too many agenda changes wait: those of this call were left out, everything else was taken.
    /// [`Error::Closed`] when the file is closed.
    fn save(&self, front: &str, changes: Vec<Change>) -> Result<(), Error>;

    /// Waits until everything saved before is committed. Blocks.
    ///
    /// # Errors
    /// [`Error::Unsaved`] when the commit failed; the changes are kept and tried again with the next ones.
    fn flush(&self) -> Result<(), Error>;

    /// Deletes what is kept of upstreams that were gone from the configuration before that time, with their agenda
    /// entries, and says how many upstreams that were. Blocks.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn forget(&self, before: Wall) -> Result<usize, Error>;
}

#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
