//! Fronts that are not built yet: each says so on the pages and in the log.

use std::sync::Arc;

use serde_json::{Map, Value};
use weir_web::{Card, CardState, CardView, Contribution, Figure, Icon, Section, Stats};

use crate::config::{Config, WithoutEffect};

/// A front whose section is read and checked, but which is not built yet.
#[derive(Clone)]
struct NotBuilt {
    name: &'static str,
    title: &'static str,
    icon: Icon,
    /// What its upstreams are called.
    upstreams: &'static str,
    /// How many of them are configured.
    configured: usize,
}

fn missing(config: &Config) -> [NotBuilt; 1] {
    [NotBuilt {
        name: "news",
        title: "News",
        icon: Icon::News,
        upstreams: "news servers",
        configured: config.news.servers.len(),
    }]
}

/// What the pages show about these fronts.
pub(super) fn contributions(config: &Config) -> Vec<Contribution> {
    missing(config)
        .into_iter()
        .map(|front| {
            let shown = Arc::new(front.clone());
            Contribution::new(front.name, front.title, front.icon)
                .card(shown.clone())
                .stats(shown)
        })
        .collect()
}

/// Logs which fronts do not run, and warns of keys that have no effect.
pub(super) fn say_what_is_missing(config: &Config) {
    for front in missing(config) {
        tracing::info!(
            front = front.name,
            "not built yet; its configuration is read and checked"
        );
    }
    for WithoutEffect { key, why } in config.without_effect() {
        tracing::warn!(key, "{why}");
    }
}

impl Card for NotBuilt {
    fn view(&self) -> CardView {
        let title = self.title;
        CardView {
            state: CardState::Off,
            sentence: format!("{title} is not built yet. Its configuration is read and checked."),
            figures: vec![Figure {
                label: format!("Configured {}", self.upstreams),
                value: self.configured.to_string(),
            }],
            lines: None,
        }
    }
}

impl Stats for NotBuilt {
    fn section(&self) -> Section {
        let mut json = Map::new();
        json.insert("state".into(), Value::from("not built"));
        json.insert("configured".into(), Value::from(self.configured));
        Section {
            json,
            text: vec![format!(
                "not built; configured {}: {}",
                self.upstreams, self.configured
            )],
            top_level: false,
        }
    }
}
