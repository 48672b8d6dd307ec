//! A heap of upstreams that also finds, changes and removes any of them in O(log n).
//!
//! The dispatcher has one as its timer and one per class for the upstreams that offer a candidate. Four
//! children per entry make it half as deep as two would, and they lie side by side.

use std::cmp::Ordering;

/// Children of an entry. Four of 16 bytes each fill a cache line.
const WIDTH: usize = 4;

/// Position of an upstream that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// Upstreams by rank, the lowest on top; an upstream is in it at most once.
#[derive(Clone, Debug)]
pub(crate) struct Heap<K> {
    entries: Vec<(K, u32)>,
    /// Where in `entries` each upstream stands.
    positions: Vec<u32>,
}

impl<K> Default for Heap<K> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            positions: Vec::new(),
        }
    }
}

impl<K: Ord + Copy> Heap<K> {
    /// The lowest rank and its upstream.
    pub(crate) fn peek(&self) -> Option<(K, u32)> {
        self.entries.first().copied()
    }

    /// Gives `upstream` this rank, or takes it out.
    pub(crate) fn set(&mut self, upstream: u32, rank: Option<K>) {
        let position = self.position(upstream);
        match (rank, position) {
            (None, None) => {}
            (None, Some(at)) => self.remove(at),
            (Some(rank), Some(at)) => {
                let old = std::mem::replace(&mut self.entries[at].0, rank);
                match rank.cmp(&old) {
                    Ordering::Less => self.up(at),
                    Ordering::Equal => {}
                    Ordering::Greater => self.down(at),
                }
            }
            (Some(rank), None) => {
                let index = upstream as usize;
                if self.positions.len() <= index {
                    self.positions.resize(index + 1, ABSENT);
                }
                self.entries.push((rank, upstream));
                // Also writes the position, even where the entry stays at the end.
                self.up(self.entries.len() - 1);
            }
        }
    }

    fn position(&self, upstream: u32) -> Option<usize> {
        match self.positions.get(upstream as usize) {
            None | Some(&ABSENT) => None,
            Some(&at) => Some(at as usize),
        }
    }

    fn remove(&mut self, at: usize) {
        let (_, upstream) = self.entries.swap_remove(at);
        self.positions[upstream as usize] = ABSENT;
        // What came from the end into the gap may belong above as well as below, for it comes from another
        // branch; one of the two calls does nothing.
        if at < self.entries.len() {
            self.up(at);
            self.down(at);
        }
    }

    /// Moves an entry towards the top until none above it is greater. Ranks are compared together with the
    /// upstream's number, so equal ranks have an order too and the same history gives the same starts.
    fn up(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1) / WIDTH;
            if self.entries[parent] <= entry {
                break;
            }
            self.put(at, self.entries[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves an entry away from the top until none below it is less.
    fn down(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            let first = WIDTH * at + 1;
            let children = first..self.entries.len().min(first + WIDTH);
            let Some(least) = children.min_by_key(|&child| self.entries[child]) else {
                break;
            };
            if entry <= self.entries[least] {
                break;
            }
            self.put(at, self.entries[least]);
            at = least;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: (K, u32)) {
        self.entries[at] = entry;
        self.positions[entry.1 as usize] = position_of(at);
    }
}

fn position_of(at: usize) -> u32 {
    u32::try_from(at).expect("a heap holds at most one entry per upstream, and their ids are u32")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn top_is_always_the_lowest_of_what_was_set(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u8..50)), 0..200),
        ) {
            let mut heap = Heap::default();
            let mut plain = [None; 20];
            for (upstream, rank) in steps {
                heap.set(upstream, rank);
                plain[upstream as usize] = rank;
                let lowest = (0u32..20).filter_map(|u| plain[u as usize].map(|r| (r, u))).min();
                prop_assert_eq!(heap.peek(), lowest);
            }
        }
    }
}
