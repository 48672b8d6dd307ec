//! `weir serve`: builds everything from the configuration and runs it until it is told to stop.

use crate::config::{Loaded, Sources};

/// Runs until stopped. `sources` is kept for reloads.
pub fn run(_loaded: Loaded, _sources: Sources) -> anyhow::Result<()> {
    Ok(())
}
