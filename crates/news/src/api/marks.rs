//! `/api/v1/news/marks`: what was read, watched, ignored and subscribed to. A browser sends what changed there and gets what
//! changed elsewhere.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use weir_web::Failure;

use crate::marks::{MOST_AT_ONCE, MarkChanges, MarkSet};
use crate::reader::Reader;

/// What the asker has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MarkView {
    since: String,
}

impl MarkView {
    fn version(&self) -> Result<i64, Failure> {
        match self.since.as_str() {
            "" => Ok(0),
            text => text.parse().map_err(|_| {
                Failure::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "since is a number.",
                    "Send the version of the last answer, or leave it out.",
                )
                .at("since")
            }),
        }
    }
}

/// `GET /api/v1/news/marks?since=`.
pub(super) async fn changes(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<MarkView>,
) -> Result<Json<MarkChanges>, Failure> {
    let version = view.version()?;
    reader.marks.since(version).map(Json).map_err(failed)
}

/// `POST /api/v1/news/marks?since=`: merges, and answers as a GET.
pub(super) async fn merge(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<MarkView>,
    Json(changed): Json<MarkSet>,
) -> Result<Json<MarkChanges>, Failure> {
    let version = view.version()?;
    if changed.is_too_large() {
        return Err(Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("One request may change {MOST_AT_ONCE} threads and {MOST_AT_ONCE} newsgroups."),
            "Send the rest in another request.",
        ));
    }
    let merged = reader.marks.merge(changed, reader.now()).await;
    merged.map_err(|error| Failure::unwritten(&error))?;
    reader.marks.since(version).map(Json).map_err(failed)
}

fn failed(error: weir_store::Error) -> Failure {
    tracing::error!(front = "news", %error, "marks cannot be read");
    Failure::internal()
}
