//! A binary heap of upstreams that also finds, changes and removes any of them in O(log n).
//!
//! The dispatcher has one as its timer and one per class for the upstreams that offer a candidate.

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
                if rank < old {
                    self.up(at);
                } else if rank > old {
                    self.down(at);
                }
            }
            (Some(rank), None) => {
                let index = upstream as usize;
                if self.positions.len() <= index {
                    self.positions.resize(index + 1, ABSENT);
                }
                self.entries.push((rank, upstream));
                self.positions[index] = position_of(self.entries.len() - 1);
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
        if let Some(&(_, moved)) = self.entries.get(at) {
            self.positions[moved as usize] = position_of(at);
            self.up(at);
            self.down(at);
        }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.entries[parent] <= self.entries[at] {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.entries.len() && self.entries[child] < self.entries[least] {
                    least = child;
                }
            }
            if least == at {
                break;
            }
            self.swap(at, least);
            at = least;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.entries.swap(a, b);
        self.positions[self.entries[a].1 as usize] = position_of(a);
        self.positions[self.entries[b].1 as usize] = position_of(b);
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
