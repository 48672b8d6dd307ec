//! Articles: from memory, from the store, or from whichever server has them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::Recent;
use weir_engine::dispatch::{Asker, Class, Moment};
use weir_net::{LONG, aside};
use weir_news_proto::MessageId;
use weir_news_proto::article::Article;

use crate::call::AskArticle;
use crate::federation::Sought;
use crate::model::Model;
use crate::reading::{Absence, ReadArticle, Rendered, SilentServer, Unread};
use crate::silence::{COME_BACK, busy, silent};
use crate::store::KeptArticle;

/// Bytes that are kept about articles that nobody has; a few thousand of them.
const ABSENCES: usize = 1 << 20;

/// What an article takes in memory beside its bytes, for each of them: it is held as it came, as it is read, and as its page.
pub(crate) const TIMES: usize = 4;

/// What was read lately, and what was not found.
pub(crate) struct Articles {
    read: Mutex<Recent<MessageId, (Arc<ReadArticle>, Moment)>>,
    absent: Mutex<Recent<MessageId, (Arc<Absence>, Moment)>>,
}

/// Why there is no article.
#[derive(Clone, Debug)]
pub(crate) enum NotRead {
    Nowhere(Arc<Absence>),
    Busy(u64),
    Unreachable(Vec<SilentServer>),
}

/// Nobody is asked any more, because Weir stops; the next one answers soon.
pub(crate) const STOPPING: NotRead = NotRead::Busy(COME_BACK.as_secs());

/// What came of looking for an article.
pub(crate) type ArticleRead = Result<Arc<ReadArticle>, NotRead>;

impl From<NotRead> for Unread {
    fn from(not: NotRead) -> Self {
        match not {
            NotRead::Nowhere(absence) => Self::NoArticle(absence),
            NotRead::Busy(retry_after) => Self::Busy { retry_after },
            NotRead::Unreachable(silent) => Self::Unreachable(silent),
        }
    }
}

impl Articles {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            read: Mutex::new(Recent::new(limit)),
            absent: Mutex::new(Recent::new(ABSENCES)),
        }
    }

    fn put(&self, article: &Arc<ReadArticle>, at: Moment) {
        let weight = article.raw.len() * TIMES + 1024;
        let entry = (article.clone(), at);
        self.read.lock().put(article.id.clone(), entry, weight);
    }

    fn miss(&self, id: &MessageId, absence: &Arc<Absence>, at: Moment) {
        let entry = (absence.clone(), at);
        self.absent
            .lock()
            .put(id.clone(), entry, id.as_str().len() + 128);
    }

    fn recall(&self, id: &MessageId) -> Option<(Arc<ReadArticle>, Moment)> {
        self.read.lock().get(id)
    }

    fn absence(&self, id: &MessageId, since: Moment) -> Option<Arc<Absence>> {
        let (absence, at) = self.absent.lock().get(id)?;
        (at >= since).then_some(absence)
    }
}

impl Model {
    /// An article that is in memory and not older than articles may be.
    pub(crate) fn at_hand(&self, id: &MessageId) -> Option<ArticleRead> {
        let (now, rules) = (self.now().0, self.rules.load());
        let fresh = |at: Moment, time: Duration| at >= now - time;
        if let Some((article, at)) = self.articles.recall(id)
            && fresh(at, rules.cache.article)
        {
            return Some(Ok(article));
        }
        let absence = self.articles.absence(id, now - rules.cache.not_found)?;
        Some(Err(NotRead::Nowhere(absence)))
    }

    /// An article, from wherever it is to be had soonest.
    pub(crate) async fn find_article(
        &self,
        id: &MessageId,
        class: Class,
        asker: Asker,
    ) -> ArticleRead {
        if let Some(own) = self.own_article(id) {
            self.count_hit();
            return Ok(own);
        }
        if let Some(at_hand) = self.at_hand(id) {
            self.count_hit();
            return at_hand;
        }
        let Some(model) = self.me.upgrade() else {
            return Err(STOPPING);
        };
        let key = (id.clone(), class);
        let errand = self.article_errands.join(key, || {
            let id = id.clone();
            async move { model.fetch_article(&id, class, asker).await }
        });
        // An errand that ended without a word was cut off by the end of Weir.
        let done = errand.done().await;
        done.unwrap_or(Err(STOPPING))
    }

    /// Why an article did not come by the deadline: because of the servers that are still being asked for it, or of the
    /// queue if nobody is.
    pub(crate) fn not_in_time(&self, id: &MessageId) -> NotRead {
        let asked = self.federation.under_way(&AskArticle(id.clone()));
        match asked.is_empty() {
            true => NotRead::Busy(COME_BACK.as_secs()),
            false => NotRead::Unreachable(self.late(&asked)),
        }
    }

    pub(crate) async fn fetch_article(
        &self,
        id: &MessageId,
        class: Class,
        asker: Asker,
    ) -> ArticleRead {
        if let Some(kept) = self.file.article(id).await {
            self.file.read_article(id, self.now().1);
            self.count_hit();
            return Ok(self.read(id, kept).await);
        }
        self.count_miss();
        // Better one of yesterday than none.
        let old = || self.articles.recall(id).map(|(article, _)| article);
        let instead = || self.known_since(old().map(|article| article.fetched));
        let question = AskArticle(id.clone());
        let sought = self.federation.seek(&question, (class, asker), instead);
        let sought = sought.await;
        let (now, at) = self.now();
        match sought {
            Sought::Found { answer, server } => {
                let kept = KeptArticle {
                    raw: answer.as_ref().clone(),
                    server: Arc::from(server.name()),
                    fetched: at,
                };
                self.file.keep_article(id, kept.clone());
                Ok(self.read(id, kept).await)
            }
            Sought::Nowhere => {
                let servers = self.federation.in_order();
                let absence = Arc::new(Absence {
                    servers: servers
                        .iter()
                        .map(|server| Arc::from(server.name()))
                        .collect(),
                    at,
                });
                self.articles.miss(id, &absence, now);
                Err(NotRead::Nowhere(absence))
            }
            Sought::Unknown(silents) => {
                if let Some(article) = old() {
                    return Ok(article);
                }
                let full = silents.iter().find_map(|(_, why)| busy(why));
                let silents = silents
                    .iter()
                    .map(|(server, why)| silent(&self.engine, server, why));
                Err(match full {
                    Some(seconds) => NotRead::Busy(seconds),
                    None => NotRead::Unreachable(silents.collect()),
                })
            }
        }
    }

    /// Lets an article be read anew, since more is known of it.
    pub(crate) fn forget_article(&self, id: &MessageId) {
        self.articles.read.lock().remove(id);
        self.articles.absent.lock().remove(id);
    }

    /// Reads an article's bytes, and holds it for the next reader.
    async fn read(&self, id: &MessageId, kept: KeptArticle) -> Arc<ReadArticle> {
        let raw = kept.raw.clone();
        let article = match raw.len() {
            ..LONG => Article::parse(&raw),
            _ => aside(move || Article::parse(&raw)).await,
        };
        let read = Arc::new(ReadArticle {
            id: id.clone(),
            raw: kept.raw,
            article,
            server: kept.server,
            fetched: kept.fetched,
            post: self.own(id),
            rendered: Rendered::default(),
        });
        self.articles.put(&read, self.now().0);
        read
    }
}
