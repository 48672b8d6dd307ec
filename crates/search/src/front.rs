//! Starts and stops the search front.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::desk::{Desk, Error, Outward};

/// The running front.
pub struct Front {
    pub(crate) desk: Arc<Desk>,
}

/// Takes other settings over.
#[derive(Clone)]
pub struct Reloader {
    desk: Arc<Desk>,
}

impl Front {
    /// Starts it. Called within a runtime.
    ///
    /// # Errors
    /// When its files or its way out are not to be had.
    pub fn start(config: &Config, outward: Outward) -> Result<Self, Error> {
        let desk = Desk::start(config, outward)?;
        Ok(Self { desk })
    }

    /// Takes over what a reload changes.
    pub fn reloader(&self) -> Reloader {
        Reloader {
            desk: self.desk.clone(),
        }
    }

    /// Lets those who wait for a search go soon, with what there is by then. Comes before [`Front::stop`].
    pub fn leave(&self) {
        self.desk.leaving.cancel();
    }

    /// Ends every call within `drain`, and writes what is not written yet.
    pub async fn stop(&self, drain: Duration) {
        self.desk.stop(drain).await;
    }
}

impl Reloader {
    /// Takes other settings over. Indexers that stay keep their state.
    ///
    /// # Errors
    /// When a new indexer's number cannot be written; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), Error> {
        self.desk.reload(config)
    }

    /// Lets every indexer be where its name leads now, also if that has become a private address. For a reload that the
    /// operator asked for.
    pub fn look_up_anew(&self) {
        self.desk.look_up_anew();
    }
}
