//! Upstreams at a glance, for the overview: how many are open, which need attention, what was decided last.
//!
//! All of them are seen in brief; only those that are shown are looked at closely, however many there are.

use std::{cmp::Reverse, sync::Arc};

use askama::Template;
use weir_engine::{Brief, OwnDecision, Record, Standing, StateCounts, dispatch::UpstreamId};

use super::{
    Upstreams, act,
    decisions::{FoundDecision, Itself, newest, tell_one},
    own, reason,
    sight::Sight,
    times::Times,
    voice::Voice,
};
use crate::{App, contribution::Contributed, pages::time::Shown};

/// Rows of each list.
pub(crate) const ROWS: usize = 10;

/// What the overview shows of upstreams.
pub(crate) struct Glance {
    /// How many are open and which one comes back next, with times. `None` if there are no upstreams.
    pub(crate) sentence: Option<String>,
    pub(crate) attention: Vec<Attention>,
    /// How many more need it.
    pub(crate) more: usize,
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
    /// What can be done about it: where the form goes, and what the button says.
    pub(crate) action: Option<(String, &'static str)>,
}

/// A row of the last decisions, on the page and live.
#[derive(Template)]
#[template(path = "parts/decided.html")]
pub(crate) struct Decided {
    /// The element's id: a decision has its number from its upstream.
    pub(crate) id: String,
    href: String,
    at: Shown,
    front: &'static str,
    icon: &'static str,
    name: String,
    /// What follows the name; HTML.
    rest: String,
}

/// An upstream in brief, with its front.
struct BriefOf<'a> {
    front: &'a Contributed,
    upstreams: &'a Arc<dyn Upstreams>,
    brief: Brief,
}

impl<'a> BriefOf<'a> {
    fn all(app: &'a App) -> Vec<Self> {
        app.with_upstreams()
            .flat_map(|(front, upstreams)| {
                let briefs = upstreams.engine().briefs().into_iter();
                briefs.map(move |brief| Self {
                    front,
                    upstreams,
                    brief,
                })
            })
            .collect()
    }

    /// Its place among those that need attention; as [`Sight::rank`].
    fn rank(&self) -> Option<u8> {
        match self.brief.standing {
            Standing::Disabled => Some(0),
            Standing::Cooldown => Some(1),
            Standing::Probing => Some(2),
            Standing::Open | Standing::Untried if self.brief.silent => Some(3),
            Standing::Open if self.brief.used_up => Some(3),
            Standing::Open | Standing::Untried | Standing::Manual => None,
        }
    }

    fn sight(&self, app: &App) -> Option<Sight<'a>> {
        Sight::closely(app, self.front, self.upstreams, self.brief.upstream)
    }
}

impl Glance {
    pub(crate) fn look(app: &App) -> Self {
        let all = BriefOf::all(app);
        let mut attention: Vec<(u8, &BriefOf<'_>)> = all
            .iter()
            .filter_map(|one| Some((one.rank()?, one)))
            .collect();
        attention.sort_by(|(rank, one), (other_rank, other)| {
            rank.cmp(other_rank)
                .then(one.brief.name.cmp(&other.brief.name))
        });
        let shown = attention.iter().take(ROWS);
        let shown = shown.filter_map(|(_, one)| one.sight(app));
        Self {
            sentence: sentence(app, &all),
            more: attention.len().saturating_sub(ROWS),
            attention: shown.map(|sight| Attention::new(&sight)).collect(),
        }
    }
}

/// Whether there is an upstream that serves clients, and whether anything was decided about one.
pub(crate) fn present(app: &App) -> (bool, bool) {
    let all = BriefOf::all(app);
    let mut served = all.iter().filter(|one| one.front.card.is_some()).peekable();
    (
        served.peek().is_some(),
        served.any(|one| one.brief.decided.is_some()),
    )
}

/// The newest decisions of all fronts, newest first.
pub(crate) fn last_decisions(app: &App) -> Vec<Decided> {
    let mut all = BriefOf::all(app);
    // The newest ones are about those about whom something was decided last: no others need be looked at.
    all.sort_by_key(|one| Reverse(one.brief.decided));
    all.truncate(ROWS);
    let sights: Vec<Sight<'_>> = all.iter().filter_map(|one| one.sight(app)).collect();
    let fronts: Vec<Itself<'_>> = Itself::all(app).collect();
    let (last, _) = newest(app, (&sights, &fronts), None, ROWS);
    let decisions = last.iter().map(|(_, found)| match found {
        FoundDecision::About(index, decision) => {
            let sight = &sights[*index];
            Decided::about((sight.voice(), sight.id()), decision)
        }
        FoundDecision::Own(index, decision) => Decided::own(&fronts[*index], decision),
    });
    decisions.collect()
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
            href: format!("{}#d-{}", own::path(front.name, None), decision.number),
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
        let path = sight.path();
        let action = act::fitting(sight);
        Self {
            name: sight.name().to_owned(),
            front: sight.front.name,
            icon: sight.front.icon.symbol(),
            look: sight.look(),
            chip: sight.times.html(&reason::chip(sight)),
            reason: sight.times.html(&reason::short(sight)),
            action: action.map(|action| (format!("{path}/{}", action.name()), action.label())),
            href: path,
        }
    }
}

/// `13 of 17 upstreams are open. Next one back: harbor at 14:32, in 6 min.`
fn sentence(app: &App, all: &[BriefOf<'_>]) -> Option<String> {
    let counts = StateCounts::of(all.iter().map(|one| &one.brief));
    if counts.all == 0 {
        return None;
    }
    let open = counts.sentence("upstream", "upstreams");
    let next = all.iter().filter_map(|one| Some((one.brief.until?, one)));
    let next = next.min_by_key(|(until, _)| *until).map(|(until, one)| {
        let times = Times::new(one.upstreams.engine(), app.now(), app.shell().zone.clone());
        let (name, back) = (&one.brief.name, times.until(until));
        // One that is disabled is only probed then.
        let what = match one.brief.standing {
            Standing::Disabled => "Next probe",
            _ => "Next one back",
        };
        times.html(&format!(" {what}: {name} at {back}."))
    });
    Some(open + &next.unwrap_or_default())
}
