//! The tracker's numbers for its engine.

use std::time::Duration;

use weir_engine::Rate;
use weir_engine::dispatch::policy::{ClassPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Policy, Quota, Windows};

use crate::config::Config;
use crate::rules::split;

/// `stopped` and `completed`.
pub(crate) const EVENT: Class = Class(0);
/// A tracker hears of an info hash for the first time.
pub(crate) const INITIAL: Class = Class(1);
/// It hears of it again.
pub(crate) const REANNOUNCE: Class = Class(2);
/// It is asked again after it gave no answer.
pub(crate) const RETRY: Class = Class(3);

/// The classes by name, for sentences.
pub(crate) const CLASSES: [&str; 4] = ["event", "initial", "re-announce", "retry"];

/// What the engine is built with, once.
pub(crate) struct EngineRules {
    pub(crate) queue_size: u32,
    pub(crate) aging: Duration,
    /// Percent of the queue at which workers are added.
    pub(crate) grow_at: u32,
    pub(crate) fail_threshold: u32,
    pub(crate) throttled: Duration,
    pub(crate) attempts: u8,
    pub(crate) retry_base: Duration,
    pub(crate) first_announces: Rate,
}

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
    let (start, reload) = split(config);
    let (engine, forwarders) = (start.engine, reload.forwarders);
    let class = |overflow| ClassPolicy {
        max_wait: None,
        on_cooldown: OnCooldown::End,
        overflow,
    };
    let mut policy = general;
    policy.classes = vec![
        class(Overflow::Agenda),
        class(Overflow::Drop),
        class(Overflow::Drop),
        class(Overflow::Drop),
    ];
    policy.set_capacity(engine.queue_size);
    policy.aging = engine.aging;
    policy.crew.base = forwarders.workers;
    policy.crew.max = forwarders.max_workers;
    policy.crew.grow_at = engine.grow_at;
    policy.failure = FailurePolicy {
        threshold: engine.fail_threshold,
        threshold_disables: true,
        throttled: Some(engine.throttled),
        ..policy.failure
    };
    policy.again_class = Some(RETRY);
    policy.attempts = engine.attempts;
    policy.retry_base = engine.retry_base;
    policy
}

/// The tokens of first announces.
pub fn rate(config: &Config) -> Rate {
    split(config).0.engine.first_announces
}

/// What one forwarder allows.
pub(crate) fn quota(calls: u32) -> Quota {
    Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: calls,
        query: Windows::default(),
        grab: Windows::default(),
    }
}
