//! The section `news`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use weir_config::{Fields, Size, check, choices, section};

pub mod server;

use self::server::ServerEntry;

section! {
    /// The news front: many news servers as one, in the browser and over NNTP.
    pub struct Config in "news" {
        /// Whether everybody may read without signing in, each address at a limited pace. Behind a proxy, list it in web.trusted_proxies, or all readers count as one.
        public: bool = "false", at start;
        /// Address of the NNTP server; null switches it off.
        nntp_listen: Option<SocketAddr> = "127.0.0.1:1119", at start;
        /// Address of the NNTP server with TLS; needs tls_cert and tls_key, null switches it off.
        nntps_listen: Option<SocketAddr> = "null", at start;
        /// File with the certificate chain (PEM).
        tls_cert: Option<PathBuf> = "null", at start;
        /// File with the private key (PEM).
        tls_key: Option<PathBuf> = "null", at start;
        /// A job that has waited this long goes next, whatever its class.
        aging: Duration = "10s", at start, check check::some_time;
        /// How overviews are fetched: auto, over, hdr or head.
        overview: Overview = "auto";
        /// A page is sent after this time at the latest, with what has arrived by then.
        deadline: Duration = "10s", check check::some_time;
        /// Maximum queued jobs.
        queue_size: NonZeroU32 = "10000", at start;
        /// Maximum unanswered commands per connection.
        pipeline_depth: NonZeroU32 = "4";
        /// The same while the commands ask for single articles.
        article_depth: NonZeroU32 = "20";
        /// A connection that nobody has used for this long is closed.
        idle: Duration = "2m", check check::some_time;
        /// Maximum size of an article.
        article_bytes: Size = "8MiB";
        /// Maximum size of a server's list of newsgroups.
        list_bytes: Size = "64MiB";
        /// Overview lines fetched per request.
        overview_lines: NonZeroU32 = "500";
        /// A cached answer older than this is served, and checked again meanwhile.
        refresh_after: Duration = "30s";
        /// Maximum size of overviews and articles on disk.
        disk: Size = "2GiB", at start;
        /// Maximum size of the full-text index of what is on disk; 0 switches it off.
        index: Size = "512MiB", at start;
        /// Whether news servers may have private addresses.
        allow_private_upstreams: bool = "true";
    }
    sections {
        /// How long answers are served from memory.
        cache: NewsCache;
    }
    lists |fields| {
        /// The news servers that are read.
        servers: Vec<ServerEntry> = {
            let list = fields.list();
            fields.distinct::<ServerEntry>("name");
            list
        };
    }
    then |config, fields| { config.relate(fields) }
}

section! {
    /// How long answers are served from memory.
    pub struct NewsCache in "cache" {
        /// Articles.
        article: Duration = "24h";
        /// Articles that no server has.
        not_found: Duration = "60s";
        /// Lists of threads.
        threads: Duration = "5m";
        /// Threads.
        thread: Duration = "5m";
        /// The list of newsgroups.
        groups: Duration = "1h";
        /// Article count and newest article of a newsgroup.
        group_stats: Duration = "5m";
        /// Memory for all of them.
        memory: Size = "64MiB", at start;
    }
}

choices! {
    /// How overviews are fetched.
    pub enum Overview {
        /// The first of the following that the server supports.
        Auto = "auto",
        /// By OVER: one command for all headers.
        Over = "over",
        /// By HDR: one command per header.
        Hdr = "hdr",
        /// By HEAD: one command per article.
        Head = "head",
    }
}

impl Config {
    fn relate(&self, fields: &mut Fields<'_>) {
        match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => {
                fields.refuse("tls_cert", "write tls_key too; a certificate needs its key")
            }
            (None, Some(_)) => {
                fields.refuse("tls_key", "write tls_cert too; a key needs its certificate")
            }
            (None, None) if self.nntps_listen.is_some() => {
                fields.refuse(
                    "nntps_listen",
                    "write tls_cert and tls_key too; TLS needs them",
                );
            }
            _ => {}
        }
        if self
            .nntps_listen
            .is_some_and(|tls| tls.port() != 0 && Some(tls) == self.nntp_listen)
        {
            fields.refuse("nntps_listen", "choose an address other than nntp_listen");
        }
    }
}
