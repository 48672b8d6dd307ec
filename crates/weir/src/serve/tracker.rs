//! Starts the tracker front.

use weir_tracker::{Error, Front};

use super::fronts::Base;
use super::listen;

pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Front> {
    let (config, section) = (base.config, &base.config.tracker);
    let outward = base.engines.build(
        "tracker",
        weir_tracker::policy(base.engines.general(), section),
        weir_tracker::rate(section),
        section.forwarder_never_probe,
    )?;
    let directory = base.data.join("swarm");
    let front = Front::start(section, &config.web, &directory, outward);
    let front = front.map_err(|error| match error {
        Error::Listen {
            address,
            key,
            flag,
            source,
        } => listen::refused(address, key, flag, &source),
        other => other.into(),
    })?;
    for (protocol, address) in front.listening() {
        tracing::info!(front = "tracker", protocol, %address, "listening");
    }
    Ok(front)
}
