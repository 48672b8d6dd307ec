//! `/upstreams/{front}/{name}`: why is it not being asked? Or, if it is open, how is it doing?

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::Response,
};
use serde::Deserialize;
use weir_engine::Record;

use super::{
    chart::UpstreamCharts,
    decisions::DecisionGroup,
    notice::Notice,
    numbers::{capital, grouped},
    parts::UpstreamParts,
    runs::{self, DecisionRow},
    sight::Sight,
};
use crate::{
    App, Failure, Visitor,
    kit::{self, Pager},
    live::Topic,
};

/// Rows of decisions on a page.
const PAGE: usize = 25;

/// What the address holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct UpstreamQuery {
    /// Only decisions of one group.
    what: String,
    /// Only decisions before the one with this number.
    before: String,
    /// `1` lists equal decisions one by one.
    each: String,
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
    /// What brings its parts; decisions only where the newest are.
    topics: Vec<Topic>,
    name: &'a str,
    path: String,
    front: &'static str,
    icon: &'static str,
    kind: String,
    what: String,
    notice: Option<Notice>,
    parts: UpstreamParts,
    groups: Vec<ChoiceLink>,
    decisions: Vec<DecisionRow>,
    /// Where equal ones are one row, if they are not here.
    folded: Option<String>,
    /// The sentence in place of an empty list.
    nothing: String,
    pager: Pager,
    charts: UpstreamCharts,
    span_links: Vec<ChoiceLink>,
    refresh: bool,
    refresh_link: String,
    now: i64,
}

/// A link that chooses what a page shows.
pub(super) struct ChoiceLink {
    pub(super) href: String,
    pub(super) label: String,
    pub(super) chosen: bool,
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
        let (all, path) = (&sight.records, sight.path());
        let charts = UpstreamCharts::of(sight, &asked.span);
        let link = |changes: &[(&str, &str)]| asked.link(&path, changes);
        let group = DecisionGroup::read(&asked.what);
        let wanted = asked.wanted(all, group);
        let runs = runs::runs(&wanted, asked.each != "1");
        let (shown, older) = runs.split_at(runs.len().min(PAGE));
        let oldest = shown.last().and_then(|run| run.last());
        let oldest = oldest.filter(|_| !older.is_empty());
        let refresh = asked.refresh == "10";
        Self {
            form_token: &visitor.form_token,
            topics: asked.topics(sight),
            name: sight.name(),
            front: sight.front.name,
            icon: sight.front.icon.symbol(),
            kind: format!("{}s", capital(sight.upstreams.kind())),
            what: super::row::what(sight),
            notice: Notice::read(app, &asked.did, &asked.whom, &asked.how),
            parts: UpstreamParts::of(sight),
            groups: groups(all, group, asked, &path),
            decisions: runs::rows(sight, shown, |before| {
                link(&[("before", &before.to_string()), ("each", "1")])
            }),
            folded: match asked.each.as_str() {
                "1" => Some(link(&[("each", "")])),
                _ => None,
            },
            nothing: nothing(app, sight, all.is_empty()),
            pager: Pager::newest_first(
                "decisions",
                (!asked.before.is_empty()).then(|| link(&[("before", "")])),
                oldest.map(|last| link(&[("before", &last.number.to_string())])),
            ),
            span_links: charts
                .windows
                .iter()
                .map(|(value, label, chosen)| ChoiceLink {
                    href: link(&[("span", value)]),
                    label: (*label).to_owned(),
                    chosen: *chosen,
                })
                .collect(),
            charts,
            refresh,
            refresh_link: link(&[("refresh", if refresh { "" } else { "10" })]),
            now: app.now().as_millisecond(),
            path,
        }
    }
}

impl UpstreamQuery {
    /// The decisions that are wanted, newest first.
    fn wanted<'a>(&self, all: &'a [Record], group: Option<DecisionGroup>) -> Vec<&'a Record> {
        let before = self.before.parse().unwrap_or(u64::MAX);
        all.iter()
            .filter(|decision| decision.number < before)
            .filter(|decision| group.is_none_or(|group| group.holds(decision)))
            .collect()
    }

    fn topics(&self, sight: &Sight<'_>) -> Vec<Topic> {
        let newest = [&self.what, &self.before, &self.each];
        let newest = newest.iter().all(|chosen| chosen.is_empty());
        let decided = newest.then(|| Topic::DecidedAbout(sight.whom()));
        let all = [Topic::Upstream(sight.whom())].into_iter();
        all.chain(decided).collect()
    }

    fn link(&self, path: &str, changes: &[(&str, &str)]) -> String {
        let kept = [
            ("what", self.what.as_str()),
            ("before", self.before.as_str()),
            ("each", self.each.as_str()),
            ("span", self.span.as_str()),
            ("refresh", self.refresh.as_str()),
        ];
        kit::address(path, &kept, changes)
    }
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
