//! The engine's rows: what each front knows about its upstreams, and its agenda.
//!
//! [`State`] has two implementations, [`MemoryState`] and [`SqliteState`]; the same tests (`state/story.rs`) run on both.
//! Rows are plain values in wall time. The engine translates them to and from its own types, knows which
//! upstreams are configured, and limits how long a cooldown that was read back may last.
//!
//! # What is promised
//!
//! - [`State::save`] has accepted the changes when it returns and never waits for a disk. The changes of one call are
//!   committed together or not at all, and never before those of earlier calls.
//! - A start is one inserted row for each window that it counts in. While the disk cannot keep up, several changes to a row become one, and
//!   beyond a few thousand waiting starts further ones are added up in one later start of the same upstream: a
//!   reservation is never lost and never ends early. Only agenda changes can be refused, with [`Error::Full`].
//! - If nothing else waits, a commit follows at once; under load, everything that gathered during one commit goes into
//!   the next. What was committed survives `kill -9`, so at most the work of two commits is lost. Their size is
//!   bounded (some thousand starts, [`Error::Full`] for the agenda, one row per upstream), which keeps that within a
//!   second on any reasonable disk.
//! - A commit that fails (a full disk) loses nothing: its changes are kept and written with the next ones.
//! - A row that cannot be read is left out, logged and counted in [`Kept::unreadable`].

mod batch;
mod load;
mod memory;
mod row;
mod sqlite;
mod value;
mod write;

pub use self::{
    memory::MemoryState,
    row::{
        AgendaRow, Change, Kept, KeptUpstream, Limit, Off, Past, Rest, SERIES, Start, UpstreamRow,
        is_upstream,
    },
    sqlite::{MIGRATIONS, SqliteState},
    value::{Budget, Cause, Ledger, Payload, Wall, Window},
};
use crate::Error;

/// Keeps the engine's rows. All methods are ordinary functions, callable from any thread.
pub trait State: Send + Sync {
    /// Everything stored for one front, including all changes saved so far. Starts and other past events that lie in the
    /// future, because the wall clock was set back, are moved to `now`, both here and in the store. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read at all; single rows that cannot be read are only counted.
    fn load(&self, front: &str, now: Wall) -> Result<Kept, Error>;

    /// Accepts changes, in their order, and returns without waiting for the disk.
    ///
    /// # Errors
    /// [`Error::Full`] if too many agenda changes wait: those of this call are dropped, everything else is accepted.
    /// [`Error::Closed`] if the file is closed.
    fn save(&self, front: &str, changes: Vec<Change>) -> Result<(), Error>;

    /// Waits until everything saved so far is committed. Blocks.
    ///
    /// # Errors
    /// [`Error::Unsaved`] if the commit failed; the changes are kept and tried again with the next ones.
    fn flush(&self) -> Result<(), Error>;

    /// Deletes upstreams that were removed from the configuration before that time, with everything about them and their
    /// agenda entries, and returns how many there were. Blocks.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn forget(&self, before: Wall) -> Result<usize, Error>;
}

#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
