//! Starts the news front.

use anyhow::Context;
use weir_engine::Rate;
use weir_net::Roots;
use weir_news::{Front, Storage};

use super::fronts::Base;

pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Front> {
    let (config, section) = (base.config, &base.config.news);
    let outward = base.engines.build(
        "news",
        weir_news::policy(base.engines.general(), section),
        Rate::NONE,
        config.engine.retry_after_max,
    )?;
    let files = Storage {
        state: base.state.clone(),
        news: Some(base.data.join("news.db")),
    };
    let front = Front::start(section, outward, &Roots::System, files);
    front.context("cannot start the news front")
}
