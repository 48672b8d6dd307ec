//! `/news/search`: who has written about this? Of what is stored; no server is asked.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use weir_engine::words::{counted, grouped};
use weir_web::kit::{self, Pager};
use weir_web::{Failure, Visitor};

use super::address::{self, read_page};
use super::message::{UNTITLED, named};
use super::when::{Times, When};
use super::written;
use crate::reader::Reader;
use crate::reading::Written;
use crate::seeking::{FoundPage, Seeking, Unfound};
use crate::store::{Coverage, Hit};
use crate::text::{Inquiry, Order, Piece};

/// Newsgroups that are named with a hit.
const NAMED: usize = 8;

/// What an address may ask for. All of it is text, so that every mistake gets a page of ours.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchView {
    /// Words, and what narrows them down.
    pub(crate) q: String,
    /// Patterns of newsgroups.
    pub(crate) group: String,
    pub(crate) author: String,
    /// Days.
    pub(crate) after: String,
    pub(crate) before: String,
    /// `newest`, or best.
    pub(crate) order: String,
    page: String,
}

impl SearchView {
    /// What is looked for.
    pub(crate) fn seeking(&self) -> Result<Seeking, Failure> {
        let mut inquiry = Inquiry::read(&self.q);
        inquiry.in_newsgroups(&self.group);
        inquiry.by(&self.author);
        inquiry.after(&self.after);
        inquiry.before(&self.before);
        Ok(Seeking {
            inquiry,
            order: Order::named(&self.order),
            page: read_page(&self.page)?,
        })
    }

    /// Whether anything was asked.
    fn is_blank(&self) -> bool {
        let all = [
            &self.q,
            &self.group,
            &self.author,
            &self.after,
            &self.before,
        ];
        all.iter().all(|text| text.trim().is_empty())
    }

    fn at(&self, page: usize) -> String {
        let number = (page + 1).to_string();
        let kept = [
            ("q", self.q.trim()),
            ("group", self.group.trim()),
            ("author", self.author.trim()),
            ("after", self.after.trim()),
            ("before", self.before.trim()),
            ("order", Order::named(&self.order).name()),
            ("page", if page == 0 { "" } else { &number }),
        ];
        kit::address(address::SEARCH, &kept, &[])
    }
}

#[derive(Template)]
#[template(path = "news_search.html")]
struct SearchBody<'a> {
    view: &'a SearchView,
    opening: String,
    coverage: String,
    notes: &'a [String],
    asked: bool,
    page: usize,
    first: String,
    /// The number of the first hit.
    start: usize,
    hits: Vec<HitLine<'a>>,
    pager: Option<Pager>,
}

struct HitLine<'a> {
    href: String,
    subject: Vec<Piece>,
    author: String,
    when: When,
    newsgroups: Vec<(String, String)>,
    passage: &'a [Piece],
}

/// `GET /news/search`.
pub(super) async fn found_articles(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<SearchView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let found = reader.library.seek(view.seeking()?).await;
    let found = found.map_err(failure)?;
    let written = write(&view, &found)?;
    Ok(visitor.tagged(&headers, &title(&view), &written.body, written.tag))
}

/// Why nothing was looked for, for people and programs.
pub(crate) fn failure(unfound: Unfound) -> Failure {
    match unfound {
        Unfound::Off => Failure::unknown(
            "Stored articles cannot be searched here.",
            "The full-text index is switched off, or nothing is stored. Give it a size under news.index in the configuration file.",
        ),
        Unfound::Unreadable => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The full-text index cannot be read now.",
            "Weir rebuilds a damaged index from the stored articles. Try again in a minute.",
        )
        .retry_after(60),
        Unfound::Busy { retry_after } => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many searches are running.",
            format!(
                "Try again in {}.",
                counted(retry_after, "second", "seconds")
            ),
        )
        .retry_after(retry_after),
    }
}

fn title(view: &SearchView) -> String {
    match view.q.trim() {
        "" => "Search articles · News".to_owned(),
        q => format!("“{q}” · Search articles"),
    }
}

/// Writes the page.
fn write(view: &SearchView, found: &FoundPage) -> Result<Written, Failure> {
    let times = Times::new(None);
    let body = SearchBody {
        view,
        opening: match view.is_blank() {
            true => String::new(),
            false => opening(found),
        },
        coverage: coverage(&found.coverage, &times),
        notes: &found.notes,
        asked: !view.is_blank(),
        page: found.page,
        first: view.at(0),
        start: found.page.saturating_mul(FoundPage::SIZE) + 1,
        hits: found
            .hits
            .iter()
            .map(|hit| HitLine::new(hit, &times))
            .collect(),
        pager: pager(view, found),
    };
    Ok(written(kit::render(&body)?))
}

/// How many were found, and no more than is known.
fn opening(found: &FoundPage) -> String {
    let (all, shown) = (found.found as u64, found.shown() as u64);
    let first = match all > shown {
        true => format!(" The first {} can be seen.", grouped(shown)),
        false => String::new(),
    };
    match (all, found.is_all) {
        (0, _) => "Nothing was found.".to_owned(),
        (all, true) => format!("{}.{first}", counted(all, "article", "articles")),
        (all, false) => format!(
            "At least {}; only the newest were looked at.{first}",
            counted(all, "article", "articles")
        ),
    }
}

/// What can be found at all.
fn coverage(coverage: &Coverage, times: &Times) -> String {
    let Coverage {
        articles,
        texts,
        waiting,
        since,
    } = *coverage;
    let mut sentence = match (articles, waiting) {
        (0, 0) => "Nothing is stored yet.".to_owned(),
        (articles, 0) => format!(
            "{} indexed, {} with text.",
            match articles {
                1 => "1 stored article is".to_owned(),
                many => format!("{} stored articles are", grouped(many)),
            },
            grouped(texts)
        ),
        (articles, waiting) => format!(
            "{} of {} stored articles are indexed so far.",
            grouped(articles),
            grouped(articles + waiting)
        ),
    };
    if let Some(since) = since {
        let day = times.day(since).text;
        sentence.push_str(&format!(
            " The index is full: articles from before {day} are not in it."
        ));
    }
    sentence
}

fn pager(view: &SearchView, found: &FoundPage) -> Option<Pager> {
    if found.page == 0 && !found.has_next() {
        return None;
    }
    let before = found.page.saturating_mul(FoundPage::SIZE);
    let says = match found.hits.len() {
        0 => format!("Page {}", grouped(found.page as u64 + 1)),
        shown => kit::range(before, shown, found.shown().max(before + shown)),
    };
    let previous = found.page.checked_sub(1).map(|page| view.at(page));
    let next = found.has_next().then(|| view.at(found.page + 1));
    Some(Pager::new("articles found", says, previous, next))
}

impl<'a> HitLine<'a> {
    fn new(hit: &'a Hit, times: &Times) -> Self {
        let newsgroups = hit.newsgroups.iter().take(NAMED);
        let untitled = Piece {
            text: UNTITLED.to_owned(),
            marked: false,
        };
        Self {
            href: address::article(&hit.id),
            subject: match hit.subject.is_empty() {
                true => vec![untitled],
                false => hit.subject.clone(),
            },
            author: named(&hit.author),
            when: times.full(hit.date),
            newsgroups: newsgroups
                .map(|name| (name.to_string(), address::newsgroup(name.as_str())))
                .collect(),
            passage: &hit.passage,
        }
    }
}
