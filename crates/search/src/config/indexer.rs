//! The entries of `search.indexers`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Field, Fields, Item, Secret, SecretUrl, Table, check, choices};

/// A search upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexerEntry {
    /// Its name in pages, paths, logs and metrics.
    pub name: String,
    /// Where its API is.
    pub url: SecretUrl,
    /// Its API key.
    pub api_key: Option<Secret>,
    /// Its protocol.
    pub kind: IndexerKind,
    /// Lower comes first when releases are merged.
    pub priority: u32,
    /// Time between two calls, instead of the section's.
    pub min_request_interval: Option<Duration>,
    /// What it allows per minute, hour and day.
    pub limits: IndexerLimits,
    /// The hour of the day (UTC) when its daily counts start again at 0.
    pub reset_hour: Option<u32>,
    /// Categories to search; empty for all.
    pub categories: Vec<u32>,
    /// Indexers with the same tag share a path.
    pub tags: Vec<String>,
    /// Timeout of one call.
    pub timeout: Duration,
    /// The proxy it is called through.
    pub proxy: Option<SecretUrl>,
    /// How clients download releases.
    pub download: Download,
}

impl IndexerEntry {
    /// An indexer with all other keys at their defaults.
    pub fn new(name: &str, url: SecretUrl) -> Self {
        Self {
            name: name.to_owned(),
            url,
            api_key: None,
            kind: IndexerKind::Torznab,
            priority: 25,
            min_request_interval: None,
            limits: IndexerLimits::default(),
            reset_hour: None,
            categories: Vec::new(),
            tags: Vec::new(),
            timeout: Duration::from_secs(12),
            proxy: None,
            download: Download::Proxy,
        }
    }

    /// Whether both entries call the same URL with the same key through the same proxy.
    pub(crate) fn leads_where(&self, other: &Self) -> bool {
        self.url == other.url && self.api_key == other.api_key && self.proxy == other.proxy
    }
}

/// How many calls an indexer allows; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexerLimits {
    /// Queries in a minute.
    pub per_minute: Option<NonZeroU32>,
    /// Queries in an hour.
    pub per_hour: Option<NonZeroU32>,
    /// Queries in a day.
    pub per_day: Option<NonZeroU32>,
    /// Downloads in an hour.
    pub grabs_per_hour: Option<NonZeroU32>,
    /// Downloads in a day.
    pub grabs_per_day: Option<NonZeroU32>,
}

choices! {
    /// The protocol of an indexer.
    pub enum IndexerKind {
        /// Torrents.
        Torznab = "torznab",
        /// Usenet.
        Newznab = "newznab",
    }
}

choices! {
    /// How clients download releases.
    pub enum Download {
        /// Through Weir.
        Proxy = "proxy",
        /// From the indexer itself.
        Redirect = "redirect",
        /// By magnet link if there is one.
        Magnet = "magnet",
    }
}

type LimitField = Field<Option<NonZeroU32>>;

const NAME: Field<String> = Field::needed(
    "name",
    "Name in pages, paths, logs and metrics: letters, digits, dot, dash, underscore.",
)
.check(|name| check::path_word(name));
const URL: Field<SecretUrl> = Field::needed("url", "URL of its API.").check(check::web_url);
const API_KEY: Field<Option<Secret>> = Field::new("api_key", "null", "Its API key.");
const KIND: Field<IndexerKind> = Field::new("kind", "torznab", "torznab or newznab.");
const PRIORITY: Field<u32> = Field::new(
    "priority",
    "25",
    "Lower numbers come first when releases are merged.",
);
const MIN_REQUEST_INTERVAL: Field<Option<Duration>> = Field::new(
    "min_request_interval",
    "null",
    "Minimum time between two calls; null for search.min_request_interval.",
);
const PER_MINUTE: LimitField =
    Field::new("per_minute", "null", "Queries that it allows per minute.");
const PER_HOUR: LimitField = Field::new("per_hour", "null", "Queries that it allows per hour.");
const PER_DAY: LimitField = Field::new("per_day", "null", "Queries that it allows per day.");
const GRABS_PER_HOUR: LimitField = Field::new(
    "grabs_per_hour",
    "null",
    "Downloads that it allows per hour.",
);
const GRABS_PER_DAY: LimitField =
    Field::new("grabs_per_day", "null", "Downloads that it allows per day.");
const RESET_HOUR: Field<Option<u32>> = Field::new("reset_hour", "null", "Hour of the day (UTC, 0 to 23) when its daily counts start again at 0; null counts the last 24 hours.")
    .check(|hour| if hour.is_some_and(|hour| hour > 23) { Err("an hour from 0 to 23") } else { Ok(()) });
const CATEGORIES: Field<Vec<u32>> = Field::new(
    "categories",
    "[]",
    "Categories to search; leave empty for all.",
);
const TAGS: Field<Vec<String>> = Field::new(
    "tags",
    "[]",
    "Indexers with the same tag share a path: /torznab/tag/TAG or /newznab/tag/TAG.",
)
.check(|tags| tags.iter().try_for_each(|tag| check::path_word(tag)));
const TIMEOUT: Field<Duration> =
    Field::new("timeout", "12s", "Timeout of one call.").check(check::some_time);
const PROXY: Field<Option<SecretUrl>> = Field::new(
    "proxy",
    "null",
    "Proxy to call it through: http or socks5 URL.",
)
.check(check::proxy);
const DOWNLOAD: Field<Download> = Field::new(
    "download",
    "proxy",
    "How clients download releases: proxy (through Weir), redirect (from the indexer) or magnet (a magnet link if there is one).",
);

impl Item for IndexerEntry {
    const TABLE: &'static Table = &Table {
        key: "indexers",
        doc: "The indexers that are searched.",
        at_start: false,
        rows: &[
            NAME.row(),
            URL.row(),
            API_KEY.row(),
            KIND.row(),
            PRIORITY.row(),
            MIN_REQUEST_INTERVAL.row(),
            PER_MINUTE.row(),
            PER_HOUR.row(),
            PER_DAY.row(),
            GRABS_PER_HOUR.row(),
            GRABS_PER_DAY.row(),
            RESET_HOUR.row(),
            CATEGORIES.row(),
            TAGS.row(),
            TIMEOUT.row(),
            PROXY.row(),
            DOWNLOAD.row(),
        ],
        gone: &[],
    };

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (name, url) = (fields.need(&NAME), fields.need(&URL));
        let (api_key, kind, priority) = (
            fields.get(&API_KEY),
            fields.get(&KIND),
            fields.get(&PRIORITY),
        );
        let min_request_interval = fields.get(&MIN_REQUEST_INTERVAL);
        let limits = IndexerLimits {
            per_minute: fields.get(&PER_MINUTE),
            per_hour: fields.get(&PER_HOUR),
            per_day: fields.get(&PER_DAY),
            grabs_per_hour: fields.get(&GRABS_PER_HOUR),
            grabs_per_day: fields.get(&GRABS_PER_DAY),
        };
        let (reset_hour, categories, tags) = (
            fields.get(&RESET_HOUR),
            fields.get(&CATEGORIES),
            fields.get(&TAGS),
        );
        let (timeout, proxy, download) = (
            fields.get(&TIMEOUT),
            fields.get(&PROXY),
            fields.get(&DOWNLOAD),
        );
        let (name, url) = (name?, url?);
        Some(Self {
            name,
            url,
            api_key,
            kind,
            priority,
            min_request_interval,
            limits,
            reset_hour,
            categories,
            tags,
            timeout,
            proxy,
            download,
        })
    }
}
