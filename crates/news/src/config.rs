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
        /// Address of the NNTP server for newsreaders; null switches it off. Whoever comes from this machine or web.trusted may read; others sign in with any user name and a key as password, over TLS, unless public. Everybody behind a tunnel that ends on this machine counts as this machine.
        nntp_listen: Option<SocketAddr> = "127.0.0.1:1119", at start;
        /// Address of the NNTP server with TLS; needs tls_cert and tls_key, null switches it off.
        nntps_listen: Option<SocketAddr> = "null", at start;
        /// File with the certificate chain (PEM), for nntps_listen and for STARTTLS. A reload takes a renewed file over.
        tls_cert: Option<PathBuf> = "null", at start;
        /// File with the private key (PEM).
        tls_key: Option<PathBuf> = "null", at start;
        /// Name of this server in the headers Path and Xref that newsreaders see; null for the machine's name.
        path_host: Option<String> = "null", at start, check is_path_host;
        /// Whether newsreaders may ask for everything new since a time (NEWNEWS).
        newnews: bool = "true";
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
        /// Maximum size of an article that is posted.
        post_bytes: Size = "512KiB";
        /// Maximum newsgroups that one article may be posted to.
        post_groups: NonZeroU32 = "10";
        /// Maximum articles that one poster may post in an hour.
        posts_per_hour: NonZeroU32 = "60";
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
        /// Limits of the NNTP server.
        nntp: NntpLimits;
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

section! {
    /// Limits of the NNTP server.
    pub struct NntpLimits in "nntp" {
        /// Maximum open connections. An eighth is kept free for this machine and web.trusted; when all are taken, the one that has been idle longest is closed.
        connections: NonZeroU32 = "1024", at start;
        /// Maximum connections per address (in IPv6, per /64), except for this machine and web.trusted; null for a sixteenth of connections, at least 8.
        connections_per_address: Option<NonZeroU32> = "null", at start;
        /// Maximum compressed connections (COMPRESS DEFLATE); each keeps about 50 KB.
        compressed: NonZeroU32 = "128", at start;
        /// Maximum size of answers that wait until clients take them, all together; one address gets an eighth of it.
        in_flight: Size = "64MiB", at start;
        /// Commands per second from one address, except for this machine and web.trusted; more have to wait.
        commands_per_second: NonZeroU32 = "100";
        /// How long a connection may stay idle, 3m or more.
        idle_timeout: Duration = "10m", check at_least_three_minutes;
        /// Time for the first command, for the rest of a command that has begun, and for a TLS handshake.
        command_timeout: Duration = "1m", check check::some_time;
        /// A client that takes or sends nothing for this long in the middle of an answer or an article is cut off.
        stall_timeout: Duration = "30s", check check::some_time;
        /// Bytes per second that a client has to take of an answer, or to send of an article, on average.
        min_rate: Size = "2KiB", check some_rate;
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

/// RFC 3977, section 3.1.
fn at_least_three_minutes(time: &Duration) -> Result<(), &'static str> {
    check::that(*time >= Duration::from_secs(180), "3m or more")
}

fn some_rate(rate: &Size) -> Result<(), &'static str> {
    check::that(rate.bytes() > 0, "more than 0")
}

/// What RFC 5536, section 3.1.5 allows in a path, of what can also stand in Xref.
fn is_path_host(host: &Option<String>) -> Result<(), &'static str> {
    let fits = host.as_deref().is_none_or(can_be_in_path);
    check::that(
        fits,
        "a host name: at most 64 letters, digits, dots, dashes and underscores, without a dot or dash at its ends",
    )
}

/// Whether a name can stand in Path.
pub(crate) fn can_be_in_path(host: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let ends = |c: char| matches!(c, '.' | '-');
    (1..=64).contains(&host.len())
        && host.bytes().all(fits)
        && !host.starts_with(ends)
        && !host.ends_with(ends)
}
