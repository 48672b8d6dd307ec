//! What was read, which newsgroups are subscribed to, which threads are watched or ignored: one set for everybody who is
//! signed in, in `state.db`. Browsers keep their own and send what changed; both sides merge by the same rules.
//!
//! Threads are known by the Message-ID of their root, not by newsgroup: a cross-post that was read once is read everywhere.
//! At most [`MOST_THREADS`] threads and [`MOST_NEWSGROUPS`] newsgroups are kept; those touched longest ago go first, and those that
//! somebody made a choice about go last.

mod merge;
mod rows;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::Error;
use weir_store::sqlite::{File, Migrations};

/// Threads that are kept.
pub const MOST_THREADS: u32 = 20_000;
/// Newsgroups that are kept.
pub const MOST_NEWSGROUPS: u32 = 2_000;
/// Articles of one thread that are kept as read one by one.
pub const MOST_READ: usize = 100;
/// Threads, and newsgroups, that one request may change.
pub const MOST_AT_ONCE: usize = 500;

const MIGRATIONS: Migrations = Migrations {
    owner: "news",
    steps: &["
        CREATE TABLE news_thread_mark (
            root TEXT PRIMARY KEY, upto INTEGER NOT NULL, count INTEGER NOT NULL, read TEXT NOT NULL, flag INTEGER NOT NULL,
            flag_at INTEGER NOT NULL, at INTEGER NOT NULL, version INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX news_thread_mark_version ON news_thread_mark (version);
        CREATE INDEX news_thread_mark_age ON news_thread_mark (flag <> 0, at);
        CREATE TABLE news_newsgroup_mark (
            name TEXT PRIMARY KEY, articles INTEGER NOT NULL, upto INTEGER NOT NULL, subscribed INTEGER NOT NULL,
            subscribed_at INTEGER NOT NULL, at INTEGER NOT NULL, version INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX news_newsgroup_mark_version ON news_newsgroup_mark (version);
    "],
};

/// What was read of a thread, and what somebody thinks of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadMark {
    /// All articles written until then were read; Unix seconds.
    pub upto: i64,
    /// How many those were.
    pub count: u32,
    /// Later articles that were read, by their places on the page.
    pub read: Vec<String>,
    /// Watched, ignored or neither.
    pub flag: ThreadFlag,
    /// When that was chosen.
    pub flag_at: i64,
    /// When something of it changed last.
    pub at: i64,
}

/// What somebody thinks of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadFlag {
    /// Nothing in particular.
    #[default]
    None,
    /// Not to be missed.
    Watched,
    /// Not to be shown.
    Ignored,
}

/// What was seen of a newsgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewsgroupMark {
    /// How many articles it had at the last visit.
    pub articles: u64,
    /// Threads without a later article count as read; Unix seconds.
    pub upto: i64,
    /// Whether it is a favourite.
    pub subscribed: bool,
    /// When that was chosen.
    pub subscribed_at: i64,
    /// When somebody visited it last.
    pub at: i64,
}

/// Marks that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkSet {
    /// By the Message-ID of the root, with its brackets.
    pub threads: BTreeMap<String, ThreadMark>,
    /// By name.
    pub newsgroups: BTreeMap<String, NewsgroupMark>,
}

/// Marks, and how to ask for those that change later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkChanges {
    /// Ask for what changed since this.
    pub version: i64,
    /// There is more than was sent: ask again at once.
    pub more: bool,
    /// What changed.
    #[serde(flatten)]
    pub marks: MarkSet,
}

/// The kept marks; clones share them.
#[derive(Clone)]
pub struct Marks {
    file: File,
}

impl Marks {
    /// Opens the tables; they are made if there are none.
    ///
    /// # Errors
    /// When the file is newer than this program, or broken.
    pub fn open(file: File) -> Result<Self, Error> {
        file.migrate(MIGRATIONS)?;
        Ok(Self { file })
    }

    /// What changed since a version; 0 is the beginning.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn since(&self, version: i64) -> Result<MarkChanges, Error> {
        self.file
            .read(|connection| rows::since(connection, version))
    }

    /// Merges what a browser changed. `now` is the latest time that anything can have happened.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn merge(&self, mut changed: MarkSet, now: i64) -> Result<(), Error> {
        changed.tidy(now);
        let merged = self.file.write(move |transaction| {
            rows::merge(transaction, &changed)?;
            rows::bound(transaction, MOST_THREADS, MOST_NEWSGROUPS)
        });
        merged.await
    }
}

impl MarkSet {
    /// Whether it is more than one request may send.
    pub fn is_too_large(&self) -> bool {
        self.threads.len() > MOST_AT_ONCE || self.newsgroups.len() > MOST_AT_ONCE
    }

    /// Drops what cannot be a mark, and times that have not come: a browser's clock may be wrong, and its marks would win
    /// for years.
    fn tidy(&mut self, now: i64) {
        self.threads
            .retain(|root, _| root.parse::<MessageId>().is_ok());
        self.newsgroups.retain(|name, _| Newsgroup::is_name(name));
        let past = |time: i64| time.clamp(0, now.max(0));
        for mark in self.threads.values_mut() {
            mark.read.retain(|place| is_place(place));
            mark.bound_read();
            (mark.flag_at, mark.at) = (past(mark.flag_at), past(mark.at));
        }
        for mark in self.newsgroups.values_mut() {
            (mark.subscribed_at, mark.at) = (past(mark.subscribed_at), past(mark.at));
        }
    }
}

/// The place of an article on a page, as `address::anchor` writes it.
fn is_place(text: &str) -> bool {
    let digits = text.strip_prefix('m');
    digits.is_some_and(|digits| {
        digits.len() == 10 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests;
