//! The threads of one newsgroup: who answered whom, and which thread had the last word.
//!
//! A [`ThreadTable`] is fed with one [`Headline`] per article, in any order, and gives the list of
//! threads, newest first, and each thread as a tree. Linking is JWZ's, by References and, where there
//! are none, In-Reply-To; subjects merge nothing, since they glue unrelated posts together. What
//! articles mention and nobody has sent yet is a *ghost*: it has its place in the tree, and the
//! article takes that place when it comes. A new article costs its references, not the newsgroup.
//!
//! No wire format, no clock, no I/O: whoever reads overview lines decodes them and keeps the table.

use weir_news_proto::MessageId;

use arena::Arena;
use books::Book;
use containers::Containers;
use ranking::Ranking;
use slab::{NONE, Slab};

mod arena;
mod books;
mod claims;
mod containers;
mod known;
mod lines;
mod numbering;
mod ranking;
mod removal;
mod slab;
mod tree;

pub use known::{KnownArticle, KnownThread};
pub use tree::{ThreadTree, TreeRow};

use lines::Line;
use numbering::NumberIndex;

/// References of one article that are looked at: the first, which is the thread's, and the last ones,
/// which are the nearest. Newsreaders trim to about twenty.
pub const MAX_REFERENCES: usize = 128;

/// Octets kept of a subject, and of an author; longer ones are cut at a character.
pub const MAX_TEXT: usize = 998;

/// What a thread needs to know of one article.
#[derive(Clone, Copy, Debug)]
pub struct Headline<'a> {
    /// Our own number, if the article has one yet.
    pub number: Option<u64>,
    /// What the article is known by.
    pub id: &'a MessageId,
    /// The References header, oldest first.
    pub references: &'a [MessageId],
    /// The first ID of In-Reply-To, which counts where there are no references.
    pub in_reply_to: Option<&'a MessageId>,
    /// Decoded.
    pub subject: &'a str,
    /// Decoded; as it is to be shown.
    pub author: &'a str,
    /// Unix seconds. The caller has the clock: a date in the future would keep a thread on top of the
    /// list, so it is to be cut to the present first.
    pub date: i64,
    /// Octets of the article.
    pub bytes: u64,
    /// Lines of its body.
    pub lines: u64,
}

/// What became of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the table.
    New,
    /// The table has this article, possibly with other content: the first one stays.
    Known,
    /// The table's 4 GiB of text are used up.
    Full,
}

/// The articles of one newsgroup as threads.
pub struct ThreadTable {
    containers: Containers,
    lines: Slab<Line>,
    threads: Slab<Book>,
    ranking: Ranking,
    /// Where the articles with a number are.
    by_number: NumberIndex,
    /// Threads that the present change touched; empty between changes.
    touched: Vec<u32>,
}

impl Default for ThreadTable {
    fn default() -> Self {
        Self::new()
    }
}

impl ThreadTable {
    /// A table without articles.
    pub fn new() -> Self {
        Self {
            containers: Containers::new(),
            lines: Slab::new(),
            threads: Slab::new(),
            ranking: Ranking::default(),
            by_number: NumberIndex::default(),
            touched: Vec::new(),
        }
    }

    /// Adds an article, or fills the ghost that stands for it. The tree that results does not depend
    /// on the order in which articles come.
    pub fn insert(&mut self, headline: &Headline<'_>) -> Inserted {
        // The most that one article can add.
        let most = (MAX_REFERENCES + 1) * MessageId::MAX + 2 * MAX_TEXT;
        if !self.containers.arena.has_room(most, MAX_REFERENCES) {
            return Inserted::Full;
        }
        let at = self.intern(headline.id);
        if !self.containers.is_ghost(at) {
            return Inserted::Known;
        }
        let references = self.ancestors(at, headline);
        self.hold(at, headline, &references);
        self.enter(at);
        self.own_word(at, &references);
        self.list_touched();
        Inserted::New
    }

    /// Gives an article the number that was found for it, instead of one it may have had.
    pub fn set_number(&mut self, id: &MessageId, number: Option<u64>) {
        if let Some(at) = self.containers.find(id.as_str())
            && !self.containers.is_ghost(at)
        {
            self.renumber(at, number.unwrap_or(0));
        }
    }

    /// Articles in the table.
    pub fn articles(&self) -> usize {
        self.lines.len()
    }

    /// Threads with at least one article.
    pub fn thread_count(&self) -> usize {
        self.ranking.len()
    }

    /// The threads by their last article, newest first, without the first few.
    pub fn threads(&self, skip: usize) -> impl Iterator<Item = KnownThread<'_>> {
        let newest = self.ranking.newest(skip);
        newest.map(|thread| KnownThread::new(self, thread))
    }

    /// The thread in which an article or a ghost is: any of its IDs finds it, since its root may
    /// change when older articles turn up.
    pub fn thread(&self, id: &MessageId) -> Option<KnownThread<'_>> {
        let at = self.containers.find(id.as_str())?;
        let thread = self.containers[at].thread;
        (self.threads[thread].articles > 0).then(|| KnownThread::new(self, thread))
    }

    /// An article.
    pub fn article(&self, id: &MessageId) -> Option<KnownArticle<'_>> {
        KnownArticle::new(self, self.containers.find(id.as_str())?)
    }

    /// Memory that the table holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.containers.bytes()
            + self.lines.bytes()
            + self.threads.bytes()
            + self.ranking.bytes()
            + self.by_number.bytes()
            + self.touched.capacity() * size_of::<u32>()
    }

    fn intern(&mut self, id: &MessageId) -> u32 {
        let at = self.containers.intern(id.as_str());
        if self.containers[at].thread == NONE {
            self.open(at);
        }
        at
    }

    /// The containers of an article's references, oldest first: not itself, and each once, where it is
    /// named first.
    fn ancestors(&mut self, at: u32, headline: &Headline<'_>) -> Vec<u32> {
        let all = headline.references;
        let skipped = all.len().saturating_sub(MAX_REFERENCES);
        let (first, rest) = all.split_at(all.len().min(1));
        let nearest = &rest[skipped.min(rest.len())..];
        let mut found = Vec::with_capacity(first.len() + nearest.len());
        for id in first.iter().chain(nearest) {
            let ancestor = self.intern(id);
            if ancestor != at && !found.contains(&ancestor) {
                found.push(ancestor);
            }
        }
        if found.is_empty()
            && let Some(id) = headline.in_reply_to.filter(|id| *id != headline.id)
        {
            found.push(self.intern(id));
        }
        found
    }
}

#[cfg(test)]
mod tests;
