//! `GET /api/v1/news/groups/{newsgroup}` and `…/threads/{root}`: threads of a newsgroup, and one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde_json::{Value, json};
use weir_web::Failure;

use super::articles::article;
use super::newsgroups::newsgroup;
use super::{currency, long, silent, time};
use crate::pages::address::{NewsView, read_id, read_newsgroup};
use crate::pages::thread::text_length;
use crate::pages::trouble::Wanted;
use crate::reader::Reader;
use crate::reading::{Content, Message, OutlineRow, ThreadPage, ThreadRow, ThreadView};

/// `GET /api/v1/news/groups/{newsgroup}`.
pub(super) async fn list(
    State(reader): State<Arc<Reader>>,
    Path(name): Path<String>,
    Query(view): Query<NewsView>,
) -> Result<Json<Value>, Failure> {
    let wanted = read_newsgroup(&name)?;
    let page = reader.library.threads(&wanted, view.page()?).await;
    let page = page.map_err(|unread| unread.failure(Wanted::Newsgroup(&name), reader.now()))?;
    Ok(Json(threads(&page)))
}

/// `GET /api/v1/news/groups/{newsgroup}/threads/{root}`.
pub(super) async fn one(
    State(reader): State<Arc<Reader>>,
    Path((name, root)): Path<(String, String)>,
    Query(view): Query<NewsView>,
) -> Result<Response, Failure> {
    let (wanted, root) = (read_newsgroup(&name)?, read_id(&root)?);
    let found = reader.library.thread(&wanted, &root, view.place()?).await;
    let thread = found.map_err(|unread| unread.failure(Wanted::Thread(&name), reader.now()))?;
    let bytes = text_length(&thread);
    Ok(long(thread, bytes, one_thread).await)
}

fn threads(page: &ThreadPage) -> Value {
    let thread = |row: &ThreadRow| {
        json!({
            "id": row.root.bare(),
            "subject": row.subject,
            "author": row.author,
            "articles": row.articles,
            "first_at": time(row.first),
            "last_at": time(row.last),
            "last_author": row.last_author,
            "last_id": row.last_id.bare(),
        })
    };
    json!({
        "group": newsgroup(&page.newsgroup),
        "page": page.page + 1,
        "known": page.known,
        "complete": page.complete,
        "has_next": page.has_next(),
        "threads": page.threads.iter().map(thread).collect::<Vec<_>>(),
        "currency": currency(&page.currency),
    })
}

/// The outline is that of this page, as on the page: of all rows, a thread of ten thousand would be megabytes.
fn one_thread(view: &ThreadView) -> Value {
    let messages = view.messages.iter().filter_map(|message| {
        let row = view.outline.get(message.row)?;
        let parent = row.parent.and_then(|parent| view.outline.get(parent));
        Some(one_message(row, parent, message))
    });
    json!({
        "group": newsgroup(&view.newsgroup),
        "id": view.root.bare(),
        "subject": view.subject,
        "page": view.page + 1,
        "pages": view.pages,
        "articles": view.outline.iter().filter(|row| row.missing == 0).count(),
        "missing": view.outline.iter().map(|row| row.missing).sum::<usize>(),
        "messages": messages.collect::<Vec<_>>(),
        "currency": currency(&view.currency),
    })
}

fn one_message(row: &OutlineRow, parent: Option<&OutlineRow>, message: &Message) -> Value {
    let (state, content) = match &message.content {
        Content::Read(read) => ("read", article(read)),
        Content::Nowhere(absence) => (
            "missing",
            json!({ "servers": absence.servers, "asked_at": time(absence.at) }),
        ),
        Content::Unreachable(servers) => (
            "unreachable",
            json!({ "silent": servers.iter().map(silent).collect::<Vec<_>>() }),
        ),
    };
    json!({
        "id": row.id.bare(),
        "parent": parent.map(|parent| parent.id.bare()),
        "depth": row.depth,
        "missing": row.missing,
        "state": state,
        "content": content,
    })
}
