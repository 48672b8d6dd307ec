//! The notify front's numbers for its engine.

use std::time::Duration;

use weir_engine::dispatch::policy::{ClassPolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Policy, Quota, Windows};

use crate::config::Config;
use crate::rules::split;

/// A message.
pub(crate) const MESSAGE: Class = Class(0);

/// The classes by name, for sentences.
pub(crate) const CLASSES: [&str; 1] = ["message"];

/// Calls at the same time, to all hooks together.
pub(crate) const WORKERS: u32 = 4;

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
    let (start, _) = split(config);
    let mut policy = general;
    policy.classes = vec![ClassPolicy {
        max_wait: None,
        // A message is as good after the cooldown, and says by then all that has happened.
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    }];
    policy.set_capacity(start.queue_size);
    policy.crew.base = WORKERS;
    policy.crew.max = WORKERS;
    policy.failure.threshold = 1;
    policy.failure.threshold_disables = false;
    // The front submits the message again, with what has happened since.
    policy.attempts = 1;
    policy
}

/// What a hook allows: one message at a time, and not too often.
pub(crate) fn quota(interval: Duration) -> Quota {
    Quota {
        gaps: [interval; MAX_CLASSES],
        in_flight: 1,
        query: Windows::default(),
        grab: Windows::default(),
    }
}
