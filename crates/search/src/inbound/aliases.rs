//! The addresses of Prowlarr and Jackett under their own bases, so that programs which know those find our indexers.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use weir_search_proto::error::code;
use weir_search_proto::{Caps, ErrorDocument, Format, Function, Protocol};
use weir_web::Visitor;

use super::torznab::FeedRequest;
use crate::indexer::Indexer;
use crate::nodes::given;
use crate::reply;
use crate::scope::Scope;
use crate::views::Views;

/// Prowlarr's list, and one of it.
const LIST: &str = "/prowlarr/api/v1/indexer";
const ONE: &str = "/prowlarr/api/v1/indexer/{id}";
/// Prowlarr's feeds, whose indexers have numbers.
const NUMBERED: [&str; 2] = [
    "/prowlarr/api/v1/indexer/{id}/newznab",
    "/prowlarr/{id}/api",
];
/// Jackett's list.
const JACKETT_LIST: &str = "/jackett/api/v2.0/indexers";
/// Jackett's feeds, whose indexers have names.
const JACKETT: [&str; 3] = [
    "/jackett/api/v2.0/indexers/{id}/results/torznab",
    "/jackett/api/v2.0/indexers/{id}/results/torznab/",
    "/jackett/api/v2.0/indexers/{id}/results/torznab/api",
];

/// Who is there.
pub(super) fn lists() -> Router<Arc<Views>> {
    Router::new()
        .route("/prowlarr/api/v1/system/status", get(status))
        .route(LIST, get(list))
        .route(ONE, get(one))
        .route(JACKETT_LIST, get(jackett_list))
}

/// What they have.
pub(super) fn feeds() -> Router<Arc<Views>> {
    let router = Router::new();
    let router = NUMBERED
        .into_iter()
        .fold(router, |router, path| router.route(path, get(numbered)));
    JACKETT
        .into_iter()
        .fold(router, |router, path| router.route(path, get(jackett)))
}

/// All addresses that stand for indexers.
#[cfg(test)]
pub(super) fn addresses() -> impl Iterator<Item = &'static str> {
    let lists = [LIST, ONE, JACKETT_LIST].into_iter();
    lists.chain(NUMBERED).chain(JACKETT)
}

async fn status(visitor: Visitor) -> Json<Value> {
    let instance = if visitor.is_demo() {
        "Weir (demo)"
    } else {
        "Weir"
    };
    Json(json!({
        "appName": "Weir",
        "instanceName": instance,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

async fn list(
    State(views): State<Arc<Views>>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Json<Value> {
    let origin = visitor.client.origin(&headers);
    let all = views.model.indexers.all();
    let all: Vec<Value> = all
        .iter()
        .map(|indexer| prowlarr(indexer, &origin, description(&visitor)))
        .collect();
    Json(Value::Array(all))
}

async fn one(
    State(views): State<Arc<Views>>,
    Path(id): Path<String>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    let origin = visitor.client.origin(&headers);
    match by_number(&views, &id) {
        Ok(indexer) => Json(prowlarr(&indexer, &origin, description(&visitor))).into_response(),
        Err(error) => reply::not_there(&error, Format::Json),
    }
}

async fn numbered(Path(id): Path<String>, arrival: FeedRequest) -> Response {
    let scope = by_number(&arrival.views, &id).map(Scope::of);
    arrival.answer(None, scope).await
}

fn by_number(views: &Views, id: &str) -> Result<Arc<Indexer>, ErrorDocument> {
    let number: Option<u32> = id.parse().ok();
    let indexer = number.and_then(|number| {
        let indexers = &views.model.indexers;
        let found = indexers.find_by(|indexer| indexer.number.get() == number);
        // What a node gave before it met one that had given another number.
        found.or_else(|| {
            let shared = views.model.together.as_ref();
            shared.and_then(|_| indexers.find_by(|one| given(one.name()) == number))
        })
    });
    indexer.ok_or_else(|| {
        let text = format!("There is no indexer with the number {id:?}.");
        ErrorDocument::new(code::INCORRECT_PARAMETER, text)
    })
}

/// What lists of indexers say of each.
fn description(visitor: &Visitor) -> &'static str {
    if visitor.is_demo() {
        weir_web::DEMO
    } else {
        ""
    }
}

async fn jackett_list(State(views): State<Arc<Views>>, visitor: Visitor) -> Json<Value> {
    let all: Vec<Value> = views
        .model
        .all_of(Protocol::Torrent)
        .iter()
        .map(|indexer| {
            json!({
                "id": indexer.name(),
                "name": indexer.name(),
                "description": description(&visitor),
                "type": "private",
                "configured": true,
                "site_link": indexer.place(),
                "language": "en-US",
                "last_error": "",
                "potatoenabled": false,
                "caps": [],
            })
        })
        .collect();
    Json(Value::Array(all))
}

async fn jackett(Path(id): Path<String>, arrival: FeedRequest) -> Response {
    let scope = match id.as_str() {
        "all" => Ok(Scope::all(&arrival.views.model, Some(Protocol::Torrent))),
        name => Scope::named(&arrival.views.model, Protocol::Torrent, name),
    };
    arrival.answer(Some(Protocol::Torrent), scope).await
}

/// An indexer as Prowlarr's API describes one.
fn prowlarr(indexer: &Indexer, origin: &str, description: &str) -> Value {
    let known = indexer.known.load();
    let nothing = Caps::default();
    let caps = known.as_ref().map_or(&nothing, |known| &known.caps);
    let protocol = match indexer.protocol() {
        Protocol::Torrent => "torrent",
        Protocol::Nzb => "usenet",
    };
    let terms = |function: Function| -> Vec<String> {
        let Some(terms) = caps.functions.get(&function) else {
            return Vec::new();
        };
        let text = caps.text.contains(&function).then_some("q");
        let terms = terms.iter().map(|term| term.name());
        text.into_iter().chain(terms).map(str::to_owned).collect()
    };
    let categories: Vec<Value> = caps
        .categories
        .iter()
        .map(|category| {
            let below: Vec<Value> = category
                .subcategories
                .iter()
                .map(|below| json!({ "id": below.id, "name": below.name, "subCategories": [] }))
                .collect();
            json!({ "id": category.id, "name": category.name, "subCategories": below })
        })
        .collect();
    let number = indexer.number.get();
    json!({
        "id": number,
        "name": indexer.name(),
        "sortName": indexer.name().to_lowercase(),
        "implementation": if protocol == "torrent" { "Torznab" } else { "Newznab" },
        "implementationName": if protocol == "torrent" { "Torznab" } else { "Newznab" },
        "configContract": if protocol == "torrent" { "TorznabSettings" } else { "NewznabSettings" },
        "definitionName": indexer.name(),
        "description": description,
        "language": "en-US",
        "encoding": "UTF-8",
        "enable": true,
        "redirect": false,
        "supportsRss": true,
        "supportsSearch": true,
        "supportsRedirect": false,
        "supportsPagination": false,
        "protocol": protocol,
        "privacy": "private",
        "priority": indexer.terms.priority,
        "indexerUrls": [format!("{origin}/prowlarr/{number}/")],
        "legacyUrls": [],
        "tags": [],
        "fields": [],
        "capabilities": {
            "limitsMax": caps.max_limit,
            "limitsDefault": caps.default_limit,
            "categories": categories,
            "supportsRawSearch": false,
            "searchParams": terms(Function::Search),
            "tvSearchParams": terms(Function::Tv),
            "movieSearchParams": terms(Function::Movie),
            "musicSearchParams": terms(Function::Music),
            "bookSearchParams": terms(Function::Book),
        },
    })
}
