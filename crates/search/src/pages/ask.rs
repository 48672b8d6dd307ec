//! What the forms of the search page do: begin a search, end one.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use tokio::time::Instant;
use weir_web::{Failure, Visitor};

use super::search::{self, SearchPageQuery};
use crate::api::find;
use crate::form::{self, PAGE, SearchForm};
use crate::views::Views;

/// A reader without script waits so long at most for a first look.
const FIRST_LOOK: Duration = Duration::from_secs(3);
/// Time in which those who are stopped say so, so that the page that follows shows it.
const SAY_SO: Duration = Duration::from_millis(200);

/// What a form sent.
#[derive(Default)]
struct AskForm {
    ask: SearchForm,
    /// Script shows what arrives, so nobody has to wait.
    live: bool,
    id: String,
}

impl AskForm {
    fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            match &*name {
                "q" => form.ask.words = value.into_owned(),
                "cat" => form.ask.categories = value.into_owned(),
                "indexer" => form.ask.indexers.push(value.into_owned()),
                "again" => form.ask.whole = value.into_owned(),
                "no_cache" => form.ask.no_cache = value == "1",
                "live" => form.live = value == "1",
                "id" => form.id = value.into_owned(),
                _ => {}
            }
        }
        form
    }
}

/// `POST /search`.
pub(super) async fn begin(
    State(views): State<Arc<Views>>,
    visitor: Visitor,
    body: Bytes,
) -> Response {
    let mut form = AskForm::read(&body);
    let now = views.model.now();
    let program = views.model.programs.heard(PAGE, now);
    let address = visitor.client.address.to_string();
    match views.search_for(&form.ask, program, address) {
        Ok(search) => {
            if !form.live {
                search.settled(Instant::now() + FIRST_LOOK).await;
            }
            Redirect::to(&format!("/search?id={}", search.id)).into_response()
        }
        Err(mistake) => {
            if let Ok(query) = form::read(&form.ask.whole) {
                form.ask.words = search::typed(&query);
            }
            let page = search::blank(
                &views,
                &visitor,
                &SearchPageQuery::default(),
                &form.ask,
                Some(mistake),
            );
            (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
        }
    }
}

/// `POST /search/stop`.
pub(super) async fn stop(
    State(views): State<Arc<Views>>,
    body: Bytes,
) -> Result<Response, Failure> {
    let form = AskForm::read(&body);
    let search = find(&views, &form.id)?;
    search.stop.cancel();
    search.settled(Instant::now() + SAY_SO).await;
    Ok(Redirect::to(&format!("/search?id={}", search.id)).into_response())
}
