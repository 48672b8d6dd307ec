//! The notify front's section of `/stats`.

use std::sync::Arc;

use weir_web::{Section, Stats};

use crate::model::Model;
use crate::policy::WORKERS;
use crate::upstreams::HookViews;

/// The front's figures.
pub(crate) struct NotifyStats(pub(crate) Arc<Model>);

impl Stats for NotifyStats {
    fn section(&self) -> Section {
        Section::of_engine(&HookViews(self.0.clone()), WORKERS)
    }
}
