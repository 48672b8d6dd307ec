//! `/news/{newsgroup}`: what is new here?

use askama::Template;
use weir_engine::words::{counted, grouped};
use weir_web::Failure;
use weir_web::kit::{self, Pager};

use super::currency::{StaleNotice, listed};
use super::message::{named, titled};
use super::when::{Times, When};
use super::{address, compose, sidebar, written};
use crate::reading::{NewsgroupList, NewsgroupRow, Posting, ThreadPage, ThreadRow, Written};

#[derive(Template)]
#[template(path = "news_threads.html")]
struct ThreadListBody {
    name: String,
    description: String,
    here: String,
    /// How many threads there are, as far as is known.
    opening: String,
    carried: String,
    posting: Option<&'static str>,
    /// Where an article for it is written, if anybody takes one.
    compose: Option<String>,
    articles: u64,
    newest: i64,
    checked: Option<When>,
    notice: String,
    /// Whether stored articles can be searched.
    has_index: bool,
    /// Which page to fetch again; empty for the first.
    again: String,
    /// The newsgroups around it.
    side: Option<String>,
    rows: Vec<ThreadLine>,
    pager: Option<Pager>,
    /// It is the last page, and there are older threads.
    is_cut: bool,
}

struct ThreadLine {
    href: String,
    /// Its newest article.
    last_href: String,
    root: String,
    subject: String,
    author: String,
    articles: usize,
    replies: String,
    last: i64,
    last_author: String,
    when: When,
}

/// The title of the page.
pub(crate) fn title(page: &ThreadPage) -> String {
    match page.page {
        0 => format!("{} · News", page.newsgroup.name),
        number => format!("{}, page {} · News", page.newsgroup.name, number + 1),
    }
}

/// Writes the page, with the newsgroups around this one as they are known now.
pub(crate) fn write(
    page: &ThreadPage,
    beside: Option<&NewsgroupList>,
    has_index: bool,
) -> Result<Written, Failure> {
    let times = Times::new(page.currency.checked);
    let newsgroup = &page.newsgroup;
    let here = address::newsgroup(newsgroup.name.as_str());
    let newest = page.threads.iter().map(|row| row.last).max();
    let row = |row: &ThreadRow| ThreadLine::new(newsgroup, row, &times);
    let body = ThreadListBody {
        name: newsgroup.name.to_string(),
        description: newsgroup.description.clone(),
        opening: opening(page),
        carried: match newsgroup.servers.as_slice() {
            [] => String::new(),
            servers => format!("Carried by {}.", listed(servers)),
        },
        posting: posting(newsgroup.posting),
        compose: (newsgroup.posting != Posting::Closed)
            .then(|| compose::new_address(newsgroup.name.as_str())),
        articles: newsgroup.articles,
        newest: newest.or(newsgroup.newest).unwrap_or_default(),
        checked: page.currency.checked.map(|seconds| times.full(seconds)),
        notice: kit::render(&StaleNotice::new(&page.currency, &times))?,
        has_index,
        again: address::page_number(page.page),
        side: beside
            .map(|list| sidebar::write(list, &newsgroup.name))
            .transpose()?,
        rows: page.threads.iter().map(row).collect(),
        pager: pager(page, &here),
        is_cut: !page.complete && !page.has_next() && page.currency.silent.is_empty(),
        here,
    };
    Ok(written(kit::render(&body)?))
}

fn opening(page: &ThreadPage) -> String {
    let known = page.known as u64;
    let older = match (page.has_more, page.currency.silent.is_empty()) {
        (true, _) => "older ones are fetched as you page",
        (false, false) => "older ones cannot be fetched now",
        (false, true) => "older ones are not listed",
    };
    match page.complete {
        true if known == 0 => "There are no articles here.".to_owned(),
        true => format!("{}.", counted(known, "thread", "threads")),
        false => format!(
            "{} known; {older}.",
            counted(known, "newest thread", "newest threads")
        ),
    }
}

fn posting(posting: Posting) -> Option<&'static str> {
    match posting {
        Posting::Open => None,
        Posting::Moderated => Some("Moderated: a moderator decides what appears here."),
        Posting::Closed => Some("Closed: nobody may post here."),
    }
}

fn pager(page: &ThreadPage, here: &str) -> Option<Pager> {
    if page.page == 0 && !page.has_next() {
        return None;
    }
    let before = page.page * ThreadPage::SIZE;
    let says = match (page.threads.len(), page.complete) {
        (0, _) => format!("Page {}", grouped(page.page as u64 + 1)),
        (shown, true) => kit::range(before, shown, page.known),
        (shown, false) => format!("{} so far", kit::range(before, shown, page.known)),
    };
    let previous = page.page.checked_sub(1);
    let previous = previous.map(|page| address::page(here, page));
    let next = page.has_next().then(|| address::page(here, page.page + 1));
    Some(Pager::new("threads", says, previous, next))
}

impl ThreadLine {
    fn new(newsgroup: &NewsgroupRow, row: &ThreadRow, times: &Times) -> Self {
        let replies = row.articles.saturating_sub(1) as u64;
        Self {
            href: address::thread(&newsgroup.name, &row.root),
            last_href: address::thread_at(&newsgroup.name, &row.root, &row.last_id),
            root: row.root.to_string(),
            subject: titled(&row.subject),
            author: named(&row.author),
            articles: row.articles,
            replies: grouped(replies),
            last: row.last,
            last_author: named(&row.last_author),
            when: times.full(row.last),
        }
    }
}
