//! `/api/openapi.json`: all described operations as OpenAPI 3.1.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};

use super::operation::{AnswerContent, Operation, ParameterPlace};
use super::schema::{self, Schema};
use crate::{Access, App};

const ABOUT: &str = "\
Everything that Weir's pages show, for programs.

**Keys.** Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`. A browser that is signed in may use its session; \
to change something it also sends the form token of a page as `X-Csrf-Token`. A key has one of four rights: *read*; *search and \
download* and *post*, which include *read*; *everything*. Each operation says which one it needs; with less it answers 403.

**Errors** are `application/problem+json` (RFC 9457) on every path below `/api`: `detail` says what is wrong, `advice` what to \
do, `instance` is the request's ID as in the log, and `errors` names each wrong field. A request that is refused changes nothing. \
400: it cannot be read, or has a parameter that is unknown or repeated. 422: a value is wrong.

**Too many.** 429 and 503 carry `Retry-After` in seconds where the time is known.

**Versions.** Later versions of Weir may add fields to answers, and values to lists of words; ignore what you do not know.

**Caching.** Answers are `Cache-Control: no-store`. This document has an `ETag`; with `If-None-Match` it answers 304 while it \
is the same.";

/// The document as it is sent.
#[derive(Clone)]
pub(crate) struct ApiDocument {
    text: Bytes,
    tag: String,
}

impl ApiDocument {
    /// Writes it. Each operation comes with the rule of its route.
    pub(crate) fn new<'a>(operations: impl Iterator<Item = (&'a Operation, Access)>) -> Self {
        let text = document(operations).to_string();
        let hash = blake3::hash(text.as_bytes());
        let tag = format!("\"{}\"", HEXLOWER.encode(&hash.as_bytes()[..8]));
        let text = text.into();
        Self { text, tag }
    }
}

/// `GET /api/openapi.json`.
pub(crate) async fn show(State(app): State<App>, headers: HeaderMap) -> Response {
    let ApiDocument { text, tag } = app.document().clone();
    let has = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut has = has.filter_map(|tags| tags.to_str().ok());
    let own = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    if has.any(|tags| tags.split(',').any(|one| one.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, own).into_response();
    }
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, own, text).into_response()
}

fn document<'a>(operations: impl Iterator<Item = (&'a Operation, Access)>) -> Value {
    let mut schemas = Map::new();
    let problem = problem().json(&mut schemas, false);
    let mut paths: Map<String, Value> = Map::new();
    for (operation, access) in operations {
        let written = one(operation, access, &problem, &mut schemas);
        let method = operation.method.as_str().to_ascii_lowercase();
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[method] = written;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weir",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": schemes() },
    })
}

fn schemes() -> Value {
    json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "The key, as `Authorization: Bearer KEY`." },
        "key": { "type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The key." },
        "session": { "type": "apiKey", "in": "cookie", "name": crate::auth::cookie::SESSION, "description": "A browser that is signed in." },
        "csrf": { "type": "apiKey", "in": "header", "name": "X-Csrf-Token", "description": "The form token of a page, which a session needs to change something." },
        "query": { "type": "apiKey", "in": "query", "name": "apikey", "description": "The key, for programs that can only be given an address." },
    })
}

fn security(access: Access, method: &Method) -> Value {
    let session = match *method == Method::GET {
        true => json!({ "session": [] }),
        false => json!({ "session": [], "csrf": [] }),
    };
    let keys = json!([{ "bearer": [] }, { "key": [] }, session]);
    let mut all = keys.as_array().cloned().unwrap_or_default();
    match access {
        Access::Open => return json!([]),
        Access::ReadingApi(_) => all.push(json!({})),
        Access::Trusted => all.extend([json!({ "query": [] }), json!({})]),
        _ => {}
    }
    all.into()
}

/// What every error below `/api` looks like.
pub(crate) fn problem() -> Schema {
    let mistake = schema::object([
        (
            "field",
            schema::text().about(
                "The parameter, or the field of the body as in `terms.season` or `categories[2]`.",
            ),
        ),
        ("detail", schema::text().about("What is wrong with it.")),
    ]);
    schema::object([
        ("type", schema::text()),
        ("title", schema::text().about("The status in words.")),
        (
            "status",
            schema::integer().about("The status of the answer."),
        ),
        (
            "detail",
            schema::text().about("What is wrong, in a sentence."),
        ),
        (
            "instance",
            schema::text().about("The ID of the request, as in the log and in `X-Request-Id`."),
        ),
        (
            "errors",
            schema::list(mistake).optional().about("Each wrong field."),
        ),
        ("advice", schema::text().about("What to do about it.")),
        (
            "mistakes",
            schema::list(schema::text())
                .optional()
                .about("Mistakes of the configuration, each with its place."),
        ),
        (
            "error",
            schema::text().about("The same as `detail`; for older programs."),
        ),
        (
            "request_id",
            schema::text().about("The same as `instance`; for older programs."),
        ),
    ])
    .named("Problem")
}

fn one(
    operation: &Operation,
    access: Access,
    problem: &Value,
    schemas: &mut Map<String, Value>,
) -> Value {
    let parts = operation.path.trim_start_matches("/api/v1/");
    let parts: Vec<&str> = parts
        .split(['/', '{', '}', '.'])
        .filter(|part| !part.is_empty())
        .collect();
    let method = operation.method.as_str().to_ascii_lowercase();
    let mut written = json!({
        "operationId": format!("{method}-{}", parts.join("-")),
        "summary": operation.summary,
        "tags": [parts.first()],
        "security": security(access, &operation.method),
        "responses": answers(operation, access, problem, schemas),
    });
    let mut about = operation.about.to_owned();
    if !matches!(access, Access::Open) {
        let space = if about.is_empty() { "" } else { "\n\n" };
        about += &format!("{space}Needs the right *{}*.", operation.needs.words());
    }
    if !about.is_empty() {
        written["description"] = about.into();
    }
    let parameters = operation.parameters.iter().map(|one| {
        let place = match one.place {
            ParameterPlace::Path => "path",
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
        };
        let mut shape = one.schema.json(schemas, true);
        let about = shape
            .as_object_mut()
            .and_then(|shape| shape.remove("description"));
        json!({
            "name": one.name,
            "in": place,
            "required": one.place == ParameterPlace::Path,
            "description": about.unwrap_or_default(),
            "schema": shape,
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    if !parameters.is_empty() {
        written["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        let shape = json!({ "schema": body.schema.json(schemas, true) });
        let mut content = json!({ "application/json": shape });
        if body.form {
            content["application/x-www-form-urlencoded"] = shape;
        }
        written["requestBody"] = json!({ "required": body.required, "content": content });
    }
    written
}

fn answers(
    operation: &Operation,
    access: Access,
    problem: &Value,
    schemas: &mut Map<String, Value>,
) -> Value {
    let mut all = Map::new();
    for answer in &operation.answers {
        let mut content = Map::new();
        for one in &answer.content {
            let shape = match one {
                AnswerContent::Json(schema) => schema.json(schemas, false),
                _ => json!({ "type": "string" }),
            };
            content.insert(one.kind().to_owned(), json!({ "schema": shape }));
        }
        let mut written = json!({ "description": answer.about });
        if !content.is_empty() {
            written["content"] = content.into();
        }
        for (name, about) in &answer.headers {
            written["headers"][name] =
                json!({ "description": about, "schema": { "type": "string" } });
        }
        all.insert(answer.status.as_str().to_owned(), written);
    }
    // Below /api they are all alike; elsewhere text, or a page for browsers.
    let content = match access {
        Access::Api(_) | Access::ReadingApi(_) => {
            json!({ "application/problem+json": { "schema": problem } })
        }
        Access::Trusted => json!({ "text/plain": { "schema": { "type": "string" } } }),
        _ => json!({ "text/html": { "schema": { "type": "string" } } }),
    };
    for (status, about) in operation.all_failures() {
        let mut written = json!({ "description": about, "content": content });
        let waits = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if waits.contains(&status) {
            written["headers"]["Retry-After"] = json!({
                "description": "Seconds after which another try makes sense.",
                "schema": { "type": "integer", "minimum": 0 },
            });
        }
        all.insert(status.as_str().to_owned(), written);
    }
    all.into()
}
