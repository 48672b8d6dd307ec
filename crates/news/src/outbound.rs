//! Speaks NNTP to one news server: what the front wants to know, as functions.
//!
//! `dial` opens a connection, `connection` runs one, `pool` has all of a server's, `overview` fetches stretches of a
//! newsgroup. When and how often a server is asked is the engine's business.

mod answer;
mod connection;
mod dial;
mod lease;
mod method;
mod overview;
mod pool;
mod wire;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use tokio_util::task::TaskTracker;
use weir_config::{SecretUrl, Secrets};
use weir_engine::Node;
use weir_net::{Error, Ground, Home, Roots, Tls};
use weir_news_proto::reply::code;
use weir_news_proto::{Command, Listing, MessageId, Newsgroup, OverviewFormat, Which};

pub use self::answer::lines;
pub use self::overview::Window;
use self::pool::Pool;

use self::answer::Answer;
use self::connection::{Depths, Order, Posting};
use self::dial::Dialer;
use self::lease::Tenant;
use self::method::{FetchBy, Method};
use crate::config::server::ServerEntry;
use crate::judge::NewsFault;
use crate::rules::LinkRules;

/// Bytes that an overview line may have; most have 430.
const LINE: usize = 8 * 1024;

/// The way out for all news servers.
pub(crate) struct Outbound {
    ground: Arc<dyn Ground>,
    tls: Tls,
    tasks: TaskTracker,
    /// This node among others that use the same accounts.
    node: Option<Node>,
}

/// How much a server may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// One article.
    article: usize,
    /// One list.
    list: usize,
    /// One stretch of an overview.
    window: usize,
}

/// The way to one news server.
pub struct Link {
    pool: Pool,
    home: Arc<Home>,
    sizes: Sizes,
    /// What its overview lines have, once it has said so.
    format: ArcSwapOption<OverviewFormat>,
}

/// What a server says of a newsgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedNumbers {
    /// How many articles there are, by its own estimate.
    pub count: u64,
    /// Their numbers; `None` if it is empty.
    pub numbers: Option<(u64, u64)>,
}

impl SelectedNumbers {
    fn of(answer: &Answer) -> Result<Self, NewsFault> {
        let selected = answer.reply().selected().map_err(|_| answer.fault())?;
        Ok(Self {
            count: selected.count,
            numbers: selected.numbers().map(RangeInclusive::into_inner),
        })
    }
}

impl Outbound {
    pub(crate) fn new(ground: Arc<dyn Ground>, roots: &Roots) -> Result<Self, Error> {
        Ok(Self {
            ground,
            // Servers that know ALPN know NNTP's name there hardly ever, and refuse what they do not know.
            tls: Tls::new(roots, None)?,
            tasks: TaskTracker::new(),
            node: None,
        })
    }

    /// One of several nodes that share out the connections of each account.
    pub(crate) fn among(mut self, node: Option<Node>) -> Self {
        self.node = node;
        self
    }

    /// The way to a server. Nothing is opened before something is asked.
    pub(crate) fn link(&self, rules: &LinkRules, entry: &ServerEntry) -> Link {
        let port = entry.port.map_or(0, |port| port.get());
        // Only its origin counts.
        let url = SecretUrl::parse(&format!("nntp://{}:{port}", bracketed(&entry.host)));
        let url = url.expect("a host was checked to be one");
        let home = Arc::new(Home::new(&url));
        let dialer = Dialer {
            ground: self.ground.clone(),
            tls: self.tls.clone(),
            entry: entry.clone(),
            home: home.clone(),
            private: rules.private,
            secrets: Secrets::of(&url, entry.password.as_ref(), |_| false),
        };
        let depths = Depths {
            usual: rules.pipeline_depth as usize,
            articles: rules.article_depth as usize,
        };
        let method = Method::new(rules.overview);
        let tenant = self.node.as_ref().map(|node| Tenant {
            node: node.clone(),
            account: entry.key(node.seal()),
        });
        let tasks = self.tasks.clone();
        Link {
            pool: Pool::new(dialer, depths, rules.idle, method, tasks, tenant),
            home,
            sizes: Sizes {
                article: rules.article_bytes,
                list: rules.list_bytes,
                window: (rules.window_lines as usize).saturating_mul(LINE),
            },
            format: ArcSwapOption::empty(),
        }
    }

    /// Waits until no connection is left.
    pub(crate) async fn closed(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Link {
    /// Connections that are open, and that ever were.
    pub fn connections(&self) -> (usize, usize) {
        (self.pool.open(), self.pool.opened())
    }

    /// How overviews are fetched.
    pub fn fetches_by(&self) -> &'static str {
        self.pool.method().name()
    }

    /// Whether each article of an overview costs a command of its own.
    pub(crate) fn asks_one_by_one(&self) -> bool {
        self.pool.method().now() == FetchBy::Head
    }

    /// Whether its newest connection is encrypted; `None` before the first.
    pub fn is_encrypted(&self) -> Option<bool> {
        self.pool.is_encrypted()
    }

    /// Lets its host name resolve to another private address than before.
    pub(crate) fn look_up_anew(&self) {
        self.home.forget();
    }

    /// Lets go of its connections.
    pub(crate) fn close(&self) {
        self.pool.close();
    }

    /// Whether it answers at all: its time, which is the shortest answer there is.
    pub async fn date(&self) -> Result<(), NewsFault> {
        let answer = self.one(Command::Date, 0).await?;
        match answer.fault() {
            _ if answer.code == code::DATE => Ok(()),
            // An old one; it answers.
            NewsFault::Unsupported(_) => Ok(()),
            fault => Err(fault),
        }
    }

    /// One of its lists.
    pub async fn list(&self, listing: Listing) -> Result<Bytes, NewsFault> {
        let answer = self.one(Command::List(listing), self.sizes.list).await?;
        answer.block_of(code::LIST)
    }

    /// How many articles a newsgroup has, and their numbers.
    pub async fn newsgroup(&self, newsgroup: &Newsgroup) -> Result<SelectedNumbers, NewsFault> {
        let delivery = self.pool.ask(Order {
            newsgroup: Some(newsgroup.clone()),
            anew: true,
            ..Order::default()
        });
        let selected = delivery.await?.selected.ok_or_else(missing)?;
        SelectedNumbers::of(&selected)
    }

    /// A whole article.
    pub async fn article(&self, id: &MessageId) -> Result<Bytes, NewsFault> {
        let command = Command::Article(Which::Id(id.clone()));
        let answer = self.one(command, self.sizes.article).await?;
        answer.block_of(code::ARTICLE)
    }

    /// Whether it has an article.
    pub async fn has(&self, id: &MessageId) -> Result<bool, NewsFault> {
        let answer = self.one(Command::Stat(Which::Id(id.clone())), 0).await?;
        match answer.fault() {
            _ if answer.code == code::ARTICLE_EXISTS => Ok(true),
            NewsFault::NoArticle => Ok(false),
            fault => Err(fault),
        }
    }

    /// Hands it an article; `block` is the article as a block. Tried once over a connection that works: an article that
    /// may have arrived is never sent again from here, which [`NewsFault::Unfinished`] tells. `given` is set before it goes
    /// out, and it does not go out if whoever called this has left by then.
    pub async fn post(&self, block: Bytes, given: Arc<AtomicBool>) -> Result<(), NewsFault> {
        let delivery = self.pool.ask(Order {
            article: Some(Posting { block, given }),
            ..Order::default()
        });
        let answer = delivery.await?.answers.pop().ok_or_else(missing)?;
        match answer.code {
            code::POSTED => Ok(()),
            // Readers may be welcome where writers have to say who they are; that says nothing against the server.
            480 | 483 | 502 => Err(NewsFault::NoPosting(answer.reply().message())),
            _ => Err(answer.fault()),
        }
    }

    async fn one(&self, command: Command, limit: usize) -> Result<Answer, NewsFault> {
        let delivery = self.pool.ask(Order {
            commands: vec![command],
            limit,
            ..Order::default()
        });
        delivery.await?.answers.pop().ok_or_else(missing)
    }
}

fn missing() -> NewsFault {
    NewsFault::Garbled("an answer is missing".to_owned())
}

/// A host as URLs write it.
pub(crate) fn bracketed(host: &str) -> String {
    match host.contains(':') && !host.starts_with('[') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}
