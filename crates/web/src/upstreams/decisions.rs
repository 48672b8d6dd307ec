//! Decisions about upstreams, in words.

use weir_engine::{
    dispatch::{Decision, Moment, What},
    sentence,
};

use super::sight::Sight;
use crate::App;

/// A decision as it is shown.
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) at: Moment,
    /// `skipped`, as in the API.
    pub(super) kind: &'static str,
    /// `Skipped`.
    pub(super) word: &'static str,
    /// The state whose colour confirms the word.
    pub(super) look: &'static str,
    pub(super) class: Option<&'static str>,
    pub(super) asker: Option<String>,
    /// With marks.
    pub(super) sentence: String,
}

/// What a reader may choose to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Skipped,
    Waited,
    Shared,
    Failed,
}

impl Group {
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

    pub(super) fn holds(self, decision: &Decision) -> bool {
        match decision.what {
            What::Skipped(_) | What::Dropped(_) => self == Self::Skipped,
            What::Waits { .. } => self == Self::Waited,
            What::Started { reason, .. } => self == Self::Waited && reason.is_some(),
            What::Shared { .. } | What::Duplicate => self == Self::Shared,
            What::Rested { .. } | What::Retried { .. } => self == Self::Failed,
            What::Healed
            | What::Raised { .. }
            | What::Cleared
            | What::SwitchedOff
            | What::SwitchedOn => false,
        }
    }
}

/// The place of a decision among all: when, about whom (front and upstream), and its number there. Many may be made
/// at the same moment.
pub(super) type Place = (u64, (usize, u32), u64);

/// The newest decisions before a place, each with its place and the position of its upstream in `sights`; and whether
/// there are more.
pub(super) fn newest(
    app: &App,
    sights: &[Sight<'_>],
    before: Option<Place>,
    limit: usize,
) -> (Vec<(Place, usize, Decision)>, bool) {
    let fronts: Vec<&str> = app.fronts().iter().map(|front| front.name).collect();
    let mut found = Vec::new();
    for (index, sight) in sights.iter().enumerate() {
        let front = fronts.iter().position(|front| *front == sight.front.name);
        let whom = (front.unwrap_or_default(), sight.id().0);
        let decisions = sight.decisions().into_iter();
        let placed =
            decisions.map(|decision| ((decision.at.0, whom, decision.number), index, decision));
        let wanted = placed.filter(|(place, _, _)| before.is_none_or(|before| *place < before));
        found.extend(wanted.take(limit + 1));
    }
    found.sort_unstable_by_key(|(place, _, _)| std::cmp::Reverse(*place));
    let more = found.len() > limit;
    found.truncate(limit);
    (found, more)
}

/// Puts decisions about one upstream into words.
pub(super) fn tell(sight: &Sight<'_>, decisions: &[Decision]) -> Vec<Told> {
    sight.scene(decisions, |scene| {
        decisions
            .iter()
            .map(|decision| {
                let (kind, word, look) = names(decision);
                Told {
                    number: decision.number,
                    at: decision.at,
                    kind,
                    word,
                    look,
                    class: decision.class.map(|class| sight.class(class)),
                    asker: sight.asker(decision.asker),
                    sentence: sentence(decision, scene),
                }
            })
            .collect()
    })
}

/// In the API, for people, and the state that lends its colour.
fn names(decision: &Decision) -> (&'static str, &'static str, &'static str) {
    match decision.what {
        What::Started { .. } => ("started", "Started", "open"),
        What::Waits { .. } => ("waits", "Waits", "cooldown"),
        What::Rested { rest, .. } if rest.cause.disables() => ("disabled", "Disabled", "disabled"),
        What::Rested { .. } => ("cooldown", "Cooldown", "cooldown"),
        What::Healed => ("healed", "Healed", "open"),
        What::Skipped(_) => ("skipped", "Skipped", "cooldown"),
        What::Shared { .. } => ("shared", "Shared", "probing"),
        What::Duplicate => ("duplicate", "Duplicate", "probing"),
        What::Dropped(_) => ("dropped", "Dropped", "disabled"),
        What::Raised { .. } => ("raised", "Raised", "probing"),
        What::Retried { .. } => ("retried", "Retried", "cooldown"),
        What::Cleared => ("cleared", "Cleared", "manual"),
        What::SwitchedOff => ("switched_off", "Switched off", "manual"),
        What::SwitchedOn => ("switched_on", "Switched on", "manual"),
    }
}
