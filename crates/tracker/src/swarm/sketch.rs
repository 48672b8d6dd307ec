//! About how many peers an address has: a table of fixed size, however many addresses there are.
//!
//! Each address has a counter in every row, shared with others; the lowest is nearest the truth and
//! never below it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Seed;
use super::entry::Endpoint;

const ROWS: usize = 4;

/// Peers per address.
#[derive(Debug)]
pub(super) struct Sketch {
    counters: Box<[AtomicU32]>,
    /// In each row.
    columns: usize,
    seed: Seed,
}

impl Sketch {
    /// A table for so many peers at most: about a counter in each row for each of them.
    pub(super) fn new(seed: Seed, peers: u32) -> Self {
        let columns = (peers as usize).clamp(1 << 16, 1 << 24).next_power_of_two();
        Self {
            counters: (0..ROWS * columns).map(|_| AtomicU32::new(0)).collect(),
            columns,
            seed,
        }
    }

    pub(super) fn count(&self, at: &Endpoint) -> u32 {
        let counters = self.counters(address(at));
        let least = counters.map(|counter| counter.load(Ordering::Relaxed));
        least.min().unwrap_or(0)
    }

    pub(super) fn add(&self, at: &Endpoint) {
        self.add_address(address(at));
    }

    /// Puts in one peer of an address in its wire form, with or without the port.
    pub(super) fn add_address(&self, wire: &[u8]) {
        for counter in self.counters(network(wire)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn remove(&self, at: &Endpoint) {
        self.remove_address(address(at));
    }

    /// Takes out one peer of an address in its wire form, with or without the port.
    pub(super) fn remove_address(&self, wire: &[u8]) {
        for counter in self.counters(network(wire)) {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn counters(&self, address: &[u8]) -> impl Iterator<Item = &AtomicU32> {
        let hash = self.seed.hash(address);
        let (first, step) = (hash as u32 as usize, (hash >> 32) as usize | 1);
        (0..ROWS).map(move |row| {
            let column = first.wrapping_add(row.wrapping_mul(step)) % self.columns;
            &self.counters[row * self.columns + column]
        })
    }
}

fn address(at: &Endpoint) -> &[u8] {
    match at {
        Endpoint::V4(wire) => network(wire),
        Endpoint::V6(wire) => network(wire),
    }
}

/// An IPv4 address, or the /64 of an IPv6 one, which one household has.
fn network(wire: &[u8]) -> &[u8] {
    if wire.len() < 16 {
        &wire[..4]
    } else {
        &wire[..8]
    }
}
