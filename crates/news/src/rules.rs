//! The section `news`, split by who reads it and when.
//!
//! No key can be forgotten: the section is destructured without `..`, so a key that nobody reads does not compile.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_web::seats::Seating;

use crate::config::server::ServerEntry;
use crate::config::{Config, NewsCache, NntpLimits, Overview, can_be_in_path};

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
    /// What may be posted.
    pub posting: PostingRules,
}

/// What may be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostingRules {
    /// Bytes of an article.
    pub bytes: usize,
    /// Newsgroups that one article may go to.
    pub newsgroups: usize,
    /// Articles of one poster in an hour.
    pub per_hour: usize,
}

/// What the NNTP server is built with, once.
#[derive(Clone, Debug)]
pub struct NntpStart {
    /// Where it listens without TLS.
    pub plain: Option<SocketAddr>,
    /// Where it listens with TLS.
    pub secure: Option<SocketAddr>,
    /// Where certificate and key are.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Who it is in Path and Xref.
    pub host: String,
    /// The places for connections.
    pub seating: Seating,
    /// Connections that may be compressed.
    pub compressed: usize,
    /// Bytes of answers that wait to be taken.
    pub in_flight: usize,
}

/// The rules of each command of a newsreader; a reload replaces them.
#[derive(Clone, Debug, PartialEq)]
pub struct NntpRules {
    /// Whether NEWNEWS is answered.
    pub newnews: bool,
    /// Commands of one household.
    pub per_second: u32,
    /// Time without a command.
    pub idle: Duration,
    /// Time for the first command, and for the rest of one.
    pub command: Duration,
    /// Time in which a client takes or sends nothing.
    pub stall: Duration,
    /// Bytes a second that it takes or sends.
    pub rate: u64,
    /// Bytes of an article that is posted.
    pub post_bytes: usize,
}

/// Splits what belongs to the NNTP server.
pub fn nntp(config: &Config) -> (NntpStart, NntpRules) {
    let NntpLimits {
        connections,
        connections_per_address,
        compressed,
        in_flight,
        commands_per_second,
        idle_timeout,
        command_timeout,
        stall_timeout,
        min_rate,
    } = config.nntp.clone();
    let start = NntpStart {
        plain: config.nntp_listen,
        secure: config.nntps_listen,
        certificate: config.tls_cert.clone().zip(config.tls_key.clone()),
        host: config.path_host.clone().unwrap_or_else(host_name),
        seating: Seating::new(connections.get() as usize, connections_per_address),
        compressed: compressed.get() as usize,
        in_flight: in_flight.len(),
    };
    let rules = NntpRules {
        newnews: config.newnews,
        per_second: commands_per_second.get(),
        idle: idle_timeout,
        command: command_timeout,
        stall: stall_timeout,
        rate: min_rate.bytes(),
        post_bytes: config.post_bytes.len(),
    };
    (start, rules)
}

/// The machine's name, if it can be used.
fn host_name() -> String {
    // Not from /proc, of which a service may see only its own processes.
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    match can_be_in_path(&name) {
        true => name.into_owned(),
        false => "weir".to_owned(),
    }
}

/// Splits the section.
pub fn split(config: &Config) -> (StartRules, FederationRules, ReadingRules) {
    let Config {
        public,
        // These belong to the NNTP server: `nntp` reads them.
        nntp_listen: _,
        nntps_listen: _,
        tls_cert: _,
        tls_key: _,
        path_host: _,
        newnews: _,
        nntp: _,
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
        post_bytes,
        post_groups,
        posts_per_hour,
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
        posting: PostingRules {
            bytes: post_bytes.len(),
            newsgroups: post_groups.get() as usize,
            per_hour: posts_per_hour.get() as usize,
        },
    };
    (start, federation, reading)
}
