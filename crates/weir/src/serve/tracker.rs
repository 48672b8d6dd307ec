//! The tracker front within the program.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_tracker::{Around, Error, Front};
use weir_web::App;

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
    let forwarders = config.tracker.forwarders.len();
    if forwarders > 0 {
        tracing::warn!(
            front = "tracker",
            configured = forwarders,
            "forwarding is not part of this build yet: its forwarders are not called"
        );
    }
    Ok(front)
}

/// Answers `/stats` and `/metrics` on the tracker's own port until `stop`.
pub(super) fn guests(
    front: &mut Front,
    web: &App,
    stop: &CancellationToken,
    drain: Duration,
) -> impl Future<Output = ()> + use<> {
    let (waiting, web, stop) = (front.guests(), web.clone(), stop.clone());
    async move {
        if let Some(waiting) = waiting {
            let router = web.figures("tracker", weir_tracker::elsewhere());
            weir_web::run_guests(waiting, &web, router, stop, drain).await;
        }
    }
}

/// What the tracker must know of the rest.
pub(super) fn around(config: &Config, data: &Path) -> Around {
    Around {
        directory: data.join("swarm"),
        trusted: config.web.trusted.clone(),
        trusted_proxies: config.web.trusted_proxies.clone(),
    }
}
