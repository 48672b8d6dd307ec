//! Who is whose parent, worked out so that the order in which articles arrive does not matter.
//!
//! Every References header makes claims: each ID in it is the child of the one before. For every
//! container the best claim counts: what an article says of itself before what others say, then
//! the claim that knows the most ancestors (trimmed headers skip some, and so know fewer), then the parent
//! whose ID sorts first. Best claims may run in a circle; it is opened at one place: where it rests on
//! the word of others, else where the ID sorts first. So the tree follows from the claims alone. With
//! JWZ the first claim wins, which would show another tree after each restart.
//!
//! A thread is what claims hold together, circles included; so two containers of one thread are
//! known to be connected without walking, and a root that wants a parent in its own thread closes a
//! circle for certain.

use super::ThreadTable;
use super::containers::OWN_WORD;
use super::slab::NONE;

impl ThreadTable {
    /// What an article itself says: its references, oldest first. The last is its parent.
    pub(super) fn own_word(&mut self, at: u32, references: &[u32]) {
        let parent = references.last().copied().unwrap_or(NONE);
        // A circle may have been opened here because this was a ghost; then it has to be opened anew.
        if self.is_in_circle(at) || self.containers[at].wanted != parent {
            self.move_below(at, parent, OWN_WORD);
        }
        self.containers[at].rank = OWN_WORD;
        for (known, pair) in references.windows(2).enumerate() {
            self.hearsay(pair[1], pair[0], known as u16 + 1);
        }
    }

    /// What an article says about two of its references; `known` is how many ancestors it names.
    fn hearsay(&mut self, at: u32, parent: u32, known: u16) {
        let container = &self.containers[at];
        if known < container.rank {
            return;
        }
        let (rank, wanted) = (container.rank, container.wanted);
        let better = known > rank || self.containers.id(parent) < self.containers.id(wanted);
        if wanted == parent || better {
            if wanted != parent {
                self.move_below(at, parent, known);
            }
            self.containers[at].rank = known;
        }
    }

    /// Lets a container want another parent, with everything below it.
    fn move_below(&mut self, at: u32, parent: u32, rank: u16) {
        if self.stays_in_thread(at, parent) {
            self.unlink(at);
            self.containers[at].wanted = parent;
            self.containers[at].rank = rank;
            self.link(at);
            return;
        }
        self.detach(at);
        self.containers[at].rank = rank;
        if parent != NONE {
            self.attach(at, parent);
        }
    }

    /// Whether a move changes one link and nothing else: the usual end of a guess from a trimmed
    /// header.
    fn stays_in_thread(&self, at: u32, parent: u32) -> bool {
        let thread = self.containers[at].thread;
        if parent == NONE || self.containers[parent].thread != thread {
            return false;
        }
        let root = self.threads[thread].root;
        at != root && !self.containers[root].cut && !self.upwards(parent).any(|above| above == at)
    }

    /// Takes a container out of its place: it becomes the root of a thread and wants no parent.
    fn detach(&mut self, at: u32) {
        if self.containers[at].wanted == NONE {
            return;
        }
        if !self.is_in_circle(at) {
            self.unlink(at);
            self.containers[at].wanted = NONE;
            self.split(at);
            return;
        }
        // Without this claim there is no circle, so the place where it was opened can be closed. All
        // stay connected, with this container on top.
        self.unlink(at);
        self.containers[at].wanted = NONE;
        self.containers[at].cut = false;
        let thread = self.containers[at].thread;
        let root = std::mem::replace(&mut self.threads[thread].root, at);
        if at != root {
            self.link(root);
        }
    }

    /// Whether the claims about a container run in a circle. It was opened at the thread's root.
    fn is_in_circle(&self, at: u32) -> bool {
        let root = self.threads[self.containers[at].thread].root;
        if !self.containers[root].cut {
            return false;
        }
        let mut members = self.upwards(self.containers[root].wanted);
        members.any(|member| member == at)
    }

    /// Links the root of a thread, which wants no parent yet.
    fn attach(&mut self, root: u32, parent: u32) {
        self.containers[root].wanted = parent;
        let thread = self.containers[root].thread;
        if self.containers[parent].thread != thread {
            self.merge(parent, root);
            self.link(root);
            return;
        }
        // The parent is below it already: a circle.
        let members = self.upwards(parent);
        let opened = members
            .min_by(|&one, &other| self.opening(one).cmp(&self.opening(other)))
            .unwrap_or(root);
        if opened == root {
            self.containers[root].cut = true;
        } else {
            self.unlink(opened);
            self.containers[opened].cut = true;
            self.link(root);
        }
        self.threads[thread].root = opened;
        self.touch(thread);
    }

    /// A circle is opened at the member for which this is least.
    fn opening(&self, at: u32) -> (bool, &str) {
        (self.containers[at].rank == OWN_WORD, self.containers.id(at))
    }

    /// A container and all above it.
    fn upwards(&self, at: u32) -> impl Iterator<Item = u32> {
        let bound = self.threads[self.containers[at].thread].containers;
        self.containers.upwards(at, bound)
    }
}
