//! Calls to one news server, as the engine runs them: one question each.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use weir_engine::dispatch::{Class, UpstreamId};
use weir_engine::{About, Call, Landing, Outcome, Permit};
use weir_net::BoxFuture;
use weir_news_proto::block::write_block;
use weir_news_proto::{Listing, MessageId, Newsgroup};

use crate::judge::NewsFault;
use crate::lines::SentLines;
use crate::outbound::{Link, SelectedNumbers};
use crate::policy::{HIGH, LOW, NORMAL};
use crate::server::Server;

/// What a server can be asked; equal questions to one server share a flight.
pub trait Question: Hash + Eq + Clone + Send + Sync + 'static {
    /// What it answers.
    type Answer: Send + Sync + 'static;

    /// How urgent it is, unless whoever asks knows better.
    const CLASS: Class;

    /// Asks it.
    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<Self::Answer, NewsFault>>;

    /// What it is about, for the records.
    fn about(&self) -> About;
}

/// What came of a question.
pub(crate) type Told<Q> = Result<Arc<<Q as Question>::Answer>, NewsFault>;

/// Asks a server one question.
pub(crate) struct ServerCall<Q: Question> {
    pub(crate) server: Arc<Server>,
    pub(crate) landing: Landing<(UpstreamId, Q), Told<Q>>,
}

impl<Q: Question> Call for ServerCall<Q> {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (_, question) = self.landing.key();
            let told = question.ask(&self.server.link).await;
            let outcome = told
                .as_ref()
                .err()
                .map_or(Outcome::Done, |fault| judge(fault, &permit));
            self.landing.tell(told.map(Arc::new));
            outcome
        })
    }

    fn about(&self) -> About {
        self.landing.key().1.about()
    }
}

/// Tries a server for an operator, or because nobody asks it: connects, signs in and asks for its time.
pub(crate) struct ProbeCall(pub(crate) Arc<Server>);

impl Call for ProbeCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            match self.0.link.date().await {
                Ok(()) => Outcome::Done,
                Err(fault) => judge(&fault, &permit),
            }
        })
    }

    fn about(&self) -> About {
        About::Text("its time".into())
    }
}

/// What a fault means; told to the engine in words as well.
fn judge(fault: &NewsFault, permit: &Permit) -> Outcome {
    permit.explain(fault.to_string());
    fault.outcome(permit)
}

/// A whole article.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskArticle(pub MessageId);

/// A stretch of a newsgroup, by the server's own numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskWindow {
    /// Which newsgroup.
    pub newsgroup: Newsgroup,
    /// The lowest number.
    pub low: u64,
    /// The highest one.
    pub high: u64,
}

/// How many articles a newsgroup has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskNumbers(pub Newsgroup);

/// The newsgroups of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskNewsgroups;

/// What the newsgroups of a server are about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskDescriptions;

/// Whether a server has an article.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskPresence(pub MessageId);

/// To take an article. Known by its Message-ID alone: whoever hands over the same one at the same time shares the call.
#[derive(Clone, Debug)]
pub struct AskPost {
    /// Which one.
    pub id: MessageId,
    /// The whole article.
    pub raw: Bytes,
    /// Set when the server has it, or may have it.
    pub given: Arc<AtomicBool>,
}

impl PartialEq for AskPost {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for AskPost {}

impl Hash for AskPost {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// What stands below the head of an article; servers add to the head.
fn text_of(raw: &[u8]) -> &[u8] {
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n");
    end.map_or(&[], |end| raw[end + 4..].trim_ascii_end())
}

/// A server's newsgroups as it listed them.
#[derive(Clone, Debug)]
pub struct ListBlock {
    /// Whether the lines are those of LIST COUNTS, with a count of articles; else of LIST ACTIVE.
    pub counts: bool,
    /// The lines.
    pub block: Bytes,
}

impl Question for AskDescriptions {
    type Answer = Bytes;

    const CLASS: Class = LOW;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<Bytes, NewsFault>> {
        Box::pin(async move {
            match link.list(Listing::Newsgroups(None)).await {
                // Not every server describes them, and none has to.
                Err(NewsFault::Unsupported(_)) => Ok(Bytes::new()),
                listed => listed,
            }
        })
    }

    fn about(&self) -> About {
        About::Text("what its newsgroups are about".into())
    }
}

impl Question for AskPresence {
    type Answer = bool;

    const CLASS: Class = HIGH;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<bool, NewsFault>> {
        Box::pin(link.has(&self.0))
    }

    fn about(&self) -> About {
        About::Text(format!("whether {} has arrived", self.0).into())
    }
}

impl Question for AskPost {
    type Answer = ();

    const CLASS: Class = HIGH;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), NewsFault>> {
        Box::pin(async move {
            let mut block = Vec::with_capacity(self.raw.len() + self.raw.len() / 50 + 16);
            write_block(&self.raw, &mut block);
            let block = Bytes::from(block);
            let post = || link.post(block.clone(), self.given.clone());
            let first = post().await;
            let told = match first {
                // Before it is sent again, the server is asked whether the first one arrived.
                Err(NewsFault::Unfinished(words)) => match link.has(&self.id).await {
                    Ok(true) => return Ok(()),
                    Ok(false) => post().await,
                    Err(_) => Err(NewsFault::Unfinished(words)),
                },
                first => first,
            };
            match told {
                // A server that has it refuses the second one, in words that differ from program to program. Another article
                // under the same Message-ID is somebody else's.
                Err(NewsFault::NotTaken(words)) => match link.article(&self.id).await {
                    Ok(theirs) if text_of(&theirs) == text_of(&self.raw) => Ok(()),
                    _ => Err(NewsFault::NotTaken(words)),
                },
                told => told,
            }
        })
    }

    fn about(&self) -> About {
        About::Text(format!("posting {}", self.id).into())
    }
}

impl Question for AskArticle {
    type Answer = Bytes;

    const CLASS: Class = HIGH;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<Bytes, NewsFault>> {
        Box::pin(link.article(&self.0))
    }

    fn about(&self) -> About {
        About::Text(self.0.as_str().into())
    }
}

impl Question for AskWindow {
    type Answer = SentLines;

    const CLASS: Class = NORMAL;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<SentLines, NewsFault>> {
        Box::pin(async move {
            let window = link.overview(&self.newsgroup, self.low..=self.high);
            // Read here, once for all who wait for it: windows that are asked for together are read at the same time.
            Ok(SentLines::of(&window.await?))
        })
    }

    fn about(&self) -> About {
        let Self {
            newsgroup,
            low,
            high,
        } = self;
        About::Text(format!("{newsgroup}, {low} to {high}").into())
    }
}

impl Question for AskNumbers {
    type Answer = SelectedNumbers;

    const CLASS: Class = LOW;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<SelectedNumbers, NewsFault>> {
        Box::pin(link.newsgroup(&self.0))
    }

    fn about(&self) -> About {
        About::Text(self.0.as_str().into())
    }
}

impl Question for AskNewsgroups {
    type Answer = ListBlock;

    const CLASS: Class = NORMAL;

    fn ask<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<ListBlock, NewsFault>> {
        Box::pin(async move {
            // One command instead of one for each newsgroup. A server that lacks the better list has the older one.
            match link.list(Listing::Counts(None)).await {
                Err(NewsFault::Unsupported(_)) => {
                    let block = link.list(Listing::Active(None)).await?;
                    Ok(ListBlock {
                        counts: false,
                        block,
                    })
                }
                listed => Ok(ListBlock {
                    counts: true,
                    block: listed?,
                }),
            }
        })
    }

    fn about(&self) -> About {
        About::Text("its newsgroups".into())
    }
}
