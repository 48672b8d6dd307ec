//! `/upstreams/{front}/{name}`: why is it not being asked? Or, if it is open, how is it doing?

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::Response,
};
use serde::Deserialize;
use weir_engine::{Record, Standing};

use super::{
    act,
    band::Band,
    chart::Chart,
    decisions::{DecisionGroup, tell},
    facts,
    limit::UpstreamLimit,
    list::{LimitMeter, meters},
    notice::Notice,
    numbers::{capital, grouped},
    reason,
    sight::Sight,
};
use crate::{
    App, Failure, Visitor,
    kit::{self, Pager},
    pages::time::Shown,
};

/// Decisions on a page.
const PAGE: usize = 25;

/// What the address holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct UpstreamQuery {
    /// Only decisions of one group.
    what: String,
    /// Only decisions before the one with this number.
    before: String,
    /// How far the chart looks back.
    span: String,
    refresh: String,
    did: String,
    whom: String,
    how: String,
}

#[derive(Template)]
#[template(path = "upstream.html")]
struct UpstreamPage<'a> {
    form_token: &'a str,
    name: &'a str,
    path: String,
    front: &'static str,
    icon: &'static str,
    kind: String,
    what: String,
    look: &'static str,
    chip: String,
    notice: Option<Notice>,
    probe: bool,
    clear: bool,
    off: bool,
    question: &'static str,
    why: String,
    further: Option<String>,
    band: Band,
    band_caption: String,
    facts: Vec<(String, String)>,
    ladder: Vec<facts::LadderStep>,
    error: Option<(Shown, String)>,
    meters: Vec<LimitMeter>,
    groups: Vec<ChoiceLink>,
    decisions: Vec<DecisionRow>,
    /// The sentence in place of an empty list.
    nothing: String,
    pager: Pager,
    chart: Chart,
    span_links: Vec<ChoiceLink>,
    refresh: bool,
    refresh_link: String,
    now: i64,
}

struct ChoiceLink {
    href: String,
    label: String,
    chosen: bool,
}

struct DecisionRow {
    number: u64,
    at: Shown,
    word: &'static str,
    look: &'static str,
    asker: String,
    sentence: String,
}

#[derive(Template)]
#[template(path = "upstream_disable.html")]
struct DisablePage<'a> {
    form_token: &'a str,
    name: &'a str,
    path: String,
    queued: String,
    given: &'a str,
    mistake: Option<&'a str>,
}

/// `GET /upstreams/{front}/{name}`.
pub(super) async fn show(
    State(app): State<App>,
    Path((front, name)): Path<(String, String)>,
    Query(asked): Query<UpstreamQuery>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    let page = UpstreamPage::new(&app, &sight, &asked, &visitor);
    let title = format!("{name} · Upstreams");
    let refresh = page.refresh;
    let mut response = visitor.show(&title, &page);
    if refresh {
        let headers = response.headers_mut();
        headers.insert(header::REFRESH, HeaderValue::from_static("10"));
    }
    Ok(response)
}

/// `GET /upstreams/{front}/{name}/disable`: asks for the reason.
pub(super) async fn confirm(
    State(app): State<App>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    Ok(ask(&sight, &visitor, "", None))
}

/// The page that asks for the reason.
pub(super) fn ask(
    sight: &Sight<'_>,
    visitor: &Visitor,
    given: &str,
    mistake: Option<&str>,
) -> Response {
    let name = sight.name();
    let page = DisablePage {
        form_token: &visitor.form_token,
        name,
        path: sight.path(),
        queued: queued(sight),
        given,
        mistake,
    };
    let title = format!("Switch off {name} · Upstreams");
    visitor.show(&title, &page)
}

/// What switching off would cancel.
fn queued(sight: &Sight<'_>) -> String {
    match sight.view.status.queued {
        0 => "No calls are queued for it.".to_owned(),
        1 => "1 queued call will be cancelled.".to_owned(),
        queued => format!("{} queued calls will be cancelled.", grouped(queued)),
    }
}

impl<'a> UpstreamPage<'a> {
    fn new(app: &App, sight: &'a Sight<'_>, asked: &UpstreamQuery, visitor: &'a Visitor) -> Self {
        let (times, standing) = (&sight.times, sight.standing());
        let (all, path) = (&sight.records, sight.path());
        let band = Band::of(sight);
        let chart = Chart::of(sight, &asked.span);
        let link = |changes: &[(&str, &str)]| asked.link(&path, changes);
        let group = DecisionGroup::read(&asked.what);
        let shown = asked.page(all, group);
        let older = shown.last().filter(|last| {
            let mut before = all.iter().filter(|one| one.number < last.number);
            before.any(|one| group.is_none_or(|group| group.holds(one)))
        });
        let refresh = asked.refresh == "10";
        let error = sight.view.last_error.as_ref();
        Self {
            form_token: &visitor.form_token,
            name: sight.name(),
            front: sight.front.name,
            icon: sight.front.icon.symbol(),
            kind: format!("{}s", capital(sight.upstreams.kind())),
            what: super::list::what(sight),
            look: sight.look(),
            chip: times.html(&reason::chip(sight)),
            notice: Notice::read(app, &asked.did, &asked.whom, &asked.how),
            probe: sight.upstreams.probe(sight.id()).is_some(),
            clear: act::can_be_cleared(sight),
            off: standing == Standing::Manual,
            question: if matches!(standing, Standing::Open | Standing::Untried)
                && sight.used_up().is_none()
            {
                "How is it doing?"
            } else {
                "Why is it not being asked?"
            },
            why: times.html(&reason::full(sight)),
            further: further(sight),
            band_caption: times.html(&band.caption),
            band,
            facts: facts::of(sight),
            ladder: facts::ladder(sight),
            error: error.map(|(when, words)| (times.shown_exactly(*when), words.to_string())),
            meters: meters(&UpstreamLimit::all(&sight.view)),
            groups: groups(all, group, asked, &path),
            decisions: rows(sight, &shown),
            nothing: nothing(app, sight, all.is_empty()),
            pager: Pager::newest_first(
                "decisions",
                (!asked.before.is_empty()).then(|| link(&[("before", "")])),
                older.map(|last| link(&[("before", &last.number.to_string())])),
            ),
            span_links: chart
                .spans
                .iter()
                .map(|(value, label, chosen)| ChoiceLink {
                    href: link(&[("span", value)]),
                    label: (*label).to_owned(),
                    chosen: *chosen,
                })
                .collect(),
            chart,
            refresh,
            refresh_link: link(&[("refresh", if refresh { "" } else { "10" })]),
            now: app.now().as_millisecond(),
            path,
        }
    }
}

impl UpstreamQuery {
    /// The decisions that are wanted, newest first.
    fn page<'a>(&self, all: &'a [Record], group: Option<DecisionGroup>) -> Vec<&'a Record> {
        let before = self.before.parse().unwrap_or(u64::MAX);
        all.iter()
            .filter(|decision| decision.number < before)
            .filter(|decision| group.is_none_or(|group| group.holds(decision)))
            .take(PAGE)
            .collect()
    }

    fn link(&self, path: &str, changes: &[(&str, &str)]) -> String {
        let kept = [
            ("what", self.what.as_str()),
            ("before", self.before.as_str()),
            ("span", self.span.as_str()),
            ("refresh", self.refresh.as_str()),
        ];
        kit::address(path, &kept, changes)
    }
}

/// What has happened since the state began, and what clearing a cooldown would mean.
fn further(sight: &Sight<'_>) -> Option<String> {
    let words = reason::meanwhile(sight)?;
    Some(match sight.standing() {
        Standing::Cooldown => format!(
            "{words} If you clear the cooldown now, the next call may fail again, and the upstream may ask for a longer pause."
        ),
        _ => words,
    })
}

fn nothing(app: &App, sight: &Sight<'_>, none_at_all: bool) -> String {
    if !none_at_all {
        return "No decision of this kind is recorded.".to_owned();
    }
    let age = app.now().duration_since(app.started());
    let age = std::time::Duration::try_from(age).unwrap_or_default();
    let started = sight.times.shown(sight.times.moment - age).text;
    format!("No calls since Weir started at {started}.")
}

fn groups(
    all: &[Record],
    chosen: Option<DecisionGroup>,
    asked: &UpstreamQuery,
    path: &str,
) -> Vec<ChoiceLink> {
    let link = |name: &str| asked.link(path, &[("what", name), ("before", "")]);
    let every = ChoiceLink {
        href: link(""),
        label: format!("All {}", grouped(all.len() as u64)),
        chosen: chosen.is_none(),
    };
    let groups = DecisionGroup::ALL.into_iter().map(|group| {
        let count = all.iter().filter(|one| group.holds(one)).count();
        ChoiceLink {
            href: link(group.name()),
            label: format!("{} {}", group.label(), grouped(count as u64)),
            chosen: chosen == Some(group),
        }
    });
    [every].into_iter().chain(groups).collect()
}

fn rows(sight: &Sight<'_>, shown: &[&Record]) -> Vec<DecisionRow> {
    let told = tell(sight, shown).into_iter();
    told.map(|told| DecisionRow {
        number: told.number,
        at: sight.times.shown_exactly(told.at),
        word: told.word,
        look: told.look,
        asker: match (told.asker, told.class) {
            (Some(asker), Some(class)) => format!("{asker}, {class}"),
            (Some(asker), None) => asker,
            (None, Some(class)) => class.to_owned(),
            (None, None) => String::new(),
        },
        sentence: sight.times.html(&told.sentence),
    })
    .collect()
}
