//! Starts the search front.

use anyhow::Context;
use weir_engine::Rate;
use weir_search::{Front, Storage};

use super::fronts::Base;

pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Front> {
    let (config, section) = (base.config, &base.config.search);
    let outward = base.engines.build(
        "search",
        weir_search::policy(base.engines.general(), section),
        Rate::NONE,
        config.engine.retry_after_max,
    )?;
    let files = Storage {
        state: base.state.clone(),
        cache: Some(base.data.join("search.db")),
    };
    Front::start(section, outward, files).context("cannot start the search front")
}
