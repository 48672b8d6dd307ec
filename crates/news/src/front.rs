//! Starts and stops the news front.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::Outward;
use weir_net::{BoxFuture, Roots};
use weir_store::sqlite::File;
use weir_web::{Contribution, Refused, Reload, Requests, Staged};

use crate::config::Config;
use crate::contribution::contribution;
use crate::error::Error;
use crate::marks::Marks;
use crate::model::Model;
use crate::posting::outbox::Outbox;
use crate::reader::Reader;
use crate::rules::split;

/// Where the news front keeps what it knows.
pub struct Storage {
    /// `state.db`: what signed-in people have read and written.
    pub state: File,
    /// Where `news.db` is: overviews, articles, own numbers. Without it they are kept in memory alone.
    pub news: Option<PathBuf>,
}

/// The running front.
pub struct Front {
    model: Arc<Model>,
    reader: Arc<Reader>,
    /// Whether everybody may read.
    public: bool,
}

impl Front {
    /// Starts it. Called within a runtime.
    ///
    /// # Errors
    /// When its files or its way out are not to be had.
    pub fn start(
        config: &Config,
        outward: Outward,
        roots: &Roots,
        files: Storage,
    ) -> Result<Self, Error> {
        let Storage { state, news } = files;
        let outbox = Outbox::open(Some(state.clone()))?;
        let model = Model::start_with(config, outward, roots, news, outbox)?;
        let marks = Marks::open(state)?;
        Ok(Self {
            reader: Reader::with_desk(model.clone(), marks, Arc::new(weir_web::System)),
            model,
            public: split(config).0.public,
        })
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, _requests: &Requests) -> Result<Contribution, Refused> {
        Ok(contribution(&self.model, &self.reader, self.public))
    }

    fn look_up_anew(&self) {
        self.model.federation.servers.look_up_anew();
    }

    fn leave(&self) {
        self.model.lifetime.leave();
    }

    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(self.model.stop(drain))
    }

    fn close(&self) {
        self.model.close();
    }
}

impl<C: AsRef<Config>> Reload<C> for Front {
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (model, config) = (self.model.clone(), config.as_ref().clone());
        Ok(Box::new(move || model.apply(&config)))
    }
}
