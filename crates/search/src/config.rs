//! The section `search`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Node, Setting, Size, Value, Wrong, check, choices, section};

pub mod indexer;

use self::indexer::Indexer;

section! {
    /// The search front: Torznab and Newznab over many indexers.
    pub struct Config in "search" {
        /// An answer is given after this time at the latest, with what has arrived.
        deadline: Duration = "15s", check check::some_time;
        /// Workers: auto is one per indexer, from workers_min to workers_max.
        workers: Workers = "auto";
        /// Least workers of auto.
        workers_min: NonZeroU32 = "10";
        /// Most workers of auto.
        workers_max: NonZeroU32 = "200";
        /// Jobs that may wait.
        queue_size: NonZeroU32 = "10000", at start;
        /// Waiting this long makes a job of any class the next one.
        aging: Duration = "10s", at start, check check::some_time;
        /// Time between two calls to an indexer; 0s for none.
        min_request_interval: Duration = "60s";
        /// Calls to one indexer at once.
        indexer_calls: NonZeroU32 = "1";
        /// Class of a request that nothing else decides: interactive, rss, completion or background.
        default_class: Class = "completion";
        /// A client that hangs up may come back within this time and find its search going on.
        keep_after_reply: Duration = "5m";
        /// An indexer that cannot answer in time is still asked for the next asker if its turn comes within this time.
        hold_max: Duration = "5m";
        /// Requests an hour and program that go in as interactive because nothing is cached.
        first_asks_per_hour: u32 = "30";
        /// Releases of an answer where a request names no number.
        page_default: NonZeroU32 = "500";
        /// Releases of an answer at most.
        page_max: NonZeroU32 = "1000";
        /// Time in which the next pages of an answer are what they were when its first page was asked for.
        session: Duration = "10m", check check::some_time;
        /// Searches of the page that are kept for a reload.
        kept_searches: NonZeroU32 = "200";
        /// Searches and grabs that are remembered.
        history: NonZeroU32 = "10000";
        /// Downloads a minute that one address may make; 0 sets no limit.
        downloads_per_minute: u32 = "120";
        /// Bytes of an indexer's answer at most.
        answer_bytes: Size = "16MiB", at start;
        /// Bytes of a downloaded file at most.
        file_bytes: Size = "32MiB", at start;
        /// How long an indexer that answered 429 without a time is left alone; null climbs the ladder.
        throttled: Option<Duration> = "null", at start;
        /// Whether indexers may have private addresses.
        allow_private_upstreams: bool = "true", at start;
        /// Whether links in results may lead to private addresses other than at the indexer's own scheme, host and port.
        allow_private_links: bool = "false", at start;
    }
    sections {
        /// How much of min_request_interval each class keeps.
        spacing: Spacing;
        /// How long each class waits for an indexer's turn.
        max_wait: MaxWait;
        /// How long answers are served from the cache.
        cache: Cache;
        /// Programs by their user agent.
        user_agents: UserAgents;
    }
    lists |fields| {
        /// The indexers.
        indexers: Vec<Indexer> = {
            let list = fields.list();
            fields.distinct::<Indexer>("name");
            list
        };
    }
    then |config, fields| {
        if config.workers_min > config.workers_max {
            fields.refuse("workers_min", format!("write at most workers_max, {}", config.workers_max));
        }
        if config.page_default > config.page_max {
            fields.refuse("page_default", format!("write at most page_max, {}", config.page_max));
        }
    }
}

section! {
    /// How much of min_request_interval each class keeps, as a factor.
    pub struct Spacing in "spacing", at start {
        /// A person is waiting.
        interactive: f64 = "0.1";
        /// Recent releases.
        rss: f64 = "0.5";
        /// A program completes its library.
        completion: f64 = "0.7";
        /// Nobody waits.
        background: f64 = "1.0";
    }
}

section! {
    /// A class whose wait for an indexer is longer than this is skipped there; null waits as long as it takes.
    pub struct MaxWait in "max_wait", at start {
        /// A person is waiting.
        interactive: Option<Duration> = "null";
        /// Recent releases.
        rss: Option<Duration> = "15s";
        /// A program completes its library.
        completion: Option<Duration> = "null";
        /// Nobody waits.
        background: Option<Duration> = "60s";
    }
}

section! {
    /// How long answers are served from the cache.
    pub struct Cache in "cache" {
        /// Recent releases.
        rss: Duration = "10m";
        /// Searches by text or id.
        search: Duration = "60m";
        /// Searches that found nothing.
        nothing: Duration = "15m";
        /// What an indexer can do.
        caps: Duration = "24h";
        /// Downloaded files.
        files: Duration = "24h";
        /// An answer that is older than this is not served any more, whatever happens.
        stale: Duration = "7d";
        /// Bytes of answers and files in search.db at most; a quarter of them for files.
        size: Size = "256MiB", at start;
        /// Bytes of read answers in memory at most.
        memory: Size = "64MiB", at start;
    }
}

section! {
    /// Programs by a word of their user agent; the first class that fits holds.
    pub struct UserAgents in "user_agents" {
        /// Programs a person waits at.
        interactive: Vec<String> = "[]";
        /// Programs that complete a library.
        completion: Vec<String> = "[Sonarr, Radarr, Lidarr, Readarr, Whisparr, Prowlarr]";
        /// Programs nobody waits at.
        background: Vec<String> = "[CrossSeed, cross-seed, autobrr, FlexGet]";
    }
}

choices! {
    /// How urgent a search is.
    pub enum Class {
        /// A person is waiting.
        Interactive = "interactive",
        /// Recent releases.
        Rss = "rss",
        /// A program completes its library.
        Completion = "completion",
        /// Nobody waits.
        Background = "background",
    }
}

/// How many workers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// One per indexer within bounds.
    Auto,
    /// As many as written.
    Count(NonZeroU32),
}

impl Setting for Workers {
    fn wanted() -> String {
        "auto or a whole number of 1 or more".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        match &node.value {
            Value::Text(text) | Value::Raw(text) if text == "auto" => Ok(Self::Auto),
            _ => NonZeroU32::read(node)
                .map(Self::Count)
                .map_err(|_| Wrong::kind::<Self>(node)),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Count(count) => count.to_string(),
        }
    }
}
