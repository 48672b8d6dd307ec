//! A part of all swarms behind one lock: a table of positions and the records they lead to.
//!
//! Records stand in small blocks that never move, so a shard grows without copying what it holds.

use hashbrown::HashTable;

use super::record::Record;

/// Records in one block.
const BLOCK: usize = 16;

/// Some of the swarms.
#[derive(Default)]
pub(super) struct Shard {
    table: HashTable<u32>,
    #[expect(
        clippy::vec_box,
        reason = "a block stays where it is when there are more"
    )]
    blocks: Vec<Box<[Option<Record>; BLOCK]>>,
    /// Positions of records that are gone.
    free: Vec<u32>,
    /// Where the sweep goes on.
    pub(super) swept: u32,
    /// Something changed since it was last written to the disk.
    pub(super) changed: bool,
}

impl Shard {
    /// One more than the highest position ever taken.
    pub(super) fn end(&self) -> u32 {
        (self.blocks.len() * BLOCK) as u32
    }

    #[inline]
    pub(super) fn find(&self, hashed: u64, hash: &[u8; 20]) -> Option<u32> {
        self.table
            .find(hashed, |position| {
                self.at(*position)
                    .is_some_and(|record| record.hash() == hash)
            })
            .copied()
    }

    /// Where a swarm is, if it is here: without looking at its record, so it may be another's.
    #[inline]
    pub(super) fn guess(&self, hashed: u64) -> Option<u32> {
        self.table.find(hashed, |_| true).copied()
    }

    #[inline]
    pub(super) fn at(&self, position: u32) -> Option<&Record> {
        let position = position as usize;
        self.blocks.get(position / BLOCK)?[position % BLOCK].as_ref()
    }

    #[inline]
    pub(super) fn at_mut(&mut self, position: u32) -> Option<&mut Record> {
        let position = position as usize;
        self.blocks.get_mut(position / BLOCK)?[position % BLOCK].as_mut()
    }

    /// Puts in a swarm that is not there.
    pub(super) fn insert(
        &mut self,
        hashed: u64,
        record: Record,
        hasher: impl Fn(&[u8; 20]) -> u64,
    ) -> u32 {
        let position = self.free.pop().unwrap_or_else(|| {
            let first = self.end();
            self.blocks.push(Box::new([const { None }; BLOCK]));
            self.free.extend((first + 1..first + BLOCK as u32).rev());
            first
        });
        self.blocks[position as usize / BLOCK][position as usize % BLOCK] = Some(record);
        let blocks = &self.blocks;
        self.table.insert_unique(hashed, position, |position| {
            let position = *position as usize;
            let record = blocks[position / BLOCK][position % BLOCK].as_ref();
            record.map_or(0, |record| hasher(record.hash()))
        });
        position
    }

    pub(super) fn remove(&mut self, hashed: u64, position: u32) {
        if let Ok(entry) = self.table.find_entry(hashed, |other| *other == position) {
            entry.remove();
            self.blocks[position as usize / BLOCK][position as usize % BLOCK] = None;
            self.free.push(position);
        }
        if self.table.is_empty() {
            // Whole blocks go only when all do: positions are not handed out twice.
            let changed = true;
            *self = Self {
                changed,
                ..Self::default()
            };
        }
    }
}
