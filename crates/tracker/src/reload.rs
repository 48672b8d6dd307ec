//! Takes over what a reload changed, once all of it is known to be good.

use std::sync::Arc;

use crate::config::Config;
use crate::forwarder::Forwarders;
use crate::front::{Around, Error};
use crate::lists::Lists;
use crate::tracker::{Terms, Tracker};

/// The keys of the section that a reload takes over; the others hold from the next start on.
pub const RELOADED: [&str; 29] = [
    "forwarders",
    "forwarders_file",
    "first_interval",
    "first_window",
    "first_wait",
    "retry_period",
    "queue_full_retry",
    "overload_reply",
    "queue_throttle_threshold",
    "queue_throttle_top_n",
    "queue_rate_limit_threshold",
    "max_forwarders_per_announce",
    "forward_events_per_minute",
    "forwarder_calls",
    "forward_timeout",
    "forwarder_failed_delay",
    "forwarder_interval_min",
    "forwarder_interval_max",
    "forwarder_retry_in_max",
    "forwarder_peers_min",
    "forwarder_workers",
    "max_forwarder_workers",
    "drop_log_every",
    "announce_interval",
    "numwant",
    "max_numwant",
    "scrape_hashes",
    "allow_file",
    "deny_file",
];

/// Gives a running tracker new terms.
#[derive(Clone)]
pub struct Reloader {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) forwarders: Option<Arc<Forwarders>>,
}

/// New terms, read and checked.
pub struct Reload {
    reloader: Reloader,
    terms: Terms,
    config: Config,
}

impl Reloader {
    /// Reads what is to be read; nothing changes yet.
    ///
    /// # Errors
    /// When a list cannot be used.
    pub fn prepare(&self, config: &Config, around: &Around) -> Result<Reload, Error> {
        let lists = Lists::read(config.allow_file.as_deref(), config.deny_file.as_deref())?;
        Ok(Reload {
            reloader: self.clone(),
            config: config.clone(),
            terms: Terms::new(config, around.trust(), lists),
        })
    }
}

impl Reloader {
    /// Lets every forwarder be where its name leads now, also if that has become a private address. For a reload that the
    /// operator asked for: a file that changed by itself is nobody's word about names.
    pub fn look_up_anew(&self) {
        if let Some(forwarders) = &self.forwarders {
            forwarders.look_up_anew();
        }
    }
}

impl Reload {
    /// Puts the new terms in force.
    pub fn apply(self) {
        let Reloader {
            tracker,
            forwarders,
        } = self.reloader;
        tracker.set_terms(self.terms);
        if let Some(forwarders) = forwarders {
            forwarders.reload(&self.config);
        }
    }
}
