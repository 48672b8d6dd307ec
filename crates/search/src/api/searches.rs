//! `POST /api/v1/searches` and what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use weir_web::{Failure, Visitor};

use super::{find, wrong};
use crate::form::SearchForm;
use crate::inbound::text;
use crate::program;
use crate::releases::{self, Order, Selection};
use crate::views::Views;

/// Searches that are listed.
const RECENT: usize = 50;
/// Releases of an answer where a request names no number.
const LIMIT: usize = 100;

/// What is sent to begin a search.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SearchBody {
    query: String,
    categories: Vec<u32>,
    indexers: Vec<String>,
    function: String,
    /// Text or numbers.
    terms: BTreeMap<String, Value>,
    no_cache: bool,
}

/// Which part of the releases.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReleaseView {
    limit: String,
    offset: String,
    sort: String,
    filter: String,
}

/// `POST /api/v1/searches`.
pub(super) async fn begin(
    State(views): State<Arc<Views>>,
    visitor: Visitor,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let body: SearchBody = read(&body).map_err(|error| {
        wrong(
            format!("The body cannot be read: {error}."),
            "Send JSON such as {\"query\": \"words\", \"categories\": [5000], \"indexers\": []}.",
        )
    })?;
    if views.model.indexers.all().is_empty() {
        // No mistake of whoever asks.
        return Err(Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "No indexer is configured, so there is nobody to ask.",
            "Add some under search.indexers in the configuration.",
        ));
    }
    let mut terms = BTreeMap::new();
    for (name, value) in body.terms {
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            _ => {
                let sentence = format!("The term {name:?} is neither text nor number.");
                return Err(wrong(sentence, "").at(format!("terms.{name}")));
            }
        };
        terms.insert(name, value);
    }
    let categories: Vec<String> = body.categories.iter().map(u32::to_string).collect();
    let ask = SearchForm {
        words: body.query,
        categories: categories.join(","),
        indexers: body.indexers,
        function: body.function,
        terms,
        whole: String::new(),
        no_cache: body.no_cache,
    };
    let now = views.model.now();
    let name = program::name(text(&headers, "user-agent"));
    let program = views.model.programs.heard(&name, now);
    let address = visitor.client.address.to_string();
    let search = views
        .search_for(&ask, program, address)
        .map_err(|mistake| wrong(mistake, "No indexer was called.").at(ask.wrong_field()))?;
    let url = format!("/api/v1/searches/{}", search.id);
    let body = json!({
        "id": search.id.to_string(),
        "url": url,
        "events": format!("{url}/events"),
        "page": format!("/search?id={}", search.id),
    });
    let place = [(header::LOCATION, url)];
    Ok((StatusCode::ACCEPTED, place, Json(body)).into_response())
}

/// An object, with no field that is not known.
fn read(body: &[u8]) -> serde_json::Result<SearchBody> {
    let fields: serde_json::Map<String, Value> = serde_json::from_slice(body)?;
    serde_json::from_value(Value::Object(fields))
}

/// `GET /api/v1/searches`: the last ones, newest first, without their releases.
pub(super) async fn list(State(views): State<Arc<Views>>) -> Json<Value> {
    let all = views.searches.all();
    let all: Vec<Value> = all
        .iter()
        .take(RECENT)
        .map(|search| {
            let list = views.list(search);
            views.progress(search, &list).json(search)
        })
        .collect();
    Json(json!({ "searches": all }))
}

/// `GET /api/v1/searches/{id}`.
pub(super) async fn one(
    State(views): State<Arc<Views>>,
    Path(id): Path<String>,
    Query(view): Query<ReleaseView>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Result<Json<Value>, Failure> {
    let wanted = view.wanted(&views)?;
    let search = find(&views, &id)?;
    let list = views.list(&search);
    let mut body = views.progress(&search, &list).json(&search);
    let (part, matching) = releases::part(&list, &wanted);
    let origin = visitor.client.origin(&headers);
    let part: Vec<Value> = part
        .into_iter()
        .map(|merged| releases::json(&views.model.links, &list, merged, &origin))
        .collect();
    body["matching"] = matching.into();
    body["offset"] = wanted.offset.into();
    body["limit"] = wanted.limit.into();
    body["releases"] = part.into();
    Ok(Json(body))
}

/// `DELETE /api/v1/searches/{id}`: who has not answered is no longer waited for.
pub(super) async fn stop(
    State(views): State<Arc<Views>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    find(&views, &id)?.stop.cancel();
    Ok(StatusCode::NO_CONTENT)
}

impl ReleaseView {
    fn wanted(&self, views: &Views) -> Result<Selection, Failure> {
        let number = |name: &str, text: &str, default: usize| match text {
            "" => Ok(default),
            text => text.parse().map_err(|_| {
                wrong(format!("{name} is a number of releases, not {text:?}."), "").at(name)
            }),
        };
        let order = match self.sort.as_str() {
            "" => Order::default(),
            text => Order::parse(text).ok_or_else(|| {
                wrong(
                    format!("There is no order {text:?}."),
                    "Send title, category, age, size or seeds, with - before it for the other way round.",
                )
            })?,
        };
        let most = usize::try_from(views.model.rules.load().page_max).unwrap_or(usize::MAX);
        Ok(Selection {
            filter: self.filter.clone(),
            order,
            offset: number("offset", &self.offset, 0)?,
            limit: number("limit", &self.limit, LIMIT)?.min(most),
        })
    }
}
