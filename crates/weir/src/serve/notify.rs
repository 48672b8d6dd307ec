//! Starts the notify front.

use std::sync::Arc;

use anyhow::Context;
use weir_notify::{Front, Storage};
use weir_web::System;

use super::fronts::Base;

pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Front> {
    let (config, section) = (base.config, &base.config.notify);
    let outward = base.engines.build_apart(
        "notify",
        weir_notify::policy(base.engines.general(), section),
        config.engine.retry_after_max,
    )?;
    let storage = Storage {
        state: base.state.clone(),
        clock: Arc::new(System),
        host: host(),
    };
    let weather = base.engines.weather.clone();
    let front = Front::start(section, outward, weather, storage);
    let front = front.context("cannot start the notify front")?;
    let _ = base.desk.set(front.desk()); // fronts are started once
    Ok(front)
}

/// What this machine is called.
pub(super) fn host() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    match name.is_empty() {
        true => "this machine".to_owned(),
        false => name.chars().take(64).collect(),
    }
}
