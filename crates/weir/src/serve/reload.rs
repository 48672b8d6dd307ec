//! Reloads: either everything is applied, or nothing.

pub(super) mod saving;

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use weir_config::Resolved;
use weir_web::App;

use crate::config::{Loaded, Sources, load};

use super::changes::{
    Changes, Difference, SettingRow, brief, changes, differences, listed, settings,
};
use super::fronts::Fronts;
use super::greeting;
use super::logs::{self, Logs};
use super::systemd::Manager;

/// What is running and the configuration it was built from; a handle shared by signals, pages and the API.
#[derive(Clone)]
pub(super) struct Running(Arc<Mutex<Inner>>);

struct Inner {
    /// The values that Weir was started with. Those that are read only at start hold as long as it runs.
    started: Vec<Resolved>,
    /// What was read last.
    loaded: Loaded,
    sources: Sources,
    logs: Logs,
    /// Set once they have started.
    parts: Option<(App, Fronts)>,
    /// Told of each reload.
    manager: Manager,
    /// What the last successful reload changed.
    last: Option<Changes>,
    /// Makes marks of what was read; another one in each process, for the values may be secret.
    marker: RandomState,
}

/// What a reload would change.
pub(super) struct Preview {
    pub(super) differences: Vec<Difference>,
    /// Stands for what was read, so that nothing else is applied.
    pub(super) mark: String,
}

/// Why nothing was reloaded.
#[derive(Debug)]
pub(super) enum NotReloaded {
    /// The configuration has these mistakes.
    Mistakes(Vec<String>),
    /// It is not what the operator looked at.
    Changed,
}

/// Identifies a version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            modified: metadata.modified().ok(),
            length: metadata.len(),
        })
    }
}

impl Running {
    pub(super) fn new(loaded: Loaded, mut sources: Sources, logs: Logs) -> Self {
        // Read at start: a reload finds what was added on the pages where this Weir keeps it.
        sources.data.get_or_insert(loaded.config.data.clone());
        Self(Arc::new(Mutex::new(Inner {
            started: loaded.resolved.clone(),
            loaded,
            sources,
            logs,
            parts: None,
            manager: Manager::default(),
            last: None,
            marker: RandomState::new(),
        })))
    }

    pub(super) fn set_parts(&self, web: App, fronts: Fronts) {
        self.0.lock().parts = Some((web, fronts));
    }

    pub(super) fn set_manager(&self, manager: Manager) {
        self.0.lock().manager = manager;
    }

    /// Whether upstreams and clients are made up, and the file with them.
    pub(super) fn is_demo(&self) -> bool {
        let inner = self.0.lock();
        inner.parts.as_ref().is_some_and(|(web, _)| web.is_demo())
    }

    /// Each value in use, and what waits for the next start.
    pub(super) fn settings(&self) -> Vec<SettingRow> {
        let inner = self.0.lock();
        settings(&inner.started, &inner.loaded.resolved)
    }

    /// Whether a file was read.
    pub(super) fn has_file(&self) -> bool {
        self.0.lock().loaded.file.is_some()
    }

    /// The full path of the file to edit, whether there is one yet or not.
    pub(super) fn to_edit(&self) -> String {
        self.0.lock().to_edit()
    }

    /// What the last successful reload changed, if there was one.
    pub(super) fn last_changes(&self) -> Option<Changes> {
        self.0.lock().last.clone()
    }

    /// Reloads if the file of forwarders has changed since the last call.
    pub(super) fn reload_if_changed(&self, seen: &mut Option<Stamp>) {
        let file = self.0.lock().loaded.config.tracker.forwarders_file.clone();
        let Some(stamp) = file.and_then(|file| Stamp::of(&file)) else {
            return; // an editor may be about to replace it
        };
        let before = seen.replace(stamp.clone());
        if before.is_some_and(|before| before != stamp) {
            tracing::info!("the file of forwarders changed");
            drop(self.read_again(None)); // the log has the result
        }
    }

    /// A reload requested by the operator: [`Running::read_again`], after which the names of upstreams may resolve to
    /// new private addresses.
    pub(super) fn reload(&self) -> Result<Changes, Vec<String>> {
        self.reload_seen(None).map_err(|not| match not {
            NotReloaded::Mistakes(mistakes) => mistakes,
            NotReloaded::Changed => Vec::new(),
        })
    }

    /// The same, if the configuration is still the one with this mark.
    pub(super) fn reload_seen(&self, mark: Option<&str>) -> Result<Changes, NotReloaded> {
        let changes = self.read_again(mark)?;
        if let Some((_, fronts)) = &self.0.lock().parts {
            fronts.look_up_anew();
        }
        Ok(changes)
    }

    /// What a reload would change now; changes nothing.
    pub(super) fn preview(&self) -> Result<Preview, Vec<String>> {
        let inner = self.0.lock();
        let new = load(&inner.sources);
        let new =
            new.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Ok(Preview {
            differences: differences(&inner.started, &inner.loaded.resolved, &new.resolved),
            mark: inner.mark(&new),
        })
    }

    /// The sizes of what is kept in the data directory.
    pub(super) fn stores(&self) -> Vec<(String, u64)> {
        let inner = self.0.lock();
        let web = inner.parts.as_ref().map(|(web, _)| web.clone());
        drop(inner);
        web.map_or_else(Vec::new, |web| web.stores())
    }

    /// Reads everything again and applies it. After any mistake everything stays as it is, and all
    /// mistakes are returned; either way they are logged too.
    fn read_again(&self, seen: Option<&str>) -> Result<Changes, NotReloaded> {
        // Held to the end: two reloads at once (a signal and a page) must not mix.
        let mut inner = self.0.lock();
        let _told = inner.manager.reloading();
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
        if seen.is_some_and(|seen| seen != inner.mark(&new)) {
            return Err(NotReloaded::Changed);
        }
        inner.take_over(new, || Ok(())).map_err(nothing_changed)
    }
}

impl Inner {
    fn to_edit(&self) -> String {
        let file = self.sources.to_edit(self.loaded.file.as_deref());
        file.display().to_string()
    }

    /// Stands for the values that were read.
    fn mark(&self, read: &Loaded) -> String {
        let mut hasher = self.marker.build_hasher();
        for row in &read.resolved {
            let secret = row.secret.as_ref().map(weir_config::Secret::expose);
            (&row.path, &row.shown, secret).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    /// Takes a configuration over, all of it or nothing. `commit` writes down what makes it last; it is called when nobody
    /// else can refuse it any more.
    fn take_over(
        &mut self,
        new: Loaded,
        commit: impl FnOnce() -> anyhow::Result<()>,
    ) -> Result<Changes, Vec<String>> {
        if let (Some(before), None) = (&self.loaded.file, &new.file) {
            // Without it everything would become a default, which nobody wants who is only moving files.
            let before = self.sources.to_edit(Some(before));
            let why = format!(
                "{} is gone. No file was found at {}. To run without a file, restart Weir",
                before.display(),
                listed(&self.sources.looked_for())
            );
            return Err(vec![why]);
        }
        if let Err(error) = self.put_in_force(&new, commit) {
            return Err(vec![format!("{error:#}")]);
        }
        let mut changes = changes(&self.started, &self.loaded.resolved, &new.resolved);
        self.loaded = new;
        if let Some((web, _)) = &self.parts {
            web.set_config_file(self.to_edit());
        }
        if self.loaded.file.is_none() {
            changes.looked_for = self.sources.looked_for();
            let looked_for = listed(&changes.looked_for);
            tracing::warn!(looked_for, "reload: there is no configuration file");
        }
        if !changes.at_next_start.is_empty() {
            let keys = brief(&changes.at_next_start);
            tracing::warn!(keys, "reload: takes effect at the next start");
        }
        tracing::info!(changed = brief(&changes.changed), "reload: done");
        self.last = Some(changes.clone());
        Ok(changes)
    }

    /// Stages everything that may be refused, and only then applies all of it, so that a refusal changes nothing.
    fn put_in_force(
        &self,
        new: &Loaded,
        commit: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let filter = logs::filter(&new.config.log.level)?;
        let Some((web, fronts)) = &self.parts else {
            commit()?;
            return self.logs.reload(filter);
        };
        let staged = fronts.stage(&new.config);
        let staged = staged.map_err(anyhow::Error::from_boxed)?;
        // Last of what may be refused, because it may make a key and store it: a key that is stored must be printed.
        let web = web.stage(new.config.web.clone())?;
        commit()?;
        staged.into_iter().for_each(|apply| apply());
        if let Some(key) = web() {
            greeting::print_key(&key);
        }
        // The log is gone only when the process is about to be.
        self.logs.reload(filter)
    }
}

fn nothing_changed(why: Vec<String>) -> NotReloaded {
    tracing::error!(why = why.join("; "), "reload: nothing was changed");
    NotReloaded::Mistakes(why)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use futures_util::future::BoxFuture;
    use weir_config::Secret;
    use weir_store::sqlite::File;
    use weir_web::{Contribution, Front, Refused, Reload, Requests, Staged, System};

    use super::*;
    use crate::config::Config;

    /// A front that takes over whatever it is given, and says so.
    #[derive(Default)]
    struct Willing(Arc<AtomicBool>);

    impl Front for Willing {
        fn contribution(&self, _requests: &Requests) -> Result<Contribution, Refused> {
            Err("not asked for".into())
        }

        fn look_up_anew(&self) {}

        fn stop(&self, _drain: Duration) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    impl Reload<Config> for Willing {
        fn stage(&self, _config: &Config) -> Result<Staged, Refused> {
            let applied = Arc::clone(&self.0);
            Ok(Box::new(move || applied.store(true, Ordering::Relaxed)))
        }
    }

    #[test]
    fn what_the_web_part_refuses_no_front_has_applied() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("weir.yaml");
        std::fs::write(&file, "web: { api_key: the-first-key-of-all }\n").unwrap();
        let sources = Sources {
            file: Some(file.clone()),
            places: Vec::new(),
            environment: Box::new(std::collections::BTreeMap::<String, String>::new()),
            flags: Vec::new(),
            data: Some(directory.path().to_owned()),
        };
        let loaded = load(&sources).unwrap();
        let state = File::open(directory.path().join("state.db")).unwrap();
        let (web, clock) = (loaded.config.web.clone(), Arc::new(System));
        let web = App::open(web, &state, clock, Requests::default(), Vec::new()).unwrap();
        let running = Running::new(loaded, sources, Logs::unheard());
        let front = Willing::default();
        let applied = Arc::clone(&front.0);
        running.set_parts(web, Fronts(vec![Arc::new(front)]));
        running.reload().unwrap();
        assert!(applied.swap(false, Ordering::Relaxed), "a good one is");
        // Without a key of the operator's, Weir makes one, which can no longer be kept.
        std::fs::write(&file, "").unwrap();
        state.close();
        let why = running.reload().unwrap_err();
        assert!(!applied.load(Ordering::Relaxed), "{why:?}");
        let before = running.0.lock().loaded.config.web.api_key.clone();
        assert_eq!(
            before.as_ref().map(Secret::expose),
            Some("the-first-key-of-all")
        );
    }
}
