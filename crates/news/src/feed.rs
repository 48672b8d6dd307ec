//! Atom (RFC 4287): what is new in a newsgroup or in a thread, for feed readers.
//!
//! In a newsgroup's feed each entry is the newest article of a thread, so that every answer shows up as a new entry. IDs
//! are `news:` URIs (RFC 5538), which stay the same whatever address Weir has.

use askama::Template;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::utf8_percent_encode;
use weir_config::ENCODED;
use weir_news_proto::MessageId;
use weir_web::Failure;
use weir_web::kit;

use crate::pages::address;
use crate::pages::message::{named, titled};
use crate::pages::when::stamp;
use crate::reading::{Content, OutlineRow, ThreadPage, ThreadRow, ThreadView};

/// Entries of a thread's feed.
const ENTRIES: usize = 50;
/// Characters of a text that an entry shows.
const EXCERPT: usize = 600;
/// Feed readers ask often; this spares both sides.
const KEEP: &str = "private, max-age=300";

#[derive(Template)]
#[template(path = "news_feed.xml")]
struct AtomFeed {
    /// All of it is made up.
    is_demo: bool,
    id: String,
    title: String,
    subtitle: String,
    updated: String,
    itself: String,
    page: String,
    entries: Vec<AtomEntry>,
}

struct AtomEntry {
    id: String,
    title: String,
    author: String,
    at: String,
    href: String,
    text: String,
}

/// The feed of a newsgroup.
pub(crate) fn of_newsgroup(
    page: &ThreadPage,
    origin: &str,
    is_demo: bool,
) -> Result<Response, Failure> {
    let newsgroup = &page.newsgroup;
    let here = format!("{origin}{}", address::newsgroup(newsgroup.name.as_str()));
    let entry = |row: &ThreadRow| AtomEntry {
        id: uri(&row.last_id),
        title: clean(&titled(&row.subject)),
        author: clean(&named(&row.last_author)),
        at: stamp(row.last).to_string(),
        href: format!(
            "{origin}{}",
            address::thread_at(&newsgroup.name, &row.root, &row.last_id)
        ),
        text: String::new(),
    };
    answer(&AtomFeed {
        is_demo,
        id: format!(
            "news:{}",
            utf8_percent_encode(newsgroup.name.as_str(), ENCODED)
        ),
        title: clean(newsgroup.name.as_str()),
        subtitle: clean(&newsgroup.description),
        updated: updated(page.threads.iter().map(|row| row.last)),
        itself: format!("{here}/atom.xml"),
        page: here,
        entries: page.threads.iter().map(entry).collect(),
    })
}

/// The feed of a thread.
pub(crate) fn of_thread(
    view: &ThreadView,
    origin: &str,
    is_demo: bool,
) -> Result<Response, Failure> {
    let newsgroup = &view.newsgroup.name;
    let here = format!("{origin}{}", address::thread(newsgroup, &view.root));
    let mut rows: Vec<(usize, &OutlineRow)> = view
        .outline
        .iter()
        .enumerate()
        .filter(|(_, row)| row.missing == 0)
        .collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.date));
    rows.truncate(ENTRIES);
    let entry = |(index, row): &(usize, &OutlineRow)| AtomEntry {
        id: uri(&row.id),
        title: clean(&titled(&row.subject)),
        author: clean(&named(&row.author)),
        at: stamp(row.date).to_string(),
        href: format!(
            "{origin}{}",
            address::thread_at(newsgroup, &view.root, &row.id)
        ),
        text: clean(&excerpt(view, *index)),
    };
    answer(&AtomFeed {
        is_demo,
        // Not the ID of the first article, which is an entry.
        id: format!("{}#thread", uri(&view.root)),
        title: clean(&titled(&view.subject)),
        subtitle: clean(newsgroup.as_str()),
        updated: updated(rows.iter().map(|(_, row)| row.date)),
        itself: format!("{here}/atom.xml"),
        page: here,
        entries: rows.iter().map(entry).collect(),
    })
}

fn excerpt(view: &ThreadView, row: usize) -> String {
    let message = view.messages.iter().find(|message| message.row == row);
    match message.map(|message| &message.content) {
        Some(Content::Read(read)) => read.article.snippet(EXCERPT),
        _ => String::new(),
    }
}

fn uri(id: &MessageId) -> String {
    format!("news:{}", utf8_percent_encode(id.bare(), ENCODED))
}

/// The newest of these times; a feed must have one.
fn updated(times: impl Iterator<Item = i64>) -> String {
    stamp(times.max().unwrap_or_default()).to_string()
}

/// Without the characters that XML 1.0 cannot have, escaped or not.
fn clean(text: &str) -> String {
    let fits = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    text.chars().filter(fits).collect()
}

fn answer(feed: &AtomFeed) -> Result<Response, Failure> {
    let mut response = kit::render(feed)?.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/atom+xml; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(KEEP));
    Ok(response)
}
