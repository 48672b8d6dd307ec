//! What pages and the API are made from: the library that they read in, the marks of who reads, and the time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use weir_engine::dispatch::Asker;
use weir_news_proto::{MessageId, Newsgroup};
use weir_web::Clock;

use crate::marks::Marks;
use crate::model::{Model, ThreadPlace};
use crate::reading::{NewsgroupList, ReadArticle, ThreadPage, ThreadView, Unread};
use crate::seeking::{FoundPage, Seeking, Unfound};

/// An answer that may take a while.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<Arc<T>, Unread>> + Send + 'a>>;

/// The same for what is looked for in stored articles.
pub type Finding<'a> = Pin<Box<dyn Future<Output = Result<FoundPage, Unfound>> + Send + 'a>>;

/// Where there is something to read: the model, or samples in tests.
pub trait Library: Send + Sync {
    /// The newsgroups of all servers.
    fn newsgroups(&self) -> Pending<'_, NewsgroupList>;

    /// These newsgroups are being shown to somebody.
    fn look_at(&self, _shown: &[&Newsgroup]) {}

    /// The newsgroups as they are known, if they are. Nobody is asked and nothing is waited for.
    fn known_newsgroups(&self) -> Option<Arc<NewsgroupList>> {
        None
    }

    /// Whether [`seek`](Self::seek) can find anything: without an index it cannot.
    fn has_index(&self) -> bool;

    /// A page of a newsgroup's threads, counted from 0.
    fn threads<'a>(&'a self, newsgroup: &'a Newsgroup, page: usize) -> Pending<'a, ThreadPage>;

    /// A page of the thread in which an article is.
    fn thread<'a>(
        &'a self,
        newsgroup: &'a Newsgroup,
        root: &'a MessageId,
        place: ThreadPlace,
    ) -> Pending<'a, ThreadView>;

    /// An article.
    fn article<'a>(&'a self, id: &'a MessageId) -> Pending<'a, ReadArticle>;

    /// A page of the stored articles that have something in them.
    fn seek(&self, seeking: Seeking) -> Finding<'_>;
}

impl Library for Model {
    fn newsgroups(&self) -> Pending<'_, NewsgroupList> {
        Box::pin(self.newsgroups(Asker::NOBODY))
    }

    fn look_at(&self, shown: &[&Newsgroup]) {
        self.look_at(shown, Asker::NOBODY);
    }

    fn known_newsgroups(&self) -> Option<Arc<NewsgroupList>> {
        let (merged, _) = self.catalogue.merged()?;
        Some(merged.list.clone())
    }

    fn has_index(&self) -> bool {
        self.index.is_some()
    }

    fn threads<'a>(&'a self, newsgroup: &'a Newsgroup, page: usize) -> Pending<'a, ThreadPage> {
        Box::pin(self.threads(newsgroup, page, Asker::NOBODY))
    }

    fn thread<'a>(
        &'a self,
        newsgroup: &'a Newsgroup,
        root: &'a MessageId,
        place: ThreadPlace,
    ) -> Pending<'a, ThreadView> {
        Box::pin(self.thread(newsgroup, root, place, Asker::NOBODY))
    }

    fn article<'a>(&'a self, id: &'a MessageId) -> Pending<'a, ReadArticle> {
        Box::pin(self.article(id, Asker::NOBODY))
    }

    fn seek(&self, seeking: Seeking) -> Finding<'_> {
        Box::pin(self.seek(seeking))
    }
}

/// What pages and the API share.
pub struct Reader {
    pub(crate) library: Arc<dyn Library>,
    pub(crate) marks: Marks,
    /// Where articles are posted; without it there is only reading.
    pub(crate) model: Option<Arc<Model>>,
    clock: Arc<dyn Clock>,
}

impl Reader {
    /// Reads in this library.
    pub fn new(library: Arc<dyn Library>, marks: Marks, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            library,
            marks,
            model: None,
            clock,
        })
    }

    /// Reads and posts with this model.
    pub fn with_desk(model: Arc<Model>, marks: Marks, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            library: model.clone(),
            marks,
            model: Some(model),
            clock,
        })
    }

    /// Unix seconds.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now().as_second()
    }
}
