//! Threads and articles as the table shows them.

use super::ThreadTable;

/// A thread with at least one article.
#[derive(Clone, Copy)]
pub struct KnownThread<'a> {
    table: &'a ThreadTable,
    at: u32,
}

/// An article that the table has.
#[derive(Clone, Copy)]
pub struct KnownArticle<'a> {
    table: &'a ThreadTable,
    at: u32,
}

impl<'a> KnownThread<'a> {
    pub(super) fn new(table: &'a ThreadTable, at: u32) -> Self {
        Self { table, at }
    }

    /// The ID of its root, which may be a ghost.
    pub fn root(self) -> &'a str {
        let root = self.table.threads[self.at].root;
        self.table.containers.id(root)
    }

    /// The article that gives it its subject: its root, or its oldest article if that is missing.
    pub fn opening(self) -> KnownArticle<'a> {
        let book = &self.table.threads[self.at];
        let root = KnownArticle::new(self.table, book.root);
        root.unwrap_or_else(|| self.article(book.oldest))
    }

    /// How many of its articles the table has.
    pub fn articles(self) -> usize {
        self.table.threads[self.at].articles as usize
    }

    /// Its oldest article.
    pub fn first(self) -> KnownArticle<'a> {
        self.article(self.table.threads[self.at].oldest)
    }

    /// Its latest article.
    pub fn last(self) -> KnownArticle<'a> {
        self.article(self.table.threads[self.at].latest)
    }

    /// Changes when anything changes that a page about this thread shows, except numbers. The same
    /// articles have the same version on every node and after every start.
    pub fn version(self) -> u64 {
        self.table.threads[self.at].version
    }

    fn article(self, at: u32) -> KnownArticle<'a> {
        let table = self.table;
        KnownArticle { table, at }
    }
}

impl<'a> KnownArticle<'a> {
    /// An article, unless there is only a ghost.
    pub(super) fn new(table: &'a ThreadTable, at: u32) -> Option<Self> {
        (!table.containers.is_ghost(at)).then_some(Self { table, at })
    }

    /// Its ID, with brackets.
    pub fn id(self) -> &'a str {
        self.table.containers.id(self.at)
    }

    /// Our own number for it, if it has one.
    pub fn number(self) -> Option<u64> {
        Some(self.table.line(self.at).number).filter(|&number| number > 0)
    }

    /// Its subject, decoded.
    pub fn subject(self) -> &'a str {
        self.table.subject(self.at)
    }

    /// Who wrote it, decoded.
    pub fn author(self) -> &'a str {
        self.table.author(self.at)
    }

    /// When, in Unix seconds.
    pub fn date(self) -> i64 {
        self.table.line(self.at).date
    }

    /// Its size in octets, as far as 32 bits can say it.
    pub fn bytes(self) -> u32 {
        self.table.line(self.at).bytes
    }

    /// Lines of its body, likewise.
    pub fn lines(self) -> u32 {
        self.table.line(self.at).lines
    }

    /// The IDs it refers to, oldest first, the last being its parent.
    pub fn references(self) -> impl Iterator<Item = &'a str> {
        let containers = &self.table.containers;
        let references = self.table.references(self.at).iter();
        references.map(|&reference| containers.id(reference))
    }
}
