//! The sheets behind one lock of the ledger, found by the hash that also chose the lock.

use hashbrown::HashTable;

use super::sheet::Sheet;
use crate::swarm::Seed;

/// Where an info hash is kept: itself and its keyed hash, computed once.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) hash: &'a [u8; 20],
    pub(super) hashed: u64,
}

/// The sheets of some info hashes.
#[derive(Debug, Default)]
pub(super) struct SheetTable(HashTable<SheetRow>);

type SheetRow = ([u8; 20], Box<Sheet>);

impl SheetTable {
    pub(super) fn get(&self, spot: Spot<'_>) -> Option<&Sheet> {
        let row = self.0.find(spot.hashed, |row| row.0 == *spot.hash);
        row.map(|(_, sheet)| &**sheet)
    }

    pub(super) fn get_mut(&mut self, spot: Spot<'_>) -> Option<&mut Sheet> {
        let row = self.0.find_mut(spot.hashed, |row| row.0 == *spot.hash);
        row.map(|(_, sheet)| &mut **sheet)
    }

    /// Puts a sheet in where none is.
    pub(super) fn insert(&mut self, spot: Spot<'_>, sheet: Sheet, seed: &Seed) {
        let row = (*spot.hash, Box::new(sheet));
        let hasher = |row: &SheetRow| seed.hash(&row.0);
        self.0.insert_unique(spot.hashed, row, hasher);
    }

    pub(super) fn remove(&mut self, spot: Spot<'_>) {
        if let Ok(row) = self.0.find_entry(spot.hashed, |row| row.0 == *spot.hash) {
            row.remove();
        }
    }

    pub(super) fn hashes(&self) -> Vec<[u8; 20]> {
        self.0.iter().map(|(hash, _)| *hash).collect()
    }

    pub(super) fn sheets_mut(&mut self) -> impl Iterator<Item = &mut Sheet> {
        self.0.iter_mut().map(|(_, sheet)| &mut **sheet)
    }
}
