//! The command line: the commands of `weir`, and which flags set which keys.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use weir_config::ProcessEnvironment;

use crate::config::{Flag, Sources};

/// One daemon between your programs and the trackers, indexers and news servers they depend on.
#[derive(Debug, Parser)]
#[command(name = "weir", version, max_term_width = 100)]
pub struct Cli {
    /// The command; `serve` by default.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags of `serve`, for when no command is given.
    #[command(flatten)]
    pub settings: Settings,
}

/// A mistake in how a command was called; the text says what to do about it.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

impl Cli {
    /// The command to run. `-c` and `--data` may stand before a command too; all other flags belong behind it.
    ///
    /// # Errors
    /// If a flag stands before a command that it does not concern.
    pub fn chosen(self) -> Result<Command, Usage> {
        let Some(mut command) = self.command else {
            return Ok(Command::Serve(self.settings));
        };
        let mut before = self.settings;
        if let Some(place) = command.place() {
            place.or(std::mem::take(&mut before.place));
        }
        let left = before.place.config.as_ref().map(|_| "-c");
        let left = left.or(before.flags().first().map(|flag| flag.flag));
        match left {
            None => Ok(command),
            Some(flag) if command.takes_settings() => {
                Err(Usage(format!("write {flag} after the command")))
            }
            Some(flag) => Err(Usage(format!("this command does not take {flag}"))),
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run Weir (the default)
    Serve(Settings),
    /// Show Weir at work: made-up upstreams and clients, no network, nothing kept
    Demo,
    /// Check the configuration and print the values in use
    Check(Check),
    /// Search the indexers of the running Weir
    Search(Search),
    /// Show how the running Weir and its upstreams are doing
    Status(Status),
    /// Copy all state into a new directory, whether Weir is running or not
    Backup(Backup),
    /// Print a sign-in link, which works once within an hour
    SignIn(Place),
    /// Print the indexers of another program as configuration
    Import {
        /// The program
        from: From,
        /// Its address, as opened in a browser
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
    Man {
        /// Write the pages of all commands into this directory instead
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Whether it takes the flags of `serve`.
    fn takes_settings(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Check(_))
    }

    /// Its flags about files, if it has them.
    fn place(&mut self) -> Option<&mut Place> {
        match self {
            Self::Serve(settings) => Some(&mut settings.place),
            Self::Check(check) => Some(&mut check.settings.place),
            Self::Search(search) => Some(&mut search.remote.place),
            Self::Status(status) => Some(&mut status.remote.place),
            Self::Backup(backup) => Some(&mut backup.remote.place),
            Self::SignIn(place) => Some(place),
            Self::Demo | Self::Import { .. } | Self::Completions { .. } | Self::Man { .. } => None,
        }
    }
}

/// A program whose indexers can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum From {
    /// Prowlarr
    Prowlarr,
    /// Jackett
    Jackett,
}

/// What to search for, and where.
#[derive(Debug, Args)]
pub struct Search {
    /// Search terms; leave out for the latest releases
    #[arg(default_value = "")]
    pub query: String,
    /// Only these categories, by number
    #[arg(long = "cat", value_name = "NUMBER", value_delimiter = ',')]
    pub categories: Vec<u32>,
    /// Only these indexers
    #[arg(long = "indexer", value_name = "NAME", value_delimiter = ',')]
    pub indexers: Vec<String>,
    /// Ignore the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Print the whole answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Maximum releases to print
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
    /// Which Weir to ask.
    #[command(flatten)]
    pub remote: Remote,
}

/// What `status` prints.
#[derive(Debug, Args)]
pub struct Status {
    /// Print the answer of /api/v1/status as JSON
    #[arg(long)]
    pub json: bool,
    /// Which Weir to ask.
    #[command(flatten)]
    pub remote: Remote,
}

/// What to copy where.
#[derive(Debug, Args)]
pub struct Backup {
    /// The new directory; it must not exist yet, or be empty
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Include the full-text index of news, which Weir can make anew
    #[arg(long)]
    pub text_index: bool,
    /// Which Weir to ask.
    #[command(flatten)]
    pub remote: Remote,
}

/// How to reach the running Weir.
#[derive(Debug, Args)]
pub struct Remote {
    /// Address of the running Weir [default: WEIR_URL, else this machine, as configured]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Its key [default: WEIR_KEY, else as configured, else from the data directory]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Where its configuration and state are.
    #[command(flatten)]
    pub place: Place,
}

/// Where the configuration and the state are.
#[derive(Clone, Debug, Default, Args)]
pub struct Place {
    /// Configuration file, YAML or TOML [default: ./weir.yaml or ./weir.toml, then /etc/weir/]
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory that holds all state
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
}

impl Place {
    /// Takes from `other` what is missing here.
    fn or(&mut self, other: Self) {
        self.config = self.config.take().or(other.config);
        self.data = self.data.take().or(other.data);
    }

    /// These flags, this process's environment and the usual places for a file.
    pub fn sources(self) -> Sources {
        let settings = Settings {
            place: self,
            ..Settings::default()
        };
        settings.sources()
    }
}

/// What `check` prints.
#[derive(Debug, Args)]
pub struct Check {
    /// Print each value with its source
    #[arg(long)]
    pub explain: bool,
    /// Print a commented sample file with all keys and defaults, without checking anything
    #[arg(long, conflicts_with = "explain")]
    pub sample: bool,
    /// The same flags as `serve`.
    #[command(flatten)]
    pub settings: Settings,
}

/// Flags that set keys. Their values are checked with the rest of the configuration, so that all mistakes are reported
/// together.
#[derive(Debug, Default, Args)]
pub struct Settings {
    /// Where configuration and state are.
    #[command(flatten)]
    pub place: Place,
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
    /// Maximum announces waiting to be forwarded
    #[arg(short = 'Q', long = "queue-size", value_name = "COUNT")]
    queue_size: Option<String>,
    /// Minimum forwarder workers
    #[arg(short = 'w', long = "workers", value_name = "COUNT")]
    workers: Option<String>,
    /// Maximum forwarder workers
    #[arg(short = 'W', long = "max-workers", value_name = "COUNT")]
    max_workers: Option<String>,
    /// Queue fill at which workers are added
    #[arg(long, value_name = "PERCENT")]
    queue_scale_threshold: Option<String>,
    /// Queue fill at which fewer forwarders are asked per announce
    #[arg(long, value_name = "PERCENT")]
    queue_throttle_threshold: Option<String>,
    /// How many forwarders are asked then; 0 switches throttling off
    #[arg(long, value_name = "COUNT")]
    queue_throttle_top: Option<String>,
    /// Queue fill at which first announces are limited; 0 switches the limit off
    #[arg(long, value_name = "PERCENT")]
    queue_rate_limit_threshold: Option<String>,
    /// First announces per second while they are limited
    #[arg(long, value_name = "COUNT")]
    rate_limit_initial_ps: Option<String>,
    /// First announces in one burst while they are limited
    #[arg(long, value_name = "COUNT")]
    rate_limit_initial_burst: Option<String>,
    /// Cooldown of an overloaded forwarder
    #[arg(long, value_name = "DURATION")]
    forwarder_suspend: Option<String>,
    /// Log level: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Log format: text or json
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Settings {
    /// These flags, this process's environment and the usual places for a file.
    pub fn sources(self) -> Sources {
        Sources {
            file: self.place.config.clone(),
            places: vec![PathBuf::new(), PathBuf::from("/etc/weir")],
            environment: Box::new(ProcessEnvironment),
            flags: self.flags(),
            data: None,
        }
    }

    /// Each flag that was given, with the key it sets.
    pub fn flags(self) -> Vec<Flag> {
        let table = [
            ("data", "--data", self.place.data),
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
