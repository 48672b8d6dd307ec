//! The search front's numbers for its engine.

use std::time::Duration;

use weir_engine::dispatch::policy::{ClassPolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, Moment, Policy, Quota, Windows};

use crate::config::indexer::IndexerEntry;
use crate::config::{self, Config, Workers};

/// A person is waiting.
pub(crate) const INTERACTIVE: Class = Class(0);
/// Recent releases.
pub(crate) const RSS: Class = Class(1);
/// A program completes its library.
pub(crate) const COMPLETION: Class = Class(2);
/// Nobody waits.
pub(crate) const BACKGROUND: Class = Class(3);

/// The classes by name, for sentences.
pub(crate) const CLASSES: [&str; 4] = ["interactive", "RSS", "completion", "background"];

/// The word for a class.
pub(crate) fn class_name(class: Class) -> &'static str {
    CLASSES[usize::from(class.0).min(CLASSES.len() - 1)]
}

/// The class of a configured one.
pub(crate) fn class(class: config::DefaultClass) -> Class {
    match class {
        config::DefaultClass::Interactive => INTERACTIVE,
        config::DefaultClass::Rss => RSS,
        config::DefaultClass::Completion => COMPLETION,
        config::DefaultClass::Background => BACKGROUND,
    }
}

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
    let mut policy = general;
    let (spacing, max_wait) = (&config.spacing, &config.max_wait);
    policy.classes = vec![
        rules(spacing.interactive, max_wait.interactive),
        rules(spacing.rss, max_wait.rss),
        rules(spacing.completion, max_wait.completion),
        rules(spacing.background, max_wait.background),
    ];
    policy.set_capacity(config.queue_size.get());
    policy.aging = config.aging;
    let workers = workers(config);
    policy.crew.base = workers;
    policy.crew.max = workers;
    // From the first failure on: who is searched again a second later does not get better by it.
    policy.failure.threshold = 1;
    policy.failure.threshold_disables = false;
    policy.failure.throttled = config.throttled;
    // Somebody waits, and the next search asks again.
    policy.attempts = 1;
    policy
}

/// One worker for each indexer within bounds, or as many as are configured.
pub(crate) fn workers(config: &Config) -> u32 {
    match config.workers {
        Workers::Count(count) => count.get(),
        Workers::Auto => {
            let indexers = u32::try_from(config.indexers.len()).unwrap_or(u32::MAX);
            indexers.clamp(config.workers_min.get(), config.workers_max.get())
        }
    }
}

fn rules(share: f64, max_wait: Option<Duration>) -> ClassPolicy {
    ClassPolicy {
        gap_permille: permille(share),
        max_wait,
        // What has a max-wait is ended by it; the others wait for the end of the cooldown.
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    }
}

fn permille(share: f64) -> u32 {
    let permille = (share * 1000.0).round();
    if permille.is_finite() && permille > 0.0 {
        permille.min(1_000_000.0) as u32
    } else {
        0
    }
}

/// What one indexer allows. `now` places the hour at which its days begin.
pub(crate) fn quota(config: &Config, indexer: &IndexerEntry, now: Moment) -> Quota {
    let limit = |limit: Option<std::num::NonZeroU32>| limit.map(std::num::NonZeroU32::get);
    let day_reset = indexer.reset_hour.map(|hour| reset(hour, now));
    Quota {
        spacing: indexer
            .min_request_interval
            .unwrap_or(config.min_request_interval),
        in_flight: config.indexer_calls.get(),
        query: Windows {
            minute: limit(indexer.per_minute),
            hour: limit(indexer.per_hour),
            day: limit(indexer.per_day),
            day_reset,
        },
        grab: Windows {
            minute: None,
            hour: limit(indexer.grabs_per_hour),
            day: limit(indexer.grabs_per_day),
            day_reset,
        },
    }
}

/// The next moment at which it is this hour, UTC.
fn reset(hour: u32, now: Moment) -> Moment {
    const DAY: u64 = 24 * 60 * 60;
    let since = Moment(0).until(now).as_secs();
    let today = since - since % DAY + u64::from(hour) * 60 * 60;
    let next = if today > since { today } else { today + DAY };
    Moment(0) + Duration::from_secs(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_its_hour() {
        let at = |seconds: u64| Moment(0) + Duration::from_secs(seconds);
        let day = 20_000 * 86_400;
        assert_eq!(reset(3, at(day + 3600)), at(day + 3 * 3600));
        assert_eq!(reset(3, at(day + 3 * 3600)), at(day + 86_400 + 3 * 3600));
        assert_eq!(reset(0, at(day + 5)), at(day + 86_400));
    }

    #[test]
    fn shares_are_thousandths() {
        assert_eq!(permille(0.1), 100);
        assert_eq!(permille(1.0), 1000);
        assert_eq!(permille(f64::NAN), 0);
        assert_eq!(permille(-1.0), 0);
    }
}
