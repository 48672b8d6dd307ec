//! The page that says what happened, what to do, and under which id the log has it.

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

/// To someone we know of.
pub(crate) fn show(visitor: &Visitor, failure: &Failure) -> Response {
    failure.finish(write(failure, &visitor.id, |title, body| {
        visitor.page(title, body)
    }))
}

/// From outside the access layer, where nobody is known.
pub(crate) fn bare(app: &App, id: &RequestId, theme: Option<&str>, failure: &Failure) -> Response {
    let shell = app.shell();
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
        StatusCode::UNAUTHORIZED => "A key is needed",
        StatusCode::TOO_MANY_REQUESTS => "Too many tries",
        StatusCode::PAYLOAD_TOO_LARGE => "Too large",
        StatusCode::METHOD_NOT_ALLOWED => "Not this way",
        status if status.is_client_error() => "That cannot be answered",
        StatusCode::SERVICE_UNAVAILABLE => "Not now",
        _ => "Something broke",
    }
}
