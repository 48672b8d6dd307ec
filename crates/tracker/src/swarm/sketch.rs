//! About how many peers an address has: a table of fixed size, however many addresses there are.
//!
//! Each address has a counter in every row, shared with others; the lowest is nearest the truth and
//! never below it.

use std::sync::atomic::{AtomicU32, Ordering};

use weir_web::Household;

use super::Seed;
use super::entry::PeerEndpoint;

/// Peers per address.
#[derive(Debug)]
pub(super) struct Sketch {
    counters: Box<[AtomicU32]>,
    rows: usize,
    /// In each row; a power of two.
    columns: usize,
    seed: Seed,
}

impl Sketch {
    /// A table that tells who has very many peers: a megabyte, whatever there is to count.
    pub(super) fn coarse(seed: Seed) -> Self {
        Self::new(seed, 2, 1 << 17)
    }

    /// A table that tells few from very few: about a counter in each of four rows for each of so many peers.
    pub(super) fn fine(seed: Seed, peers: u32) -> Self {
        let columns = (peers as usize).clamp(1 << 16, 1 << 24);
        Self::new(seed, 4, columns.next_power_of_two())
    }

    fn new(seed: Seed, rows: usize, columns: usize) -> Self {
        Self {
            counters: (0..rows * columns).map(|_| AtomicU32::new(0)).collect(),
            rows,
            columns,
            seed,
        }
    }

    /// What an address may seem to have that has nearly nothing, when there are so many peers in all: some times what each
    /// counter holds on average.
    pub(super) fn doubt(&self, peers: u32) -> u32 {
        4 + 4 * (peers / self.columns as u32)
    }

    /// About how many peers the network of an address has; never fewer than it has.
    pub(super) fn count(&self, at: &PeerEndpoint) -> u32 {
        let counters = self.counters(at.wire());
        let least = counters.map(|counter| counter.load(Ordering::Relaxed));
        least.min().unwrap_or(0)
    }

    /// Puts in one peer in its wire form.
    pub(super) fn add(&self, wire: &[u8]) {
        for counter in self.counters(wire) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes out one peer in its wire form.
    pub(super) fn remove(&self, wire: &[u8]) {
        for counter in self.counters(wire) {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn counters(&self, wire: &[u8]) -> impl Iterator<Item = &AtomicU32> {
        let hash = self.seed.hash(household(wire));
        let (first, step) = (hash as u32 as usize, (hash >> 32) as usize | 1);
        (0..self.rows).map(move |row| {
            let column = first.wrapping_add(row.wrapping_mul(step)) & (self.columns - 1);
            &self.counters[row * self.columns + column]
        })
    }
}

/// Whose peer it is. The wire form ends with the port.
fn household(wire: &[u8]) -> &[u8] {
    let address = wire.len().saturating_sub(2);
    Household::octets(&wire[..address])
}
