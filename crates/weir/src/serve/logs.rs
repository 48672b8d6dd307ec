//! Log lines on standard error, as text for people or JSON for programs.

use std::io::{self, IsTerminal};

use anyhow::Context;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::config::log::{Config, LogFormat};

/// The log level, which a reload can change.
pub(super) struct Logs {
    filter: reload::Handle<EnvFilter, Registry>,
}

impl Logs {
    /// Starts logging; works only once per process.
    pub(super) fn start(config: &Config) -> anyhow::Result<Self> {
        let Config { level, format } = config;
        let (filter, handle) = reload::Layer::new(filter(level)?);
        let lines = fmt::layer().with_writer(io::stderr);
        let lines = match format {
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
            LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        };
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .try_init()
            .context("the log was already started")?;
        Ok(Self { filter: handle })
    }

    /// A level for tests, which log nothing.
    #[cfg(test)]
    pub(super) fn unheard() -> Self {
        let (filter, handle) = reload::Layer::new(EnvFilter::new("off"));
        // The handle works only as long as the layer exists.
        std::mem::forget(filter);
        Self { filter: handle }
    }

    /// Sets another level, made by [`filter`]; another format needs a restart.
    pub(super) fn reload(&self, filter: EnvFilter) -> anyhow::Result<()> {
        self.filter.reload(filter).context("the log is gone")
    }
}

/// The filter for a configured level.
pub(super) fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(level).with_context(|| {
        format!("`log.level: {level}` is not a level; use error, warn, info, debug or trace")
    })
}
