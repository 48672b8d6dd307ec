//! The news front's numbers for its engine.

use std::time::Duration;

use weir_engine::dispatch::policy::{ClassPolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Policy, Quota, Windows};

use crate::config::Config;
use crate::config::server::ServerEntry;

/// Somebody waits for an article or a thread.
pub const HIGH: Class = Class(0);
/// Somebody waits for a list.
pub const NORMAL: Class = Class(1);
/// Nobody waits: what is shown is brought up to date.
pub const LOW: Class = Class(2);

/// The classes by name, for sentences.
pub const CLASSES: [&str; 3] = ["article", "list", "refresh"];

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
    let mut policy = general;
    let class = ClassPolicy {
        max_wait: None,
        // Another server may have it.
        on_cooldown: OnCooldown::End,
        overflow: Overflow::Drop,
    };
    policy.classes = vec![class; CLASSES.len()];
    policy.set_capacity(config.queue_size.get());
    policy.aging = config.aging;
    let workers = workers(config);
    policy.crew.base = workers;
    policy.crew.max = workers;
    policy.failure.threshold = 1;
    policy.failure.threshold_disables = false;
    // The next server is asked instead.
    policy.attempts = 1;
    policy
}

/// One worker for each call that may be under way.
pub(crate) fn workers(config: &Config) -> u32 {
    let calls = config.servers.iter().map(|entry| calls(config, entry));
    calls.fold(0, u32::saturating_add).max(1)
}

/// Calls to one server at a time: as many commands as its connections take ahead of their answers.
fn calls(config: &Config, entry: &ServerEntry) -> u32 {
    let depth = config.article_depth.max(config.pipeline_depth);
    entry.connections.get().saturating_mul(depth.get())
}

/// What one server allows.
pub(crate) fn quota(config: &Config, entry: &ServerEntry) -> Quota {
    Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: calls(config, entry),
        query: Windows::default(),
        grab: Windows::default(),
    }
}
