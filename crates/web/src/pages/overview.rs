//! `/`: is everything fine, and if not, what and until when?

mod card;
mod plots;
mod sentence;

use askama::Template;
use axum::{
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use serde::Deserialize;

pub(crate) use self::sentence::overloaded;
use self::{card::FrontCard, sentence::Opening};
use crate::{
    App, LivePart, Visitor,
    charts::{Chart, WINDOWS, Window, window},
    kit,
    nodes::part::NodesPart,
    pages::{
        first_run::{self, FirstRunPart},
        time::Shown,
    },
    upstreams::{Attention, Decided, Glance, Notice, last_decisions},
};

/// The id of the list of decisions, which grows by itself.
const DECISIONS: &str = "decided";

/// What the address holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OverviewQuery {
    /// How far back it looks.
    window: String,
    /// Whether it reloads by itself.
    refresh: String,
    /// What was just done through a form.
    did: String,
    whom: String,
    how: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'a> {
    form_token: &'a str,
    window: Window,
    windows: Vec<WindowLink>,
    notice: Option<Notice>,
    first_run: Option<FirstRunPart>,
    /// Where the forms lead back to.
    here: String,
    headline: HeadlinePart,
    lead: LeadPart,
    cards: Vec<FrontCard>,
    attention: AttentionPart,
    /// Where there are several.
    nodes: Option<NodesPart>,
    decisions: Vec<Decided>,
    list: &'static str,
    charts: Vec<Chart>,
    refresh: bool,
    refresh_link: String,
    /// The server's clock, for countdowns.
    now: i64,
}

struct WindowLink {
    href: String,
    label: &'static str,
    chosen: bool,
}

/// The opening sentence.
#[derive(Template)]
#[template(path = "parts/headline.html")]
struct HeadlinePart {
    headline: String,
}

/// How many upstreams are open, and since when Weir runs.
#[derive(Template)]
#[template(path = "parts/lead.html")]
struct LeadPart {
    sentence: Option<String>,
    started: Shown,
}

/// Upstreams that an operator may want to look at.
#[derive(Template)]
#[template(path = "parts/attention.html")]
struct AttentionPart {
    none_at_all: bool,
    rows: Vec<Attention>,
    more: usize,
}

/// `GET /`.
pub(crate) async fn show(
    State(app): State<App>,
    Query(asked): Query<OverviewQuery>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    let first_run = first_run::shown(&app, &visitor, &headers);
    let page = OverviewPage::new(&app, &asked, &visitor, first_run);
    let refresh = page.refresh;
    let mut response = visitor.show("Overview", &page);
    if refresh {
        let headers = response.headers_mut();
        headers.insert(header::REFRESH, HeaderValue::from_static("10"));
    }
    response
}

impl<'a> OverviewPage<'a> {
    fn new(
        app: &App,
        asked: &OverviewQuery,
        visitor: &'a Visitor,
        first_run: Option<FirstRunPart>,
    ) -> Self {
        let window = window(&asked.window).unwrap_or(WINDOWS[0]);
        let refresh = asked.refresh == "10";
        let (window_name, again) = (asked.window.as_str(), if refresh { "10" } else { "" });
        let link = |changes: &[(&str, &str)]| {
            let known = if window.name == window_name {
                window_name
            } else {
                ""
            };
            kit::address("/", &[("window", known), ("refresh", again)], changes)
        };
        let (lead, attention) = glance(app);
        Self {
            form_token: &visitor.form_token,
            window,
            windows: WINDOWS
                .into_iter()
                .map(|one| WindowLink {
                    href: link(&[("window", one.name)]),
                    label: one.label,
                    chosen: one == window,
                })
                .collect(),
            notice: Notice::read(app, &asked.did, &asked.whom, &asked.how),
            first_run,
            here: link(&[]),
            headline: headline(app),
            lead,
            cards: FrontCard::all(app, window),
            attention,
            nodes: NodesPart::of(app),
            decisions: last_decisions(app),
            list: DECISIONS,
            charts: plots::charts(app, window),
            refresh,
            refresh_link: link(&[("refresh", if refresh { "" } else { "10" })]),
            now: app.now().as_millisecond(),
        }
    }
}

/// The live parts of the overview with this window, as on the page: id and element. The decisions are not among them, for
/// their list grows.
pub(crate) fn parts(app: &App, window_name: &str) -> Vec<LivePart> {
    let window = window(window_name).unwrap_or(WINDOWS[0]);
    let (lead, attention) = glance(app);
    let mut parts: Vec<LivePart> = Vec::new();
    parts.extend(kit::part("headline", &headline(app)));
    parts.extend(kit::part("lead", &lead));
    for card in FrontCard::all(app, window) {
        parts.extend(kit::part(card.id(), &card));
    }
    parts.extend(kit::part("attention-list", &attention));
    parts.extend(NodesPart::live(app));
    parts.extend(plots::parts(app, window));
    parts.extend(first_run::parts(app));
    parts
}

fn headline(app: &App) -> HeadlinePart {
    HeadlinePart {
        headline: Opening::of(app).html(),
    }
}

fn glance(app: &App) -> (LeadPart, AttentionPart) {
    let glance = Glance::look(app);
    let attention = AttentionPart {
        none_at_all: glance.sentence.is_none(),
        rows: glance.attention,
        more: glance.more,
    };
    let lead = LeadPart {
        sentence: glance.sentence,
        started: Shown::new(app.started(), app.now(), &app.shell().zone),
    };
    (lead, attention)
}

/// The opening sentence as plain text.
pub(crate) fn opening(app: &App) -> String {
    Opening::of(app).plain()
}

#[cfg(test)]
#[path = "overview/tests.rs"]
mod tests;
