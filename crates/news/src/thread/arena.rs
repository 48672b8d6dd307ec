//! The texts of one newsgroup back to back, and the lists of references likewise.
//!
//! One allocation for all texts instead of three per article. What is given back is only counted;
//! the owner rewrites everything once half of it is unused.

use super::slab::make_room;

/// Texts and lists, found by where they start and how long they are.
#[derive(Default)]
pub(super) struct Arena {
    texts: String,
    lists: Vec<u32>,
    /// Bytes of texts and lists that nobody points at any more.
    unused: usize,
}

impl Arena {
    /// An arena with room for what `old` has in use.
    pub(super) fn successor(old: &Self) -> Self {
        let mut texts = String::new();
        texts.reserve_exact(old.texts.len().saturating_sub(old.unused));
        Self {
            texts,
            lists: Vec::new(),
            unused: 0,
        }
    }

    /// Whether this much more text and this many more references can still be pointed at.
    pub(super) fn has_room(&self, text: usize, list: usize) -> bool {
        let fits = |used: usize, more| used.saturating_add(more) < u32::MAX as usize;
        fits(self.texts.len(), text) && fits(self.lists.len(), list)
    }

    /// Adds a text; the caller has made sure of the room.
    pub(super) fn add_text(&mut self, text: &str) -> u32 {
        let at = self.texts.len();
        let spare = self.texts.capacity() - at;
        if spare < text.len() {
            self.texts.reserve_exact(text.len().max(at / 8).max(256));
        }
        self.texts.push_str(text);
        at as u32
    }

    /// Adds a list; the caller has made sure of the room.
    pub(super) fn add_list(&mut self, list: &[u32]) -> u32 {
        let at = self.lists.len();
        make_room(&mut self.lists, list.len());
        self.lists.extend_from_slice(list);
        at as u32
    }

    pub(super) fn text(&self, at: u32, length: usize) -> &str {
        let at = at as usize;
        &self.texts[at..at + length]
    }

    pub(super) fn list(&self, at: u32, length: usize) -> &[u32] {
        let at = at as usize;
        &self.lists[at..at + length]
    }

    /// A text of this length, or a list of this size, is no longer pointed at.
    pub(super) fn give_back(&mut self, text: usize, list: usize) {
        self.unused += text + list * size_of::<u32>();
    }

    /// Whether rewriting it would free half of it, and enough to be worth the work.
    pub(super) fn is_wasteful(&self) -> bool {
        let used = self.texts.len() + self.lists.len() * size_of::<u32>();
        self.unused > 4_096 && self.unused > used / 2
    }

    pub(super) fn bytes(&self) -> usize {
        self.texts.capacity() + self.lists.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_32_bits_can_point_at() {
        let arena = Arena::default();
        let most = u32::MAX as usize;
        assert!(arena.has_room(most - 1, most - 1));
        assert!(!arena.has_room(most, 0) && !arena.has_room(0, most));
        assert!(!arena.has_room(usize::MAX, 0));
    }

    #[test]
    fn only_a_half_that_is_unused_is_worth_rewriting() {
        let mut arena = Arena::default();
        arena.add_text(&"x".repeat(9_000));
        arena.add_list(&[7; 250]);
        arena.give_back(4_800, 50);
        assert!(!arena.is_wasteful());
        arena.give_back(1, 0);
        assert!(arena.is_wasteful());
    }
}
