//! `GET /api/v1/news/search`: what the page finds, for programs.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde_json::{Value, json};
use weir_web::Failure;

use super::time;
use crate::pages::address;
use crate::pages::search::{SearchView, failure};
use crate::reader::Reader;
use crate::seeking::FoundPage;
use crate::store::Hit;
use crate::text::Piece;

/// `GET /api/v1/news/search`.
pub(super) async fn found(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<SearchView>,
) -> Result<Json<Value>, Failure> {
    let found = reader.library.seek(view.seeking()?).await;
    Ok(Json(page(&found.map_err(failure)?)))
}

fn page(found: &FoundPage) -> Value {
    let coverage = &found.coverage;
    json!({
        "found": found.found,
        "complete": found.is_all,
        "page": found.page + 1,
        "has_next": found.has_next(),
        "articles": found.hits.iter().map(hit).collect::<Vec<_>>(),
        "notes": found.notes,
        "index": {
            "articles": coverage.articles,
            "texts": coverage.texts,
            "waiting": coverage.waiting,
            "since": coverage.since.map(time),
        },
    })
}

fn hit(hit: &Hit) -> Value {
    let passage = |piece: &Piece| json!({ "text": piece.text, "marked": piece.marked });
    json!({
        "id": hit.id.bare(),
        "subject": hit.subject.iter().map(|piece| piece.text.as_str()).collect::<String>(),
        "author": hit.author,
        "at": time(hit.date),
        "groups": hit.newsgroups.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "passage": hit.passage.iter().map(passage).collect::<Vec<_>>(),
        "url": address::article(&hit.id),
    })
}
