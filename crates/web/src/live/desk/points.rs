//! `points`: the newest point of each front's charts, each ten seconds.

use serde_json::Value;

use crate::{App, series};

/// Changes when a step is over.
pub(super) fn points(app: &App) -> Value {
    series::newest(app)
}
