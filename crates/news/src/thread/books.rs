//! What is known of each thread without walking through it: its root, its articles, its dates, its
//! version; and the list of threads that follows from it.
//!
//! When two threads become one, the smaller is relabelled, so a container is relabelled as often as
//! its thread doubles. A thread that falls apart is walked through once.

use super::ThreadTable;
use super::containers::mix;
use super::ranking::Place;
use super::slab::NONE;

/// One thread: containers that claims hold together.
pub(super) struct Book {
    pub(super) root: u32,
    /// Containers, ghosts included.
    pub(super) containers: u32,
    pub(super) articles: u32,
    /// The first and the last article; none if all are ghosts.
    pub(super) oldest: u32,
    pub(super) latest: u32,
    /// The sum of what its containers, links and lines hash to: equal content, equal version, whoever
    /// worked it out and in whichever order.
    pub(super) version: u64,
    /// Where it is in the list; a thread of ghosts is not.
    place: Option<(i64, u32)>,
}

impl ThreadTable {
    /// Opens a book for a container that has none.
    pub(super) fn open(&mut self, at: u32) {
        let thread = self.threads.insert(Book {
            root: at,
            containers: 1,
            articles: 0,
            oldest: NONE,
            latest: NONE,
            version: self.edge(at, NONE),
            place: None,
        });
        self.containers[at].thread = thread;
    }

    /// Links a container below the parent it wants, in the same thread.
    pub(super) fn link(&mut self, at: u32) {
        self.containers.link(at);
        let parent = self.containers[at].wanted;
        self.change_edge(at, NONE, parent);
    }

    /// Takes a container from its parent, if it is linked to one; the thread stays the same.
    pub(super) fn unlink(&mut self, at: u32) {
        if let Some(parent) = self.containers.parent(at) {
            self.containers.unlink(at);
            self.change_edge(at, parent, NONE);
        }
    }

    fn change_edge(&mut self, at: u32, old: u32, new: u32) {
        let change = self.edge(at, new).wrapping_sub(self.edge(at, old));
        let thread = self.containers[at].thread;
        let book = &mut self.threads[thread];
        book.version = book.version.wrapping_add(change);
        self.touch(thread);
    }

    /// Notes that a ghost became an article.
    pub(super) fn enter(&mut self, at: u32) {
        let thread = self.containers[at].thread;
        let content = self.content(at);
        self.threads[thread].articles += 1;
        let book = &mut self.threads[thread];
        book.version = book.version.wrapping_add(content);
        self.weigh(thread, at);
        self.touch(thread);
    }

    /// Notes that an article is about to become a ghost. Says whether first and last are to be found
    /// anew.
    pub(super) fn strike(&mut self, at: u32) -> bool {
        let thread = self.containers[at].thread;
        let content = self.content(at);
        let book = &mut self.threads[thread];
        book.articles -= 1;
        book.version = book.version.wrapping_sub(content);
        let was_end = book.oldest == at || book.latest == at;
        self.touch(thread);
        was_end
    }

    /// Takes a ghost without children out of the books. Says which container was above it.
    pub(super) fn close(&mut self, at: u32) -> Option<u32> {
        let parent = self.containers.parent(at);
        self.unlink(at);
        let thread = self.containers[at].thread;
        let edge = self.edge(at, NONE);
        let book = &mut self.threads[thread];
        book.version = book.version.wrapping_sub(edge);
        book.containers -= 1;
        if book.containers == 0 {
            self.discard(thread);
        } else {
            self.touch(thread);
        }
        parent
    }

    /// Makes one book of two: the thread with `parent`, and the one with the root that goes below it.
    pub(super) fn merge(&mut self, parent: u32, root: u32) {
        let (above, below) = (self.containers[parent].thread, self.containers[root].thread);
        let top = self.threads[above].root;
        let (kept, gone) = if self.threads[above].containers >= self.threads[below].containers {
            (above, below)
        } else {
            (below, above)
        };
        self.relabel(self.threads[gone].root, kept);
        let other = &self.threads[gone];
        let (oldest, latest) = (other.oldest, other.latest);
        let (containers, articles, version) = (other.containers, other.articles, other.version);
        let book = &mut self.threads[kept];
        book.root = top;
        book.containers += containers;
        book.articles += articles;
        book.version = book.version.wrapping_add(version);
        if oldest != NONE {
            self.weigh(kept, oldest);
            self.weigh(kept, latest);
        }
        self.discard(gone);
        self.touch(kept);
    }

    /// Opens a book of its own for everything from `at` downwards, which is no longer linked.
    pub(super) fn split(&mut self, at: u32) {
        let old = self.containers[at].thread;
        self.open(at);
        let new = self.containers[at].thread;
        self.relabel(at, new);
        self.count(new);
        let part = &self.threads[new];
        let (containers, articles, version) = (part.containers, part.articles, part.version);
        let book = &mut self.threads[old];
        book.containers -= containers;
        book.articles -= articles;
        book.version = book.version.wrapping_sub(version);
        let left = |end: u32| end != NONE && self.containers[end].thread == new;
        if left(self.threads[old].oldest) || left(self.threads[old].latest) {
            self.count(old);
        }
        self.touch(old);
        self.touch(new);
    }

    /// Gives up a book. It may still be among those touched, so it must not look like one to be listed.
    fn discard(&mut self, thread: u32) {
        self.unlist(thread);
        self.threads[thread].articles = 0;
        self.threads.remove(thread);
    }

    fn relabel(&mut self, top: u32, thread: u32) {
        let mut next = Some(top);
        while let Some(at) = next {
            self.containers[at].thread = thread;
            next = self.containers.step(top, at);
        }
    }

    /// Works a book out from what is in the thread.
    pub(super) fn count(&mut self, thread: u32) {
        let root = self.threads[thread].root;
        let book = &mut self.threads[thread];
        (book.containers, book.articles, book.version) = (0, 0, 0);
        (book.oldest, book.latest) = (NONE, NONE);
        let mut next = Some(root);
        while let Some(at) = next {
            let parent = self.containers.parent(at).unwrap_or(NONE);
            let mut stamp = self.edge(at, parent);
            if !self.containers.is_ghost(at) {
                stamp = stamp.wrapping_add(self.content(at));
                self.threads[thread].articles += 1;
                self.weigh(thread, at);
            }
            let book = &mut self.threads[thread];
            book.containers += 1;
            book.version = book.version.wrapping_add(stamp);
            next = self.containers.step(root, at);
        }
    }

    /// Lets an article be the first or the last of its thread, if it is.
    fn weigh(&mut self, thread: u32, at: u32) {
        let when = |at: u32| (self.line(at).date, self.containers.id(at));
        let Book { oldest, latest, .. } = self.threads[thread];
        let older = oldest == NONE || when(at) < when(oldest);
        let later = latest == NONE || when(at) > when(latest);
        let book = &mut self.threads[thread];
        if older {
            book.oldest = at;
        }
        if later {
            book.latest = at;
        }
    }

    /// Remembers that a thread may belong elsewhere in the list once the change is complete.
    pub(super) fn touch(&mut self, thread: u32) {
        if self.touched.last() != Some(&thread) {
            self.touched.push(thread);
        }
    }

    /// Puts the threads that were touched where they belong.
    pub(super) fn list_touched(&mut self) {
        while let Some(thread) = self.touched.pop() {
            let Book { root, latest, .. } = self.threads[thread];
            let listed = self.threads[thread].articles > 0;
            let place = listed.then(|| (self.line(latest).date, self.containers[root].hash as u32));
            if place == self.threads[thread].place {
                continue;
            }
            self.unlist(thread);
            if let Some((last, tie)) = place {
                self.ranking.insert(Place { last, tie, thread });
                self.threads[thread].place = place;
            }
        }
    }

    fn unlist(&mut self, thread: u32) {
        if let Some((last, tie)) = self.threads[thread].place.take() {
            self.ranking.remove(Place { last, tie, thread });
        }
    }

    /// What a link adds to the version of its thread.
    fn edge(&self, at: u32, parent: u32) -> u64 {
        let above = match parent {
            NONE => 0,
            parent => self.containers[parent].hash,
        };
        mix(self.containers[at].hash, above)
    }
}
