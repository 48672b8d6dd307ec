//! Decisions about upstreams, in words.

use std::sync::Arc;

use weir_engine::{
    Got, OwnDecision, OwnKind, Record, Scene,
    dispatch::{DropReason, Moment, Wait, What},
    is_queued, sentence, slot_of, waits_until,
};

use super::{sight::Sight, times::Times, voice::Voice};
use crate::{App, contribution::Contributed};

pub(super) struct ToldDecision {
    pub(super) number: u64,
    pub(super) at: Moment,
    /// For the API: `skipped`.
    pub(super) kind: &'static str,
    /// For people: `Skipped`.
    pub(super) word: &'static str,
    /// The state whose colour confirms the word.
    pub(super) look: &'static str,
    pub(super) class: Option<&'static str>,
    pub(super) asker: Option<String>,
    pub(super) about: Option<String>,
    /// What held the upstream or had no room, for the API: `cooldown`.
    pub(super) reason: Option<&'static str>,
    /// The reason in words, where it comes from outside.
    pub(super) cause: Option<Arc<str>>,
    /// The time that the decision names.
    pub(super) until: Option<Moment>,
    /// What whoever asked got, where that was told.
    pub(super) got: Option<Got>,
    /// With marks for times.
    pub(super) sentence: String,
}

/// What a reader may choose to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionGroup {
    Skipped,
    Waited,
    Shared,
    Failed,
}

impl DecisionGroup {
    pub(super) const ALL: [Self; 4] = [Self::Skipped, Self::Waited, Self::Shared, Self::Failed];

    pub(super) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == text)
    }

    /// In addresses.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Waited => "waited",
            Self::Shared => "shared",
            Self::Failed => "failed",
        }
    }

    /// For people.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Skipped => "Skipped",
            Self::Waited => "Waited",
            Self::Shared => "Shared",
            Self::Failed => "Failed",
        }
    }

    pub(super) fn holds(self, record: &Record) -> bool {
        let failed = record.end.is_some_and(|end| end.kind.is_failure());
        match record.what {
            What::Started { .. } if self == Self::Failed => failed,
            What::Skipped(_) | What::Missed(_) | What::Dropped { .. } => self == Self::Skipped,
            What::Waits { .. } | What::PutOff { .. } => self == Self::Waited,
            What::Started { reason, .. } => self == Self::Waited && reason.is_some(),
            What::Shared { .. } | What::Kept { .. } | What::Duplicate => self == Self::Shared,
            What::CooldownBegan { .. } | What::Retried { .. } => self == Self::Failed,
            What::Healed
            | What::Raised { .. }
            | What::Cleared
            | What::Forgiven
            | What::SwitchedOff
            | What::SwitchedOn => false,
        }
    }
}

/// The place of a decision among all: when, about which front and upstream, and its number there. Many may be made
/// at the same moment.
pub(super) type DecisionPlace = (u64, (usize, u32), u64);

/// In place of an upstream: the front itself.
const ITSELF: u32 = u32::MAX;

pub(super) enum FoundDecision {
    /// About the upstream at a position of the sights.
    About(usize, Record),
    /// The front's own, at a position of the fronts; no upstream is involved.
    Own(usize, OwnDecision),
}

/// A front whose own decisions are shown.
pub(super) struct Itself<'a> {
    pub(super) front: &'a Contributed,
    pub(super) times: Times,
    /// Newest first.
    pub(super) decisions: Vec<OwnDecision>,
}

impl<'a> Itself<'a> {
    /// All fronts.
    pub(super) fn all(app: &'a App) -> impl Iterator<Item = Self> {
        app.with_upstreams().map(|(front, upstreams)| Self {
            front,
            times: Times::new(upstreams.engine(), app.now(), app.shell().zone.clone()),
            decisions: upstreams.engine().own_decisions(),
        })
    }
}

impl<'a> Itself<'a> {
    /// One front, whose decisions come from elsewhere.
    pub(super) fn without_decisions(front: &'a Contributed, times: Times) -> Self {
        Self {
            front,
            times,
            decisions: Vec::new(),
        }
    }
}

/// The newest decisions before a place, each with its place; and whether there are more. A burst is placed where it
/// began, so that pages do not change while it lasts.
pub(super) fn newest(
    app: &App,
    (sights, fronts): (&[Sight<'_>], &[Itself<'_>]),
    before: Option<DecisionPlace>,
    limit: usize,
) -> (Vec<(DecisionPlace, FoundDecision)>, bool) {
    let number = |name: &str| {
        let mut all = app.fronts().iter();
        all.position(|front| front.name == name).unwrap_or_default()
    };
    let is_wanted = |place: &DecisionPlace| before.is_none_or(|before| *place < before);
    let mut found = Vec::new();
    for (index, sight) in sights.iter().enumerate() {
        let whom = (number(sight.front.name), sight.id().0);
        let place = |record: &Record| (record.at.0, whom, record.number);
        let is_wanted = |record: &Record| is_wanted(&place(record));
        let records = sight.engine().records(sight.id(), is_wanted, limit + 1);
        let placed = records.into_iter();
        found.extend(placed.map(|record| (place(&record), FoundDecision::About(index, record))));
    }
    for (index, itself) in fronts.iter().enumerate() {
        let whom = (number(itself.front.name), ITSELF);
        let placed = itself.decisions.iter().map(|decision| {
            let place = (decision.at.0, whom, decision.number);
            (place, FoundDecision::Own(index, decision.clone()))
        });
        found.extend(placed.filter(|(place, _)| is_wanted(place)).take(limit + 1));
    }
    found.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
    let more = found.len() > limit;
    found.truncate(limit);
    (found, more)
}

/// Puts decisions about one upstream into words.
pub(super) fn tell(sight: &Sight<'_>, records: &[&Record]) -> Vec<ToldDecision> {
    sight.scene(|scene| {
        let records = records.iter();
        records
            .map(|record| ToldDecision::new(sight.voice(), record, scene))
            .collect()
    })
}

/// Puts a single decision into words.
pub(super) fn tell_one(voice: Voice<'_>, record: &Record) -> ToldDecision {
    voice.scene(|scene| ToldDecision::new(voice, record, scene))
}

impl ToldDecision {
    fn new(voice: Voice<'_>, decision: &Record, scene: &Scene<'_>) -> Self {
        let (kind, word, look) = names(decision);
        Self {
            number: decision.number,
            at: decision.at,
            kind,
            word,
            look,
            class: decision.class.map(|class| voice.class(class)),
            asker: voice.asker(decision.asker),
            about: decision.about.words(),
            reason: reason(&decision.what),
            cause: decision.cause.clone().filter(|cause| !cause.is_empty()),
            until: until(decision),
            got: decision.got,
            sentence: sentence(decision, scene),
        }
    }
}

/// What held the upstream, or had no room, by its name in the API.
fn reason(what: &What) -> Option<&'static str> {
    let held = match what {
        What::Started { reason, .. } => (*reason)?,
        What::Waits { reason, .. } => *reason,
        // Its call was made, and took too long.
        What::Missed(skip) if skip.wait.is_none() && skip.reason != Wait::Off => {
            return Some("slow");
        }
        What::Missed(skip) if is_queued(skip) => return Some("queued"),
        What::Skipped(skip) if skip.limit.is_some() && is_queued(skip) => return Some("queued"),
        What::Skipped(skip) | What::Missed(skip) => skip.reason,
        What::Dropped { reason, .. } | What::PutOff { reason, .. } => {
            return Some(match reason {
                DropReason::QueueFull => "queue_full",
                DropReason::Backlog => "backlog",
                DropReason::AgendaFull => "agenda_full",
                DropReason::Scheduled => "scheduled",
                DropReason::Gone => "gone",
            });
        }
        _ => return None,
    };
    Some(match held {
        Wait::Off => "off",
        Wait::Cooldown => "cooldown",
        Wait::Window => "quota",
        Wait::Gap => "spacing",
        Wait::Agreeing => "agreeing",
        Wait::Share => "share",
        Wait::Claimed => "claimed",
        Wait::Network => "our_network",
    })
}

/// Until when the upstream is not called, or when the next try is.
fn until(record: &Record) -> Option<Moment> {
    let until = match record.what {
        What::Waits {
            reason,
            until,
            full,
        } => waits_until(reason, full).then_some(until),
        What::Skipped(skip) | What::Missed(skip) => slot_of(&skip, record.at),
        What::CooldownBegan {
            cooldown, probe, ..
        } if cooldown.cause.disables() => Some(cooldown.until.max(probe)),
        What::CooldownBegan { cooldown, .. } => Some(cooldown.until),
        What::Retried { due } | What::PutOff { due, .. } => Some(due),
        _ => None,
    };
    // Of one that is off there is no time to tell.
    until.filter(|until| *until < Moment::NEVER)
}

/// For the API, for people, and the state that lends its colour.
fn names(record: &Record) -> (&'static str, &'static str, &'static str) {
    match record.what {
        What::Started { .. } if record.end.is_some_and(|end| end.kind.is_failure()) => {
            ("started", "Called", "disabled")
        }
        What::Started { .. } => ("started", "Called", "open"),
        What::Waits { .. } => ("waits", "Waits", "cooldown"),
        What::CooldownBegan { cooldown, .. } if cooldown.cause.disables() => {
            ("disabled", "Disabled", "disabled")
        }
        What::CooldownBegan { .. } => ("cooldown", "Cooldown", "cooldown"),
        What::Healed => ("healed", "Recovered", "open"),
        What::Skipped(_) | What::Missed(_) => ("skipped", "Skipped", "cooldown"),
        What::Shared { .. } => ("shared", "Shared", "probing"),
        What::Kept { .. } => ("cached", "From cache", "probing"),
        What::Duplicate => ("duplicate", "Duplicate", "probing"),
        What::Dropped { .. } => ("dropped", "Dropped", "disabled"),
        What::Raised { .. } => ("raised", "Raised", "probing"),
        What::Retried { .. } => ("retried", "Retry planned", "cooldown"),
        What::PutOff { .. } => ("put_off", "Put off", "cooldown"),
        What::Cleared | What::Forgiven => ("cleared", "Cleared", "manual"),
        What::SwitchedOff => ("switched_off", "Switched off", "manual"),
        What::SwitchedOn => ("switched_on", "Switched on", "manual"),
    }
}

/// The same of a front's own decision, whose name in the API is its kind's.
pub(super) fn own_names(kind: OwnKind) -> (&'static str, &'static str) {
    match kind {
        OwnKind::Refused => ("Refused", "disabled"),
        OwnKind::Dropped => ("Dropped", "disabled"),
        OwnKind::Throttled => ("Held back", "cooldown"),
        OwnKind::Deduplicated => ("Repeated", "probing"),
        OwnKind::OurNetwork => ("Our network", "manual"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_engine::dispatch::{FullWindow, Skip, Window};

    use super::*;

    const NOW: Moment = Moment(7);
    const LATER: Duration = Duration::from_secs(30);

    fn skip(reason: Wait, wait: Duration) -> Skip {
        Skip {
            reason,
            wait: Some(wait),
            limit: Some(Duration::from_secs(4)),
        }
    }

    /// For programs: why, and until when.
    fn told(what: What) -> (Option<&'static str>, Option<Moment>) {
        (reason(&what), until(&Record::new(1, NOW, what)))
    }

    fn words(what: What) -> String {
        let scene = Scene {
            upstream: "harbor",
            class: &|_| "search",
            asker: &|_| None,
            clock: &|_, _| "14:32".to_owned(),
        };
        sentence(&Record::new(1, NOW, what), &scene)
    }

    #[test]
    fn programs_are_told_what_the_sentence_says() {
        for (name, time) in [("queued", Duration::ZERO), ("spacing", LATER)] {
            let until = (!time.is_zero()).then_some(NOW + time);
            for what in [What::Skipped, What::Missed] {
                let what = what(skip(Wait::Gap, time));
                assert_eq!(told(what), (Some(name), until), "{what:?}");
                assert_eq!(words(what).contains("still queued"), name == "queued");
            }
        }
        // A cooldown that ends at once.
        let ended = Skip {
            limit: None,
            ..skip(Wait::Cooldown, Duration::ZERO)
        };
        assert_eq!(told(What::Skipped(ended)), (Some("cooldown"), None));
        assert!(words(What::Skipped(ended)).contains("cooling down"));
    }

    #[test]
    fn no_time_is_told_where_nobody_knows_it() {
        for (wait, name) in [
            (Wait::Agreeing, "agreeing"),
            (Wait::Share, "share"),
            (Wait::Claimed, "claimed"),
        ] {
            for time in [Duration::ZERO, LATER] {
                for what in [What::Skipped, What::Missed] {
                    let what = what(skip(wait, time));
                    assert_eq!(told(what), (Some(name), None), "{what:?}");
                    assert!(!words(what).contains("14:32"), "{}", words(what));
                }
            }
            let waits = |kept| {
                let full = FullWindow {
                    window: Window::HOUR,
                    used: 5,
                    limit: 100,
                    kept,
                };
                What::Waits {
                    reason: wait,
                    until: NOW + LATER,
                    full: (wait == Wait::Share).then_some(full),
                }
            };
            assert_eq!(told(waits(0)), (Some(name), None));
            let until = (wait == Wait::Share).then_some(NOW + LATER);
            assert_eq!(told(waits(5)), (Some(name), until), "it has a share");
            assert_eq!(words(waits(5)).contains("14:32"), until.is_some());
        }
    }
}
