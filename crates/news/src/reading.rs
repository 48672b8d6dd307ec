//! What readers are given, in domain words. Pages, the API and the NNTP server write the same values, each in its own form.
//!
//! Times are Unix seconds. Values are made once per change and shared: each keeps what it was written as
//! ([`Rendered`]), so that a page is rendered once, whoever reads it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use weir_news_proto::article::Article;
use weir_news_proto::{MessageId, Newsgroup};

use crate::posting::PostNote;

/// How current an answer is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Currency {
    /// When a server last confirmed it; `None` if that was before this is remembered.
    pub checked: Option<i64>,
    /// Servers that were to confirm it and did not. While this is empty, the answer is as current as it can be.
    pub silent: Vec<SilentServer>,
    /// More was being asked for than can be fetched: this is what was stored, and another try makes sense after so many
    /// seconds.
    pub busy: Option<u64>,
}

/// A server that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentServer {
    /// Its name.
    pub name: Arc<str>,
    /// Why, as a clause in the past tense that begins with "it".
    pub reason: String,
    /// When it may be asked again, if that is known.
    pub retry_at: Option<i64>,
}

/// The newsgroups of all servers.
#[derive(Debug)]
pub struct NewsgroupList {
    /// Sorted by name.
    pub newsgroups: Vec<NewsgroupRow>,
    /// How current the list is.
    pub currency: Currency,
    /// The first page of the list as it was written.
    pub rendered: Rendered,
}

/// A newsgroup in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsgroupRow {
    /// Its name.
    pub name: Newsgroup,
    /// What it is about, decoded; empty if no server says.
    pub description: String,
    /// About how many articles there are: what the server with the most claims.
    pub articles: u64,
    /// Whether one may post.
    pub posting: Posting,
    /// Who carries it, by priority.
    pub servers: Vec<Arc<str>>,
    /// When its newest article was written, if somebody has asked for that since the start.
    pub newest: Option<i64>,
    /// The highest article number, by which a reader's programs tell how much is new since they last looked: that of the
    /// first server that carries it.
    pub high: u64,
}

/// Whether a newsgroup takes articles, by the most permissive of its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Posting {
    /// No.
    Closed,
    /// A moderator decides.
    Moderated,
    /// Yes.
    Open,
}

/// A page of a newsgroup's threads, the thread with the newest article first.
#[derive(Debug)]
pub struct ThreadPage {
    /// The newsgroup.
    pub newsgroup: NewsgroupRow,
    /// The threads of this page.
    pub threads: Vec<ThreadRow>,
    /// Which page, counted from 0.
    pub page: usize,
    /// Threads known so far, over all pages.
    pub known: usize,
    /// Whether that is all of them.
    pub complete: bool,
    /// Whether the next page fetches older ones; not so if servers do not answer, or if there are more than are listed.
    pub has_more: bool,
    /// How current the list is.
    pub currency: Currency,
    /// The page as it was written.
    pub rendered: Rendered,
}

impl ThreadPage {
    /// Threads on each page.
    pub const SIZE: usize = 50;

    /// Whether there is a page after this one, as far as can be said without fetching it.
    pub fn has_next(&self) -> bool {
        self.has_more || (self.page + 1) * Self::SIZE < self.known
    }
}

/// A thread in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// The ID of its root, which may be missing.
    pub root: MessageId,
    /// The subject of its first article.
    pub subject: String,
    /// Who wrote that.
    pub author: String,
    /// How many articles are known.
    pub articles: usize,
    /// When its first one was written.
    pub first: i64,
    /// When its latest one was written.
    pub last: i64,
    /// Who wrote the latest one.
    pub last_author: String,
    /// The latest one.
    pub last_id: MessageId,
}

/// A page of one thread.
#[derive(Debug)]
pub struct ThreadView {
    /// The newsgroup in which it is read.
    pub newsgroup: NewsgroupRow,
    /// The ID of its root, which may be missing.
    pub root: MessageId,
    /// The subject of its first article.
    pub subject: String,
    /// All articles and gaps of the thread, in the order of reading, of all pages.
    pub outline: Vec<OutlineRow>,
    /// Which page this is, counted from 0.
    pub page: usize,
    /// How many there are.
    pub pages: usize,
    /// What this page shows.
    pub messages: Vec<Message>,
    /// How current the thread is.
    pub currency: Currency,
    /// The page as it was written.
    pub rendered: Rendered,
}

/// An article of a thread, or the place of missing ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineRow {
    /// Its ID; of several missing ones in a row, the last.
    pub id: MessageId,
    /// Who wrote it; empty if it is missing.
    pub author: String,
    /// Its subject; empty if it is missing.
    pub subject: String,
    /// When; 0 if it is missing.
    pub date: i64,
    /// 0 for the root.
    pub depth: usize,
    /// The row that it answers.
    pub parent: Option<usize>,
    /// How many articles are missing here; 0 for an article.
    pub missing: usize,
    /// The page it is on.
    pub page: usize,
}

/// A message of a thread's page.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its row in the outline.
    pub row: usize,
    /// What there is to read.
    pub content: Content,
}

/// What there is of an article.
#[derive(Clone, Debug)]
pub enum Content {
    /// All of it.
    Read(Arc<ReadArticle>),
    /// No server has it.
    Nowhere(Arc<Absence>),
    /// It could not be fetched now.
    Unreachable(Vec<SilentServer>),
}

/// Nobody has an article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Who was asked.
    pub servers: Vec<Arc<str>>,
    /// When.
    pub at: i64,
}

/// An article with its bytes.
#[derive(Debug)]
pub struct ReadArticle {
    /// What it was asked by.
    pub id: MessageId,
    /// As the server sent it.
    pub raw: Bytes,
    /// The same, read for people.
    pub article: Article,
    /// Who sent it; servers are known by their names.
    pub server: Arc<str>,
    /// When.
    pub fetched: i64,
    /// What is known of it if it was posted here.
    pub post: Option<PostNote>,
    /// Its page as it was written.
    pub rendered: Rendered,
}

/// Why there is nothing to read.
#[derive(Clone, Debug, PartialEq)]
pub enum Unread {
    /// No server is configured.
    NoServers,
    /// No server carries the newsgroup; `near` are names like it.
    NoNewsgroup {
        /// Similar names.
        near: Vec<String>,
    },
    /// No server has the article.
    NoArticle(Arc<Absence>),
    /// The newsgroup has no such page; it has this many.
    NoPage {
        /// Pages that there are.
        pages: usize,
    },
    /// More is being asked for than can be fetched.
    Busy {
        /// Seconds after which another try makes sense.
        retry_after: u64,
    },
    /// Nothing is stored, and nobody could be asked.
    Unreachable(Vec<SilentServer>),
}

/// A place for what a value was written as; written by whoever needs it first.
#[derive(Debug, Default)]
pub struct Rendered(OnceLock<Written>);

/// A value as it was written.
#[derive(Debug)]
pub struct Written {
    /// The body of the page.
    pub body: String,
    /// Changes with the body, for `ETag`.
    pub tag: u64,
}

impl Rendered {
    /// What it was written as; `write` writes it if nobody has.
    pub fn get_or_write(&self, write: impl FnOnce() -> Written) -> &Written {
        self.0.get_or_init(write)
    }

    /// The same for who may fail.
    ///
    /// # Errors
    /// What `write` failed with; the next one tries again.
    pub fn get_or_try<E>(&self, write: impl FnOnce() -> Result<Written, E>) -> Result<&Written, E> {
        if let Some(written) = self.0.get() {
            return Ok(written);
        }
        let written = write()?;
        Ok(self.0.get_or_init(|| written))
    }
}
