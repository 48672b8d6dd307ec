//! Starts and stops the notify front.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::Moment;
use weir_engine::{Outward, Weather};
use weir_net::BoxFuture;
use weir_store::sqlite::File;
use weir_web::{Clock, Contribution, Porter, Refused, Reload, Requests, Staged};

use crate::config::Config;
use crate::contribution::contribution;
use crate::error::Error;
use crate::hook::FRONT;
use crate::keep::Keep;
use crate::model::{Model, Surroundings};
use crate::round::Round;
use crate::rules::split;
use crate::test_message::Desk;
use crate::tower::{Fronts, Tower};

/// Time that tasks have to end at least, however short the drain is.
const LAST: Duration = Duration::from_secs(1);

/// What the front is given besides its way out.
pub struct Storage {
    /// `state.db`: what hooks were told.
    pub state: File,
    /// The wall clock, for signatures.
    pub clock: Arc<dyn Clock>,
    /// What this machine is called.
    pub host: String,
}

/// The running front.
pub struct Front {
    pub(crate) model: Arc<Model>,
    /// Of the other fronts: that of this one is its own, or a hook next door would prove that the way out works.
    weather: Weather,
}

impl Front {
    /// Starts it; it tells of others from [`weir_web::Front::serve`] on. `weather` is that of all other fronts. Called
    /// within a runtime.
    ///
    /// # Errors
    /// When its file or its way out are not to be had.
    pub fn start(
        config: &Config,
        outward: Outward,
        weather: Weather,
        storage: Storage,
    ) -> Result<Self, Error> {
        let Storage { state, clock, host } = storage;
        let surroundings = Surroundings {
            keep: Keep::open(state)?,
            clock,
            host: host.into(),
        };
        let model = Arc::new(Model::open(config, outward, surroundings)?);
        Ok(Self { model, weather })
    }

    /// Where an operator sends tests.
    pub fn desk(&self) -> Desk {
        Desk(self.model.clone())
    }

    /// A front around a model.
    #[cfg(test)]
    pub(crate) fn of_tests(model: Arc<Model>) -> Self {
        let weather = Weather::default();
        Self { model, weather }
    }

    /// Begins to look.
    pub(crate) fn watch(model: &Arc<Model>, tower: Box<dyn Tower>) {
        let round = Round {
            model: model.clone(),
            tower,
            next_look: Moment(0),
        };
        let vital = model.engine.vitals().add(FRONT, "watch");
        let run = vital.drive(round, |round| Box::pin(round.run()));
        model.lifetime.spawn(run);
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, _requests: &Requests) -> Result<Contribution, Refused> {
        Ok(contribution(&self.model))
    }

    fn serve(&self, porter: &Porter) {
        let tower = Fronts {
            lookout: porter.lookout(),
            weather: self.weather.clone(),
        };
        Self::watch(&self.model, Box::new(tower));
    }

    fn look_up_anew(&self) {
        self.model.hooks.look_up_anew();
    }

    fn leave(&self) {
        self.model.lifetime.leave();
    }

    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.model.lifetime.leave();
            // What waits for its time is kept and told after the start; only what is under way is waited for.
            for hook in self.model.hooks.all().iter() {
                hook.desk.withdraw();
            }
            self.model.engine.shutdown(drain).await;
            self.model.lifetime.close(drain.max(LAST)).await;
            self.model.keep().await;
        })
    }
}

impl<C: AsRef<Config>> Reload<C> for Front {
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (_, rules) = split(config.as_ref());
        let model = self.model.clone();
        Ok(Box::new(move || model.apply(rules)))
    }
}
