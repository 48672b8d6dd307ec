//! `/upstreams`: which are open, which are cooling down, why, until when, and what is left?

use askama::Template;
use axum::{
    extract::{Query, State},
    http::{HeaderValue, header},
    response::Response,
};
use weir_engine::{Standing, StateCounts};

use super::{
    act,
    notice::Notice,
    numbers::{capital, grouped},
    outage::outage,
    query::{UpstreamColumn, UpstreamsQuery},
    row::UpstreamLine,
    sight::Sight,
};
use crate::{
    App, Visitor,
    kit::{self, ColumnHead, Pager},
};

/// Seconds after which a page may reload; other values in an address are ignored, or one tab could ask all the time.
const REFRESH: [u64; 3] = [10, 30, 60];

#[derive(Template)]
#[template(path = "upstreams.html")]
struct UpstreamsPage<'a> {
    view: &'a UpstreamsQuery,
    form_token: &'a str,
    /// HTML.
    summary: String,
    /// Our own network, in a sentence with times.
    network: Option<String>,
    notice: Option<Notice>,
    fronts: Vec<FilterChoice>,
    states: Vec<FilterChoice>,
    rows: Vec<UpstreamLine>,
    heads: Vec<ColumnHead>,
    /// Some row has limits.
    limits: bool,
    /// There is something to probe.
    failing: bool,
    none_at_all: bool,
    /// The full path of the file to edit.
    file: String,
    /// The full path of the file that the form writes.
    upstreams_file: String,
    /// Whether there is a form to add some.
    has_form: bool,
    pager: Pager,
    here: String,
    refresh: Option<u64>,
    refresh_link: String,
    /// The server's clock, for countdowns.
    now: i64,
}

struct FilterChoice {
    value: String,
    label: String,
    href: String,
    icon: Option<&'static str>,
    name: &'static str,
    chosen: bool,
}

/// `GET /upstreams`.
pub(super) async fn show(
    State(app): State<App>,
    Query(view): Query<UpstreamsQuery>,
    visitor: Visitor,
) -> Response {
    let page = UpstreamsPage::new(&app, &view, &visitor);
    let mut response = visitor.show("Upstreams", &page);
    if let Some(after) = page.refresh {
        let headers = response.headers_mut();
        headers.insert(header::REFRESH, HeaderValue::from(after));
    }
    response
}

impl<'a> UpstreamsPage<'a> {
    fn new(app: &App, view: &'a UpstreamsQuery, visitor: &'a Visitor) -> Self {
        let all = Sight::all(app);
        let (_, summary) = summary_part(&counts_of(&all));
        let network = outage(app).map(|(words, times)| times.html(&words));
        let (fronts, states) = (fronts(app, &all, view), states(&all, view));
        let failing = all.iter().any(act::may_be_probed);
        let none_at_all = all.is_empty();
        let page = view.page(all);
        let refresh = view.refresh.parse().ok();
        let refresh = refresh.filter(|after| REFRESH.contains(after));
        let rows: Vec<UpstreamLine> = page.rows.iter().map(UpstreamLine::new).collect();
        let limits = rows.iter().any(|row| row.limited);
        let link = |page: usize| view.link(&[("page", &page.to_string())]);
        let range = kit::range(page.before, rows.len(), page.matching);
        let head = |label, column| {
            ColumnHead::new(label)
                .leads_to(view.sorted_by(column))
                .sorted(view.sorted(column))
        };
        let mut heads = vec![
            head("Upstream", UpstreamColumn::Name),
            head("State and reason", UpstreamColumn::State),
            head("Latency p50 / p95", UpstreamColumn::Latency).number(true),
            head("Success 24 h", UpstreamColumn::Success).number(true),
        ];
        if limits {
            heads.insert(2, ColumnHead::new("Quota used"));
        }
        Self {
            view,
            form_token: &visitor.form_token,
            summary,
            network,
            notice: Notice::read(app, &view.did, &view.whom, &view.how),
            fronts,
            states,
            limits,
            failing,
            none_at_all,
            file: visitor.config_file(),
            upstreams_file: visitor.upstreams_file(),
            has_form: has_form(app),
            pager: Pager::new(
                "upstreams",
                format!("{range}, {}", view.order_in_words()),
                (page.number > 1).then(|| link(page.number - 1)),
                (page.number < page.pages).then(|| link(page.number + 1)),
            ),
            here: link(page.number),
            rows,
            heads,
            refresh,
            refresh_link: view.link(&[("refresh", if refresh.is_some() { "" } else { "10" })]),
            now: app.now().as_millisecond(),
        }
    }
}

fn has_form(app: &App) -> bool {
    app.with_upstreams()
        .any(|(_, upstreams)| upstreams.has_form())
}

fn counts_of(sights: &[Sight<'_>]) -> StateCounts {
    let mut counts = StateCounts::default();
    for sight in sights {
        counts.add(sight.standing(), sight.is_called(), sight.is_failing());
    }
    counts
}

/// `13 of 17 open, 2 failing. 1 cooling down, 1 probing, 1 disabled, 1 off by operator.`
fn words(counts: &StateCounts) -> String {
    let number = |count: usize| grouped(count as u64);
    let failing = match counts.failing {
        0 => String::new(),
        failing => format!(", {} failing", number(failing)),
    };
    match (counts.all, counts.open) {
        (0, _) => "No upstream is set up.".to_owned(),
        (1, 1) if counts.failing == 1 => "The only one is open, but failing.".to_owned(),
        (1, 1) => "The only one is open.".to_owned(),
        (all, open) if open == all => format!("All {} are open{failing}.", number(all)),
        (all, open) => {
            let others = [
                (counts.untried[0], "not tried yet"),
                (counts.untried[1], "without an answer yet"),
                (counts.cooldown, "cooling down"),
                (counts.probing, "probing"),
                (counts.disabled, "disabled"),
                (counts.manual, "off by operator"),
            ];
            let others: Vec<String> = others
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, words)| format!("{} {words}", number(count)))
                .collect();
            let (open, all) = (number(open), number(all));
            format!("{open} of {all} open{failing}. {}.", others.join(", "))
        }
    }
}

#[derive(Template)]
#[template(path = "upstreams/summary.html")]
struct SummaryPart {
    says: String,
}

/// The sentence about all of them, as a part of the page.
pub(super) fn summary_part(counts: &StateCounts) -> (String, String) {
    let says = words(counts);
    let html = kit::written(&SummaryPart { says });
    ("upstreams-summary".to_owned(), html)
}

/// The same as text.
pub(super) fn summary(sights: &[Sight<'_>]) -> String {
    words(&counts_of(sights))
}

fn fronts(app: &App, all: &[Sight<'_>], view: &UpstreamsQuery) -> Vec<FilterChoice> {
    let count = |name: &str| all.iter().filter(|sight| sight.front.name == name).count();
    let mut choices = vec![FilterChoice {
        value: String::new(),
        label: format!("All {}", grouped(all.len() as u64)),
        href: view.link(&[("front", "")]),
        icon: None,
        name: "",
        chosen: view.front.is_empty(),
    }];
    choices.extend(app.with_upstreams().map(|(front, upstreams)| FilterChoice {
        value: front.name.to_owned(),
        label: format!(
            "{}s {}",
            capital(upstreams.kind()),
            grouped(count(front.name) as u64)
        ),
        href: view.link(&[("front", front.name)]),
        icon: Some(front.icon.symbol()),
        name: front.name,
        chosen: view.front == front.name,
    }));
    // With one front there is nothing to choose.
    if choices.len() > 2 {
        choices
    } else {
        Vec::new()
    }
}

fn states(all: &[Sight<'_>], view: &UpstreamsQuery) -> Vec<FilterChoice> {
    let attention = all.iter().filter(|sight| sight.needs_attention()).count();
    let states = [
        (Standing::Open, "Open"),
        (Standing::Untried, "No answer yet"),
        (Standing::Cooldown, "Cooldown"),
        (Standing::Probing, "Probing"),
        (Standing::Disabled, "Disabled"),
        (Standing::Manual, "Off by operator"),
    ];
    let states = states
        .into_iter()
        .map(|(state, label)| (state.name(), label, Sight::count(all, state)));
    let first = [
        ("", "Any state", all.len()),
        ("attention", "Needing attention", attention),
    ];
    first
        .into_iter()
        .chain(states)
        .map(|(value, label, count)| FilterChoice {
            value: value.to_owned(),
            label: format!("{label} ({})", grouped(count as u64)),
            href: String::new(),
            icon: None,
            name: "",
            chosen: view.state == value,
        })
        .collect()
}
