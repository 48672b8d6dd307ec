//! Routes of one article: its page, and its other forms.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use weir_net::LONG;
use weir_web::{Failure, Visitor};

use super::address::{NewsView, read_id};
use super::trouble::{self, Wanted};
use super::{article, forms, once, send};
use crate::reader::Reader;
use crate::reading::{Currency, ReadArticle};

/// `GET /news/article/{id}`.
pub(super) async fn one_article(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    Query(view): Query<NewsView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let read = match reader.library.article(&read_id(&id)?).await {
        Ok(read) => read,
        Err(unread) => {
            return Ok(trouble::show(
                &visitor,
                &unread,
                Wanted::Article,
                reader.now(),
            ));
        }
    };
    let (title, now) = (article::title(&read), Currency::default());
    // What can be done about it is only for whoever posted it, so it is not part of the page that everybody gets.
    let note = read.post.as_ref().filter(|_| visitor.identity.signed_in());
    let is_own = note.is_some_and(|note| note.taken_back.is_none());
    match (view.view.as_str(), view.rot13.as_str()) {
        ("plain", _) => Ok(forms::plain(&read)),
        (_, "" | "0") if !is_own => {
            let is_long = |read: &ReadArticle| read.raw.len() > LONG;
            let write = |read: &ReadArticle| article::write(read, false);
            let written = once(&read, |read| &read.rendered, is_long, write).await?;
            Ok(send(&visitor, &headers, &title, written, &now))
        }
        (_, rot13) => {
            let turned = !matches!(rot13, "" | "0");
            let written = article::write_for(&read, turned, is_own)?;
            Ok(send(&visitor, &headers, &title, &written, &now))
        }
    }
}

/// The article that an address names, or the answer that says why there is none.
async fn found(reader: &Reader, visitor: &Visitor, id: &str) -> Result<Arc<ReadArticle>, Response> {
    let id = read_id(id).map_err(IntoResponse::into_response)?;
    let read = reader.library.article(&id).await;
    read.map_err(|unread| trouble::show(visitor, &unread, Wanted::Article, reader.now()))
}

/// `GET /news/article/{id}/source`.
pub(super) async fn article_source(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Result<Response, Response> {
    Ok(forms::source(&*found(&reader, &visitor, &id).await?))
}

/// `GET /news/article/{id}/eml`.
pub(super) async fn article_eml(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Result<Response, Response> {
    Ok(forms::eml(&*found(&reader, &visitor, &id).await?))
}

/// `GET /news/article/{id}/html`.
pub(super) async fn article_html(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Result<Response, Response> {
    let read = found(&reader, &visitor, &id).await?;
    forms::html(&read).map_err(IntoResponse::into_response)
}

/// `GET /news/article/{id}/part/{part}`.
pub(super) async fn article_part(
    State(reader): State<Arc<Reader>>,
    Path((id, part)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Response> {
    let read = found(&reader, &visitor, &id).await?;
    forms::part(&read, &part).map_err(IntoResponse::into_response)
}
