//! The section `news`, split by who reads it and when.
//!
//! No key can be forgotten: the section is destructured without `..`, so a key that nobody reads does not compile.

use std::time::Duration;

use crate::config::server::ServerEntry;
use crate::config::{Config, NewsCache, Overview};

/// What engine and front are built with, once.
#[derive(Clone, Debug)]
pub struct StartRules {
    /// Maximum queued jobs.
    pub queue_size: u32,
    /// A job that has waited this long goes next.
    pub aging: Duration,
    /// Whether everybody may read.
    pub public: bool,
    /// Bytes of `news.db` at most.
    pub disk: u64,
    /// Bytes of `news-text.db` at most; 0 for none.
    pub index: u64,
    /// Bytes of answers in memory, all caches together.
    pub memory: usize,
}

/// Who the servers are, and how they are spoken to; a reload replaces it.
#[derive(Clone, Debug)]
pub struct FederationRules {
    /// The servers, in the order of the configuration.
    pub entries: Vec<ServerEntry>,
    /// What holds for the connections to all of them.
    pub link: LinkRules,
}

/// How connections are used, and how much comes over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRules {
    /// How overviews are fetched.
    pub overview: Overview,
    /// Unanswered commands per connection.
    pub pipeline_depth: u32,
    /// The same while they ask for single articles.
    pub article_depth: u32,
    /// A connection that was not used for this long is closed.
    pub idle: Duration,
    /// Bytes of an article.
    pub article_bytes: usize,
    /// Bytes of a list of newsgroups.
    pub list_bytes: usize,
    /// Lines of an overview fetched at once.
    pub window_lines: u32,
    /// Whether a server may have a private address.
    pub private: bool,
}

/// The rules of each question of a reader; a reload replaces them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingRules {
    /// A page is sent after this time at the latest.
    pub deadline: Duration,
    /// An answer older than this is checked again while it is served.
    pub refresh_after: Duration,
    /// How long answers are served from memory. Of its keys, `memory` alone is read at start.
    pub cache: NewsCache,
    /// Lines of an overview fetched at once.
    pub window_lines: u32,
}

/// Splits the section.
pub fn split(config: &Config) -> (StartRules, FederationRules, ReadingRules) {
    let Config {
        public,
        // The listeners' keys belong to the NNTP server, which is not built yet.
        nntp_listen: _,
        nntps_listen: _,
        tls_cert: _,
        tls_key: _,
        aging,
        overview,
        deadline,
        queue_size,
        pipeline_depth,
        article_depth,
        idle,
        article_bytes,
        list_bytes,
        overview_lines,
        refresh_after,
        disk,
        index,
        allow_private_upstreams,
        cache,
        servers,
    } = config.clone();
    let start = StartRules {
        queue_size: queue_size.get(),
        aging,
        public,
        disk: disk.bytes(),
        index: index.bytes(),
        memory: cache.memory.len(),
    };
    let federation = FederationRules {
        entries: servers,
        link: LinkRules {
            overview,
            pipeline_depth: pipeline_depth.get(),
            article_depth: article_depth.get(),
            idle,
            article_bytes: article_bytes.len(),
            list_bytes: list_bytes.len(),
            window_lines: overview_lines.get(),
            private: allow_private_upstreams,
        },
    };
    let reading = ReadingRules {
        deadline,
        refresh_after,
        cache,
        window_lines: overview_lines.get(),
    };
    (start, federation, reading)
}
