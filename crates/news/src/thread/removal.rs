//! Articles that go: expired, cancelled, or no longer worth their memory.
//!
//! An article that others answered or mention becomes a ghost and keeps its place. A ghost that has
//! nothing below it and that no line mentions is forgotten.

use weir_news_proto::MessageId;

use super::ThreadTable;
use super::containers::OWN_WORD;
use super::slab::NONE;

impl ThreadTable {
    /// Removes articles and says how many of them there were. Many at once are cheaper than one by
    /// one: each thread is looked through once.
    pub fn remove<'a>(&mut self, ids: impl IntoIterator<Item = &'a MessageId>) -> usize {
        let before = self.articles();
        let mut unsure = Vec::new();
        let mut to_count = Vec::new();
        for id in ids {
            let found = self.containers.find(id.as_str());
            let Some(at) = found.filter(|&at| !self.containers.is_ghost(at)) else {
                continue;
            };
            if self.strike(at) {
                to_count.push(self.containers[at].thread);
            }
            unsure.extend(self.let_go(at));
            unsure.push(at);
        }
        // While nothing is forgotten yet, threads are still those that were looked up.
        to_count.sort_unstable();
        to_count.dedup();
        for thread in to_count {
            self.count(thread);
        }
        self.forget_unneeded(unsure);
        self.list_touched();
        if self.containers.arena.is_wasteful() {
            self.tidy();
        }
        before - self.articles()
    }

    fn forget_unneeded(&mut self, mut unsure: Vec<u32>) {
        while let Some(at) = unsure.pop() {
            let needed = !self.containers.is_ghost(at)
                || self.containers.has_children(at)
                || self.containers[at].mentions > 0;
            let forgotten = self.containers[at].thread == NONE;
            if needed || forgotten {
                continue;
            }
            self.open_circle(at);
            unsure.extend(self.close(at));
            self.containers.forget(at);
        }
    }

    /// Where a circle was opened, the root still wants a container that has no children to show for
    /// it. If that one goes, there is no circle any more.
    fn open_circle(&mut self, at: u32) {
        let root = self.threads[self.containers[at].thread].root;
        let container = &mut self.containers[root];
        if container.cut && container.wanted == at {
            container.cut = false;
            container.wanted = NONE;
            if container.rank != OWN_WORD {
                container.rank = 0;
            }
        }
    }
}
