//! All upstreams in a few words each, for pages that count them and look closer at few.

use std::sync::Arc;

use weir_dispatch::{Availability, Budget, Moment, UpstreamId};

use crate::engine::Engine;
use crate::side::Standing;

/// One upstream in brief.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Which one.
    pub upstream: UpstreamId,
    /// Its name.
    pub name: Arc<str>,
    /// Its state.
    pub standing: Standing,
    /// When its state ends by itself.
    pub until: Option<Moment>,
    /// Whether it was ever called.
    pub called: bool,
    /// Whether it was called within a day and has answered nothing.
    pub silent: bool,
    /// Whether a used-up window keeps it from being called.
    pub used_up: bool,
    /// When the newest decision about it was made.
    pub decided: Option<Moment>,
}

impl Engine {
    /// Every upstream in brief, of one moment and in the order in which they were added. What it costs does not depend on
    /// how much each has done.
    pub fn briefs(&self) -> Vec<Brief> {
        let now = self.shared.timeline.now();
        let mut state = self.shared.state.lock();
        state.settle_all_calls();
        let mut briefs = Vec::with_capacity(state.sides.len());
        for index in 0..state.sides.len() {
            let upstream = UpstreamId(u32::try_from(index).expect("ids are u32"));
            let Some(availability) = state.dispatcher.state(now, upstream) else {
                continue;
            };
            let used_up = state.dispatcher.is_limited(upstream, Budget::Query) && {
                let status = state.dispatcher.upstream(now, upstream);
                let windows = status.map_or_else(Vec::new, |status| status.query);
                let mut windows = windows.iter();
                windows.any(|window| window.used >= window.limit && window.next > now)
            };
            let side = &state.sides[index];
            briefs.push(Brief {
                upstream,
                name: side.name.clone(),
                standing: availability.into(),
                until: match availability {
                    Availability::Cooldown { until } | Availability::Disabled { until } => {
                        Some(until)
                    }
                    Availability::Untried
                    | Availability::Open
                    | Availability::Probing
                    | Availability::Off => None,
                },
                called: side.last_call.is_some(),
                silent: side.series.is_silent(now),
                used_up,
                decided: side.records.newest().next().map(|record| record.at),
            });
        }
        briefs
    }
}
