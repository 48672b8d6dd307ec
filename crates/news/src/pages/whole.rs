//! Routes of what programs take as a whole: a thread as a mailbox, newsgroups and threads as feeds.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use weir_news_proto::{MessageId, Newsgroup};
use weir_web::{Failure, Visitor};

use super::address::{read_id, read_newsgroup};
use super::mbox;
use super::trouble::{self, Wanted};
use crate::feed;
use crate::model::ThreadPlace;
use crate::reader::Reader;
use crate::reading::{ThreadView, Unread};

/// `GET /news/{newsgroup}/{root}/mbox`.
pub(super) async fn thread_mbox(
    State(reader): State<Arc<Reader>>,
    Path((name, root)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let (newsgroup, root) = (read_newsgroup(&name)?, read_id(&root)?);
    let now = reader.now();
    let sent = mbox::send(reader, newsgroup, root).await;
    Ok(sent.unwrap_or_else(|unread| trouble::show(&visitor, &unread, Wanted::Thread(&name), now)))
}

/// `GET /news/{newsgroup}/atom.xml`.
pub(super) async fn newsgroup_feed(
    State(reader): State<Arc<Reader>>,
    Path(name): Path<String>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let newsgroup = read_newsgroup(&name)?;
    let origin = visitor.client.origin(&headers);
    match reader.library.threads(&newsgroup, 0).await {
        Ok(page) => feed::of_newsgroup(&page, &origin),
        Err(unread) => Ok(trouble::show(
            &visitor,
            &unread,
            Wanted::Newsgroup(&name),
            reader.now(),
        )),
    }
}

/// `GET /news/{newsgroup}/{root}/atom.xml`.
pub(super) async fn thread_feed(
    State(reader): State<Arc<Reader>>,
    Path((name, root)): Path<(String, String)>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (newsgroup, root) = (read_newsgroup(&name)?, read_id(&root)?);
    let origin = visitor.client.origin(&headers);
    let found = newest(&reader, &newsgroup, &root).await;
    match found {
        Ok(thread) => feed::of_thread(&thread, &origin),
        Err(unread) => Ok(trouble::show(
            &visitor,
            &unread,
            Wanted::Thread(&name),
            reader.now(),
        )),
    }
}

/// The page of a thread on which its newest article is.
async fn newest(
    reader: &Reader,
    newsgroup: &Newsgroup,
    root: &MessageId,
) -> Result<Arc<ThreadView>, Unread> {
    let first = reader
        .library
        .thread(newsgroup, root, ThreadPlace::Page(0))
        .await?;
    let last = first
        .outline
        .iter()
        .filter(|row| row.missing == 0)
        .max_by_key(|row| row.date);
    match last.filter(|row| row.page != first.page) {
        Some(row) => {
            let place = ThreadPlace::Article(row.id.clone());
            reader.library.thread(newsgroup, root, place).await
        }
        None => Ok(first),
    }
}
