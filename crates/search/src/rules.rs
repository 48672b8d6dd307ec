//! The section `search` and its entries, split by who reads it and when.
//!
//! No key can be forgotten: section and entry are destructured without `..`, each in this one place, so a new key does not
//! compile before it has a field here. The fields are seen by this crate alone, so one that nobody reads is a warning, and
//! the check refuses those.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Secret, SecretUrl};
use weir_engine::dispatch::Class;

use crate::answer::AnswerLives;
use crate::config::indexer::{Download, IndexerEntry, IndexerKind};
use crate::config::limit::WindowLimit;
use crate::config::{CacheConfig, Config, UserAgents, Workers};
use crate::outbound::Bounds;
use crate::policy::{EngineRules, IndexerRules, class};
use crate::words::seconds;

/// What engine and front are built with, once.
pub(crate) struct StartRules {
    pub(crate) engine: EngineRules,
    pub(crate) bounds: Bounds,
    /// Bytes of `search.db` at most.
    pub(crate) cache_bytes: u64,
    /// Bytes of parsed answers in memory, of sessions, and of kept searches, each.
    pub(crate) memory: usize,
}

/// The rules of each request; a reload replaces them.
pub(crate) struct SearchRules {
    pub(crate) deadline: Duration,
    pub(crate) keep_after_reply: Duration,
    pub(crate) hold_max: Duration,
    pub(crate) page_default: u32,
    pub(crate) page_max: u32,
    pub(crate) session: Duration,
    pub(crate) kept_searches: usize,
    pub(crate) history: u32,
    pub(crate) downloads_per_minute: u32,
    pub(crate) lives: AnswerLives,
    pub(crate) default_class: Class,
    pub(crate) user_agents: UserAgents,
    pub(crate) workers: u32,
}

/// The entry of one indexer.
pub(crate) struct EntryRules {
    pub(crate) terms: IndexerTerms,
    pub(crate) way: IndexerWay,
    pub(crate) limits: IndexerLimits,
}

/// How an indexer is asked, and what becomes of its answers.
pub(crate) struct IndexerTerms {
    pub(crate) name: String,
    pub(crate) kind: IndexerKind,
    pub(crate) priority: u32,
    /// Empty for all.
    pub(crate) categories: Vec<u32>,
    pub(crate) tags: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) download: Download,
}

/// Where an indexer is, and how it is reached.
pub(crate) struct IndexerWay {
    pub(crate) url: SecretUrl,
    pub(crate) key: Option<Secret>,
    pub(crate) proxy: Option<SecretUrl>,
}

/// What an indexer allows.
pub(crate) struct IndexerLimits {
    pub(crate) interval: Option<Duration>,
    pub(crate) per_minute: Option<NonZeroU32>,
    pub(crate) per_hour: Option<NonZeroU32>,
    pub(crate) per_day: Option<NonZeroU32>,
    pub(crate) grabs_per_hour: Option<NonZeroU32>,
    pub(crate) grabs_per_day: Option<NonZeroU32>,
    pub(crate) queries: Vec<WindowLimit>,
    pub(crate) grabs: Vec<WindowLimit>,
    pub(crate) reset_hour: Option<u32>,
}

/// Splits the entry of an indexer.
pub(crate) fn split_entry(entry: &IndexerEntry) -> EntryRules {
    let IndexerEntry {
        name,
        url,
        api_key,
        kind,
        priority,
        min_request_interval,
        per_minute,
        per_hour,
        per_day,
        grabs_per_hour,
        grabs_per_day,
        limits,
        grab_limits,
        reset_hour,
        categories,
        tags,
        timeout,
        proxy,
        download,
    } = entry.clone();
    EntryRules {
        terms: IndexerTerms {
            name,
            kind,
            priority,
            categories,
            tags,
            timeout,
            download,
        },
        way: IndexerWay {
            url,
            key: api_key,
            proxy,
        },
        limits: IndexerLimits {
            interval: min_request_interval,
            per_minute,
            per_hour,
            per_day,
            grabs_per_hour,
            grabs_per_day,
            queries: limits,
            grabs: grab_limits,
            reset_hour,
        },
    }
}

/// Splits the section.
pub(crate) fn split(config: &Config) -> (StartRules, IndexerRules, SearchRules) {
    let Config {
        deadline,
        workers,
        workers_min,
        workers_max,
        queue_size,
        aging,
        min_request_interval,
        indexer_calls,
        default_class,
        keep_after_reply,
        hold_max,
        page_default,
        page_max,
        session,
        kept_searches,
        history,
        downloads_per_minute,
        answer_bytes,
        file_bytes,
        throttled,
        allow_private_upstreams,
        allow_private_links,
        spacing,
        interval_shares,
        max_wait,
        cache,
        user_agents,
        indexers,
    } = config.clone();
    let CacheConfig {
        rss,
        search,
        nothing,
        caps,
        files,
        stale,
        size,
        memory,
    } = cache;
    let start = StartRules {
        engine: EngineRules {
            max_waits: max_wait.by_class(),
            queue_size: queue_size.get(),
            aging,
            throttled,
        },
        bounds: Bounds {
            private: allow_private_upstreams,
            private_links: allow_private_links,
            answer_limit: answer_bytes.len(),
            file_limit: file_bytes.len(),
        },
        cache_bytes: size.bytes(),
        memory: memory.len(),
    };
    let workers = match workers {
        Workers::Count(count) => count.get(),
        Workers::Auto => {
            let indexers = u32::try_from(indexers.len()).unwrap_or(u32::MAX);
            indexers.clamp(workers_min.get(), workers_max.get())
        }
    };
    let asked = IndexerRules {
        entries: indexers,
        calls: indexer_calls.get(),
        interval: min_request_interval,
        spacing: spacing.by_class(),
        shares: interval_shares.by_class(),
    };
    let searches = SearchRules {
        deadline,
        keep_after_reply,
        hold_max,
        page_default: page_default.get(),
        page_max: page_max.get(),
        session,
        kept_searches: usize::try_from(kept_searches.get()).unwrap_or(usize::MAX),
        history: history.get(),
        downloads_per_minute,
        lives: AnswerLives {
            rss: seconds(rss),
            search: seconds(search),
            nothing: seconds(nothing),
            caps: seconds(caps),
            files: seconds(files),
            stale: seconds(stale),
        },
        default_class: class(default_class),
        user_agents,
        workers,
    };
    (start, asked, searches)
}
