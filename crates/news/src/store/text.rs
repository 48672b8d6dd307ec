//! `news-text.db`: which words are in which stored article.
//!
//! A file of its own with a writer thread of its own, so that indexing never holds up what is kept or read in `news.db`, a
//! damaged index costs no article, and each has its own limit. No text is kept twice: the index has words and where they stand;
//! what is shown of a hit is read from `news.db`.
//!
//! The index follows. Triggers in `news.db` note which articles have changed (`news_change`); [`TextIndex::step`] looks at some
//! of them as they are *now* (`gather`), brings the index in line (`build`), and only then are the notes deleted. So it does not
//! matter where a crash cuts in: what was noted is looked at again, and looking twice changes nothing. What was stored before
//! there was an index, or while none was kept, is walked through from the newest row down in the same steps; the *token* of
//! `news.db` says when that is due.
//!
//! A question runs on a thread and a connection of its own (`look`). Few run at once, few wait, and the rest are told to come
//! back.

mod build;
mod gather;
mod look;
mod schema;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use weir_store::Error as StoreError;
use weir_store::sqlite::{ExpendableFile, File};

use self::build::Step;
pub use self::look::{Coverage, Hit};
pub(crate) use self::look::{Looked, Looking, MOST};
use super::NewsFile;

/// The name of the file, beside `news.db`.
const NAME: &str = "news-text.db";
/// Questions that run at once: each may keep a processor busy.
const SEATS: usize = 2;
/// Questions that wait for them.
pub(crate) const LINE: usize = 8;
/// How long a question is waited for. It looks at the clock itself and ends before; a slow disk may not let it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A handle on the index; clones share it.
#[derive(Clone)]
pub(crate) struct TextIndex(Arc<Shared>);

struct Shared {
    index: ExpendableFile,
    path: PathBuf,
    news: NewsFile,
    news_path: PathBuf,
    limit: u64,
    seats: Arc<Semaphore>,
    line: Semaphore,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stepped {
    /// There is more to do.
    More,
    /// Everything is indexed.
    Done,
    /// Nothing can be indexed for now.
    Stuck,
}

/// Why a question was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotLooked {
    /// Others are being answered.
    Busy,
    /// The index cannot be read; it is begun anew if it is damaged.
    Unreadable,
}

impl TextIndex {
    /// Opens the index of the news file at this path. With a limit of 0 there is none, and one that was there is deleted.
    /// Blocks.
    pub(crate) fn open(news: &NewsFile, news_path: &Path, limit: u64) -> Option<Self> {
        let path = news_path.with_file_name(NAME);
        if limit == 0 {
            for end in ["-wal", "-shm", ""] {
                let mut name = path.clone().into_os_string();
                name.push(end);
                let _ = fs::remove_file(name);
            }
            news.0.file.write(build::stop_noting);
            return None;
        }
        Some(Self(Arc::new(Shared {
            index: ExpendableFile::open(Some(path.clone()), schema::TEXT_FILE),
            path,
            news: news.clone(),
            news_path: news_path.to_owned(),
            limit,
            seats: Arc::new(Semaphore::new(SEATS)),
            line: Semaphore::new(LINE),
        })))
    }

    /// Brings the index a little further. `now` is in Unix seconds: no article is newer.
    pub(crate) async fn step(&self, now: i64) -> Stepped {
        let shared = &self.0;
        if !shared.index.is_usable() {
            // Nobody reads the notes, so none are to pile up.
            self.change_news(build::stop_noting).await;
            return Stepped::Stuck;
        }
        let (tell, told) = oneshot::channel();
        let (news, limit) = (shared.news_path.clone(), shared.limit);
        let work = move |transaction: &rusqlite::Transaction<'_>| {
            build::step(transaction, &news, limit, now)
        };
        let posted = shared.index.post(work, move |done| {
            let _ = tell.send(done);
        });
        if posted.is_err() {
            return Stepped::Stuck;
        }
        match told.await {
            Ok(Ok(Step { noted, more })) => {
                if let Some(place) = noted {
                    self.change_news(move |news| build::forget_notes(news, place))
                        .await;
                }
                match more {
                    true => Stepped::More,
                    false => Stepped::Done,
                }
            }
            Ok(Err(error)) => match error {
                StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows) => {
                    // The journal is not kept yet; from here on it is, and the walk begins with the next step.
                    match self.change_news(build::begin_noting).await {
                        true => Stepped::More,
                        false => Stepped::Stuck,
                    }
                }
                error => {
                    tracing::debug!(front = "news", %error, "the full-text index cannot be written for now");
                    Stepped::Stuck
                }
            },
            Err(_) => Stepped::Stuck,
        }
    }

    /// Waits until something has been written to the news file.
    pub(crate) fn stirred(&self) -> tokio::sync::futures::Notified<'_> {
        self.0.news.0.ended.notified()
    }

    /// Answers a question.
    ///
    /// # Cancel safety
    /// A question that has begun keeps its seat until its end.
    pub(crate) async fn look(&self, looking: Looking) -> Result<Looked, NotLooked> {
        let shared = self.0.clone();
        let Ok(_in_line) = self.0.line.try_acquire() else {
            return Err(NotLooked::Busy);
        };
        let seat = timeout(PATIENCE, shared.seats.clone().acquire_owned()).await;
        let Ok(Ok(seat)) = seat else {
            return Err(NotLooked::Busy);
        };
        let mut task = JoinSet::new();
        task.spawn_blocking(move || shared.look(&looking, seat));
        match timeout(PATIENCE, task.join_next()).await {
            Ok(Some(Ok(looked))) => looked,
            Ok(_) => Err(NotLooked::Unreadable),
            Err(_) => Err(NotLooked::Busy),
        }
    }

    /// Writes what waits and closes the file. Blocks.
    pub(crate) fn close(&self) {
        self.0.index.close();
    }

    async fn change_news(
        &self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) -> bool {
        let work = move |news: &rusqlite::Transaction<'_>| work(news).map(|()| true);
        self.0.news.swept(work).await
    }
}

impl Shared {
    fn look(&self, looking: &Looking, _seat: OwnedSemaphorePermit) -> Result<Looked, NotLooked> {
        let look = |index: &rusqlite::Connection| look::look(index, &self.news_path, looking);
        let error = match File::peek(&self.path, look) {
            Ok(looked) => return Ok(looked),
            Err(error) => error,
        };
        tracing::debug!(front = "news", %error, "the full-text index cannot be read");
        if matches!(error, StoreError::NotADatabase { .. }) {
            // The same on the connection by which damage is noticed, so that the file is replaced.
            self.index.read(|index| look(index).map(Some));
        }
        Err(NotLooked::Unreadable)
    }
}
