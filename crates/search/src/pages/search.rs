//! `/search`: what is there, from whom, and who did not answer?

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use weir_search_proto::category;
use weir_web::{Failure, Shown, Visitor, kit};

use super::shelf::ReleaseShelf;
use super::shown;
use crate::config::indexer::IndexerKind;
use crate::config::indexer::example;
use crate::form::{self, PAGE, SearchForm};
use crate::progress::{IndexerLine, LineLook, Progress, millis};
use crate::search::{Search, SearchId};
use crate::views::Views;
use crate::words::counted;
use crate::words::unix;

/// Questions that a page without a search shows.
const LAST: u32 = 10;

/// What the address holds. What cannot be read counts as not there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchPageQuery {
    pub(super) id: String,
    /// Words to begin with.
    q: String,
    pub(super) sort: String,
    pub(super) filter: String,
    pub(super) page: String,
    /// `releases` for the list alone.
    part: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    form_token: &'a str,
    now: i64,
    q: &'a str,
    categories: Vec<CategoryGroup>,
    indexers: Vec<SearchChoice>,
    /// `All 7 indexers`.
    who: String,
    some: bool,
    last: Vec<String>,
    mistake: Option<String>,
    gone: bool,
    running: Option<ShownSearch>,
    /// The full path of the file to edit.
    file: String,
    /// The file that the form writes.
    upstreams_file: String,
    /// The lines to write there.
    example: String,
}

/// A kind of releases and its own kinds.
struct CategoryGroup {
    label: &'static str,
    options: Vec<SearchChoice>,
}

struct SearchChoice {
    value: String,
    label: String,
    chosen: bool,
}

/// A search on the page.
struct ShownSearch {
    id: SearchId,
    /// The whole question, to be asked again.
    again: String,
    finished: bool,
    headline: String,
    rest: String,
    pace: String,
    lines: Vec<IndexerRow>,
    /// When somebody can be asked, if nobody could be.
    earliest: Option<Shown>,
    releases: String,
    elapsed_ms: u64,
    deadline_ms: u64,
}

/// An indexer's line.
struct IndexerRow {
    line: IndexerLine,
    says: String,
    until: Option<Shown>,
    /// Of 100.
    width: u64,
    /// Its place among the segments of the one bar that a phone has.
    x: usize,
}

/// `GET /search`.
pub(super) async fn show(
    State(views): State<Arc<Views>>,
    Query(view): Query<SearchPageQuery>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let search = SearchId::parse(&view.id).and_then(|id| views.searches.find(id));
    let Some(search) = search else {
        let ask = SearchForm {
            words: view.q.clone(),
            ..SearchForm::default()
        };
        let page = blank(&views, &visitor, &view, &ask, None);
        let status = match view.id.is_empty() {
            true => StatusCode::OK,
            false => StatusCode::NOT_FOUND,
        };
        return Ok((status, page).into_response());
    };
    let list = views.list(&search);
    let releases = kit::render(&ReleaseShelf::new(&views, &search, &list, &view))?;
    if view.part == "releases" {
        return Ok(Html(releases).into_response());
    }
    let progress = views.progress(&search, &list);
    let question = &search.question;
    let ask = asked(&views, &search);
    let template = SearchPage {
        running: Some(ShownSearch::new(&views, &search, progress, releases)),
        ..SearchPage::new(&views, &visitor, &ask)
    };
    let title = format!("{} · Search", question.query.words());
    Ok(visitor.show(&title, &template))
}

/// The page without a search.
pub(super) fn blank(
    views: &Views,
    visitor: &Visitor,
    view: &SearchPageQuery,
    ask: &SearchForm,
    mistake: Option<String>,
) -> Response {
    let last = views
        .model
        .history
        .last_queries(PAGE, LAST)
        .unwrap_or_default();
    let last = last
        .iter()
        .filter_map(|(words, question)| match &**question {
            "" => plain(words),
            question => Some(typed(&form::read(question).ok()?)).filter(|text| !text.is_empty()),
        });
    let template = SearchPage {
        last: last.collect(),
        mistake,
        gone: !view.id.is_empty(),
        ..SearchPage::new(views, visitor, ask)
    };
    visitor.show("Search", &template)
}

/// The question of a search, to be asked again.
fn asked(views: &Views, search: &Search) -> SearchForm {
    let question = &search.question;
    let all = views.asks_everybody(search);
    let names = question
        .scope
        .iter()
        .map(|indexer| indexer.name().to_owned());
    let categories = question.query.categories.iter();
    SearchForm {
        words: typed(&question.query),
        categories: categories.map(u32::to_string).collect::<Vec<_>>().join(","),
        indexers: if all { Vec::new() } else { names.collect() },
        ..SearchForm::default()
    }
}

/// A question as it can be typed: terms stand in braces.
pub(super) fn typed(query: &weir_search_proto::Query) -> String {
    let terms = query.terms.iter();
    let terms = terms.map(|(term, value)| format!("{{{}:{value}}}", term.name()));
    let words = Some(query.q.clone()).filter(|words| !words.is_empty());
    words.into_iter().chain(terms).collect::<Vec<_>>().join(" ")
}

/// The words of a question in the history, as they can be asked again; none if it has no words.
pub(super) fn plain(words: &str) -> Option<String> {
    let rest = words.strip_prefix('"')?;
    let (quoted, rest) = rest.rsplit_once('"')?;
    let rest = rest.split('(').next().unwrap_or_default().trim();
    Some(format!("{quoted} {rest}").trim().to_owned())
}

impl<'a> SearchPage<'a> {
    fn new(views: &Views, visitor: &'a Visitor, ask: &'a SearchForm) -> Self {
        let indexers = views.model.indexers.all();
        let indexers: Vec<SearchChoice> = indexers
            .iter()
            .map(|indexer| SearchChoice {
                value: indexer.name().to_owned(),
                label: match indexer.terms.kind {
                    IndexerKind::Torznab => "torrents".to_owned(),
                    IndexerKind::Newznab => "Usenet".to_owned(),
                },
                chosen: ask.indexers.iter().any(|name| name == indexer.name()),
            })
            .collect();
        let all = counted(indexers.len(), "indexer", "indexers");
        Self {
            form_token: &visitor.form_token,
            now: views.model.wall() * 1000,
            q: &ask.words,
            categories: categories(&ask.categories),
            who: match ask.indexers.len() {
                0 if indexers.len() == 1 => all,
                0 => format!("All {all}"),
                some => format!("{some} of {all}"),
            },
            some: !ask.indexers.is_empty(),
            indexers,
            last: Vec::new(),
            mistake: None,
            gone: false,
            running: None,
            file: visitor.config_file(),
            upstreams_file: visitor.upstreams_file(),
            example: example(),
        }
    }
}

fn categories(chosen: &str) -> Vec<CategoryGroup> {
    let choice = |id: u32, label: String| SearchChoice {
        value: id.to_string(),
        label,
        chosen: chosen == id.to_string(),
    };
    // 0 is another number for 8000.
    let tops = category::TABLE.iter().filter(|(id, ..)| *id > 0);
    tops.map(|(id, label, below)| {
        let below = below.iter();
        let below = below.map(|(id, name)| choice(*id, format!("{label} / {name}")));
        let all = choice(*id, format!("{label}, all"));
        CategoryGroup {
            label,
            options: std::iter::once(all).chain(below).collect(),
        }
    })
    .collect()
}

impl ShownSearch {
    fn new(views: &Views, search: &Search, mut progress: Progress, releases: String) -> Self {
        let now = views.model.wall();
        let (headline, rest) = (progress.headline(), progress.rest());
        let mut lines = std::mem::take(&mut progress.lines);
        // Who answered, who is asked, who is not.
        lines.sort_by_key(|line| match line.look() {
            _ if line.gives => 0,
            LineLook::Runs => 1,
            _ => 2,
        });
        let none = progress.giving == 0 && progress.finished;
        let earliest = progress.earliest.filter(|_| none);
        Self {
            id: search.id,
            again: form::written(&search.question.query),
            lines: lines
                .into_iter()
                .enumerate()
                .map(|(place, line)| IndexerRow::new(line, place, &progress, now))
                .collect(),
            finished: progress.finished,
            headline,
            rest,
            pace: progress.pace(),
            earliest: earliest.map(|until| shown(unix(until), now)),
            elapsed_ms: millis(progress.took),
            deadline_ms: millis(progress.deadline),
            releases,
        }
    }

    /// How wide the bar of segments is drawn.
    fn segments(&self) -> usize {
        self.lines.len() * 10
    }
}

impl IndexerRow {
    fn new(line: IndexerLine, place: usize, progress: &Progress, now: i64) -> Self {
        let runs = line.look() == LineLook::Runs;
        let mut says = line.says();
        if runs && line.age.is_none() {
            says = format!("{says}, {}", progress.pace());
        }
        let part = progress.took.as_secs_f64() / progress.deadline.as_secs_f64().max(0.001);
        Self {
            says,
            until: line.until.map(|until| shown(unix(until), now)),
            width: match (line.full(), runs) {
                (true, _) => 100,
                (false, true) => (part * 100.0).clamp(1.0, 100.0) as u64,
                (false, false) => 0,
            },
            x: place * 10,
            line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_the_history_can_be_asked_again() {
        for (words, expected) in [
            ("\"some show\"", Some("some show")),
            (
                "\"some show\" s01e02 (tvdbid 123)",
                Some("some show s01e02"),
            ),
            ("\"say \"this\"\"", Some("say \"this\"")),
            ("recent releases", None),
            ("s01e02 (tvdbid 123)", None),
        ] {
            assert_eq!(plain(words).as_deref(), expected, "{words}");
        }
    }

    #[test]
    fn terms_stand_in_braces() {
        let mut query = weir_search_proto::Query::new(weir_search_proto::Function::Tv);
        query.q = "show".to_owned();
        query
            .terms
            .insert(weir_search_proto::Term::Season, "1".to_owned());
        assert_eq!(typed(&query), "show {season:1}");
    }
}
