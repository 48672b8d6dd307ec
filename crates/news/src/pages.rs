//! The pages of the news front: newsgroups, threads, articles. Bodies are functions of what is read; each is written once
//! per change and serves everybody, so nothing in them depends on the visitor or on the time.

pub(crate) mod address;
mod article;
pub mod compose;
pub(crate) mod currency;
mod forms;
pub(crate) mod groups;
mod mbox;
pub(crate) mod message;
mod outline;
mod rows;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod search;
mod sidebar;
mod single;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod thread;
pub(crate) mod threads;
mod tree;
pub(crate) mod trouble;
pub(crate) mod when;
mod whole;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use weir_net::{LONG, aside};
use weir_web::{Failure, Icon, NavEntry, NavGroup, Right, Visitor};

use self::address::{NewsView, read_id, read_newsgroup};
use self::trouble::Wanted;
use crate::reader::Reader;
use crate::reading::{Currency, NewsgroupList, Rendered, ThreadView, Written};

/// Lists of more newsgroups are searched and written away from the threads that serve everybody.
const MANY: usize = 2_000;

/// The routes of the pages.
pub fn router(reader: &Arc<Reader>) -> Router {
    Router::new()
        .route("/news", get(newsgroups))
        .route("/news/search", get(search::found_articles))
        .route("/news/{newsgroup}", get(thread_list))
        .route("/news/{newsgroup}/atom.xml", get(whole::newsgroup_feed))
        .route("/news/{newsgroup}/{root}", get(one_thread))
        .route("/news/{newsgroup}/{root}/atom.xml", get(whole::thread_feed))
        .route("/news/{newsgroup}/{root}/mbox", get(whole::thread_mbox))
        .route("/news/article/{id}", get(single::one_article))
        .route("/news/article/{id}/source", get(single::article_source))
        .route("/news/article/{id}/eml", get(single::article_eml))
        .route("/news/article/{id}/html", get(single::article_html))
        .route("/news/article/{id}/part/{part}", get(single::article_part))
        .with_state(reader.clone())
}

/// Their place in the navigation.
pub fn nav() -> [NavEntry; 1] {
    [NavEntry {
        label: "News",
        href: address::NEWS,
        icon: Icon::News,
        key: 'n',
        group: NavGroup::Read,
        place: 1,
        phone: true,
        needs: Right::Read,
    }]
}

/// A body with its tag.
fn written(body: String) -> Written {
    let hash = blake3::hash(body.as_bytes());
    let mut tag = [0; 8];
    tag.copy_from_slice(&hash.as_bytes()[..8]);
    Written {
        body,
        tag: u64::from_be_bytes(tag),
    }
}

/// What a value is written as, once. A long one is written away from the threads that serve everybody.
async fn once<T: Send + Sync + 'static>(
    value: &Arc<T>,
    place: fn(&T) -> &Rendered,
    is_long: fn(&T) -> bool,
    write: impl Fn(&T) -> Result<Written, Failure> + Copy + Send + 'static,
) -> Result<&Written, Failure> {
    let is_written = place(value).get_or_try(|| Err(())).is_ok();
    if !is_written && is_long(value) {
        let value = value.clone();
        let done = aside(move || place(&value).get_or_try(|| write(&value)).map(|_| ()));
        done.await?;
    }
    place(value).get_or_try(|| write(value))
}

/// Sends what was written, with 503 if there was more to fetch.
fn send(
    visitor: &Visitor,
    headers: &HeaderMap,
    title: &str,
    written: &Written,
    currency: &Currency,
) -> Response {
    let mut response = visitor.tagged(headers, title, &written.body, written.tag);
    // Who has just this already is told so: 503 without a body would take it away.
    let is_sent = response.status() == StatusCode::OK;
    if let Some(seconds) = currency.busy.filter(|_| is_sent) {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        // It holds for seconds, and nobody is to keep it longer.
        let keep = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, keep);
    }
    response
}

/// `GET /news`.
async fn newsgroups(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<NewsView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let page = view.page()?;
    let list = match reader.library.newsgroups().await {
        Ok(list) => list,
        Err(unread) => {
            return Ok(trouble::show(
                &visitor,
                &unread,
                Wanted::Newsgroups,
                reader.now(),
            ));
        }
    };
    reader.library.look_at(&groups::shown(&list, &view));
    let title = groups::title(&view);
    let has_index = reader.library.has_index();
    if groups::is_first(&view, page) {
        let write =
            move |list: &NewsgroupList| groups::write(list, &NewsView::default(), 0, has_index);
        let is_long = |list: &NewsgroupList| list.newsgroups.len() >= MANY;
        let written = once(&list, |list| &list.rendered, is_long, write).await?;
        return Ok(send(&visitor, &headers, &title, written, &list.currency));
    }
    let written = match list.newsgroups.len() {
        0..MANY => groups::write(&list, &view, page, has_index)?,
        _ => {
            let list = list.clone();
            aside(move || groups::write(&list, &view, page, has_index)).await?
        }
    };
    Ok(send(&visitor, &headers, &title, &written, &list.currency))
}

/// `GET /news/{newsgroup}`.
async fn thread_list(
    State(reader): State<Arc<Reader>>,
    Path(name): Path<String>,
    Query(view): Query<NewsView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let newsgroup = read_newsgroup(&name)?;
    let page = match reader.library.threads(&newsgroup, view.page()?).await {
        Ok(page) => page,
        Err(unread) => {
            return Ok(trouble::show(
                &visitor,
                &unread,
                Wanted::Newsgroup(&name),
                reader.now(),
            ));
        }
    };
    let written = page.rendered.get_or_try(|| {
        let beside = reader.library.known_newsgroups();
        threads::write(&page, beside.as_deref(), reader.library.has_index())
    })?;
    Ok(send(
        &visitor,
        &headers,
        &threads::title(&page),
        written,
        &page.currency,
    ))
}

/// `GET /news/{newsgroup}/{root}`.
async fn one_thread(
    State(reader): State<Arc<Reader>>,
    Path((name, root)): Path<(String, String)>,
    Query(view): Query<NewsView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (newsgroup, root) = (read_newsgroup(&name)?, read_id(&root)?);
    let found = reader
        .library
        .thread(&newsgroup, &root, view.place()?)
        .await;
    let thread = match found {
        Ok(thread) => thread,
        Err(unread) => {
            return Ok(trouble::show(
                &visitor,
                &unread,
                Wanted::Thread(&name),
                reader.now(),
            ));
        }
    };
    let is_long = |thread: &ThreadView| thread::text_length(thread) > LONG;
    let written = once(&thread, |thread| &thread.rendered, is_long, thread::write).await?;
    Ok(send(
        &visitor,
        &headers,
        &thread::title(&thread),
        written,
        &thread.currency,
    ))
}
