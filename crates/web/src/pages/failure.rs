//! The page that says what happened, what to do, and which request ID to look up in the log.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{App, Failure, RequestId, Visitor, kit};

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    heading: &'static str,
    failure: &'a Failure,
    id: &'a str,
}

/// For a visitor who has passed the access layer.
pub(crate) fn show(visitor: &Visitor, failure: &Failure) -> Response {
    failure.finish(write(failure, &visitor.id, |title, body| {
        visitor.page(title, body)
    }))
}

/// Whether an address belongs to the API, so that failures there are JSON, whatever made them.
pub(crate) fn is_api(path: &str) -> bool {
    path.strip_prefix("/api")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// How a failure from outside the access layer is written, where the visitor is unknown.
#[derive(Clone, Copy)]
pub(crate) struct BareLook {
    /// Below `/api`.
    pub(crate) api: bool,
    pub(crate) theme: Option<&'static str>,
}

/// From outside the access layer.
pub(crate) fn bare(app: &App, id: &RequestId, look: BareLook, failure: &Failure) -> Response {
    if look.api {
        return failure.json(id);
    }
    let (shell, theme) = (app.shell(), look.theme);
    failure.finish(write(failure, id, |title, body| {
        shell.bare(theme, title, body)
    }))
}

fn write(failure: &Failure, id: &RequestId, page: impl FnOnce(&str, &str) -> Response) -> Response {
    let heading = heading(failure.status);
    let body = kit::render(&FailurePage {
        heading,
        failure,
        id: id.as_str(),
    });
    body.map(|body| page(heading, &body)).into_response()
}

fn heading(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Refused",
        StatusCode::UNAUTHORIZED => "Key required",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        StatusCode::PAYLOAD_TOO_LARGE => "Too large",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        status if status.is_client_error() => "Request not understood",
        StatusCode::SERVICE_UNAVAILABLE => "Not available right now",
        _ => "Something went wrong",
    }
}
