//! Things of one kind at positions that never move, so that others can point at them with four bytes.

use std::mem::size_of;
use std::ops::{Index, IndexMut};

/// A position that nothing has.
pub(super) const NONE: u32 = u32::MAX;

/// A vector whose free places are used again.
pub(super) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts an item into a free place.
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = item;
            return at;
        }
        make_room(&mut self.items, 1);
        self.items.push(item);
        u32::try_from(self.items.len() - 1).expect("the arena is full long before this is")
    }

    /// Gives a place back. What is in it stays until the place is used again.
    pub(super) fn remove(&mut self, at: u32) {
        self.free.push(at);
    }

    pub(super) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }
}

/// Makes room for more items. Growing by an eighth and not to the double copies a little more often
/// and never leaves half of the memory unused.
pub(super) fn make_room<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        items.reserve_exact(more.max(items.len() / 8).max(8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_given_back_is_used_again_and_others_stay() {
        let mut slab = Slab::new();
        let places = [slab.insert('a'), slab.insert('b'), slab.insert('c')];
        slab.remove(places[1]);
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.insert('d'), places[1]);
        assert_eq!(places.map(|at| slab[at]), ['a', 'd', 'c']);
    }

    #[test]
    fn at_most_an_eighth_of_a_long_vector_is_unused() {
        let mut items = Vec::new();
        for item in 0..10_000_u32 {
            make_room(&mut items, 1);
            items.push(item);
            assert!(items.capacity() <= items.len() + (items.len() / 8).max(8));
        }
    }
}
