//! The tracker front within the program.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_tracker::{Around, Error, Front, Outward};
use weir_web::App;

use super::engine::{self, Built, Engines};
use super::listen;
use crate::config::Config;

/// Starts it.
pub(super) fn start(config: &Config, data: &Path, engines: &Engines) -> anyhow::Result<Front> {
    let section = &config.tracker;
    let Built {
        engine,
        rows,
        restored,
    } = engines.build(
        "tracker",
        weir_tracker::policy(engine::general(&config.engine), section),
        weir_tracker::rate(section),
        section.forwarder_never_probe,
    )?;
    let outward = Outward {
        engine,
        rows: Some(rows),
        restored,
        ground: Arc::new(weir_net::System::new()),
    };
    let around = around(config, data);
    let front = Front::start(section, &around, engines.timeline, Some(outward));
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
