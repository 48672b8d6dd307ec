//! Which article has a number.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::slab::Slab;
use super::{KnownArticle, Line, ThreadTable};

/// Positions of lines by the numbers in them. Servers choose the numbers, so the hash has a secret key.
#[derive(Default)]
pub(super) struct NumberIndex {
    lines: HashTable<(u32, u32)>,
    key: RandomState,
}

impl NumberIndex {
    pub(super) fn bytes(&self) -> usize {
        self.lines.allocation_size()
    }

    /// Notes that the line of a container has this number; 0 is none.
    fn add(&mut self, number: u64, entry: (u32, u32), lines: &Slab<Line>) {
        if number > 0 {
            let rehash = |&(line, _): &(u32, u32)| self.key.hash_one(lines[line].number);
            let hash = self.key.hash_one(number);
            self.lines.insert_unique(hash, entry, rehash);
        }
    }

    fn remove(&mut self, number: u64, line: u32) {
        let hash = self.key.hash_one(number);
        if let Ok(entry) = self.lines.find_entry(hash, |&(other, _)| other == line) {
            entry.remove();
        }
    }
}

impl ThreadTable {
    /// The article that has a number.
    pub fn numbered(&self, number: u64) -> Option<KnownArticle<'_>> {
        let hash = self.by_number.key.hash_one(number);
        let has = |&(line, _): &(u32, u32)| self.lines[line].number == number;
        let &(_, at) = self.by_number.lines.find(hash, has)?;
        KnownArticle::new(self, at)
    }

    /// Gives the article of a container another number; 0 is none.
    pub(super) fn renumber(&mut self, at: u32, number: u64) {
        self.unnumber(at);
        let line = self.containers[at].line;
        self.lines[line].number = number;
        self.by_number.add(number, (line, at), &self.lines);
    }

    /// Takes an article's number out of the index.
    pub(super) fn unnumber(&mut self, at: u32) {
        let line = self.containers[at].line;
        self.by_number.remove(self.lines[line].number, line);
    }
}
