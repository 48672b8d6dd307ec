//! What the front knows: its hooks, what each was told, and the way to tell more.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use weir_engine::dispatch::Moment;
use weir_engine::{Engine, Lifetime, Outward, Roster};
use weir_web::Clock;

use crate::config::Config;
use crate::error::Error;
use crate::hook::{Hook, HookDesk, Unwritten};
use crate::keep::{Keep, KeptHook};
use crate::message::Sender;
use crate::outbound::Outbound;
use crate::policy::quota;
use crate::rules::{NotifyRules, split, split_entry};

/// What is known, and the way out.
pub(crate) struct Model {
    pub(crate) engine: Engine,
    /// Replaced as a whole by a reload.
    pub(crate) rules: ArcSwap<NotifyRules>,
    pub(crate) hooks: Roster<Hook>,
    pub(crate) outbound: Outbound,
    pub(crate) lifetime: Lifetime,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) zone: TimeZone,
    host: Arc<str>,
    keep: Keep,
    /// By the hook's name.
    desks: Mutex<HashMap<String, Arc<HookDesk>>>,
    /// Written by each look.
    network_down: AtomicBool,
    /// The last write failed: said once, not each second.
    unwritten: AtomicBool,
}

/// What surrounds the front.
pub(crate) struct Surroundings {
    pub(crate) keep: Keep,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host: Arc<str>,
}

impl Model {
    pub(crate) fn open(
        config: &Config,
        mut outward: Outward,
        surroundings: Surroundings,
    ) -> Result<Self, Error> {
        let (start, rules) = split(config);
        let hooks = Roster::new(&mut outward);
        let Surroundings { keep, clock, host } = surroundings;
        let kept = keep.load()?.into_iter();
        let desks = kept.map(|(name, kept)| {
            let desk = Arc::new(HookDesk::new(&name, kept));
            (name, desk)
        });
        let desks = Mutex::new(desks.collect());
        let model = Self {
            outbound: Outbound::new(outward.ground, start.private)?,
            engine: outward.engine,
            hooks,
            lifetime: Lifetime::default(),
            clock,
            zone: TimeZone::system(),
            host,
            keep,
            desks,
            network_down: AtomicBool::new(false),
            unwritten: AtomicBool::new(false),
            rules: ArcSwap::from_pointee(rules),
        };
        let rules = model.rules.load_full();
        model.reconcile(&rules);
        Ok(model)
    }

    /// Takes other settings over. Hooks that stay keep what they were told.
    pub(crate) fn apply(&self, rules: NotifyRules) {
        self.reconcile(&rules);
        self.rules.store(Arc::new(rules));
    }

    fn reconcile(&self, rules: &NotifyRules) {
        let entries = &rules.entries;
        let mut desks = self.desks.lock();
        desks.retain(|name, _| entries.iter().any(|entry| entry.name == *name));
        self.hooks.reconcile(
            entries,
            |entry| (quota(rules.interval), split_entry(entry).timeout),
            |entry, joining| {
                let new = || Arc::new(HookDesk::new(&entry.name, KeptHook::default()));
                let desk = desks.entry(entry.name.clone()).or_insert_with(new);
                Hook::join(entry, &joining, desk.clone())
            },
        );
        self.hooks.settle();
        self.keep.forget_others(desks.keys().cloned().collect());
    }

    pub(crate) fn now(&self) -> Moment {
        self.engine.timeline().now()
    }

    /// Who sends messages now.
    pub(crate) fn sender(&self) -> Sender {
        Sender {
            host: self.host.clone(),
            link: self.rules.load().link.clone(),
        }
    }

    pub(crate) fn set_network_down(&self, down: bool) {
        self.network_down.store(down, Ordering::Relaxed);
    }

    /// Whether a hook can be reached as far as our own network is concerned.
    pub(crate) fn has_way_to(&self, hook: &Hook) -> bool {
        hook.address.is_near || !self.network_down.load(Ordering::Relaxed)
    }

    /// Writes what is not written yet. What cannot be written now is written later.
    pub(crate) async fn keep(&self) {
        let changed: Vec<(Arc<HookDesk>, (String, Unwritten))> = {
            let desks = self.desks.lock();
            let changed = desks.iter().filter_map(|(name, desk)| {
                let unwritten = desk.unwritten()?;
                Some((desk.clone(), (name.clone(), unwritten)))
            });
            changed.collect()
        };
        if changed.is_empty() {
            return;
        }
        let (desks, changes): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
        let written = self.keep.write(&changes).await;
        let failed_before = self.unwritten.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written {
            if !failed_before {
                tracing::warn!(%error, "cannot write what hooks were told; trying again");
            }
            for (desk, (_, unwritten)) in desks.iter().zip(changes) {
                desk.put_back(unwritten);
            }
        }
    }
}
