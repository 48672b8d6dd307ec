//! A reload: all of it, or nothing.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_config::Resolved;
use weir_web::App;

use crate::config::{Loaded, Sources, load};

use super::logs::Logs;

/// Keys that are read once, at the start; `a.` stands for all below it.
const AT_START: [&str; 4] = ["data", "log.format", "web.listen", "web.limits."];

/// What runs and what it was built from; a handle that signals, pages and the API share.
#[derive(Clone)]
pub(super) struct Running(Arc<Mutex<Inner>>);

struct Inner {
    loaded: Loaded,
    sources: Sources,
    logs: Logs,
    /// Set once the web part is there.
    web: Option<App>,
}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The keys whose values changed.
    pub(super) changed: Vec<String>,
    /// Those of them that take effect with the next start.
    pub(super) at_next_start: Vec<String>,
}

impl Running {
    pub(super) fn new(loaded: Loaded, sources: Sources, logs: Logs) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            loaded,
            sources,
            logs,
            web: None,
        })))
    }

    pub(super) fn set_web(&self, web: App) {
        self.0.lock().web = Some(web);
    }

    /// Each value in force with its source.
    pub(super) fn resolved(&self) -> Vec<Resolved> {
        self.0.lock().loaded.resolved.clone()
    }

    /// The file that is read, if there is one.
    pub(super) fn file(&self) -> Option<String> {
        let inner = self.0.lock();
        inner
            .loaded
            .file
            .as_ref()
            .map(|file| file.display().to_string())
    }

    /// Reads everything again and takes it over. On any mistake everything stays as it is, and all of
    /// them are told; either way the log has it too.
    pub(super) fn reload(&self) -> Result<Changes, Vec<String>> {
        let mut inner = self.0.lock();
        let new = match load(&inner.sources) {
            Ok(new) => new,
            Err(mistakes) => {
                let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                for mistake in &mistakes {
                    tracing::error!(mistake, "reload: mistake in the configuration");
                }
                return Err(nothing_changed(mistakes));
            }
        };
        if let Err(error) = inner.take_over(&new) {
            return Err(nothing_changed(vec![format!("{error:#}")]));
        }
        let changes = changes(&inner.loaded.resolved, &new.resolved);
        for key in &changes.at_next_start {
            tracing::warn!(key, "reload: takes effect with the next start");
        }
        tracing::info!(changed = changes.changed.join(", "), "reload: done");
        inner.loaded = new;
        Ok(changes)
    }
}

impl Inner {
    fn take_over(&self, new: &Loaded) -> anyhow::Result<()> {
        if let Some(web) = &self.web {
            web.reload(new.config.web.clone())?;
        }
        self.logs.reload(&new.config.log)
    }
}

fn nothing_changed(why: Vec<String>) -> Vec<String> {
    tracing::error!(why = why.join("; "), "reload: nothing was changed");
    why
}

/// The keys whose values differ, in the order of the new configuration. Secrets differ when their shown form
/// does; their text is never compared here.
fn changes(old: &[Resolved], new: &[Resolved]) -> Changes {
    let find = |rows: &[Resolved], path: &str| {
        let row = rows.iter().find(|row| row.path == path);
        row.map(|row| row.shown.clone())
    };
    let gone = old.iter().filter(|row| find(new, &row.path).is_none());
    let differs = new
        .iter()
        .filter(|row| find(old, &row.path).as_ref() != Some(&row.shown));
    let changed: Vec<String> = differs.chain(gone).map(|row| row.path.clone()).collect();
    let at_start = |key: &&String| {
        let holds = |start: &str| *key == start || start.ends_with('.') && key.starts_with(start);
        AT_START.iter().any(|start| holds(start))
    };
    let at_next_start = changed.iter().filter(at_start).cloned().collect();
    Changes {
        changed,
        at_next_start,
    }
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
        let old = [row("a", "1"), row("web.listen", "2"), row("c", "3")];
        let new = [row("a", "1"), row("web.listen", "9"), row("d", "4")];
        let changes = changes(&old, &new);
        assert_eq!(changes.changed, ["web.listen", "d", "c"]);
        assert_eq!(changes.at_next_start, ["web.listen"]);
    }
}
