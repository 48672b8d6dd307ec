//! The tracker's numbers for its engine.

use weir_engine::Rate;
use weir_engine::dispatch::policy::{ClassPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Policy, Quota, Windows};

use crate::config::Config;

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

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
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
    policy.set_capacity(config.forwarder_queue_size.get());
    policy.aging = config.aging;
    policy.crew.base = config.forwarder_workers.get();
    policy.crew.max = config.max_workers().get();
    policy.crew.grow_at = config.queue_scale_threshold_pct.value().into();
    policy.failure = FailurePolicy {
        threshold: config.forwarder_fail_threshold.get(),
        threshold_disables: true,
        throttled: Some(config.forwarder_suspend_seconds),
        ..policy.failure
    };
    policy.again_class = Some(RETRY);
    policy.attempts = u8::try_from(config.forwarder_retry_attempts.get()).unwrap_or(u8::MAX);
    policy.retry_base =
        std::time::Duration::from_millis(config.forwarder_retry_base_ms.get().into());
    policy
}

/// The tokens of first announces.
pub fn rate(config: &Config) -> Rate {
    Rate {
        per_second: config.rate_limit_initial_per_sec.get(),
        burst: config.rate_limit_initial_burst.get(),
    }
}

/// What one forwarder allows.
pub(crate) fn quota(config: &Config) -> Quota {
    Quota {
        gaps: [std::time::Duration::ZERO; MAX_CLASSES],
        in_flight: config.forwarder_calls.get(),
        query: Windows::default(),
        grab: Windows::default(),
    }
}
