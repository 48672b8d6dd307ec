//! Connections kept open between requests.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Limits;
use super::line::Line;
use crate::{Family, Reach};

/// What two requests must have in common to share a connection. It is never printed, because the proxy's URL
/// contains its password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) secure: bool,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) proxy: Option<Box<str>>,
    pub(super) family: Family,
}

/// Idle connections, limited in number and time.
pub(super) struct Pool {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: HashMap<Key, Vec<Idle>>,
    /// Closes connections that have been idle for too long; exists only while there are any.
    sweeper: JoinSet<()>,
}

struct Idle {
    line: Line,
    since: Instant,
}

impl Pool {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { limits, state })
    }

    /// The most recently used connection that is still open and leads to an address this request may use: one
    /// opened for a configured upstream must not serve a link that merely has the same host name.
    pub(super) fn take(&self, key: &Key, reach: Reach<'_>) -> Option<Line> {
        let mut state = self.state.lock();
        let idle = state.idle.get_mut(key)?;
        let now = Instant::now();
        let mut found = None;
        let may = |idle: &Idle| idle.line.to.is_none_or(|to| reach.allows(to));
        while let Some(at) = idle.iter().rposition(may) {
            let mut last = idle.remove(at);
            if now < last.since + self.limits.idle_time && last.line.is_open() {
                found = Some(last.line);
                break;
            }
        }
        if idle.is_empty() {
            state.idle.remove(key);
        }
        found
    }

    /// Keeps a connection for the next request if it is open; if there is no room, an older one is closed.
    pub(super) fn put(self: &Arc<Self>, key: Key, mut line: Line) {
        let Limits {
            idle,
            idle_per_upstream,
            ..
        } = self.limits;
        if idle == 0 || idle_per_upstream == 0 || !line.is_open() {
            return;
        }
        let mut state = self.state.lock();
        let of_key = state.idle.entry(key).or_default();
        if of_key.len() >= idle_per_upstream {
            of_key.remove(0);
        }
        let since = Instant::now();
        of_key.push(Idle { line, since });
        if state.count() > idle {
            state.drop_oldest();
        }
        if state.sweeper.try_join_next().is_some() || state.sweeper.is_empty() {
            let pool = Arc::downgrade(self);
            state
                .sweeper
                .spawn(sweep(pool, since + self.limits.idle_time));
        }
    }

    /// Closes connections that have been idle for too long and returns when to look again.
    fn close_old(&self) -> Option<Instant> {
        let mut state = self.state.lock();
        let now = Instant::now();
        let time = self.limits.idle_time;
        state.idle.retain(|_, idle| {
            idle.retain(|idle| now < idle.since + time);
            !idle.is_empty()
        });
        let oldest = state.idle.values().flatten().map(|idle| idle.since).min();
        if oldest.is_none() {
            // The sweeper, which is the caller, is about to end. Forgetting it under the lock makes a connection that
            // arrives before it has ended start another.
            state.sweeper.detach_all();
        }
        oldest.map(|oldest| oldest + time)
    }

    pub(super) fn count(&self) -> usize {
        self.state.lock().count()
    }
}

impl State {
    fn count(&self) -> usize {
        self.idle.values().map(Vec::len).sum()
    }

    fn drop_oldest(&mut self) {
        let oldest = self
            .idle
            .iter()
            .filter_map(|(key, idle)| Some((idle.first()?.since, key)));
        let Some((_, key)) = oldest.min_by_key(|(since, _)| *since) else {
            return;
        };
        let key = key.clone();
        if let Some(idle) = self.idle.get_mut(&key) {
            idle.remove(0);
            if idle.is_empty() {
                self.idle.remove(&key);
            }
        }
    }
}

async fn sweep(pool: Weak<Pool>, mut next: Instant) {
    loop {
        sleep_until(next).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        match pool.close_old() {
            Some(then) => next = then,
            None => return,
        }
    }
}
