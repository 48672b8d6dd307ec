//! Routes of the API, each made of its description and its handler.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{FromRequest, Request, State},
    handler::Handler,
    http::{Method, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodFilter, on},
};
use percent_encoding::percent_decode;
use serde_json::{Map, Value};

use super::check::unknown;
use super::operation::{AnswerContent, Operation, SentBody};
use crate::{Failure, Right, Visitor, failure::FieldMistake, forms};

/// The largest answer that is compared with its description.
const COMPARED: usize = 64 << 20;

/// Proves that a router was made by [`ApiRoutes`]; nobody else can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described(());

impl Described {
    /// For the document, where the rule is only written down.
    pub(crate) fn own() -> Self {
        Self(())
    }
}

/// Described routes of the API. They are for clients that are signed in.
pub struct ApiRoutes<S = ()> {
    router: Router<S>,
    pub(crate) operations: Vec<Arc<Operation>>,
    pub(crate) for_readers: bool,
}

impl<S: Clone + Send + Sync + 'static> ApiRoutes<S> {
    /// No routes yet.
    pub fn new() -> Self {
        Self {
            router: Router::new(),
            operations: Vec::new(),
            for_readers: false,
        }
    }

    /// Adds a route.
    ///
    /// # Panics
    /// When the same method and path were added before, or the description does not fit the path.
    #[must_use]
    pub fn route<H, T>(mut self, operation: Operation, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(operation.method.clone())
            .expect("operations have the methods that axum knows");
        let operation = Arc::new(operation);
        let check = from_fn_with_state(operation.clone(), checked);
        let route = on(filter, handler).route_layer(check);
        self.router = self.router.route(operation.path, route);
        self.operations.push(operation);
        self
    }

    /// Adds the routes of another.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.operations.extend(other.operations);
        self
    }

    /// Gives handlers their state.
    pub fn with_state(self, state: S) -> ApiRoutes {
        ApiRoutes {
            router: self.router.with_state(state),
            operations: self.operations,
            for_readers: self.for_readers,
        }
    }

    /// Lets everybody read them, at a limited pace.
    #[must_use]
    pub fn for_readers(mut self) -> Self {
        self.for_readers = true;
        self
    }
}

impl ApiRoutes {
    /// The routes alone, without rules and not in the document: for tests of their handlers.
    pub fn bare(&self) -> Router {
        self.router.clone()
    }

    /// The routes, and the proof that they are described.
    pub(crate) fn router(&self) -> (Described, Router) {
        (Described(()), self.router.clone())
    }
}

impl<S: Clone + Send + Sync + 'static> Default for ApiRoutes<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Around each handler: what is sent has the described shape, and in tests what is answered too.
async fn checked(
    State(operation): State<Arc<Operation>>,
    request: Request,
    next: Next,
) -> Response {
    let bare = request.method() == Method::HEAD;
    // Without a visitor it is a test of the handler; a visitor without a right may do what everybody may.
    let visitor = request.extensions().get::<Visitor>();
    if let Some(visitor) = visitor
        && !visitor.right.unwrap_or(Right::Read).covers(operation.needs)
    {
        return visitor.too_little(operation.needs).into_response();
    }
    let request = match operation.admit(request).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let response = next.run(request).await;
    match cfg!(debug_assertions) {
        true => operation.compare(response, bare).await,
        false => response,
    }
}

impl Operation {
    async fn admit(&self, request: Request) -> Result<Request, Response> {
        self.check_query(request.uri().query().unwrap_or_default())
            .map_err(IntoResponse::into_response)?;
        match &self.body {
            Some(body) => self.check_body(body, request).await,
            None => Ok(request),
        }
    }

    fn check_query(&self, query: &str) -> Result<(), Failure> {
        let (mut strange, mut wrong, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in pairs(query)? {
            let Some(parameter) = self.queries().find(|one| one.name == name) else {
                if !self.lenient {
                    let known = self.queries().map(|one| one.name.to_owned());
                    strange.push(unknown(&name, &name, known.collect()));
                }
                continue;
            };
            if seen.contains(&parameter.name) {
                strange.push(FieldMistake {
                    field: name,
                    detail: "Send it once.".to_owned(),
                });
                continue;
            }
            seen.push(parameter.name);
            if !self.lenient {
                wrong.extend(parameter.schema.mistake_of_text(&name, &value));
            }
        }
        if !strange.is_empty() {
            let status = StatusCode::BAD_REQUEST;
            return Err(Failure::at_fields(
                status,
                "The query has parameters that are not understood here.",
                strange,
            ));
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::wrong_fields(wrong)),
        }
    }

    async fn check_body(&self, wanted: &SentBody, request: Request) -> Result<Request, Response> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE);
        let kind = kind.map(|kind| kind.to_str().unwrap_or("?").to_ascii_lowercase());
        let kind = kind.as_deref().map(|kind| {
            let (kind, _) = kind.split_once(';').unwrap_or((kind, ""));
            kind.trim()
        });
        let limited = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(limited, &()).await;
        let bytes = bytes.map_err(IntoResponse::into_response)?;
        let value = match kind {
            _ if bytes.is_empty() && !wanted.required => return Ok(again(parts, bytes)),
            Some("application/json") | None => match serde_json::from_slice(&bytes) {
                Ok(value) => value,
                Err(error) => return Err(not_json(&error).into_response()),
            },
            Some("application/x-www-form-urlencoded") if wanted.form => match form(&bytes) {
                Ok(value) => value,
                Err(failure) => return Err(failure.into_response()),
            },
            Some(_) => return Err(wrong_kind(wanted.form).into_response()),
        };
        let mistakes = wanted.schema.mistakes(&value);
        match mistakes.is_empty() {
            true => Ok(again(parts, bytes)),
            false => Err(Failure::wrong_fields(mistakes).into_response()),
        }
    }

    /// Ends the request with a panic if the answer is not what the description says. For tests: releases never come here.
    async fn compare(&self, response: Response, bare: bool) -> Response {
        let (method, path) = (&self.method, self.path);
        let failure = response.extensions().get::<Failure>();
        let status = failure.map_or(response.status(), |failure| failure.status);
        if failure.is_some() || status.is_client_error() || status.is_server_error() {
            let described = self.all_failures();
            let answers = self.answers.iter().map(|one| one.status);
            let mut all = described.iter().map(|(status, _)| *status).chain(answers);
            assert!(
                all.any(|known| known == status),
                "{method} {path} is not described to answer {status}"
            );
            return response;
        }
        let answer = self.answers.iter().find(|one| one.status == status);
        let answer =
            answer.unwrap_or_else(|| panic!("{method} {path} is not described to answer {status}"));
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let mut contents = answer.content.iter();
        let content = contents.find(|content| kind.starts_with(content.kind()));
        assert!(
            content.is_some() || answer.content.is_empty(),
            "{method} {path} is not described to answer {kind:?}"
        );
        let Some(AnswerContent::Json(schema)) = content.filter(|_| !bare) else {
            return response;
        };
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, COMPARED).await;
        let bytes = bytes.unwrap_or_default();
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(FieldMistake { field, detail }) = schema.mistakes(&value).into_iter().next() {
            panic!("{method} {path} answers with {field:?} not as described: {detail} {value:#}");
        }
        Response::from_parts(parts, Body::from(bytes))
    }
}

fn again(parts: axum::http::request::Parts, bytes: Bytes) -> Request {
    Request::from_parts(parts, Body::from(bytes))
}

/// Names and values of a query or form, decoded.
fn pairs(encoded: &str) -> Result<Vec<(String, String)>, Failure> {
    let decoded = |text: &str| {
        let spaced = text.replace('+', " ");
        let text = percent_decode(spaced.as_bytes()).decode_utf8();
        text.map(|text| text.into_owned()).map_err(|_| {
            Failure::new(
                StatusCode::BAD_REQUEST,
                "The request is not valid UTF-8.",
                "Encode it as UTF-8, then percent-encode it.",
            )
        })
    };
    let pairs = encoded.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// A form as an object of texts, without its token.
fn form(bytes: &[u8]) -> Result<Value, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let mut fields = Map::new();
    for (name, value) in pairs(&text)? {
        if name != forms::TOKEN {
            fields.insert(name, value.into());
        }
    }
    Ok(Value::Object(fields))
}

fn not_json(error: &serde_json::Error) -> Failure {
    Failure::new(
        StatusCode::BAD_REQUEST,
        format!("The body is not JSON: {error}."),
        "Send a JSON object.",
    )
}

fn wrong_kind(form: bool) -> Failure {
    Failure::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The body is of a kind that is not understood here.",
        match form {
            true => {
                "Send JSON as application/json, or a form as application/x-www-form-urlencoded."
            }
            false => "Send JSON, with Content-Type: application/json.",
        },
    )
}
