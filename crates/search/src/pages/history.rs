//! `/history`: what did my programs ask, and what did it cost?

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use weir_engine::dispatch::Class;
use weir_web::kit::{self, Pager};
use weir_web::{Failure, Shown, Visitor};

use super::search::plain;
use super::shown;
use crate::api::HistoryView;
use crate::history::{Filter, GrabKind, Grabbed, PartOutcome, Searched};
use crate::indexer::Indexer;
use crate::policy::class_name;
use crate::search::Stage;
use crate::views::{EVERYBODY, Views};
use crate::words::{counted, grouped, second, size, took};

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    form_token: &'a str,
    now: i64,
    view: &'a HistoryView,
    opening: String,
    /// The name of this node, if there are several.
    node: Option<&'a str>,
    tabs: [(&'static str, String, bool); 2],
    programs: Vec<HistoryChoice>,
    indexers: Vec<HistoryChoice>,
    outcomes: Vec<HistoryChoice>,
    filtered: bool,
    mistake: Option<String>,
    searches: Vec<SearchRow>,
    grabs: Vec<GrabRow>,
    /// Nothing was ever asked.
    empty: bool,
    pager: Pager,
    here: String,
}

struct HistoryChoice {
    value: String,
    chosen: bool,
}

struct SearchRow {
    id: i64,
    at: Shown,
    program: String,
    address: String,
    query: String,
    class: &'static str,
    scope: String,
    answered: String,
    results: String,
    took: String,
    calls: String,
    /// To be asked again.
    again: Option<AskAgain>,
    outcomes: Vec<PartRow>,
}

/// A search as a form asks it again: the name and value of its question, and who is asked if that is not everybody.
struct AskAgain {
    name: &'static str,
    question: String,
    indexers: Vec<String>,
}

/// What one indexer had to do with a search.
struct PartRow {
    indexer: String,
    look: &'static str,
    said: String,
    took: String,
}

struct GrabRow {
    id: i64,
    at: Shown,
    program: String,
    title: String,
    indexer: String,
    look: &'static str,
    what: String,
    size: String,
    took: String,
}

/// `GET /history`.
pub(super) async fn show(
    State(views): State<Arc<Views>>,
    Query(view): Query<HistoryView>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let failed = |error: weir_store::Error| {
        tracing::error!(front = "search", %error, "the history cannot be read");
        Failure::internal()
    };
    let mut template = HistoryPage::new(&views, &visitor, &view).map_err(failed)?;
    let filter = match view.filter() {
        Ok(filter) => filter,
        Err(mistake) => {
            template.mistake = Some(mistake);
            let page = visitor.show("History", &template);
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    template.fill(&views, &view, &filter).map_err(failed)?;
    Ok(visitor.show("History", &template))
}

impl<'a> HistoryPage<'a> {
    fn new(
        views: &Views,
        visitor: &'a Visitor,
        view: &'a HistoryView,
    ) -> Result<Self, weir_store::Error> {
        let choices = |values: Vec<String>, chosen: &str| -> Vec<HistoryChoice> {
            let values = values.into_iter();
            values
                .map(|value| HistoryChoice {
                    chosen: value == chosen,
                    value,
                })
                .collect()
        };
        let programs = views.model.history.programs()?;
        let indexers = views.model.indexers.all();
        let indexers = indexers.iter().map(|indexer| indexer.name().to_owned());
        let outcomes = match view.grabs() {
            true => GrabKind::ALL.map(|kind| kind.name().to_owned()).into(),
            false => Stage::ALL.map(|stage| stage.name().to_owned()).into(),
        };
        let tab = |kind| address(view, kind, "");
        Ok(Self {
            form_token: &visitor.form_token,
            now: views.model.wall() * 1000,
            opening: String::new(),
            node: visitor.node_name(),
            tabs: [
                ("Searches", tab(""), !view.grabs()),
                ("Downloads", tab("grabs"), view.grabs()),
            ],
            empty: programs.is_empty(),
            programs: choices(programs, &view.program),
            indexers: choices(indexers.collect(), &view.indexer),
            outcomes: choices(outcomes, &view.outcome),
            filtered: [&view.program, &view.indexer, &view.outcome, &view.day]
                .iter()
                .any(|text| !text.is_empty()),
            mistake: None,
            searches: Vec::new(),
            grabs: Vec::new(),
            pager: Pager::newest_first("history", None, None),
            here: address(view, &view.kind, &view.before),
            view,
        })
    }

    fn fill(
        &mut self,
        views: &Views,
        view: &HistoryView,
        filter: &Filter,
    ) -> Result<(), weir_store::Error> {
        let now = views.model.wall();
        let last = match view.grabs() {
            true => {
                let rows = views.model.history.grabs(filter)?;
                self.grabs = rows.iter().map(|row| GrabRow::new(row, now)).collect();
                rows.last().map(|row| row.id)
            }
            false => {
                let rows = views.model.history.searches(filter)?;
                let indexers = views.model.indexers.all();
                let search = |row| SearchRow::new(row, &indexers, now);
                self.searches = rows.iter().map(search).collect();
                self.opening = opening(&rows);
                rows.last().map(|row| row.id)
            }
        };
        let shown = self.searches.len() + self.grabs.len();
        let full = u32::try_from(shown).is_ok_and(|shown| shown == filter.page);
        self.pager = Pager::newest_first(
            "history",
            filter.before.map(|_| address(view, &view.kind, "")),
            last.filter(|_| full)
                .map(|last| address(view, &view.kind, &last.to_string())),
        );
        if view.grabs() {
            self.opening = match self.grabs.len() {
                0 => "No downloads here.".to_owned(),
                1 => "The last download.".to_owned(),
                some => format!("The last {} downloads.", grouped(some)),
            };
        }
        Ok(())
    }
}

/// What the shown searches cost.
fn opening(rows: &[Searched]) -> String {
    if rows.is_empty() {
        return "No searches here.".to_owned();
    }
    let calls: usize = rows.iter().map(|row| row.calls as usize).sum();
    let asked: usize = rows.iter().map(|row| row.asked as usize).sum();
    let searches = match rows.len() {
        1 => "search".to_owned(),
        some => format!("{} searches", grouped(some)),
    };
    format!(
        "The last {searches}: {}, {}.",
        counted(asked, "indexer request", "indexer requests"),
        counted(calls, "call", "calls"),
    )
}

/// The address of another look at the history.
fn address(view: &HistoryView, kind: &str, before: &str) -> String {
    let kept = [
        ("kind", kind),
        ("program", &view.program),
        ("indexer", &view.indexer),
        // An outcome of searches is none of downloads.
        (
            "outcome",
            if kind == view.kind { &view.outcome } else { "" },
        ),
        ("day", &view.day),
        ("before", before),
    ];
    kit::address("/history", &kept, &[])
}

impl SearchRow {
    fn new(row: &Searched, all: &[Arc<Indexer>], now: i64) -> Self {
        let cached = row.indexers.iter().any(|part| part.what == Stage::Cached);
        Self {
            id: row.id,
            at: to_the_second(row.at, now),
            program: row.program.clone(),
            address: row.address.clone(),
            query: row.query.clone(),
            class: class_name(Class(row.class)),
            scope: row.scope.clone(),
            answered: format!("{} of {}", row.answered, row.asked),
            results: grouped(row.results as usize),
            took: millis(row.took_ms),
            calls: match (row.calls, row.shared) {
                (0, 0) if cached => "0, from cache".to_owned(),
                (0, 1..) => match row.shared_with.join(" and ") {
                    programs if programs.is_empty() => "0, shared".to_owned(),
                    programs => format!("0, shared with {programs}"),
                },
                (calls, _) => grouped(calls as usize),
            },
            again: AskAgain::new(row, all),
            outcomes: row.indexers.iter().map(PartRow::new).collect(),
        }
    }
}

impl AskAgain {
    fn new(row: &Searched, all: &[Arc<Indexer>]) -> Option<Self> {
        // Those who were asked and are still there.
        let mut indexers: Vec<String> = row
            .indexers
            .iter()
            .map(|part| part.indexer.clone())
            .filter(|name| all.iter().any(|indexer| indexer.name() == *name))
            .collect();
        if row.scope == EVERYBODY || indexers.len() == all.len() {
            indexers.clear();
        } else if indexers.is_empty() {
            return None;
        }
        let (name, question) = match row.question.as_str() {
            "" => ("q", plain(&row.query)?),
            question => ("again", question.to_owned()),
        };
        Some(Self {
            name,
            question,
            indexers,
        })
    }
}

impl PartRow {
    fn new(outcome: &PartOutcome) -> Self {
        let results = counted(outcome.releases as usize, "result", "results");
        let alone = match outcome.alone {
            0 => String::new(),
            alone => format!(", {} of them nowhere else", grouped(alone as usize)),
        };
        let said = match outcome.what {
            Stage::Answered => format!("Answered: {results}{alone}."),
            Stage::Shared => {
                let whose = outcome.shared_with.as_deref();
                let whose = whose.map_or("was".to_owned(), |program| format!("{program} had"));
                format!("Shared a call that {whose} under way: {results}{alone}.")
            }
            Stage::Cached => format!("From cache, {}: {results}{alone}.", outcome.reason),
            Stage::Asking => "Had not answered yet.".to_owned(),
            Stage::Nothing => format!("Not asked: {}.", outcome.reason),
            Stage::Skipped => format!("Skipped: {}.", outcome.reason),
            Stage::Failed => format!("Failed: {}.", outcome.reason),
        };
        let old = match (outcome.what, outcome.releases) {
            (Stage::Skipped | Stage::Failed | Stage::Asking, 1..) => {
                format!(" An older answer gave {results}.")
            }
            _ => String::new(),
        };
        let shared = match &outcome.shared_with {
            Some(program) if outcome.what != Stage::Shared => format!(" Shared with {program}."),
            _ => String::new(),
        };
        Self {
            indexer: outcome.indexer.clone(),
            look: match outcome.what {
                Stage::Failed => "disabled",
                Stage::Skipped | Stage::Asking => "cooldown",
                Stage::Nothing => "manual",
                Stage::Answered | Stage::Shared | Stage::Cached => "open",
            },
            said: said + &old + &shared,
            took: match outcome.what {
                Stage::Answered | Stage::Shared | Stage::Failed => millis(outcome.took_ms),
                _ => String::new(),
            },
        }
    }
}

impl GrabRow {
    fn new(row: &Grabbed, now: i64) -> Self {
        Self {
            id: row.id,
            at: to_the_second(row.at, now),
            program: row.program.clone(),
            title: row.title.clone(),
            indexer: row.indexer.clone(),
            look: match row.what {
                GrabKind::Failed => "disabled",
                _ => "open",
            },
            what: match row.what {
                GrabKind::File => "Fetched from the indexer".to_owned(),
                GrabKind::Cached => "From cache".to_owned(),
                GrabKind::Magnet => "A magnet link".to_owned(),
                GrabKind::Redirect => "Sent on to the indexer".to_owned(),
                // A sentence that may begin with a name, which stays as it is.
                GrabKind::Failed => row.reason.clone(),
            },
            size: match u64::try_from(row.bytes) {
                Ok(bytes) if bytes > 0 => size(bytes),
                _ => "–".to_owned(),
            },
            took: millis(row.took_ms),
        }
    }
}

fn millis(millis: u32) -> String {
    took(std::time::Duration::from_millis(millis.into()))
}

fn to_the_second(at: i64, now: i64) -> Shown {
    let (day, clock) = (
        shown(at, now),
        Shown::exactly(second(at), &TimeZone::system()),
    );
    let text = match day.text.split_once(", ") {
        Some((day, _)) => format!("{day}, {}", clock.text),
        None => clock.text,
    };
    Shown {
        exact: clock.exact,
        text,
    }
}
