//! Moves the files of swarms to a new key: with another key, swarms belong to other groups.
//!
//! That is needed where an earlier version wrote them (its keys have eight bytes) and where the key is lost. Everything is read
//! and written once more, each group beside its old file; then the new key takes its place, and only after that the new files
//! take theirs. So a kill leaves either the old key with all old files or the new key with all new ones, some of them
//! still under the name they were written to, and the next start ends what was begun.

use std::fs::{self, File};
use std::io;

use super::{Directory, name, sheets_name};
use crate::clock::FileTime;
use crate::ledger::{Ledger, LedgerLimits};
use crate::swarm::snapshot::GROUPS;
use crate::swarm::{Age, PeerCounting, SwarmRules, Swarms};

/// Behind the name of a file that waits for its place.
const WAITS: &str = "moved";

/// Everything that was written is taken along; what is too old is forgotten when it is read under the new key.
const ALL: SwarmRules = SwarmRules {
    age: Age::MAX,
    count_by: PeerCounting::Endpoint,
    max_swarms: u32::MAX,
    max_peers: u32::MAX,
    max_peers_per_ip: None,
    forwards: true,
};
const NO_LIMITS: LedgerLimits = LedgerLimits {
    sheets: usize::MAX,
    peers: usize::MAX,
    peers_of_one: usize::MAX,
};

/// Asked before each change of the directory; an error ends the move there. For tests, which die at any of them.
pub(super) type Goes<'a> = &'a mut dyn FnMut() -> io::Result<()>;

impl Directory {
    /// Writes everything anew under the key of this directory, which is not on the disk yet, and then the key.
    pub(super) fn move_all(&self, wall: u64, goes: Goes<'_>) -> io::Result<()> {
        for name in names().map(|name| waiting(&name)) {
            // Of a move that was killed before its key was written: it had another one.
            let path = self.path.join(name);
            if path.exists() {
                goes()?;
                fs::remove_file(path)?;
            }
        }
        if !names().any(|name| self.path.join(name).exists()) {
            goes()?;
            return self.write_key();
        }
        let now = FileTime { seconds: 0, wall };
        let swarms = Swarms::new(ALL, self.key);
        let ledger = Ledger::new(NO_LIMITS, self.key);
        self.restore(&swarms, now)?;
        self.restore_sheets(&ledger, now)?;
        for group in 0..GROUPS {
            // Also where nothing is left: the old file of that name is to go.
            if self.path.join(name(group)).exists() {
                swarms.not_written(group);
            }
            if self.path.join(sheets_name(group)).exists() {
                ledger.not_written(group);
            }
            if let Some(file) = swarms.capture(group, now) {
                goes()?;
                self.write(&waiting(&name(group)), &file)?;
            }
            if let Some(file) = ledger.capture(group, now) {
                goes()?;
                self.write(&waiting(&sheets_name(group)), &file)?;
            }
        }
        // What the key depends on is on the disk before it.
        File::open(&self.path)?.sync_all()?;
        goes()?;
        self.write_key()?;
        File::open(&self.path)?.sync_all()?;
        let totals = swarms.totals();
        tracing::info!(
            swarms = totals.swarms,
            peers = totals.peers(),
            "the files of swarms were written under a new key"
        );
        self.end_move(goes)
    }

    /// Puts files into their places that a move has written for the key of this directory.
    pub(super) fn end_move(&self, goes: Goes<'_>) -> io::Result<()> {
        for name in names() {
            let from = self.path.join(waiting(&name));
            if from.exists() {
                goes()?;
                fs::rename(from, self.path.join(name))?;
            }
        }
        Ok(())
    }
}

/// The files of all groups.
fn names() -> impl Iterator<Item = String> {
    (0..GROUPS).flat_map(|group| [name(group), sheets_name(group)])
}

/// The name under which a file waits for its place.
fn waiting(name: &str) -> String {
    format!("{name}.{WAITS}")
}

#[cfg(test)]
mod tests;
