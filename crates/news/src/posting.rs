//! Posting: an article somebody wrote is made fit to be sent, handed to one server, and remembered until a server lists it.
//!
//! `duties` makes the article, `delivery` finds the server for it, `outbox` remembers it in `state.db` from before the first
//! try on, so that an article is never sent under two Message-IDs and never forgotten half-way. `draft` and `reply` are for
//! people who write in a browser.

mod delivery;
pub(crate) mod draft;
mod duties;
mod header;
mod lock;
pub(crate) mod outbox;
pub(crate) mod reply;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use weir_engine::dispatch::Asker;
use weir_news_proto::{MessageId, Newsgroup};
use weir_web::{Right, Visitor};

use self::draft::KeptDraft;
pub(crate) use self::duties::Taken;
use self::duties::{Means, Outgoing};
pub use self::outbox::{PostNote, PostState, TakenBack};
use crate::model::Model;

/// What comes before the name of a key, so that none can be called as a keyholder is.
const NAMED: &str = "key ";

/// Who posts. Limits are counted for each, and only who posted an article may take it back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Poster(Arc<str>);

impl Poster {
    /// Whoever may do everything: a browser that is signed in, or a program. They may also take back what others posted.
    pub fn keyholder() -> Self {
        Self("key".into())
    }

    /// Whoever has the key of this name, with what it allows.
    pub fn of(name: Option<&str>, right: Option<Right>) -> Self {
        match name.filter(|_| right != Some(Right::Everything)) {
            Some(name) => Self(format!("{NAMED}{name}").into()),
            None => Self::keyholder(),
        }
    }

    /// A visitor of the pages or the API.
    pub(crate) fn visitor(visitor: &Visitor) -> Self {
        let right = Right::ALL
            .into_iter()
            .rev()
            .find(|right| visitor.may(*right));
        Self::of(visitor.key_name(), right)
    }

    /// The name of their key; `None` for a keyholder.
    pub(crate) fn key_name(&self) -> Option<&str> {
        self.0.strip_prefix(NAMED)
    }

    /// Whether they may see and take back what this one posted.
    pub(crate) fn may_handle(&self, other: &Self) -> bool {
        self == other || *self == Self::keyholder()
    }

    /// Somebody who is known by another name.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// What they are known by.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Why an article was not posted. Each says so in a sentence or two.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPosted {
    /// Nobody lets us post, or not there. Over NNTP: 440 before the article is sent, else 441.
    #[error("{0}")]
    Forbidden(String),
    /// There is something wrong with the article, or the server that was asked does not want it: 441.
    #[error("{0}")]
    Refused(String),
    /// The poster has posted too much: 441, and another try makes sense after some seconds.
    #[error("{says}")]
    TooMany {
        /// The same in words.
        says: String,
        /// After so many seconds.
        retry_after: u64,
    },
    /// Nobody could take it now. It was not sent and is not kept; the same article can be posted again later: 441.
    #[error("{0}")]
    Unreachable(String),
    /// What is posted cannot be remembered, so it was not sent: 441 or 403.
    #[error("{0}")]
    Unkept(String),
}

impl Model {
    /// Posts an article: headers and body as the client sent them, with dots at line starts already undone.
    ///
    /// `Ok` is the Message-ID under which a server has taken it. If the connection was lost just then, it is also `Ok`: the
    /// article is kept, and Weir finds out whether it arrived before anybody is sent it again. The same article may be posted
    /// again under the same Message-ID any time; it appears once. It goes on if the caller leaves.
    ///
    /// # Errors
    /// Why it was not posted. Then it is nowhere.
    pub async fn post(
        &self,
        article: Bytes,
        poster: Poster,
        asker: Asker,
    ) -> Result<MessageId, NotPosted> {
        let mut random = [0; 15];
        let unlucky = |_| NotPosted::Unkept("The system has no random numbers.".to_owned());
        getrandom::fill(&mut random).map_err(unlucky)?;
        let ready = self.make_ready(&article, random)?;
        self.post_ready(ready, poster, asker).await
    }

    /// Does all duties that an article needs before it can be sent. If it has no Message-ID, it gets one made of `random`.
    pub(crate) fn make_ready(
        &self,
        article: &[u8],
        random: [u8; 15],
    ) -> Result<Outgoing, NotPosted> {
        let rules = self.rules.load().posting;
        let means = Means {
            lock: self.outbox.lock(),
            now: self.now().1,
            newsgroups: rules.newsgroups,
            bytes: rules.bytes,
            random,
        };
        duties::done(article, &means).map_err(NotPosted::Refused)
    }

    pub(crate) async fn post_ready(
        &self,
        ready: Outgoing,
        poster: Poster,
        asker: Asker,
    ) -> Result<MessageId, NotPosted> {
        let id = ready.id.clone();
        if let Some(known) = self.outbox.find(&id)
            && known.is_out()
        {
            return Ok(id);
        }
        if let Some(taken) = &ready.takes_back {
            let own = self.outbox.find(taken.id());
            if own.is_none_or(|own| !poster.may_handle(&own.poster)) {
                return Err(NotPosted::Refused(format!(
                    "{} was not posted here, so it cannot be taken back from here.",
                    taken.id()
                )));
            }
        }
        let Some(model) = self.me.upgrade() else {
            return Err(NotPosted::Unreachable("Weir is stopping.".to_owned()));
        };
        let errand = self.post_errands.join(id.clone(), || async move {
            model.deliver_first(ready, poster, asker).await
        });
        let done = errand.done().await;
        let stopping = || NotPosted::Unreachable("Weir is stopping.".to_owned());
        done.ok_or_else(stopping)?.map(|()| id)
    }

    /// Whether a draft has become an article that is with a server, or may be.
    pub(crate) fn is_out(&self, kept: &KeptDraft) -> bool {
        let seed = self.outbox.drafts.seed(&kept.name, &kept.draft);
        let id = duties::new_id(kept.draft.address.trim(), &seed);
        self.outbox.find(&id).is_some_and(|post| post.is_out())
    }

    /// What is known of an article that was posted here.
    pub(crate) fn own(&self, id: &MessageId) -> Option<PostNote> {
        Some(self.outbox.find(id)?.note())
    }
}

/// How long ago posts still count for their poster's limit.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// Names in a row.
pub(crate) fn listed(names: &[Newsgroup]) -> String {
    let names: Vec<&str> = names.iter().map(Newsgroup::as_str).collect();
    names.join(", ")
}
