//! A reload: all of it, or nothing.

use weir_config::Resolved;
use weir_web::App;

use crate::config::{Loaded, Sources, load};

use super::logs::Logs;

/// Keys that are read once, at the start; `a.` stands for all below it.
const AT_START: [&str; 4] = ["data", "log.format", "web.listen", "web.limits."];

/// What runs, and what it was built from.
pub(super) struct Running {
    loaded: Loaded,
    sources: Sources,
    web: App,
    logs: Logs,
}

impl Running {
    pub(super) fn new(loaded: Loaded, sources: Sources, web: App, logs: Logs) -> Self {
        Self {
            loaded,
            sources,
            web,
            logs,
        }
    }

    /// Reads everything again and takes it over. Mistakes leave everything as it is, and are logged.
    pub(super) fn reload(&mut self) {
        let new = match load(&self.sources) {
            Ok(new) => new,
            Err(mistakes) => {
                for mistake in mistakes.iter() {
                    tracing::error!(%mistake, "reload: mistake in the configuration");
                }
                tracing::error!(mistakes = mistakes.len(), "reload: nothing was changed");
                return;
            }
        };
        if let Err(error) = self.take_over(&new) {
            tracing::error!(error = format!("{error:#}"), "reload: nothing was changed");
            return;
        }
        let changed = changed(&self.loaded.resolved, &new.resolved);
        for key in &changed {
            if AT_START
                .iter()
                .any(|start| key == start || (start.ends_with('.') && key.starts_with(start)))
            {
                tracing::warn!(key, "reload: takes effect with the next start");
            }
        }
        tracing::info!(changed = changed.join(", "), "reload: done");
        self.loaded = new;
    }

    fn take_over(&self, new: &Loaded) -> anyhow::Result<()> {
        self.web.reload(new.config.web.clone())?;
        self.logs.reload(&new.config.log)
    }
}

/// The keys whose values differ, in the order of the new configuration. Secrets differ when their shown form or
/// their place does; their text is never compared here.
fn changed(old: &[Resolved], new: &[Resolved]) -> Vec<String> {
    let find = |rows: &[Resolved], path: &str| {
        rows.iter()
            .find(|row| row.path == path)
            .map(|row| row.shown.clone())
    };
    let gone = old.iter().filter(|row| find(new, &row.path).is_none());
    let differs = new
        .iter()
        .filter(|row| find(old, &row.path).as_ref() != Some(&row.shown));
    differs.chain(gone).map(|row| row.path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use weir_config::Origin;

    use super::*;

    #[test]
    fn keys_that_changed_came_or_went_are_named() {
        let row = |path: &str, shown: &str| Resolved {
            path: path.into(),
            shown: shown.into(),
            origin: Origin::Default,
            aside: false,
        };
        let old = [row("a", "1"), row("b", "2"), row("c", "3")];
        let new = [row("a", "1"), row("b", "9"), row("d", "4")];
        assert_eq!(changed(&old, &new), ["b", "d", "c"]);
    }
}
