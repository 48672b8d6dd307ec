//! The section `search`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Node, Setting, Size, Value, Wrong, check, choices, section};

pub mod indexer;
pub mod limit;

use self::indexer::IndexerEntry;

section! {
    /// The search front: many indexers behind one Torznab and Newznab API.
    pub struct Config in "search" {
        /// A search is answered after this time at the latest, with what has arrived by then.
        deadline: Duration = "15s", check check::some_time;
        /// Number of workers; auto is one per indexer, from workers_min to workers_max.
        workers: Workers = "auto";
        /// Minimum workers in auto mode.
        workers_min: NonZeroU32 = "10";
        /// Maximum workers in auto mode.
        workers_max: NonZeroU32 = "200";
        /// Maximum queued jobs.
        queue_size: NonZeroU32 = "10000", at start;
        /// A job that has waited this long goes next, whatever its class.
        aging: Duration = "10s", at start, check check::some_time;
        /// Minimum time between two calls to an indexer, of which each class keeps its share (interval_shares); null for
        /// the times of spacing, 0s for none.
        min_request_interval: Option<Duration> = "null";
        /// Maximum simultaneous calls to one indexer.
        indexer_calls: NonZeroU32 = "1";
        /// Class of requests that match no other rule: interactive, rss, completion or background.
        default_class: DefaultClass = "completion";
        /// How long indexers may still answer after the reply, so that a client that asks again finds their releases.
        keep_after_reply: Duration = "5m";
        /// An indexer that cannot answer in time is still asked, for the next request, if it can be called within this time.
        hold_max: Duration = "5m";
        /// Releases per answer if the request gives no limit.
        page_default: NonZeroU32 = "500";
        /// Maximum releases per answer.
        page_max: NonZeroU32 = "1000";
        /// How long the further pages of an answer stay consistent with its first page.
        session: Duration = "10m", check check::some_time;
        /// Maximum searches from the Search page that are kept, to be shown again on a reload.
        kept_searches: NonZeroU32 = "200";
        /// Maximum searches and grabs kept in the history.
        history: NonZeroU32 = "10000";
        /// Maximum downloads per minute and client address; 0 for no limit.
        downloads_per_minute: u32 = "120";
        /// Maximum size of an indexer's answer.
        answer_bytes: Size = "16MiB", at start;
        /// Maximum size of a downloaded file.
        file_bytes: Size = "32MiB", at start;
        /// Cooldown of an indexer that answered 429 without saying how long to wait; null follows engine.ladder.
        throttled: Option<Duration> = "null", at start;
        /// Whether indexers may have private addresses.
        allow_private_upstreams: bool = "true", at start;
        /// Whether links in results may lead to private addresses other than the indexer's own scheme, host and port.
        allow_private_links: bool = "false", at start;
    }
    sections {
        /// Time between two calls to an indexer, for each class.
        spacing: Spacing;
        /// How much of min_request_interval applies to each class, where one is set.
        interval_shares: IntervalShares;
        /// How long each class waits for an indexer.
        max_wait: MaxWait;
        /// How long answers are served from the cache.
        cache: CacheConfig;
        /// Which class a program's requests get, by its user agent.
        user_agents: UserAgents;
    }
    lists |fields| {
        /// The indexers that are searched.
        indexers: Vec<IndexerEntry> = {
            let list = fields.list();
            fields.distinct::<IndexerEntry>("name");
            list
        };
    }
    gone {
        first_asks_per_hour: "remove it; a program's requests all have the same class now";
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
    /// Time from the last call to an indexer to the next one of each class. Not where a min_request_interval is set.
    pub struct Spacing in "spacing" {
        /// A person is waiting.
        interactive: Duration = "1s";
        /// Recent releases.
        rss: Duration = "2s";
        /// A program is completing its library.
        completion: Duration = "2s";
        /// Nobody is waiting.
        background: Duration = "25s";
    }
}

section! {
    /// How much of min_request_interval applies to each class, as a factor. Only where one is set.
    pub struct IntervalShares in "interval_shares" {
        /// A person is waiting.
        interactive: f64 = "0.1";
        /// Recent releases.
        rss: f64 = "0.5";
        /// A program is completing its library.
        completion: f64 = "0.7";
        /// Nobody is waiting.
        background: f64 = "1.0";
    }
}

section! {
    /// An indexer is skipped if a class would wait longer than this for it; null waits as long as it takes.
    pub struct MaxWait in "max_wait", at start {
        /// A person is waiting.
        interactive: Option<Duration> = "null";
        /// Recent releases.
        rss: Option<Duration> = "15s";
        /// A program is completing its library.
        completion: Option<Duration> = "null";
        /// Nobody is waiting.
        background: Option<Duration> = "60s";
    }
}

section! {
    /// How long answers are served from the cache.
    pub struct CacheConfig in "cache" {
        /// Recent releases.
        rss: Duration = "10m";
        /// Searches by text or ID.
        search: Duration = "60m";
        /// Searches that found nothing.
        nothing: Duration = "15m";
        /// Capabilities of an indexer.
        caps: Duration = "24h";
        /// Downloaded files.
        files: Duration = "24h";
        /// An answer older than this is never served, whatever happens.
        stale: Duration = "7d";
        /// Maximum size of answers and files in search.db, a quarter of it for files.
        size: Size = "256MiB", at start;
        /// Maximum size of parsed answers in memory.
        memory: Size = "64MiB", at start;
    }
}

section! {
    /// The class of a program's requests, by a word in its user agent; the first match counts.
    pub struct UserAgents in "user_agents" {
        /// Programs with a person waiting.
        interactive: Vec<String> = "[]";
        /// Programs that complete a library.
        completion: Vec<String> = "[Sonarr, Radarr, Lidarr, Readarr, Whisparr, Prowlarr, autobrr, FlexGet]";
        /// Programs with nobody waiting.
        background: Vec<String> = "[CrossSeed, cross-seed]";
    }
}

/// Takes a section apart that has one key for each class: its values in the order of the classes.
macro_rules! by_class {
    ($($section:ident: $value:ty),+) => {$(
        impl $section {
            pub(crate) fn by_class(self) -> [$value; 4] {
                let Self { interactive, rss, completion, background } = self;
                [interactive, rss, completion, background]
            }
        }
    )+};
}

by_class!(Spacing: Duration, IntervalShares: f64, MaxWait: Option<Duration>);

choices! {
    /// How urgent a search is.
    pub enum DefaultClass {
        /// A person is waiting.
        Interactive = "interactive",
        /// Recent releases.
        Rss = "rss",
        /// A program is completing its library.
        Completion = "completion",
        /// Nobody is waiting.
        Background = "background",
    }
}

/// How many workers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// One per indexer, from `workers_min` to `workers_max`.
    Auto,
    /// This many.
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
