//! Threads in the order of their last articles, found by rank: page 2,000 of a list costs what page 1
//! costs.
//!
//! Sorted chunks of at most 512 places, and a tree of sums over their lengths (Fenwick). A plain
//! `BTreeMap` has no ranks, so `?page=N` would walk over everything before it; a balanced tree with
//! counts has them, at several times the code and memory. A place moves within one chunk, so an
//! insertion shifts at most 8 KiB; a chunk is split once in 256 insertions, and only then are the
//! sums made anew.

/// Places in a chunk.
const FULL: usize = 512;

/// Where a thread belongs. Of two that ended in the same second, the tie decides, which is made from
/// the root's ID, so that it does not depend on who was first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) last: i64,
    pub(super) tie: u32,
    pub(super) thread: u32,
}

/// All listed threads, oldest first.
#[derive(Default)]
pub(super) struct Ranking {
    chunks: Vec<Vec<Place>>,
    /// Entry `i` has the number of places in the chunks `i & (i + 1) ..= i`.
    sums: Vec<u32>,
    places: usize,
}

impl Ranking {
    pub(super) fn len(&self) -> usize {
        self.places
    }

    pub(super) fn insert(&mut self, place: Place) {
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
            self.sums.push(0);
        }
        let chunk = self.chunk_of(place).min(self.chunks.len() - 1);
        let places = &mut self.chunks[chunk];
        if let Err(at) = places.binary_search(&place) {
            places.insert(at, place);
            self.places += 1;
            self.add(chunk, 1);
        }
        if self.chunks[chunk].len() == FULL {
            let newer = self.chunks[chunk].split_off(FULL / 2);
            self.chunks.insert(chunk + 1, newer);
            self.sum_up();
        }
    }

    pub(super) fn remove(&mut self, place: Place) {
        let chunk = self.chunk_of(place);
        let Some(places) = self.chunks.get_mut(chunk) else {
            return;
        };
        let Ok(at) = places.binary_search(&place) else {
            return;
        };
        places.remove(at);
        self.places -= 1;
        self.add(chunk, -1);
        // Small neighbours become one, so that many removals do not leave many chunks.
        let length = |at: usize| self.chunks.get(at).map_or(FULL, Vec::len);
        let (left, after) = (length(chunk), length(chunk + 1));
        let before = chunk.checked_sub(1).map_or(FULL, length);
        if left + before <= FULL / 4 {
            self.join(chunk - 1);
        } else if left + after <= FULL / 4 {
            self.join(chunk);
        } else if left == 0 {
            self.chunks.remove(chunk);
            self.sum_up();
        }
    }

    /// Threads from the newest on, after as many as are skipped.
    pub(super) fn newest(&self, skip: usize) -> impl Iterator<Item = u32> {
        let older = self.places.saturating_sub(skip);
        let (chunk, within) = self.find(older);
        let rest = self.chunks.get(chunk).map_or(&[][..], |c| &c[..within]);
        let before = self.chunks[..chunk].iter().rev();
        let places = rest.iter().rev().chain(before.flat_map(|c| c.iter().rev()));
        places.map(|place| place.thread)
    }

    pub(super) fn bytes(&self) -> usize {
        let places: usize = self.chunks.iter().map(Vec::capacity).sum();
        places * size_of::<Place>()
            + self.chunks.capacity() * size_of::<Vec<Place>>()
            + self.sums.capacity() * size_of::<u32>()
    }

    /// Makes one chunk of this one and the next.
    fn join(&mut self, chunk: usize) {
        let mut newer = self.chunks.remove(chunk + 1);
        self.chunks[chunk].append(&mut newer);
        self.sum_up();
    }

    /// The chunk that has the place or ought to; past the last one if it is newer than all.
    fn chunk_of(&self, place: Place) -> usize {
        self.chunks
            .partition_point(|chunk| chunk.last() < Some(&place))
    }

    /// The chunk in which the place with this rank is, and where in it.
    fn find(&self, rank: usize) -> (usize, usize) {
        let (mut chunk, mut rest) = (0, rank);
        let mut width = self.sums.len().next_power_of_two();
        while width > 0 {
            let after = chunk + width;
            if let Some(&sum) = self.sums.get(after - 1)
                && sum as usize <= rest
            {
                rest -= sum as usize;
                chunk = after;
            }
            width /= 2;
        }
        (chunk, rest)
    }

    fn add(&mut self, chunk: usize, difference: i32) {
        let mut at = chunk;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add_signed(difference);
            at |= at + 1;
        }
    }

    fn sum_up(&mut self) {
        self.sums.clear();
        self.sums.resize(self.chunks.len(), 0);
        for chunk in 0..self.chunks.len() {
            let length = self.chunks[chunk].len() as u32;
            self.sums[chunk] += length;
            let above = chunk | (chunk + 1);
            if above < self.sums.len() {
                self.sums[above] += self.sums[chunk];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn place(last: i64) -> Place {
        Place {
            last,
            tie: 7,
            thread: last as u32,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_page_is_the_page_of_a_sorted_list(
            steps in prop::collection::vec((0..3_000_i64, prop::bool::weighted(0.6)), 1..6_000),
        ) {
            let mut ranking = Ranking::default();
            let mut sorted = BTreeSet::new();
            for (last, comes) in steps {
                if comes {
                    ranking.insert(place(last));
                    sorted.insert(place(last));
                } else {
                    ranking.remove(place(last));
                    sorted.remove(&place(last));
                }
            }
            prop_assert_eq!(ranking.len(), sorted.len());
            let newest: Vec<u32> = sorted.iter().rev().map(|place| place.thread).collect();
            for skip in (0..=newest.len() + 60).step_by(47) {
                let page: Vec<u32> = ranking.newest(skip).take(50).collect();
                let end = newest.len().min(skip + 50);
                prop_assert_eq!(&page, &newest[skip.min(end)..end]);
            }
        }
    }

    #[test]
    fn chunks_stay_few_when_most_threads_go() {
        let mut ranking = Ranking::default();
        for last in 0..50_000 {
            ranking.insert(place(last));
        }
        for last in (0..50_000).filter(|last| last % 100 != 0) {
            ranking.remove(place(last));
        }
        assert_eq!(ranking.len(), 500);
        assert!(ranking.chunks.len() <= 12, "{}", ranking.chunks.len());
    }
}
