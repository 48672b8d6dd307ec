//! The table of containers: one per Message-ID that was seen, as an article or only in references.
//!
//! Here are the IDs, and who is linked below whom. Which link is right is decided in `claims`.
//! Everything that walks does so step by step along the links, so depth costs no stack.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

use hashbrown::HashTable;

use super::arena::Arena;
use super::slab::{NONE, Slab};

/// The rank of what an article says about its own parent.
pub(super) const OWN_WORD: u16 = u16::MAX;

/// One Message-ID.
pub(super) struct Container {
    /// Of the ID, the same in every process: versions and the order of threads must not depend on
    /// which node or which start made them.
    pub(super) hash: u64,
    id: u32,
    /// The parent that the best claim names. It is also the one it is linked to, unless it is `cut`.
    pub(super) wanted: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    /// The thread that it belongs to.
    pub(super) thread: u32,
    /// The article's line; a ghost has none.
    pub(super) line: u32,
    /// Lines held whose references mention it.
    pub(super) mentions: u32,
    /// How much is known by whoever made the best claim.
    pub(super) rank: u16,
    id_length: u8,
    /// The claims run in a circle, and this is where it was opened.
    pub(super) cut: bool,
}

/// All containers of a newsgroup.
pub(super) struct Containers {
    pub(super) arena: Arena,
    all: Slab<Container>,
    by_id: HashTable<u32>,
    /// Others choose the IDs, so the table's hash has a secret key.
    key: RandomState,
}

impl Containers {
    pub(super) fn new() -> Self {
        Self {
            arena: Arena::default(),
            all: Slab::new(),
            by_id: HashTable::new(),
            key: RandomState::new(),
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        let hash = self.key.hash_one(id);
        self.by_id.find(hash, |&at| self.id(at) == id).copied()
    }

    /// The container of an ID, which is made if there is none: a ghost without parent or thread.
    pub(super) fn intern(&mut self, id: &str) -> u32 {
        let hash = self.key.hash_one(id);
        if let Some(&at) = self.by_id.find(hash, |&at| self.id(at) == id) {
            return at;
        }
        let at = self.all.insert(Container {
            hash: steady_hash(id),
            id: self.arena.add_text(id),
            wanted: NONE,
            first_child: NONE,
            next: NONE,
            previous: NONE,
            thread: NONE,
            line: NONE,
            mentions: 0,
            rank: 0,
            id_length: u8::try_from(id.len()).expect("a MessageId has at most 250 octets"),
            cut: false,
        });
        let Self {
            arena,
            all,
            by_id,
            key,
        } = self;
        let rehash = |&at: &u32| key.hash_one(text_of(arena, &all[at]));
        by_id.insert_unique(hash, at, rehash);
        at
    }

    /// Forgets a container that nothing points at; it belongs to no thread then.
    pub(super) fn forget(&mut self, at: u32) {
        let hash = self.key.hash_one(self.id(at));
        if let Ok(entry) = self.by_id.find_entry(hash, |&other| other == at) {
            entry.remove();
        }
        let length = usize::from(self[at].id_length);
        self.arena.give_back(length, 0);
        self[at].thread = NONE;
        self.all.remove(at);
    }

    /// The ID, with its brackets.
    pub(super) fn id(&self, at: u32) -> &str {
        text_of(&self.arena, &self.all[at])
    }

    /// Moves the IDs to a new arena.
    pub(super) fn move_ids(&mut self, arena: &mut Arena) {
        for at in self.all() {
            let id = arena.add_text(self.id(at));
            self[at].id = id;
        }
    }

    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        let container = &self[at];
        (!container.cut && container.wanted != NONE).then_some(container.wanted)
    }

    pub(super) fn is_ghost(&self, at: u32) -> bool {
        self[at].line == NONE
    }

    pub(super) fn has_children(&self, at: u32) -> bool {
        self[at].first_child != NONE
    }

    pub(super) fn children(&self, at: u32) -> impl Iterator<Item = u32> {
        let known = |at: u32| (at != NONE).then_some(at);
        let first = known(self[at].first_child);
        std::iter::successors(first, move |&child| known(self[child].next))
    }

    /// A container and everything above it. Links form a forest, so the way up ends; with the bound,
    /// it would end even if they did not.
    pub(super) fn upwards(&self, at: u32, bound: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(at), |&at| self.parent(at)).take(bound as usize)
    }

    /// The container after this one in a walk over everything below `top`, `top` included.
    pub(super) fn step(&self, top: u32, at: u32) -> Option<u32> {
        if self.has_children(at) {
            return Some(self[at].first_child);
        }
        let mut at = at;
        while at != top {
            if self[at].next != NONE {
                return Some(self[at].next);
            }
            at = self.parent(at)?;
        }
        None
    }

    /// Puts a container first among the children of the parent that it wants.
    pub(super) fn link(&mut self, at: u32) {
        let parent = self[at].wanted;
        let next = std::mem::replace(&mut self[parent].first_child, at);
        if next != NONE {
            self[next].previous = at;
        }
        let container = &mut self[at];
        container.cut = false;
        container.next = next;
        container.previous = NONE;
    }

    /// Takes a container from among its siblings. What it wants is left to the caller.
    pub(super) fn unlink(&mut self, at: u32) {
        let Some(parent) = self.parent(at) else {
            return;
        };
        let Container { next, previous, .. } = self[at];
        if next != NONE {
            self[next].previous = previous;
        }
        if previous == NONE {
            self[parent].first_child = next;
        } else {
            self[previous].next = next;
        }
        self[at].next = NONE;
        self[at].previous = NONE;
    }

    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes() + self.all.bytes() + self.by_id.allocation_size()
    }

    /// All of them, in no order.
    pub(super) fn all(&self) -> Vec<u32> {
        self.by_id.iter().copied().collect()
    }
}

impl std::ops::Index<u32> for Containers {
    type Output = Container;

    fn index(&self, at: u32) -> &Container {
        &self.all[at]
    }
}

impl std::ops::IndexMut<u32> for Containers {
    fn index_mut(&mut self, at: u32) -> &mut Container {
        &mut self.all[at]
    }
}

/// A hash that is the same for everyone who runs this build.
pub(super) fn steady_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Makes one hash of two, in which their order matters. Cheaper than hashing their bytes, and there are
/// several to be made for each article (the constants are those of MurmurHash3's last step).
pub(super) fn mix(one: u64, other: u64) -> u64 {
    let mut hash = one ^ other.rotate_left(31).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

fn text_of<'a>(arena: &'a Arena, container: &Container) -> &'a str {
    arena.text(container.id, usize::from(container.id_length))
}
