//! The tracker front within the program.

use std::path::Path;

use weir_tracker::{Around, Error, Front};

use super::listen;
use crate::config::Config;

/// Starts it.
pub(super) fn start(config: &Config, data: &Path) -> anyhow::Result<Front> {
    let front =
        Front::start(&config.tracker, &around(config, data)).map_err(|error| match error {
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

/// What the tracker must know of the rest.
pub(super) fn around(config: &Config, data: &Path) -> Around {
    Around {
        directory: data.join("swarm"),
        trusted: config.web.trusted.clone(),
        trusted_proxies: config.web.trusted_proxies.clone(),
    }
}
