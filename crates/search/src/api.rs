//! `/api/v1/searches`, their events, and `/api/v1/history`.

mod described;
mod events;
mod history;
mod searches;

use std::sync::Arc;

use axum::http::StatusCode;
use weir_web::Failure;
use weir_web::openapi::ApiRoutes;

use crate::search::{Search, SearchId};
use crate::views::Views;

pub(crate) use self::history::HistoryView;

/// The routes of the API that belong to this front.
pub(crate) fn router(views: &Arc<Views>) -> ApiRoutes {
    ApiRoutes::new()
        .route(described::list_all(), searches::list)
        .route(described::begin(), searches::begin)
        .route(described::one(), searches::one)
        .route(described::stop(), searches::stop)
        .route(described::events(), events::of_search)
        .route(described::history(), history::list)
        .with_state(views.clone())
}

/// The search that an address names.
pub(crate) fn find(views: &Views, id: &str) -> Result<Arc<Search>, Failure> {
    let Some(known) = SearchId::parse(id) else {
        return Err(Failure::unknown(
            "The ID of a search is 16 hex digits.",
            "Take it from the answer that began the search.",
        ));
    };
    views.searches.find(known).ok_or_else(|| {
        Failure::unknown(
            "This search has expired.",
            "Search again; the answers are cached for an hour.",
        )
    })
}

fn wrong(sentence: impl Into<String>, advice: &str) -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, sentence, advice)
}
