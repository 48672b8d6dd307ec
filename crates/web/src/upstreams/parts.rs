//! What changes on the page of one upstream while somebody looks: each part is rendered here, for the page and for
//! whoever watches it. No part holds anything of one visitor, such as the token of a form.

use askama::Template;
use weir_engine::{PastError, Standing};

use super::{
    act,
    band::Band,
    facts,
    limit::UpstreamLimit,
    numbers::{counted, grouped},
    reason,
    row::{LimitMeter, meters},
    sight::Sight,
    times::{exactly, left_of},
};
use crate::{kit, pages::time::Shown};

/// Scheduled calls that are listed.
pub(super) const NEXT: usize = 5;

/// The parts, as HTML.
pub(super) struct UpstreamParts {
    pub(super) chip: String,
    pub(super) actions: String,
    pub(super) answer: String,
    pub(super) band: String,
    pub(super) next: String,
    pub(super) errors: String,
    pub(super) quota: String,
    pub(super) facts: String,
    pub(super) ladder: String,
}

#[derive(Template)]
#[template(path = "upstreams/one_chip.html")]
struct ChipPart {
    look: &'static str,
    chip: String,
}

/// The buttons alone: the form around them has the visitor's token.
#[derive(Template)]
#[template(path = "upstreams/one_actions.html")]
struct ActionsPart {
    path: String,
    probe: bool,
    clear: bool,
    off: bool,
    edit: bool,
}

#[derive(Template)]
#[template(path = "upstreams/one_answer.html")]
struct AnswerPart {
    look: &'static str,
    question: &'static str,
    why: String,
    further: Option<String>,
}

#[derive(Template)]
#[template(path = "upstreams/one_band.html")]
struct BandPart {
    caption: String,
    band: Band,
}

#[derive(Template)]
#[template(path = "upstreams/one_next.html")]
struct NextPart {
    /// What waits already, and when it may go.
    queued: String,
    calls: Vec<NextCall>,
    /// How many are scheduled, if not all are listed.
    more: Option<String>,
}

struct NextCall {
    /// The time, to the second and how long until then; HTML.
    when: String,
    what: String,
}

#[derive(Template)]
#[template(path = "upstreams/one_errors.html")]
struct ErrorsPart {
    errors: Vec<ErrorLine>,
}

struct ErrorLine {
    /// `×12`, and when it first came.
    run: Option<(String, Shown)>,
    last: Shown,
    words: String,
}

#[derive(Template)]
#[template(path = "upstreams/one_quota.html")]
struct QuotaPart {
    meters: Vec<LimitMeter>,
}

#[derive(Template)]
#[template(path = "upstreams/one_facts.html")]
struct FactsPart {
    facts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "upstreams/one_ladder.html")]
struct LadderPart {
    says: String,
    ladder: Vec<facts::LadderStep>,
}

impl UpstreamParts {
    pub(super) fn of(sight: &Sight<'_>) -> Self {
        let (times, standing) = (&sight.times, sight.standing());
        let band = Band::of(sight);
        Self {
            chip: kit::written(&ChipPart {
                look: sight.look(),
                chip: times.html(&reason::chip(sight)),
            }),
            actions: kit::written(&ActionsPart {
                path: sight.path(),
                probe: sight.upstreams.probe(sight.id()).is_some(),
                clear: act::can_be_cleared(sight),
                off: standing == Standing::Manual,
                edit: sight.upstreams.has_form(),
            }),
            answer: kit::written(&AnswerPart {
                look: sight.look(),
                question: question(sight),
                why: times.html(&reason::full(sight)),
                further: further(sight),
            }),
            band: kit::written(&BandPart {
                caption: times.html(&band.caption),
                band,
            }),
            next: kit::written(&NextPart::of(sight)),
            errors: kit::written(&ErrorsPart {
                errors: sight
                    .view
                    .errors
                    .iter()
                    .map(|error| ErrorLine::new(sight, error))
                    .collect(),
            }),
            quota: kit::written(&QuotaPart {
                meters: meters(&UpstreamLimit::all(&sight.view), times),
            }),
            facts: kit::written(&FactsPart {
                facts: facts::of(sight),
            }),
            ladder: kit::written(&LadderPart {
                says: facts::ladder_in_words(sight),
                ladder: facts::ladder(sight),
            }),
        }
    }

    /// Each with the id of its element.
    pub(super) fn list(self) -> Vec<(String, String)> {
        let parts = [
            ("up-chip", self.chip),
            ("up-actions", self.actions),
            ("up-answer", self.answer),
            ("up-band", self.band),
            ("up-next", self.next),
            ("up-errors", self.errors),
            ("up-quota", self.quota),
            ("up-facts", self.facts),
            ("up-ladder", self.ladder),
        ];
        parts.map(|(id, html)| (id.to_owned(), html)).into()
    }
}

fn question(sight: &Sight<'_>) -> &'static str {
    let called = matches!(sight.standing(), Standing::Open | Standing::Untried);
    match called && sight.used_up().is_none() {
        true => "How is it doing?",
        false => "Why is it not being asked?",
    }
}

/// What has happened since the state began, and what clearing a cooldown would mean.
fn further(sight: &Sight<'_>) -> Option<String> {
    let meanwhile = reason::meanwhile(sight);
    let clearing = matches!(sight.standing(), Standing::Cooldown).then(|| {
        "If you clear the cooldown now, the next call may fail again, and the upstream may ask for a longer pause.".to_owned()
    });
    let words: Vec<String> = meanwhile.into_iter().chain(clearing).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl NextPart {
    fn of(sight: &Sight<'_>) -> Self {
        let (count, scheduled) = sight.engine().scheduled(sight.id(), NEXT);
        let mut calls: Vec<(_, String)> = scheduled
            .into_iter()
            .map(|call| {
                let class = sight.voice().class(call.class);
                let attempt = match call.attempt {
                    1 => String::new(),
                    attempt => format!(", attempt {attempt}"),
                };
                let about = call.about.words();
                let about = about.map_or_else(String::new, |about| format!(" ({about})"));
                (call.due, format!("{class}{attempt}{about}"))
            })
            .collect();
        let own = "Weir\u{2019}s own test, unless a request tests it before";
        // Later than some that are not listed, it would be in the wrong place.
        let listed =
            |probe| calls.len() == count || calls.last().is_some_and(|last| probe < last.0);
        let probe = sight.next_probe().filter(|probe| listed(*probe));
        calls.extend(probe.map(|probe| (probe, own.to_owned())));
        calls.sort_by_key(|(due, _)| *due);
        let when = |due| {
            let left = sight.times.moment.until(due);
            let soon = !left.is_zero() && left < std::time::Duration::from_secs(3600);
            sight.times.html(&match soon {
                true => format!("{}, {}", exactly(due), left_of(due)),
                false => exactly(due),
            })
        };
        Self {
            queued: queued(sight),
            more: (count > NEXT).then(|| format!("the next {NEXT} of {}", grouped(count as u64))),
            calls: calls
                .into_iter()
                .map(|(due, what)| NextCall {
                    when: when(due),
                    what,
                })
                .collect(),
        }
    }
}

/// What is queued for it; HTML.
fn queued(sight: &Sight<'_>) -> String {
    let (queued, wait) = (sight.view.status.queued, sight.view.next_call);
    if queued == 0 {
        return String::new();
    }
    let waits = counted(queued, "call is queued", "calls are queued");
    let next = match sight.standing() {
        Standing::Manual => "none is made while it is off".to_owned(),
        _ if wait.is_zero() => "the next one may be made now".to_owned(),
        _ => format!(
            "the next one may be made at {}",
            exactly(sight.times.moment + wait)
        ),
    };
    sight.times.html(&format!("{waits}; {next}."))
}

impl ErrorLine {
    fn new(sight: &Sight<'_>, error: &PastError) -> Self {
        let times = &sight.times;
        Self {
            run: (error.count > 1)
                .then(|| (grouped(error.count), times.shown_exactly(error.first))),
            last: times.shown_exactly(error.last),
            words: error.words.to_string(),
        }
    }
}
