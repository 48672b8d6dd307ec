//! The search front within the program.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use weir_engine::Rate;
use weir_search::{Front, Outward};
use weir_store::sqlite::File;

use super::engine::{self, Built, Engines};
use crate::config::Config;

/// Starts it.
pub(super) fn start(
    config: &Config,
    data: &Path,
    state: &File,
    engines: &Engines,
) -> anyhow::Result<Front> {
    let section = &config.search;
    let no_tokens = Rate {
        per_second: 0,
        burst: 0,
    };
    let Built {
        engine,
        rows,
        restored,
    } = engines.build(
        "search",
        weir_search::policy(engine::general(&config.engine), section),
        no_tokens,
        config.engine.retry_after_max,
    )?;
    let outward = Outward {
        engine,
        rows: Some(rows),
        restored,
        ground: Arc::new(weir_net::System::new()),
        state: state.clone(),
        cache: Some(data.join("search.db")),
    };
    Front::start(section, outward).context("the search front does not start")
}
