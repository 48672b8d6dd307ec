//! Upstreams at a glance, for the overview: how many are open, which need attention, what was decided last.

use askama::Template;
use weir_engine::{OwnDecision, Record, Standing, dispatch::UpstreamId};

use super::{
    decisions::{FoundDecision, Itself, newest, tell_one},
    numbers::{counted, grouped},
    reason,
    sight::Sight,
    voice::Voice,
};
use crate::{App, pages::time::Shown};

/// Rows of each list.
const ROWS: usize = 10;

/// What the overview shows of upstreams.
pub(crate) struct Glance {
    /// How many are open and which one comes back next, with times. `None` if there are no upstreams.
    pub(crate) sentence: Option<String>,
    pub(crate) attention: Vec<Attention>,
    /// How many more need it.
    pub(crate) more: usize,
    pub(crate) decisions: Vec<Decided>,
}

/// An upstream that needs attention.
pub(crate) struct Attention {
    pub(crate) href: String,
    pub(crate) name: String,
    pub(crate) front: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) look: &'static str,
    /// HTML.
    pub(crate) chip: String,
    /// HTML.
    pub(crate) reason: String,
}

/// A row of the last decisions, on the page and live.
#[derive(Template)]
#[template(path = "parts/decided.html")]
pub(crate) struct Decided {
    /// Of its element.
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) at: Shown,
    pub(crate) front: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) name: String,
    /// What follows the name; HTML.
    pub(crate) rest: String,
}

impl Glance {
    pub(crate) fn look(app: &App) -> Self {
        let mut all = Sight::all(app);
        all.sort_by(|one, other| {
            one.rank()
                .cmp(&other.rank())
                .then(one.name().cmp(other.name()))
        });
        let attention = all.iter().filter(|sight| sight.needs_attention());
        let fronts: Vec<Itself<'_>> = Itself::all(app).collect();
        let (last, _) = newest(app, (&all, &fronts), None, ROWS);
        let decisions = last.iter().map(|(_, found)| match found {
            FoundDecision::About(index, decision) => {
                let sight = &all[*index];
                Decided::about((sight.voice(), sight.id()), decision)
            }
            FoundDecision::Own(index, decision) => Decided::own(&fronts[*index], decision),
        });
        Self {
            sentence: sentence(&all),
            more: attention.clone().count().saturating_sub(ROWS),
            decisions: decisions.collect(),
            attention: attention.take(ROWS).map(Attention::new).collect(),
        }
    }
}

impl Decided {
    pub(super) fn about((voice, id): (Voice<'_>, UpstreamId), decision: &Record) -> Self {
        let told = tell_one(voice, decision);
        let rest = told.sentence.strip_prefix(voice.name);
        let front = voice.front;
        Self {
            id: format!("d-{}-{}-{}", front.name, id.0, told.number),
            href: format!("{}#d-{}", voice.path(), told.number),
            at: voice.times.shown_exactly(told.at),
            front: front.name,
            icon: front.icon.symbol(),
            name: voice.name.to_owned(),
            rest: voice.times.html(rest.unwrap_or(&told.sentence)),
        }
    }

    pub(super) fn own(itself: &Itself<'_>, decision: &OwnDecision) -> Self {
        let front = itself.front;
        Self {
            id: format!("d-{}-{}", front.name, decision.number),
            href: format!("/upstreams?front={}", front.name),
            at: itself.times.shown_exactly(decision.at),
            front: front.name,
            icon: front.icon.symbol(),
            name: front.title.to_owned(),
            rest: itself.times.html(&format!(": {}", decision.sentence())),
        }
    }
}

impl Attention {
    fn new(sight: &Sight<'_>) -> Self {
        Self {
            href: sight.path(),
            name: sight.name().to_owned(),
            front: sight.front.name,
            icon: sight.front.icon.symbol(),
            look: sight.look(),
            chip: sight.times.html(&reason::chip(sight)),
            reason: sight.times.html(&reason::short(sight)),
        }
    }
}

/// `13 of 17 upstreams are open. Next one back: harbor at 14:32, in 6 min.`
fn sentence(all: &[Sight<'_>]) -> Option<String> {
    let open = match (Sight::count(all, Standing::Open), all.len()) {
        (_, 0) => return None,
        (1, 1) => "The only upstream is open.".to_owned(),
        (open, all) if open == all => format!("All {} upstreams are open.", grouped(all as u64)),
        (open, total) => {
            let are = if open == 1 { "is" } else { "are" };
            let (open, total) = (grouped(open as u64), grouped(total as u64));
            let [unasked, unanswered] = Sight::untried(all);
            let untried = [
                (
                    unasked,
                    "has not been tried yet.",
                    "have not been tried yet.",
                ),
                (
                    unanswered,
                    "has not answered yet.",
                    "have not answered yet.",
                ),
            ];
            let untried: String = untried
                .into_iter()
                .filter(|(count, ..)| *count > 0)
                .map(|(count, one, more)| format!(" {}", counted(count as u64, one, more)))
                .collect();
            format!("{open} of {total} upstreams {are} open.{untried}")
        }
    };
    let in_cooldown = all.iter().filter_map(|sight| Some((sight.until()?, sight)));
    let next = in_cooldown
        .min_by_key(|(until, _)| *until)
        .map(|(until, sight)| {
            let back = sight.times.until(until);
            sight
                .times
                .html(&format!(" Next one back: {} at {back}.", sight.name()))
        });
    Some(open + &next.unwrap_or_default())
}
