//! The section `search`, split by who reads it and when.
//!
//! No key can be forgotten: the section is destructured without `..`, so a key that nobody reads does not compile.

use std::time::Duration;

use weir_engine::dispatch::Class;

use crate::answer::AnswerLives;
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
    /// Bytes of parsed answers in memory, of sessions, and of kept searches, each.
    pub(crate) memory: usize,
    pub(crate) history: u32,
    pub(crate) downloads_per_minute: u32,
    pub(crate) lives: AnswerLives,
    pub(crate) default_class: Class,
    pub(crate) user_agents: UserAgents,
    pub(crate) workers: u32,
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
        memory: memory.len(),
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
