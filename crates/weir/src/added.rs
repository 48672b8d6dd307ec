//! Upstreams that were added on the pages or through the API: `upstreams.yaml` in the data directory.
//!
//! Its entries have the form of those in the operator's own file and are read after them, by the same checks. Weir
//! writes this file and replaces it as a whole; the operator's file is never touched.

mod destination;
mod draft;
mod file;
mod kind;
mod write;

pub(crate) use self::destination::{destination, host_name};
pub(crate) use self::draft::{Draft, SavedValue, is_password, saved};
pub use self::file::{Added, AddedFile, path_in};
pub use self::kind::{CheckedEntry, Kind};
pub(crate) use self::write::Prepared;

/// The file's name in the data directory.
pub const FILE: &str = "upstreams.yaml";
