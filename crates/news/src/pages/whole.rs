//! Routes of what programs take as a whole: a thread as a mailbox, newsgroups and threads as feeds.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use weir_web::{Failure, Visitor};

use super::address::{read_id, read_newsgroup};
use super::mbox;
use super::trouble::{self, Wanted};
use crate::feed;
use crate::model::ThreadPlace;
use crate::reader::Reader;

/// `GET /news/{newsgroup}/{root}/mbox`.
pub(super) async fn thread_mbox(
    State(reader): State<Arc<Reader>>,
    Path((name, root)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let (newsgroup, root) = (read_newsgroup(&name)?, read_id(&root)?);
    let place = ThreadPlace::Page(0);
    match reader.library.thread(&newsgroup, &root, place).await {
        Ok(first) => {
            // It makes servers send what all of its pages would; the first is paid.
            let rest = first.pages.saturating_sub(1);
            visitor.pay(u32::try_from(rest).unwrap_or(u32::MAX))?;
            Ok(mbox::send(reader, newsgroup, root, first))
        }
        Err(unread) => Ok(trouble::show(
            &visitor,
            &unread,
            Wanted::Thread(&name),
            reader.now(),
        )),
    }
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
        Ok(page) => feed::of_newsgroup(&page, &origin, visitor.is_demo()),
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
    let place = ThreadPlace::Newest;
    match reader.library.thread(&newsgroup, &root, place).await {
        Ok(thread) => feed::of_thread(&thread, &origin, visitor.is_demo()),
        Err(unread) => Ok(trouble::show(
            &visitor,
            &unread,
            Wanted::Thread(&name),
            reader.now(),
        )),
    }
}
