//! `/news/{newsgroup}/{root}`: what did they say?

use std::collections::HashSet;

use askama::Template;
use weir_engine::words::{counted, grouped};
use weir_web::Failure;
use weir_web::kit::{self, Pager};

use super::currency::StaleNotice;
use super::message::titled;
use super::outline::{self, OutlineLine};
use super::rows::{MessageRow, Shows, message_length, rows};
use super::when::{Times, When};
use super::{address, written};
use crate::reading::{OutlineRow, ThreadView, Written};

#[derive(Template)]
#[template(path = "news_thread.html")]
struct ThreadBody {
    newsgroup: String,
    newsgroup_href: String,
    here: String,
    root: String,
    subject: String,
    opening: String,
    missing: String,
    dates: Vec<When>,
    /// Articles in the whole thread.
    articles: usize,
    last: i64,
    checked: Option<When>,
    notice: String,
    outline: Vec<OutlineLine>,
    /// Which page this is, if there are several.
    part: Option<String>,
    /// Its number to fetch it again; empty for the first.
    again: String,
    rows: Vec<MessageRow>,
    pager: Option<Pager>,
}

/// The title of the page.
pub(crate) fn title(view: &ThreadView) -> String {
    format!("{} · {} · News", titled(&view.subject), view.newsgroup.name)
}

/// Bytes of text on the page.
pub(crate) fn text_length(view: &ThreadView) -> usize {
    view.messages.iter().map(message_length).sum()
}

/// Writes the page.
pub(crate) fn write(view: &ThreadView) -> Result<Written, Failure> {
    let times = Times::new(view.currency.checked);
    let here = address::thread(&view.newsgroup.name, &view.root);
    let (opening, missing) = opening(&view.outline);
    let articles = view.outline.iter().filter(|row| row.missing == 0);
    let body = ThreadBody {
        newsgroup: view.newsgroup.name.to_string(),
        newsgroup_href: address::newsgroup(view.newsgroup.name.as_str()),
        root: view.root.to_string(),
        subject: titled(&view.subject),
        opening,
        missing,
        dates: dates(&view.outline, &times),
        articles: articles.clone().count(),
        last: articles.map(|row| row.date).max().unwrap_or_default(),
        checked: view.currency.checked.map(|seconds| times.full(seconds)),
        notice: kit::render(&StaleNotice::new(&view.currency, &times))?,
        outline: outline::lines(view, &times),
        part: (view.pages > 1).then(|| {
            let [page, pages] = [view.page + 1, view.pages].map(|number| grouped(number as u64));
            format!("Page {page} of {pages}")
        }),
        again: address::page_number(view.page),
        rows: rows(view, &here, &times)?,
        pager: pager(view, &here),
        here,
    };
    Ok(written(kit::render(&body)?))
}

/// `8 messages by 6 people`, and `1 more is missing`.
fn opening(outline: &[OutlineRow]) -> (String, String) {
    let there = outline.iter().filter(|row| row.missing == 0);
    let people: HashSet<&str> = there.clone().map(|row| row.author.as_str()).collect();
    let missing: usize = outline.iter().map(|row| row.missing).sum();
    let messages = counted(there.count() as u64, "message", "messages");
    let people = counted(people.len() as u64, "person", "people");
    let missing = match missing {
        0 => String::new(),
        1 => ", 1 more is missing".to_owned(),
        some => format!(", {} more are missing", grouped(some as u64)),
    };
    (format!("{messages} by {people}"), missing)
}

/// The first and the last day, or the one day.
fn dates(outline: &[OutlineRow], times: &Times) -> Vec<When> {
    let dates = || {
        outline
            .iter()
            .filter(|row| row.missing == 0)
            .map(|row| row.date)
    };
    match (dates().min(), dates().max()) {
        (Some(first), Some(last)) if times.same_day(first, last) => vec![times.day(first)],
        (Some(first), Some(last)) => vec![times.day(first), times.day(last)],
        _ => Vec::new(),
    }
}

fn pager(view: &ThreadView, here: &str) -> Option<Pager> {
    if view.pages <= 1 {
        return None;
    }
    let says = format!(
        "Page {} of {}",
        grouped(view.page as u64 + 1),
        grouped(view.pages as u64)
    );
    let previous = view
        .page
        .checked_sub(1)
        .map(|page| address::page(here, page));
    let next = (view.page + 1 < view.pages).then(|| address::page(here, view.page + 1));
    Some(Pager::new("this thread", says, previous, next))
}
