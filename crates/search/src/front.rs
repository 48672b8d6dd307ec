//! Starts and stops the search front.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::Outward;
use weir_net::BoxFuture;
use weir_web::{Contribution, Refused, Reload, Requests, Staged};

use crate::config::Config;
use crate::desk::{Desk, Error, Storage};

/// The running front.
pub struct Front {
    pub(crate) desk: Arc<Desk>,
}

impl Front {
    /// Starts it. Called within a runtime.
    ///
    /// # Errors
    /// When its files or its way out are not to be had.
    pub fn start(config: &Config, outward: Outward, files: Storage) -> Result<Self, Error> {
        let desk = Desk::start(config, outward, files)?;
        Ok(Self { desk })
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, _requests: &Requests) -> Result<Contribution, Refused> {
        Ok(self.contribute())
    }

    fn look_up_anew(&self) {
        self.desk.look_up_anew();
    }

    fn leave(&self) {
        self.desk.leaving.cancel();
    }

    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(self.desk.stop(drain))
    }

    fn close(&self) {
        self.desk.office.cache.close();
    }
}

impl<C: AsRef<Config>> Reload<C> for Front {
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let config = config.as_ref().clone();
        let numbers = self.desk.numbers(&config)?;
        let desk = self.desk.clone();
        Ok(Box::new(move || desk.reload(&config, &numbers)))
    }
}
