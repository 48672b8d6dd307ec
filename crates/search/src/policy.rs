//! The search front's numbers for its engine.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_engine::dispatch::policy::{ClassPolicy, OnCooldown, Overflow};
use weir_engine::dispatch::{Class, MAX_CLASSES, Moment, Policy, Quota, Window, Windows};

use crate::config::indexer::IndexerEntry;
use crate::config::limit::WindowLimit;
use crate::config::{self, Config};
use crate::rules::{IndexerLimits, split, split_entry};

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

/// What the engine is built with, once.
pub(crate) struct EngineRules {
    pub(crate) max_waits: [Option<Duration>; CLASSES.len()],
    pub(crate) queue_size: u32,
    pub(crate) aging: Duration,
    pub(crate) throttled: Option<Duration>,
}

/// Who the indexers are, and how often they are asked where their entries do not say it; a reload replaces it.
pub(crate) struct IndexerRules {
    pub(crate) entries: Vec<IndexerEntry>,
    /// Calls to one of them at the same time.
    pub(crate) calls: u32,
    pub(crate) interval: Option<Duration>,
    /// The time that each class keeps, and its share of an interval.
    pub(crate) spacing: [Duration; MAX_CLASSES],
    pub(crate) shares: [f64; MAX_CLASSES],
}

/// The front's policy; `general` has what holds for all fronts.
pub fn policy(general: Policy, config: &Config) -> Policy {
    let (start, _, searches) = split(config);
    let mut policy = general;
    policy.classes = start.engine.max_waits.map(rules).into();
    policy.set_capacity(start.engine.queue_size);
    policy.aging = start.engine.aging;
    policy.crew.base = searches.workers;
    policy.crew.max = searches.workers;
    // From the first failure on: who is searched again a second later does not get better by it.
    policy.failure.threshold = 1;
    policy.failure.threshold_disables = false;
    policy.failure.throttled = start.engine.throttled;
    // Somebody waits, and the next search asks again.
    policy.attempts = 1;
    policy
}

fn rules(max_wait: Option<Duration>) -> ClassPolicy {
    ClassPolicy {
        max_wait,
        // What has a max-wait is ended by it; the others wait for the end of the cooldown.
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    }
}

/// So much of an interval.
fn share(interval: Duration, share: f64) -> Duration {
    Duration::try_from_secs_f64(interval.as_secs_f64() * share).unwrap_or_default()
}

/// The time that each class keeps at an indexer: of an interval its share, else what is configured for it.
fn gaps(rules: &IndexerRules, own: Option<Duration>) -> [Duration; MAX_CLASSES] {
    match own.or(rules.interval) {
        Some(interval) => rules.shares.map(|part| share(interval, part)),
        None => rules.spacing,
    }
}

/// What one indexer allows. `now` places the hour at which its days begin.
pub(crate) fn quota(rules: &IndexerRules, indexer: &IndexerEntry, now: Moment) -> Quota {
    let IndexerLimits {
        interval,
        per_minute,
        per_hour,
        per_day,
        grabs_per_hour,
        grabs_per_day,
        queries,
        grabs,
        reset_hour,
    } = split_entry(indexer).limits;
    let windows = |named: &[(Window, Option<NonZeroU32>)], limits: &[WindowLimit]| {
        let named = named.iter();
        let named = named.filter_map(|&(window, limit)| Some((window, limit?.get())));
        let limits = limits.iter();
        let limits = limits.map(|limit| (limit.window, limit.calls.get()));
        let windows: Windows = named.chain(limits).collect();
        match reset_hour {
            Some(hour) => windows.resetting(reset(hour, now)),
            None => windows,
        }
    };
    let query = [
        (Window::MINUTE, per_minute),
        (Window::HOUR, per_hour),
        (Window::DAY, per_day),
    ];
    let grab = [(Window::HOUR, grabs_per_hour), (Window::DAY, grabs_per_day)];
    Quota {
        gaps: gaps(rules, interval),
        in_flight: rules.calls,
        query: windows(&query, &queries),
        grab: windows(&grab, &grabs),
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
    fn classes_keep_their_own_times_unless_an_interval_is_set() {
        let url = weir_config::SecretUrl::parse("http://indexer.example/api").expect("a URL");
        let seconds = |interval: Option<u64>, own: Option<u64>| {
            let config = Config {
                min_request_interval: interval.map(Duration::from_secs),
                ..Config::default()
            };
            let indexer = IndexerEntry {
                min_request_interval: own.map(Duration::from_secs),
                ..IndexerEntry::new("one", url.clone())
            };
            let quota = quota(&split(&config).1, &indexer, Moment(0));
            quota.gaps.map(|gap| gap.as_secs_f64())
        };
        assert_eq!(seconds(None, None), [1.0, 2.0, 2.0, 25.0]);
        assert_eq!(seconds(Some(60), None), [6.0, 30.0, 42.0, 60.0]);
        assert_eq!(seconds(Some(60), Some(10)), [1.0, 5.0, 7.0, 10.0]);
        assert_eq!(seconds(None, Some(2)), [0.2, 1.0, 1.4, 2.0]);
        assert_eq!(seconds(None, Some(0)), [0.0; 4]);
    }

    #[test]
    fn an_odd_share_is_none() {
        let of_a_minute = |part| share(Duration::from_secs(60), part);
        assert_eq!(of_a_minute(0.1), Duration::from_secs(6));
        assert_eq!(of_a_minute(f64::NAN), Duration::ZERO);
        assert_eq!(of_a_minute(-1.0), Duration::ZERO);
    }
}
