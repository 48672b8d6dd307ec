//! What is seen of all fronts, and the words for it. The pages' sentences, where pages have one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::Moment;
use weir_engine::{Standing, UpstreamCondition, Weather};
use weir_web::Lookout;

use crate::subject::{Subject, Whom};
use crate::watch::{Happening, Seen, Sightings, Turn};

/// A used-up quota that is free again sooner than this is what quotas are for.
const WORTH_TELLING: Duration = Duration::from_secs(60);

/// From where everything is seen.
pub(crate) trait Tower: Send + Sync + 'static {
    /// How everything is.
    fn look(&self, now: Moment) -> Sightings;

    /// Whether our own network is known to be down.
    fn is_network_down(&self) -> bool;

    /// What has happened, in a few words and in a sentence.
    fn tell(&self, happening: &Happening) -> (String, String);
}

/// The fronts of this process.
pub(crate) struct Fronts {
    pub(crate) lookout: Lookout,
    pub(crate) weather: Weather,
}

impl Tower for Fronts {
    fn look(&self, now: Moment) -> Sightings {
        let upstreams = self.lookout.upstreams();
        let mut names: HashMap<&str, Arc<str>> = HashMap::new();
        let mut all = Sightings::with_capacity(2 * upstreams.len() + 8);
        for (front, condition) in upstreams {
            let whom = Whom {
                front: names.entry(front).or_insert_with(|| front.into()).clone(),
                name: condition.name.clone(),
            };
            all.insert(Subject::Quota(whom.clone()), quota(&condition, now));
            all.insert(Subject::Upstream(whom), health(&condition));
        }
        for (front, overloaded) in self.lookout.fronts() {
            all.insert(Subject::Front(front.into()), seen(overloaded, now));
        }
        all.insert(Subject::Network, seen(self.weather.down_for(), now));
        all
    }

    fn is_network_down(&self) -> bool {
        self.weather.is_down()
    }

    fn tell(&self, happening: &Happening) -> (String, String) {
        let lookout = &self.lookout;
        // Names of upstreams are known within their fronts alone.
        let of_front = |front: &str, sentence: String| match lookout.title(front) {
            Some(title) => format!("{title}: {sentence}"),
            None => sentence,
        };
        let page = |whom: &Whom, otherwise: &str| {
            let sentence = lookout.upstream(&whom.front, &whom.name);
            let sentence = sentence.unwrap_or_else(|| format!("{otherwise}."));
            of_front(&whom.front, sentence)
        };
        match (&happening.subject, happening.turn) {
            (Subject::Upstream(whom), Turn::Began { .. }) => {
                let title = format!("{} is down", whom.name);
                let sentence = page(whom, &title);
                (title, sentence)
            }
            (Subject::Upstream(whom), Turn::Ended { since, until }) => {
                let sentence = lookout.back(&whom.name, since, until);
                (
                    format!("{} is back", whom.name),
                    of_front(&whom.front, sentence),
                )
            }
            (Subject::Quota(whom), _) => {
                let title = format!("{}: quota used up", whom.name);
                let sentence = page(whom, &title);
                (title, sentence)
            }
            (Subject::Front(front), _) => {
                let title = lookout.title(front).unwrap_or("A front");
                let title = format!("{title} is overloaded");
                let sentence = lookout.overload(front);
                let sentence = sentence.unwrap_or_else(|| format!("{title}."));
                (title, sentence)
            }
            (Subject::Network, Turn::Began { .. }) => {
                let title = "Our network is down".to_owned();
                let sentence = lookout.network().unwrap_or_else(|| format!("{title}."));
                (title, sentence)
            }
            (Subject::Network, Turn::Ended { since, until }) => {
                let sentence = lookout.network_back(since, until);
                ("Our network is back".to_owned(), sentence)
            }
        }
    }
}

fn seen(bad_for: Option<Duration>, now: Moment) -> Seen {
    bad_for.map_or(Seen::Fine, |time| Seen::Bad { since: now - time })
}

/// Whether an upstream can be called.
fn health(condition: &UpstreamCondition) -> Seen {
    let bad = Seen::Bad {
        since: condition.since,
    };
    match condition.standing {
        standing if standing.is_down() => bad,
        Standing::Open => Seen::Fine,
        // One that has never answered, and was asked, is down.
        Standing::Untried if condition.was_called => bad,
        _ => Seen::Unclear,
    }
}

fn quota(condition: &UpstreamCondition, now: Moment) -> Seen {
    match (condition.standing, condition.used_up) {
        (Standing::Open, Some(window)) if now.until(window.next) >= WORTH_TELLING => {
            Seen::Bad { since: now }
        }
        (Standing::Open, _) => Seen::Fine,
        _ => Seen::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::dispatch::{UpstreamId, Window, WindowUse};

    use super::*;

    fn condition(standing: Standing, was_called: bool, free_in: Option<u64>) -> UpstreamCondition {
        UpstreamCondition {
            upstream: UpstreamId(0),
            name: "harbor".into(),
            standing,
            since: Moment(5),
            was_called,
            used_up: free_in.map(|seconds| WindowUse {
                window: Window::HOUR,
                used: 9,
                limit: 9,
                learned: false,
                next: Moment(0) + Duration::from_secs(seconds),
            }),
        }
    }

    #[test]
    fn down_is_what_cannot_be_called_or_never_answered() {
        let bad = Seen::Bad { since: Moment(5) };
        for (standing, was_called, seen) in [
            (Standing::Open, true, Seen::Fine),
            (Standing::Cooldown, true, bad),
            (Standing::Probing, true, bad),
            (Standing::Disabled, true, bad),
            (Standing::Untried, true, bad),
            (Standing::Untried, false, Seen::Unclear),
            (Standing::Manual, true, Seen::Unclear),
        ] {
            assert_eq!(
                health(&condition(standing, was_called, None)),
                seen,
                "{standing:?}"
            );
        }
    }

    #[test]
    fn a_quota_that_is_free_again_within_a_minute_is_not_worth_telling() {
        let seen = |standing, free_in| quota(&condition(standing, false, free_in), Moment(0));
        assert_eq!(
            seen(Standing::Open, Some(60)),
            Seen::Bad { since: Moment(0) }
        );
        assert_eq!(seen(Standing::Open, Some(59)), Seen::Fine);
        assert_eq!(seen(Standing::Open, None), Seen::Fine);
        assert_eq!(seen(Standing::Cooldown, None), Seen::Unclear);
    }
}
