//! How all upstreams of a front are, in one look under one lock: for whoever waits for changes and therefore looks often.
//!
//! [`Engine::upstream`] tells more of one, and costs as much as a page about it.

use std::sync::Arc;

use weir_dispatch::{Moment, UpstreamId, UpstreamStatus, WindowUse};

use crate::engine::Engine;
use crate::side::Standing;

/// One upstream, without its past and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamCondition {
    /// Which one.
    pub upstream: UpstreamId,
    /// Its name.
    pub name: Arc<str>,
    /// Its state.
    pub standing: Standing,
    /// Since when it has not been called as usual: over failed probes, and over a restart. Of one that is called, since
    /// when it has been in its state.
    pub since: Moment,
    /// Whether it was ever called.
    pub was_called: bool,
    /// The used-up window that keeps it from being called although it is open.
    pub used_up: Option<WindowUse>,
}

/// The used-up window that keeps an otherwise open upstream from being called: the one that opens last.
pub fn used_up(status: &UpstreamStatus, now: Moment) -> Option<WindowUse> {
    let windows = status.query.iter();
    windows
        .filter(|window| window.used >= window.limit && window.next > now)
        .max_by_key(|window| window.next)
        .copied()
        .filter(|_| Standing::from(status.state) == Standing::Open)
}

impl Engine {
    /// All upstreams, in the order in which they were added.
    pub fn conditions(&self) -> Vec<UpstreamCondition> {
        let now = self.shared.timeline.now();
        let mut state = self.shared.state.lock();
        let state = &mut *state;
        let there = (0..).map(UpstreamId).zip(&state.sides);
        let there = there.filter(|(_, side)| !side.gone);
        there
            .filter_map(|(upstream, side)| {
                let status = state.dispatcher.upstream(now, upstream)?;
                let standing = Standing::from(status.state);
                let trouble = side.trouble.as_ref().filter(|_| standing.is_down());
                Some(UpstreamCondition {
                    upstream,
                    name: side.name.clone(),
                    standing,
                    since: trouble.map_or_else(|| side.since(&status), |trouble| trouble.since),
                    was_called: side.new.last_call.is_some(),
                    used_up: used_up(&status, now),
                })
            })
            .collect()
    }
}
