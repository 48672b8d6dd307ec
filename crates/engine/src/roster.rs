//! The upstreams of a front, kept in step with its configuration.
//!
//! Every front has a list of upstreams that a reload may change while calls are running. Which of them stay, which come
//! back with their kept state, and which start fresh is the same question for every front, and is answered here.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use weir_dispatch::{Quota, SavedHealth, UpstreamId};
use weir_store::shared::UpstreamKey;

use crate::call::Call;
use crate::engine::Engine;
use crate::keeper::Memory;
use crate::node::Node;
use crate::outward::Outward;
use crate::rows::{RestoredUpstream, Rows};

/// What a front keeps for one upstream, besides the engine's state.
pub trait Listed: Send + Sync + Sized + 'static {
    /// Its entry in the configuration.
    type Entry: PartialEq;

    /// The entry it was made from.
    fn entry(&self) -> &Self::Entry;

    /// Its number in the engine.
    fn upstream(&self) -> UpstreamId;

    /// The name of an entry, by which it is recognised after a change or a restart.
    fn name(entry: &Self::Entry) -> &str;

    /// Whether two entries of the same name lead to different servers or accounts. To the engine, such an upstream is a
    /// new one: calls to the old server must not count against it.
    fn leads_elsewhere(before: &Self::Entry, now: &Self::Entry) -> bool;

    /// What makes it the same upstream on every node, whatever each calls it: its address, and the account that is used
    /// there.
    fn identity(entry: &Self::Entry) -> (String, String);

    /// Lets its host name resolve to a different address than before, even a private one.
    fn look_up_anew(&self);
}

/// How an entry joins the roster; passed by [`Roster::reconcile`] to the front, which makes its part.
pub struct Joining<'a, L> {
    /// Its number in the engine.
    pub upstream: UpstreamId,
    /// The same upstream as it was until now, if only its entry has changed.
    pub before: Option<&'a L>,
    /// It was already there in an earlier run, or before it was removed from the configuration.
    pub known: bool,
    /// What the front had kept of it with [`Engine::keep_own`]; empty where there is nothing.
    pub own: &'a [u8],
}

/// An upstream that has another name from now on.
pub(crate) struct Renamed {
    pub(crate) upstream: UpstreamId,
    pub(crate) from: Arc<str>,
    pub(crate) to: Arc<str>,
}

/// What reconciling changed.
pub struct Reconciled<L> {
    /// Upstreams that are no longer there, or now lead elsewhere.
    pub gone: Vec<Arc<L>>,
    /// Whether any upstream was not there before.
    pub any_new: bool,
}

/// The upstreams of a front in the order of its configuration. Reading takes no lock.
pub struct Roster<L> {
    engine: Engine,
    rows: Option<Arc<Rows>>,
    node: Option<Node>,
    /// What was kept from an earlier run; taken by the first [`Roster::reconcile`].
    restored: Mutex<Option<HashMap<Arc<str>, RestoredUpstream>>>,
    all: ArcSwap<Vec<Arc<L>>>,
}

impl<L: Listed> Roster<L> {
    /// An empty roster for a front. Takes the restored upstreams out of `outward`; the agenda stays there for the front.
    pub fn new(outward: &mut Outward) -> Self {
        Self {
            engine: outward.engine.clone(),
            rows: outward.rows.clone(),
            node: outward.node.clone(),
            restored: Mutex::new(Some(std::mem::take(&mut outward.restored.upstreams))),
            all: ArcSwap::default(),
        }
    }

    /// Brings engine and roster in step with `entries`. Upstreams that stay keep their state; `allows` returns the quota
    /// and time-out of each, `make` makes the front's part of those that are new or changed.
    ///
    /// An upstream that comes back has the windows, the cooldown and the switch it had. One that leads elsewhere keeps
    /// windows and switch, because an account may have moved with its name, but not its cooldown: the change may be
    /// exactly what fixes it. One that has another name and leads where it did is the same upstream, and keeps everything.
    ///
    /// Must not be called by several threads at once; reloads run one after the other. It cannot fail: a front checks
    /// everything it may have to refuse beforehand. Call [`Roster::settle`] afterwards.
    pub fn reconcile(
        &self,
        entries: &[L::Entry],
        allows: impl Fn(&L::Entry) -> (Quota, Duration),
        mut make: impl FnMut(&L::Entry, Joining<'_, L>) -> L,
    ) -> Reconciled<L> {
        let before = self.all.load_full();
        let named = |name: &str| before.iter().find(|one| L::name(one.entry()) == name);
        let stays = |entry: &L::Entry| {
            named(L::name(entry)).filter(|one| !L::leads_elsewhere(one.entry(), entry))
        };
        let mut stay: Vec<Option<&Arc<L>>> = entries.iter().map(stays).collect();
        let is_gone = |one: &&Arc<L>| !stay.iter().flatten().any(|other| Arc::ptr_eq(one, other));
        let mut gone: Vec<&Arc<L>> = before.iter().filter(is_gone).collect();
        let renamed = find_renamed(entries, &mut stay, &mut gone);
        let gone: Vec<Arc<L>> = gone.into_iter().cloned().collect();
        // Before new ones are added, so that everything kept under a name is in the store when it is read below.
        for one in &gone {
            self.engine.remove_upstream(one.upstream());
        }
        match &self.rows {
            _ if renamed.is_empty() => {}
            Some(rows) => rows.rename(&self.engine, &renamed),
            None => (renamed.iter()).for_each(|one| self.engine.rename(one.upstream, &one.to)),
        }
        let first = self.restored.lock().take();
        let kept = LazyCell::new(|| match (first, &self.rows) {
            (Some(restored), _) => restored,
            (None, Some(rows)) => {
                self.engine.hand_over();
                rows.kept()
            }
            (None, None) => HashMap::new(),
        });
        let mut all: Vec<Option<Arc<L>>> = Vec::with_capacity(entries.len());
        // Who stays comes first: a new one may have the name that another had until now.
        for (entry, stays) in entries.iter().zip(&stay) {
            all.push(stays.map(|same| {
                let (quota, time_out) = allows(entry);
                let upstream = same.upstream();
                self.engine.set_quota(upstream, quota);
                self.engine.set_time_out(upstream, time_out);
                match same.entry() == entry {
                    true => Arc::clone(same),
                    false => Arc::new(make(
                        entry,
                        Joining {
                            upstream,
                            before: Some(same),
                            known: true,
                            own: &[],
                        },
                    )),
                }
            }));
        }
        let mut any_new = false;
        let mut add = |entry: &L::Entry| {
            any_new = true;
            let (quota, time_out) = allows(entry);
            let name = L::name(entry);
            let upstream = self.engine.add_upstream(name, quota, time_out);
            if let Some(node) = &self.node {
                let (address, account) = L::identity(entry);
                let front = self.engine.front();
                let key = UpstreamKey::of(node.seal(), front, &address, &account);
                self.engine.share(upstream, key);
            }
            let mut kept = kept.get(name).cloned();
            if let Some(kept) = &mut kept {
                if named(name).is_some() {
                    kept.row.health = SavedHealth {
                        off: kept.row.health.off,
                        ..SavedHealth::default()
                    };
                    kept.memory = Memory::default();
                }
                self.engine.restore(upstream, kept);
            }
            let joining = Joining {
                upstream,
                before: None,
                known: kept.is_some(),
                own: kept.as_ref().map_or(&[], |kept| &kept.memory.own),
            };
            Arc::new(make(entry, joining))
        };
        let all = entries.iter().zip(all);
        let all = all.map(|(entry, stays)| stays.unwrap_or_else(|| add(entry)));
        let all: Vec<Arc<L>> = all.collect();
        self.all.store(Arc::new(all));
        Reconciled { gone, any_new }
    }

    /// Tells the store which upstreams there are now. Call it after [`Roster::reconcile`], and at the start only after
    /// the agenda has been put back: entries that are missing by then are forgotten.
    pub fn settle(&self) {
        if let Some(rows) = &self.rows {
            let all = self.all.load();
            let names: Vec<&str> = all.iter().map(|one| L::name(one.entry())).collect();
            rows.settle(&self.engine, &names);
        }
    }

    /// All upstreams, as they are now.
    pub fn all(&self) -> Arc<Vec<Arc<L>>> {
        self.all.load_full()
    }

    /// The upstream with this name.
    pub fn named(&self, name: &str) -> Option<Arc<L>> {
        self.find_by(|one| L::name(one.entry()) == name)
    }

    /// The upstream with this number in the engine.
    pub fn find(&self, upstream: UpstreamId) -> Option<Arc<L>> {
        self.find_by(|one| one.upstream() == upstream)
    }

    /// The first upstream for which `is` holds.
    pub fn find_by(&self, is: impl Fn(&L) -> bool) -> Option<Arc<L>> {
        self.all.load().iter().find(|one| is(one)).cloned()
    }

    /// The call that probes an upstream for an operator, made by the front.
    pub fn probe<C: Call>(
        &self,
        upstream: UpstreamId,
        call: impl FnOnce(Arc<L>) -> C,
    ) -> Option<Arc<dyn Call>> {
        Some(Arc::new(call(self.find(upstream)?)))
    }

    /// The operator has reviewed the configuration: whatever address an upstream's name resolves to now is accepted.
    pub fn look_up_anew(&self) {
        for one in self.all.load().iter() {
            one.look_up_anew();
        }
    }
}

/// Finds entries under a new name among upstreams that are `gone`: one that leads where such an upstream led is the same,
/// and stays. Where several lead to the same place, they are taken in order.
fn find_renamed<'a, L: Listed>(
    entries: &[L::Entry],
    stay: &mut [Option<&'a Arc<L>>],
    gone: &mut Vec<&'a Arc<L>>,
) -> Vec<Renamed> {
    let mut renamed = Vec::new();
    let new = entries
        .iter()
        .zip(stay)
        .filter(|(_, stays)| stays.is_none());
    for (entry, stays) in new {
        let same = |one: &&Arc<L>| !L::leads_elsewhere(one.entry(), entry);
        if let Some(place) = gone.iter().position(same) {
            let one = gone.remove(place);
            *stays = Some(one);
            renamed.push(Renamed {
                upstream: one.upstream(),
                from: L::name(one.entry()).into(),
                to: L::name(entry).into(),
            });
        }
    }
    renamed
}
