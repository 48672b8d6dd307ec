//! `/decisions`: why was a client turned away? What a front decided by itself, with no upstream involved.

use askama::Template;
use axum::{
    extract::{Query, State},
    http::{HeaderValue, header},
    response::Response,
};
use serde::Deserialize;
use weir_engine::{OwnDecision, OwnKind, words::grouped};

use super::{
    decisions::{Itself, own_names},
    json::known_front,
    one::ChoiceLink,
    runs::DecisionRow,
};
use crate::{
    App, Failure, Visitor,
    kit::{self, Pager},
};

/// Rows on a page.
const PAGE: usize = 25;

/// What the address holds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct OwnQuery {
    front: String,
    /// Only decisions of one kind.
    what: String,
    /// Only decisions before the one with this number.
    before: String,
    refresh: String,
}

#[derive(Template)]
#[template(path = "decisions.html")]
struct OwnPage {
    title: String,
    front: &'static str,
    icon: &'static str,
    /// None if there is no other.
    fronts: Vec<ChoiceLink>,
    kinds: Vec<ChoiceLink>,
    decisions: Vec<DecisionRow>,
    /// The sentence in place of an empty list.
    nothing: &'static str,
    pager: Pager,
    refresh: bool,
    refresh_link: String,
    now: i64,
}

/// The address of a front's own decisions of one kind.
pub(crate) fn path(front: &str, kind: Option<OwnKind>) -> String {
    let kind = kind.map_or("", OwnKind::name);
    kit::address("/decisions", &[("front", front), ("what", kind)], &[])
}

/// `GET /decisions`.
pub(super) async fn show(
    State(app): State<App>,
    Query(asked): Query<OwnQuery>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    known_front(&app, &asked.front)?;
    let mut fronts = Itself::all(&app);
    let is_wanted = |itself: &Itself<'_>| match asked.front.as_str() {
        "" => itself.front.card.is_some(),
        name => itself.front.name == name,
    };
    let itself = fronts.find(is_wanted).ok_or_else(Failure::not_found)?;
    let page = OwnPage::new(&app, &itself, &asked);
    let (title, refresh) = (page.title.clone(), page.refresh);
    let mut response = visitor.show(&title, &page);
    if refresh {
        let headers = response.headers_mut();
        headers.insert(header::REFRESH, HeaderValue::from_static("10"));
    }
    Ok(response)
}

impl OwnPage {
    fn new(app: &App, itself: &Itself<'_>, asked: &OwnQuery) -> Self {
        let (all, front) = (&itself.decisions, itself.front);
        let link = |changes: &[(&str, &str)]| asked.link(front.name, changes);
        let kind = OwnKind::named(&asked.what);
        let wanted = asked.wanted(all, kind);
        let (shown, older) = wanted.split_at(wanted.len().min(PAGE));
        let oldest = shown.last().filter(|_| !older.is_empty());
        let refresh = asked.refresh == "10";
        Self {
            title: format!("{} decisions", front.title),
            front: front.name,
            icon: front.icon.symbol(),
            fronts: fronts(app, front.name),
            kinds: kinds(all, kind, link),
            decisions: shown
                .iter()
                .map(|decision| DecisionRow::own(&itself.times, decision))
                .collect(),
            nothing: match all.is_empty() {
                true => {
                    "Nothing was refused, dropped or held back lately. Why an upstream was skipped is on its own page."
                }
                false => "No decision of this kind is recorded.",
            },
            pager: Pager::newest_first(
                "decisions",
                (!asked.before.is_empty()).then(|| link(&[("before", "")])),
                oldest.map(|last| link(&[("before", &last.number.to_string())])),
            ),
            refresh,
            refresh_link: link(&[("refresh", if refresh { "" } else { "10" })]),
            now: app.now().as_millisecond(),
        }
    }
}

impl OwnQuery {
    /// The decisions that are wanted, newest first.
    fn wanted<'a>(&self, all: &'a [OwnDecision], kind: Option<OwnKind>) -> Vec<&'a OwnDecision> {
        let before = self.before.parse().unwrap_or(u64::MAX);
        all.iter()
            .filter(|decision| decision.number < before)
            .filter(|decision| kind.is_none_or(|kind| decision.own.kind == kind))
            .collect()
    }

    fn link(&self, front: &str, changes: &[(&str, &str)]) -> String {
        let kept = [
            ("front", front),
            ("what", self.what.as_str()),
            ("before", self.before.as_str()),
            ("refresh", self.refresh.as_str()),
        ];
        kit::address("/decisions", &kept, changes)
    }
}

/// The fronts that have a card, each with its own list; none if there is only one.
fn fronts(app: &App, chosen: &str) -> Vec<ChoiceLink> {
    let all = app.with_upstreams().map(|(front, _)| front);
    let all = all.filter(|front| front.card.is_some());
    let all: Vec<ChoiceLink> = all
        .map(|front| ChoiceLink {
            href: path(front.name, None),
            label: front.title.to_owned(),
            chosen: front.name == chosen,
        })
        .collect();
    if all.len() > 1 { all } else { Vec::new() }
}

fn kinds(
    all: &[OwnDecision],
    chosen: Option<OwnKind>,
    link: impl Fn(&[(&str, &str)]) -> String,
) -> Vec<ChoiceLink> {
    let link = |name: &str| link(&[("what", name), ("before", "")]);
    let every = ChoiceLink {
        href: link(""),
        label: format!("All {}", grouped(all.len() as u64)),
        chosen: chosen.is_none(),
    };
    let kinds = OwnKind::ALL.into_iter().rev().map(|kind| {
        let count = all.iter().filter(|one| one.own.kind == kind).count();
        ChoiceLink {
            href: link(kind.name()),
            label: format!("{} {}", own_names(kind).0, grouped(count as u64)),
            chosen: chosen == Some(kind),
        }
    });
    [every].into_iter().chain(kinds).collect()
}
