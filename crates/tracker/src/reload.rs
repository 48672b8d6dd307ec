//! Takes over what a reload changed, once all of it is known to be good.

use std::sync::Arc;

use crate::config::Config;
use crate::front::{Around, Error};
use crate::lists::Lists;
use crate::tracker::{Terms, Tracker};

/// The keys of the section that a reload takes over; the others hold from the next start on.
pub const RELOADED: [&str; 6] = [
    "announce_interval",
    "numwant",
    "max_numwant",
    "scrape_hashes",
    "allow_file",
    "deny_file",
];

/// Gives a running tracker new terms.
#[derive(Clone)]
pub struct Reloader(pub(crate) Arc<Tracker>);

/// New terms, read and checked.
pub struct Reload {
    tracker: Arc<Tracker>,
    terms: Terms,
}

impl Reloader {
    /// Reads what is to be read; nothing changes yet.
    ///
    /// # Errors
    /// When a list cannot be used.
    pub fn prepare(&self, config: &Config, around: &Around) -> Result<Reload, Error> {
        let lists = Lists::read(config.allow_file.as_deref(), config.deny_file.as_deref())?;
        Ok(Reload {
            tracker: Arc::clone(&self.0),
            terms: Terms::new(config, around.trust(), lists),
        })
    }
}

impl Reload {
    /// Puts the new terms in force.
    pub fn apply(self) {
        self.tracker.set_terms(self.terms);
    }
}
