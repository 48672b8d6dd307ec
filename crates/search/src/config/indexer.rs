//! The entries of `search.indexers`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Item, Secret, SecretUrl, check, choices, item};
use weir_engine::dispatch::Window;

use super::limit::{self, WindowLimit};

item! {
    /// A search upstream.
    pub struct IndexerEntry in "indexers", example "{ name: one, url: \"http://127.0.0.1:9117/api\", api_key: KEY }" {
        needed {
            /// Name in pages, paths, logs and metrics: letters, digits, dot, dash, underscore.
            name: String, check |name| check::path_word(name);
            /// URL of its API, usually ending in /api.
            url: SecretUrl, check check::web_url;
        }
        /// Its API key.
        api_key: Option<Secret> = "null";
        /// torznab or newznab.
        kind: IndexerKind = "torznab";
        /// Lower numbers come first when releases are merged.
        priority: u32 = "25";
        /// Minimum time between two calls, of which each class keeps its share; null for search.min_request_interval.
        min_request_interval: Option<Duration> = "null";
        /// Queries that it allows per minute.
        per_minute: Option<NonZeroU32> = "null";
        /// Queries that it allows per hour.
        per_hour: Option<NonZeroU32> = "null";
        /// Queries that it allows per day.
        per_day: Option<NonZeroU32> = "null";
        /// Downloads that it allows per hour.
        grabs_per_hour: Option<NonZeroU32> = "null";
        /// Downloads that it allows per day.
        grabs_per_day: Option<NonZeroU32> = "null";
        /// Further limits on queries, for any length of time: 300/5m allows 300 in any five minutes.
        limits: Vec<WindowLimit> = "[]";
        /// Further limits on downloads, such as 25/30d.
        grab_limits: Vec<WindowLimit> = "[]";
        /// Hour of the day (UTC, 0 to 23) when its daily counts start again at 0; null counts the last 24 hours.
        reset_hour: Option<u32> = "null", check hour_of_day;
        /// Categories to search; leave empty for all.
        categories: Vec<u32> = "[]";
        /// Indexers with the same tag share a path: /torznab/tag/TAG or /newznab/tag/TAG.
        tags: Vec<String> = "[]", check |tags| tags.iter().try_for_each(|tag| check::path_word(tag));
        /// Timeout of one call.
        timeout: Duration = "12s", check check::some_time;
        /// Proxy to call it through: http or socks5 URL.
        proxy: Option<SecretUrl> = "null", check check::proxy;
        /// How clients download releases: proxy (through Weir), redirect (from the indexer) or magnet
        /// (a magnet link if there is one).
        download: Download = "proxy";
    }
    then |fields| {
        let named = [
            ("per_minute", Window::MINUTE, per_minute),
            ("per_hour", Window::HOUR, per_hour),
            ("per_day", Window::DAY, per_day),
        ];
        limit::once_each(fields, "limits", &limits, &named);
        let named = [
            ("grabs_per_hour", Window::HOUR, grabs_per_hour),
            ("grabs_per_day", Window::DAY, grabs_per_day),
        ];
        limit::once_each(fields, "grab_limits", &grab_limits, &named);
    }
}

fn hour_of_day(hour: &Option<u32>) -> Result<(), &'static str> {
    check::that(hour.is_none_or(|hour| hour <= 23), "an hour from 0 to 23")
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
            per_minute: None,
            per_hour: None,
            per_day: None,
            grabs_per_hour: None,
            grabs_per_day: None,
            limits: Vec::new(),
            grab_limits: Vec::new(),
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

/// The lines to write to have an indexer, as pages show them.
pub(crate) fn example() -> String {
    let entry = IndexerEntry::TABLE.example;
    format!("search:\n  indexers:\n    - {entry}")
}
