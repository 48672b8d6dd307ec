//! Starts and stops the search front.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::{Outward, Tryout};
use weir_net::BoxFuture;
use weir_web::{Contribution, Refused, Reload, Requests, Staged};

use crate::config::Config;
use crate::contribution::contribution;
use crate::error::Error;
use crate::model::{Model, Storage};
use crate::rules::split;
use crate::tryout::try_out;
use crate::views::Views;

/// Time that tasks have to end at least, however short the drain is.
const LAST: Duration = Duration::from_secs(1);

/// The running front.
pub struct Front {
    pub(crate) views: Arc<Views>,
}

impl Front {
    /// Starts it. Called within a runtime.
    ///
    /// # Errors
    /// When its files or its way out are not to be had.
    pub fn start(config: &Config, outward: Outward, files: Storage) -> Result<Self, Error> {
        let views = Arc::new(Views::new(Model::open(config, outward, files)?));
        let vital = views.model.engine.vitals().add("search", "sweeper");
        let sweep = vital.drive(views.clone(), |views| Box::pin(views.sweep()));
        views.lifetime.spawn(sweep);
        if let Some(together) = &views.model.together {
            together.run(&views.lifetime);
        }
        Ok(Self { views })
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, _requests: &Requests) -> Result<Contribution, Refused> {
        Ok(contribution(&self.views))
    }

    fn look_up_anew(&self) {
        self.views.model.indexers.look_up_anew();
    }

    fn save(&self) -> Result<(), Refused> {
        self.views.model.engine.hand_over();
        Ok(())
    }

    fn leave(&self) {
        self.views.lifetime.leave();
    }

    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let lifetime = &self.views.lifetime;
            lifetime.leave();
            self.views.model.engine.shutdown(drain).await;
            lifetime.close(drain.max(LAST)).await;
        })
    }

    fn close(&self) {
        // What those got who were sent away while Weir stopped was noted after the engine had ended.
        self.views.model.engine.hand_over();
        self.views.model.cache.close();
    }
}

impl<C: AsRef<Config>> Reload<C> for Front {
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (_, indexers, searches) = split(config.as_ref());
        let numbers = self.views.model.numbers(&indexers)?;
        let model = self.views.model.clone();
        Ok(Box::new(move || model.apply(&indexers, searches, &numbers)))
    }

    fn try_out(&self, config: &C, name: &str) -> Option<Tryout> {
        let (_, rules, _) = split(config.as_ref());
        let entry = rules.entries.iter().find(|entry| entry.name == name);
        let entry = entry?.clone();
        Some(Box::pin(try_out(self.views.model.clone(), rules, entry)))
    }
}
