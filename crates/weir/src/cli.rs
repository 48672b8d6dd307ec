//! The command line: what can be asked of `weir`, and which flags set which keys.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use weir_config::ProcessEnvironment;

use crate::config::{Flag, Sources};

/// One daemon between your programs and the trackers, indexers and news servers they depend on.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do; `serve` if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of `serve`, which also work without the word.
    #[command(flatten)]
    pub settings: Settings,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run Weir (the default)
    Serve(Settings),
    /// Check the configuration and print what is in force
    Check(Check),
    /// Search the indexers of the running Weir
    Search(Search),
    /// Print a link that signs a browser in, once, within an hour
    SignIn(Settings),
    /// Print the configuration of the indexers that another program has
    Import {
        /// Which program it is
        from: From,
        /// Its address, as a browser opens it
        url: String,
        /// Its API key
        key: String,
    },
    /// Print a completion script
    Completions {
        /// The shell it is for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// A program whose indexers can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum From {
    /// Prowlarr
    Prowlarr,
    /// Jackett
    Jackett,
}

/// What is searched for, and where.
#[derive(Debug, Args)]
pub struct Search {
    /// What to search for; nothing gives the latest releases
    #[arg(default_value = "")]
    pub query: String,
    /// Only these categories, by number
    #[arg(long = "cat", value_name = "NUMBER", value_delimiter = ',')]
    pub categories: Vec<u32>,
    /// Only these indexers
    #[arg(long = "indexer", value_name = "NAME", value_delimiter = ',')]
    pub indexers: Vec<String>,
    /// Ask again what is known already
    #[arg(long)]
    pub no_cache: bool,
    /// Print the whole answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Releases to print at most
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
    /// Where Weir is.
    #[command(flatten)]
    pub remote: Remote,
}

/// How the running Weir is reached.
#[derive(Debug, Args)]
pub struct Remote {
    /// Address of the running Weir [default: WEIR_URL, else as configured, on this machine]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Its key [default: WEIR_KEY, else as configured, else from the data directory]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// The same flags as `serve`.
    #[command(flatten)]
    pub settings: Settings,
}

/// What `check` is asked to print.
#[derive(Debug, Args)]
pub struct Check {
    /// Print each value with the place it came from
    #[arg(long)]
    pub explain: bool,
    /// Print a commented sample file with all keys and defaults, and check nothing
    #[arg(long, conflicts_with = "explain")]
    pub sample: bool,
    /// The same flags as `serve`.
    #[command(flatten)]
    pub settings: Settings,
}

/// Flags that set keys. Values are checked with the rest of the configuration, so that all mistakes come at once.
#[derive(Debug, Default, Args)]
pub struct Settings {
    /// Configuration file, YAML or TOML [default: ./weir.yaml or ./weir.toml, then /etc/weir/]
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory of all state
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Address of the pages and the API
    #[arg(long, value_name = "ADDRESS")]
    web: Option<String>,
    /// Address for HTTP announces
    #[arg(short = 'l', long = "http-listen", value_name = "ADDRESS")]
    http_listen: Option<String>,
    /// Address for UDP announces
    #[arg(short = 'u', long = "udp-listen", value_name = "ADDRESS")]
    udp_listen: Option<String>,
    /// File with the list of forwarders
    #[arg(short = 'f', long = "forwarders", value_name = "FILE")]
    forwarders: Option<String>,
    /// Announces that may wait to be forwarded
    #[arg(short = 'Q', long = "queue-size", value_name = "COUNT")]
    queue_size: Option<String>,
    /// Forwarder workers that are always there
    #[arg(short = 'w', long = "workers", value_name = "COUNT")]
    workers: Option<String>,
    /// Forwarder workers at most
    #[arg(short = 'W', long = "max-workers", value_name = "COUNT")]
    max_workers: Option<String>,
    /// Queue fill from which workers are added
    #[arg(long, value_name = "PERCENT")]
    queue_scale_threshold: Option<String>,
    /// Queue fill from which fewer forwarders are asked per announce
    #[arg(long, value_name = "PERCENT")]
    queue_throttle_threshold: Option<String>,
    /// How many forwarders are asked then; 0 switches throttling off
    #[arg(long, value_name = "COUNT")]
    queue_throttle_top: Option<String>,
    /// Queue fill from which first announces are limited; 0 switches the limit off
    #[arg(long, value_name = "PERCENT")]
    queue_rate_limit_threshold: Option<String>,
    /// First announces a second, once limited
    #[arg(long, value_name = "COUNT")]
    rate_limit_initial_ps: Option<String>,
    /// First announces at once, once limited
    #[arg(long, value_name = "COUNT")]
    rate_limit_initial_burst: Option<String>,
    /// How long an overloaded forwarder is left alone
    #[arg(long, value_name = "DURATION")]
    forwarder_suspend: Option<String>,
    /// What is logged: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Form of the log: text or json
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Settings {
    /// These flags over this process's environment over the usual files.
    pub fn sources(self) -> Sources {
        Sources {
            file: self.config.clone(),
            places: vec![PathBuf::new(), PathBuf::from("/etc/weir")],
            environment: Box::new(ProcessEnvironment),
            flags: self.flags(),
        }
    }

    /// Each flag that was given, with the key it sets.
    pub fn flags(self) -> Vec<Flag> {
        let table = [
            ("data", "--data", self.data),
            ("web.listen", "--web", self.web),
            ("tracker.http_listen", "-l", self.http_listen),
            ("tracker.udp_listen", "-u", self.udp_listen),
            ("tracker.forwarders_file", "-f", self.forwarders),
            ("tracker.forwarder_queue_size", "-Q", self.queue_size),
            ("tracker.forwarder_workers", "-w", self.workers),
            ("tracker.max_forwarder_workers", "-W", self.max_workers),
            (
                "tracker.queue_scale_threshold_pct",
                "--queue-scale-threshold",
                self.queue_scale_threshold,
            ),
            (
                "tracker.queue_throttle_threshold",
                "--queue-throttle-threshold",
                self.queue_throttle_threshold,
            ),
            (
                "tracker.queue_throttle_top_n",
                "--queue-throttle-top",
                self.queue_throttle_top,
            ),
            (
                "tracker.queue_rate_limit_threshold",
                "--queue-rate-limit-threshold",
                self.queue_rate_limit_threshold,
            ),
            (
                "tracker.rate_limit_initial_per_sec",
                "--rate-limit-initial-ps",
                self.rate_limit_initial_ps,
            ),
            (
                "tracker.rate_limit_initial_burst",
                "--rate-limit-initial-burst",
                self.rate_limit_initial_burst,
            ),
            (
                "tracker.forwarder_suspend_seconds",
                "--forwarder-suspend",
                self.forwarder_suspend,
            ),
            ("log.level", "--log-level", self.log_level),
            ("log.format", "--log-format", self.log_format),
        ];
        let given = table.into_iter().filter_map(|(path, flag, value)| {
            Some(Flag {
                path,
                flag,
                value: value?,
            })
        });
        given.collect()
    }
}
