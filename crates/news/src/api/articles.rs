//! `GET /api/v1/news/articles/{message-id}`: one article.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use weir_news_proto::article::{Attachment, Part, Text};
use weir_web::Failure;

use super::time;
use crate::pages::address::{self, read_id};
use crate::pages::trouble::Wanted;
use crate::reader::Reader;
use crate::reading::ReadArticle;

/// `GET /api/v1/news/articles/{id}`.
pub(super) async fn one(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    let found = reader.library.article(&read_id(&id)?).await;
    let read = found.map_err(|unread| unread.failure(Wanted::Article, reader.now()))?;
    let mut answer = article(&read);
    answer["headers"] = headers(&read);
    Ok(Json(answer))
}

/// An article without its headers.
pub(super) fn article(read: &ReadArticle) -> Value {
    let head = &read.article.head;
    let here = address::article(&read.id);
    let texts = read.article.parts.iter().filter_map(Part::text);
    let texts: Vec<String> = texts.map(Text::plain).collect();
    let file = |file: &Attachment| {
        json!({
            "name": file.name,
            "content_type": file.content_type,
            "bytes": file.size,
            "url": format!("{here}/part/{}", file.index),
        })
    };
    json!({
        "id": read.id.bare(),
        "subject": head.subject,
        "author": head.from.name,
        "address": head.from.address,
        "at": head.date.seconds.map(time),
        "date": head.date.raw,
        "groups": head.newsgroups.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "references": head.references.iter().map(|id| id.bare()).collect::<Vec<_>>(),
        "text": texts.join("\n\n"),
        "attachments": read.article.attachments().map(file).collect::<Vec<_>>(),
        "damage": read.article.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "server": read.server,
        "fetched_at": time(read.fetched),
        "post": read.post.as_ref().map(super::posts::note),
        "bytes": read.raw.len(),
        "url": here,
    })
}

fn headers(read: &ReadArticle) -> Value {
    let headers = read.article.head.headers.iter();
    headers
        .map(|header| json!({ "name": header.name, "value": header.value }))
        .collect()
}
