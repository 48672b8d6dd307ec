//! The fronts of this build, all started, reloaded and stopped in the same way.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use weir_store::sqlite::File;
use weir_web::{Contribution, Porter, Refused, Reload, Requests, Staged};

use super::engine::Engines;
use super::{news, notify, search, tracker};
use crate::config::Config;

/// A front that can reload its part of the configuration.
type Front = Arc<dyn Reload<Config>>;

/// How each front is started.
const STARTS: &[fn(&Base<'_>) -> anyhow::Result<Front>] = &[
    |base| Ok(Arc::new(tracker::start(base)?)),
    |base| Ok(Arc::new(search::start(base)?)),
    |base| Ok(Arc::new(news::start(base)?)),
    |base| Ok(Arc::new(notify::start(base)?)),
];

/// What a front needs to start.
pub(super) struct Base<'a> {
    pub(super) config: &'a Config,
    /// The data directory.
    pub(super) data: &'a Path,
    pub(super) state: &'a File,
    pub(super) engines: &'a Engines,
    /// Where an operator sends test messages; set when the front has started.
    pub(super) desk: OnceCell<weir_notify::Desk>,
}

/// All fronts, running.
#[derive(Clone)]
pub(super) struct Fronts(pub(super) Vec<Front>);

impl Fronts {
    /// Starts them, one after the other.
    pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Self> {
        let all = STARTS.iter().map(|start| start(base));
        Ok(Self(all.collect::<anyhow::Result<_>>()?))
    }

    pub(super) fn contributions(&self, requests: &Requests) -> Result<Vec<Contribution>, Refused> {
        let all = self.0.iter().map(|front| front.contribution(requests));
        all.collect()
    }

    /// Lets them serve the clients of their own listeners.
    pub(super) fn serve(&self, porter: &Porter) {
        self.0.iter().for_each(|front| front.serve(porter));
    }

    pub(super) fn greeting(&self) -> String {
        self.0.iter().map(|front| front.greeting()).collect()
    }

    /// Prepares a reload of all fronts, which any of them may refuse; nothing changes yet.
    pub(super) fn stage(&self, config: &Config) -> Result<Vec<Staged>, Refused> {
        self.0.iter().map(|front| front.stage(config)).collect()
    }

    pub(super) fn look_up_anew(&self) {
        self.0.iter().for_each(|front| front.look_up_anew());
    }

    /// Writes what would be written later. Blocks.
    pub(super) fn save(&self) -> Result<(), Refused> {
        self.0.iter().try_for_each(|front| front.save())
    }

    pub(super) fn leave(&self) {
        self.0.iter().for_each(|front| front.leave());
    }

    pub(super) async fn stop(&self, drain: Duration) {
        join_all(self.0.iter().map(|front| front.stop(drain))).await;
    }

    pub(super) fn close(&self) {
        self.0.iter().for_each(|front| front.close());
    }
}
