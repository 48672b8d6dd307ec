//! The news front's numbers for its engine.

use std::time::Duration;

use weir_engine::dispatch::policy::{ClassPolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Policy, Quota, Windows};

use crate::config::Config;
use crate::config::server::ServerEntry;
use crate::rules::{FederationRules, LinkRules, split};

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
    let (start, servers, _) = split(config);
    let mut policy = general;
    let class = ClassPolicy {
        max_wait: None,
        // Another server may have it.
        on_cooldown: OnCooldown::End,
        overflow: Overflow::Drop,
    };
    policy.classes = vec![class; CLASSES.len()];
    policy.set_capacity(start.queue_size);
    policy.aging = start.aging;
    let workers = workers(&servers);
    policy.crew.base = workers;
    policy.crew.max = workers;
    policy.failure.threshold = 1;
    policy.failure.threshold_disables = false;
    // The next server is asked instead.
    policy.attempts = 1;
    policy
}

/// One worker for each call that may be under way.
pub(crate) fn workers(rules: &FederationRules) -> u32 {
    let calls = rules.entries.iter();
    let calls = calls.map(|entry| calls_at_once(&rules.link, entry));
    calls.fold(0, u32::saturating_add).max(1)
}

/// Calls to one server at a time: as many commands as its connections take ahead of their answers.
fn calls_at_once(link: &LinkRules, entry: &ServerEntry) -> u32 {
    let depth = link.article_depth.max(link.pipeline_depth);
    entry.connections.get().saturating_mul(depth)
}

/// What one server allows.
pub(crate) fn quota(link: &LinkRules, entry: &ServerEntry) -> Quota {
    Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: calls_at_once(link, entry),
        query: Windows::default(),
        grab: Windows::default(),
    }
}
